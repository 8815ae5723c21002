"""Entries of optim_db: the same steps from the same parameters with the same gradients."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache, partial
from typing import Any

import numpy as np
import torch
from db_book import Book
from db_carry import Carrier, function
from db_compare import shown
from db_tally import Unit

import flambeau

STEPS = 6
_SHAPES = ((3, 4), (5, 2), (1, 6))  # an optimizer may want matrices


@cache
def database() -> list[Any]:
    """All entries."""
    from torch.testing._internal.common_optimizers import optim_db

    found: list[Any] = optim_db
    return found


def units() -> Iterator[Unit]:
    """Parameters of two dtypes."""
    for number, entry in enumerate(database()):
        for dtype in ("float32", "float64"):
            yield Unit("optim_db", number, f"optim.{entry.name}", "steps", dtype)


def judge(unit: Unit, book: Book) -> None:
    """All configurations of one dtype."""
    entry = database()[unit.number]
    for one in entry.optim_inputs_func("cpu"):
        text = f"{unit.name}({', '.join(f'{k}={shown(v)}' for k, v in one.kwargs.items())})"
        for category, then in (("optimizer", _steps), ("optimizer state", _state)):
            book.judge(
                category,
                text,
                partial(then, torch, entry.optim_cls, one.kwargs, unit.dtype, entry),
                lambda one=one, then=then: then(
                    flambeau, _ours(entry), Carrier()(one.kwargs), unit.dtype, entry
                ),
            )
    if entry.optim_error_inputs_func is None:
        return
    for one in entry.optim_error_inputs_func("cpu", getattr(torch, unit.dtype)):
        given = one.optimizer_error_input
        text = f"{unit.name}: {given.desc}"
        book.must_raise(
            "optimizer errors",
            text,
            partial(_made, torch, entry.optim_cls, given.params, given.kwargs, unit.dtype),
            lambda given=given: _made(
                flambeau, _ours(entry), *Carrier()((given.params, given.kwargs)), unit.dtype
            ),
        )


def _ours(entry: Any) -> Any:
    return function(entry.optim_cls, f"optim.{entry.name}")


def _made(library: Any, kind: Any, params: Any, keywords: Any, dtype: str) -> Any:
    """An optimizer that takes a step."""
    made = kind(_parameters(library, dtype) if params is None else params, **keywords)
    made.step()
    return made


def _numbers(shape: tuple[int, ...], key: int) -> Any:
    draw = np.random.default_rng(key)
    return np.asarray(draw.integers(-16, 17, shape) / 8)


def _parameters(library: Any, dtype: str) -> list[Any]:
    kind = getattr(library, dtype)
    values = [_numbers(shape, key) for key, shape in enumerate(_SHAPES)]
    return [library.nn.Parameter(library.from_numpy(value).to(kind)) for value in values]


def _run(
    library: Any, kind: Any, keywords: Any, dtype: str, entry: Any
) -> tuple[Any, list[list[Any]]]:
    """Steps towards other numbers; the parameters after each."""
    parameters = _parameters(library, dtype)
    aims = [
        library.from_numpy(_numbers(shape, 10 + key)).to(getattr(library, dtype))
        for key, shape in enumerate(_SHAPES)
    ]
    made = kind(parameters, **keywords)
    sparse = entry.only_supports_sparse_grads

    def closure() -> Any:
        made.zero_grad()
        pairs = zip(parameters, aims, strict=True)
        loss = sum(((one - aim) ** 2).sum() * (i + 1) for i, (one, aim) in enumerate(pairs))
        loss.backward()
        if sparse:
            for one in parameters:
                one.grad = one.grad.to_sparse()
        return loss

    seen = []
    for _ in range(STEPS):
        if entry.step_requires_closure:
            made.step(closure)
        else:
            closure()
            made.step()
        seen.append([one.detach().clone() for one in parameters])
    return made, seen


def _steps(library: Any, *about: Any) -> Any:
    return _run(library, *about)[1]


def _state(library: Any, *about: Any) -> Any:
    """What the optimizer remembers, by names."""
    made, _ = _run(library, *about)
    found = made.state_dict()
    groups = [
        {key: group[key] for key in sorted(group) if not callable(group[key])}
        for group in found["param_groups"]
    ]
    state = {key: dict(sorted(value.items())) for key, value in found["state"].items()}
    return {"state": state, "groups": groups}

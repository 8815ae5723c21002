"""Running a case in both libraries, and what differs."""

from __future__ import annotations

import re
import warnings
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from parity_calls import Case
from parity_values import namespace, values

import flambeau

# Of 1 + the largest expected number: a few units in the last place, and short sums of them.
TOLERANCES = {
    "float64": 1e-8, "complex128": 1e-8, "float32": 4e-5, "complex64": 4e-5, "float16": 1e-2,
    "bfloat16": 8e-2,
}  # fmt: skip
# Gradients of gradients subtract numbers that are nearly equal.
LOOSER = {"": 1.0, "gradient": 10.0, "second gradient": 100.0}
LIBRARIES = {"flambeau": flambeau, "torch": torch}


@dataclass(frozen=True, slots=True)
class Difference:
    """`kind`: refuses (only Flambeau raises), accepts (only PyTorch), exception (both, others),
    dtype, shape, value, gradient, second gradient.
    """

    kind: str
    detail: str


class Missing(Exception):
    """One library has no such thing, and says so."""


@dataclass(slots=True)
class Side:
    """One library's names while a case runs."""

    names: dict[str, Any]
    error: BaseException | None = None

    def run(self, code: Any) -> None:
        self.error = None
        try:
            exec(code, self.names)
        except Exception as error:
            self.error = error


def compare(case: Case) -> Iterator[Difference]:
    """The differences of a case, the first of each tensor.

    Raises:
        Missing: where a library does not have what the case asks for.
    """
    sides = {name: Side(namespace(library)) for name, library in LIBRARIES.items()}
    ours, theirs = sides["flambeau"], sides["torch"]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for statement in case.statements:
            code = compile(statement, "<case>", "exec")
            ours.run(code)
            theirs.run(code)
            found = _errors(ours.error, theirs.error, "")
            if found is not None:
                yield found
                return
            if ours.error is not None and case.name != "views":
                return
        coarsest = _coarsest(ours)
        for name in case.compared:
            mine, other = ours.names.get(name), theirs.names.get(name)
            found = _difference(mine, other, name, "", case.random, coarsest)
            if found is not None:
                yield found
        if case.leaves and not case.random:
            yield from _gradients(case, ours, theirs, coarsest)


def _coarsest(side: Side) -> float:
    """What float16 took part in has the precision of float16, whatever its own dtype."""
    tensors = [v for v in side.names.values() if isinstance(v, flambeau.Tensor)]
    return max((TOLERANCES.get(tensor.dtype.name, 0.0) for tensor in tensors), default=0.0)


_MISSING = re.compile(
    r"not implemented for|not implemented on|[Nn]ot[ _]?[Ii]mplemented|not supported for"
    r"|derivative for .* is not implemented|not yet supported|Could not run|not support"
)


def _errors(
    ours: BaseException | None, theirs: BaseException | None, stage: str
) -> Difference | None:
    where = f"{stage}: " if stage else ""
    if ours is None and theirs is None:
        return None
    if theirs is not None and _MISSING.search(str(theirs)):
        raise Missing(str(theirs))
    if isinstance(ours, AttributeError) and theirs is None:
        raise Missing(str(ours))
    if ours is None:
        assert theirs is not None
        return Difference("accepts", f"{where}{_plain(theirs)}")
    if theirs is None:
        return Difference("refuses", f"{where}{_plain(ours)}")
    if not _same_type(ours, theirs):
        return Difference("exception", f"{where}{_plain(ours)} where PyTorch has {_plain(theirs)}")
    return None


def _same_type(ours: BaseException, theirs: BaseException) -> bool:
    if isinstance(theirs, NotImplementedError) or isinstance(ours, NotImplementedError):
        return True  # a subclass of RuntimeError
    return type(ours).__name__ == type(theirs).__name__ or isinstance(ours, type(theirs))


def _plain(error: BaseException) -> str:
    """The error's type and first line, without what varies."""
    text = str(error).split("\n")[0]
    text = re.sub(r"-?\d+(\.\d+)?", "N", text)
    text = re.sub(r"\[[N, ]*\]", "[...]", text)
    return f"{type(error).__name__}: {text[:150]}"


# Values ------------------------------------------------------------------------------------------


def _difference(
    ours: Any, theirs: Any, name: str, stage: str, only_form: bool, coarsest: float
) -> Difference | None:
    if isinstance(theirs, torch.Tensor):
        if not isinstance(ours, flambeau.Tensor):
            return Difference("value", f"{name}: {type(ours).__name__} where PyTorch has a tensor")
        return _tensor_difference(ours, theirs, name, stage, only_form, coarsest)
    if isinstance(theirs, list | tuple):
        if not isinstance(ours, list | tuple) or len(ours) != len(theirs):
            return Difference("value", f"{name}: {ours!r:.80}, expected {theirs!r:.80}")
        for index, (mine, other) in enumerate(zip(ours, theirs, strict=True)):
            found = _difference(mine, other, f"{name}[{index}]", stage, only_form, coarsest)
            if found is not None:
                return found
        return None
    if isinstance(theirs, bool | int | float | complex | str | None):
        same = ours == theirs or (ours != ours and theirs != theirs)
        if only_form or same or _both_close(ours, theirs):
            return None
        return Difference("value", f"{name}: {ours!r}, expected {theirs!r}")
    return None


def _both_close(ours: Any, theirs: Any) -> bool:
    return isinstance(ours, float) and isinstance(theirs, float) and bool(np.isclose(ours, theirs))


def _tensor_difference(
    ours: Any, theirs: Any, name: str, stage: str, only_form: bool, coarsest: float
) -> Difference | None:
    prefix = f"{stage} of {name}" if stage else name
    dtypes = ours.dtype.name, str(theirs.dtype).removeprefix("torch.")
    if dtypes[0] != dtypes[1]:
        return Difference(stage or "dtype", f"{prefix}: dtype {dtypes[0]}, expected {dtypes[1]}")
    shapes = tuple(ours.shape), tuple(theirs.shape)
    if shapes[0] != shapes[1]:
        return Difference(stage or "shape", f"{prefix}: shape {shapes[0]}, expected {shapes[1]}")
    if not stage and ours.requires_grad != theirs.requires_grad:
        return Difference("requires_grad", f"{prefix}: {ours.requires_grad}")
    if only_form:
        return None
    mine, other = _array(ours), _array(theirs)
    coarse = max(coarsest, TOLERANCES.get(dtypes[0], 0.0))
    wrong = wrong_places(mine, other, coarse * LOOSER[stage])
    if wrong is None:
        return None
    where = tuple(int(i) for i in np.argwhere(wrong)[0])
    place = f"{prefix}{list(where) if where else ''}"
    kinds = {f"{_kind(a)} for {_kind(b)}" for a, b in zip(mine[wrong], other[wrong], strict=True)}
    return Difference(
        stage or "value",
        f"{place}: {mine[where].item()!r:.40}, expected {other[where].item()!r:.40}"
        f" ({int(wrong.sum())} of {wrong.size}: {', '.join(sorted(kinds))})",
    )


def _kind(number: Any) -> str:
    """What explanations say of a number that differs."""
    if np.isnan(number):
        return "nan"
    return "inf" if np.isinf(number) else "number" if number else "zero"


def _array(tensor: Any) -> Any:
    tensor = _dense(tensor.detach())
    library = torch if isinstance(tensor, torch.Tensor) else flambeau
    if tensor.dtype in (library.bfloat16, library.float16):
        tensor = tensor.to(library.float32)
    if library is torch:
        tensor = tensor.resolve_conj().resolve_neg().clone()
    return np.array(tensor.numpy())


def wrong_places(ours: Any, theirs: Any, tolerance: float) -> Any:
    """Where two arrays differ by more than the tolerance; None where nowhere."""
    if ours.dtype.kind not in "fc":
        wrong = ours != theirs
    elif ours.dtype.kind == "c":
        parts = [
            wrong_places(np.array(f(ours)), np.array(f(theirs)), tolerance)
            for f in (np.real, np.imag)
        ]
        found = [part for part in parts if part is not None]
        return np.logical_or.reduce(found) if found else None
    else:
        finite = np.isfinite(ours) & np.isfinite(theirs)
        same = (ours == theirs) | (np.isnan(ours) & np.isnan(theirs))
        scale = 1 + (np.abs(theirs[finite]).max() if finite.any() else 0)
        with np.errstate(all="ignore"):
            close = finite & (np.abs(ours - theirs) <= tolerance * scale)
        wrong = ~(same | close)
    return wrong if np.any(wrong) else None


# Gradients ---------------------------------------------------------------------------------------


def _dense(tensor: Any) -> Any:
    return tensor.to_dense() if tensor.is_sparse else tensor


def _gradients(case: Case, ours: Side, theirs: Side, coarsest: float) -> Iterator[Difference]:
    """Differences of first and second derivatives by the leaves, along fixed directions."""
    outputs = [list(_differentiable(side.names.get("r"))) for side in (ours, theirs)]
    if len(outputs[0]) != len(outputs[1]) or not outputs[0]:
        return
    for stage, create in (("gradient", True), ("second gradient", False)):
        results: list[Any] = []
        errors: list[BaseException | None] = []
        for side, library, found in zip((ours, theirs), LIBRARIES.values(), outputs, strict=True):
            leaves = [side.names[name] for name in case.leaves]
            try:
                results.append(_derive(library, found, leaves, create))
                errors.append(None)
            except Exception as error:
                results.append(None)
                errors.append(error)
        found_error = _errors(errors[0], errors[1], stage)
        if found_error is not None:
            yield found_error
        if errors[0] is not None or errors[1] is not None:
            return
        for name, mine, other in zip(case.leaves, *results, strict=True):
            found_one = _one_gradient(mine, other, name, stage, coarsest)
            if found_one is not None:
                yield found_one
        both = [
            (mine, other)
            for mine, other in zip(*results, strict=True)
            if mine is not None and other is not None and mine.requires_grad and other.requires_grad
        ]
        if not both:
            return
        outputs = [[_dense(pair[0]) for pair in both], [_dense(pair[1]) for pair in both]]


def _one_gradient(
    mine: Any, other: Any, name: str, stage: str, coarsest: float
) -> Difference | None:
    """No gradient and one of zeros are the same."""
    if mine is None and other is None:
        return None
    if mine is None or other is None:
        there = mine if other is None else other
        if not np.any(_array(there)):
            return None
        return Difference(stage, f"{stage} of {name}: {'none' if mine is None else 'some'}")
    return _tensor_difference(mine, other, name, stage, False, coarsest)


def _differentiable(value: Any) -> Iterator[Any]:
    if isinstance(value, list | tuple):
        for item in value:
            yield from _differentiable(item)
    elif isinstance(value, flambeau.Tensor | torch.Tensor) and value.requires_grad:
        yield _dense(value)


def _derive(library: Any, outputs: Sequence[Any], leaves: Sequence[Any], create: bool) -> Any:
    directions = [_direction(library, output) for output in outputs]
    return library.autograd.grad(
        list(outputs), list(leaves), directions, create_graph=create, allow_unused=True
    )


def _direction(library: Any, output: Any) -> Any:
    array = np.array(values(tuple(output.shape), "f", 7))
    return library.from_numpy(array).to(output.dtype)

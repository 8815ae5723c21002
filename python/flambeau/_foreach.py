"""Functions of lists of tensors, `flambeau._foreach_NAME`: the operator NAME of one after another.

Optimizers and averages of models that programs write themselves call them. There is one for every
declared operator; steps of `flambeau.optim` have kernels for lists instead.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from flambeau import _C, Tensor, _lazy
from flambeau.func._batching_table import Called, called_in

PREFIX = "_foreach_"


def __getattr__(name: str) -> Callable[..., Any]:
    called = called_in(_C, name.removeprefix(PREFIX)) if name.startswith(PREFIX) else None
    found: Callable[..., Any]
    found = _lazy.missing("flambeau")(name) if called is None else _of_lists(name, called)
    globals()[name] = found  # from now on nobody is asked
    return found


def _of_lists(name: str, called: Called) -> Callable[..., Any]:
    def run(*args: Any, **kwargs: Any) -> Any:
        count = _count(name, (*args, *kwargs.values()))
        results = []
        for place in range(count):
            given = [_item(a, place) for a in args]
            # What follows the operands has a name in the function of one tensor.
            named = [_number(a, place) for a in args[called.by_position :]]
            rest = dict(zip(called.arguments[called.by_position :], named, strict=False))
            rest |= {key: _item(value, place) for key, value in kwargs.items()}
            results.append(called.function(*given[: called.by_position], **rest, **called.chosen))
        return args[0] if name.endswith("_") else tuple(results)

    run.__name__ = run.__qualname__ = name
    run.__module__ = "flambeau"
    run.__doc__ = (
        f"`{called.path}` of one tensor after another.\n\nArguments are lists of as many items, or "
        "the same for all. One in place returns its list.\n"
    )
    return run


def _count(name: str, values: tuple[Any, ...]) -> int:
    """How many items the lists have.

    Raises:
        RuntimeError: there is no list, or an empty one, or they differ.
    """
    counts = [len(value) for value in values if isinstance(value, list | tuple)]
    if not counts or len(set(counts)) > 1 or counts[0] == 0:
        raise RuntimeError(
            f"{name}(): expected lists of as many tensors, at least one, got "
            f"{' and '.join(map(str, counts)) or 'no list'}"
        )
    return counts[0]


def _item(value: Any, place: int) -> Any:
    return value[place] if isinstance(value, list | tuple) else value


def _number(value: Any, place: int) -> Any:
    """One of a list of numbers, which may be a tensor."""
    return value[place].item() if isinstance(value, Tensor) and value.dim() else _item(value, place)

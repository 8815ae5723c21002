"""Calling modules with other parameters and buffers than their own."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from flambeau import Tensor
from flambeau.nn.module import Module

__all__ = [
    "functional_call",
]

Place = tuple[dict[str, Any], str]


def functional_call(
    module: Module,
    parameters_and_buffers: dict[str, Tensor],
    args: Any = None,
    kwargs: dict[str, Any] | None = None,
    *,
    tie_weights: bool = True,
    strict: bool = False,
) -> Any:
    """The result of a module whose parameters and buffers are, during the call, those of a dict.

    Gradients flow to the tensors that are given. Buffers that the call replaces are replaced in the
    dict.

    Args:
        module: what is called; it is left as it was.
        parameters_and_buffers: tensors by dotted name.
        args: the argument of the call, or a tuple of them.
        kwargs: keyword arguments of the call.
        tie_weights: a tensor that the module has under several names is replaced under all of them.
        strict: whether every parameter and buffer must be given, and nothing else.

    Raises:
        RuntimeError: names are missing or unexpected, where `strict`.
        ValueError: one tensor that has several names is given several values.

    Example:
        >>> from flambeau.nn.utils.stateless import functional_call
        >>> import warnings
        >>> layer = flambeau.nn.Linear(2, 1, bias=False)
        >>> with warnings.catch_warnings():
        ...     warnings.simplefilter("ignore")
        ...     functional_call(layer, {"weight": flambeau.ones(1, 2)}, flambeau.tensor([3., 4.]))
        tensor([7.])
    """
    if not isinstance(parameters_and_buffers, dict):
        raise TypeError(
            "functional_call: parameters_and_buffers must be a dict, got "
            f"{type(parameters_and_buffers).__name__}"
        )
    given = () if args is None else args if isinstance(args, tuple) else (args,)
    with _replaced(module, parameters_and_buffers, tie_weights, strict):
        return module(*given, **(kwargs or {}))


@contextmanager
def _replaced(
    module: Module, tensors: dict[str, Tensor], tie_weights: bool, strict: bool
) -> Iterator[None]:
    places = _places(module)
    values = _tied(places, tensors) if tie_weights else tensors
    if strict:
        _check_names(places, values)
    own: list[tuple[Place, Any]] = []
    try:
        for name, value in values.items():
            if name in places:
                table, key = places[name]
                own.append(((table, key), table[key]))
                table[key] = value
        yield
    finally:
        for name in tensors.keys() & places.keys():
            table, key = places[name]
            tensors[name] = table[key]
        for (table, key), value in own:
            table[key] = value


def _places(module: Module) -> dict[str, Place]:
    """Where a module keeps its parameters and buffers, by dotted name."""
    return {
        f"{path}.{name}" if path else name: (table, name)
        for path, part in module.named_modules(remove_duplicate=False)
        for table in (part._parameters, part._buffers)
        for name, tensor in table.items()
        if tensor is not None
    }


def _check_names(places: dict[str, Place], tensors: dict[str, Tensor]) -> None:
    missing = [name for name in places if name not in tensors]
    unexpected = [name for name in tensors if name not in places]
    if missing or unexpected:
        parts = [f"missing keys: {', '.join(missing)}"] if missing else []
        parts += [f"unexpected keys: {', '.join(unexpected)}"] if unexpected else []
        raise RuntimeError(f"functional_call: {'; '.join(parts)}")


def _tied(places: dict[str, Place], tensors: dict[str, Tensor]) -> dict[str, Tensor]:
    """The tensors, under every name that the module has for what they replace."""
    names: dict[int, list[str]] = {}
    for name, (table, key) in places.items():
        names.setdefault(id(table[key]), []).append(name)
    values = dict(tensors)
    for tied in names.values():
        found = [name for name in tied if name in tensors]
        if len({id(tensors[name]) for name in found}) > 1:
            raise ValueError(
                f"functional_call: {', '.join(found)} are one tensor of the module, and are given "
                "several values"
            )
        if found:
            values.update(dict.fromkeys(tied, tensors[found[0]]))
    return values

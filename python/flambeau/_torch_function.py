"""What Tensor's own `__torch_function__` does, and switching it off.

Importing this module attaches it to the compiled type.
"""

from __future__ import annotations

from typing import Any, Self

from flambeau import _C
from flambeau._C import Tensor, _overrides

_MODES_ALONE, _NOBODY = 1, 2  # who is asked; otherwise all


class DisableTorchFunctionSubclass:
    """A context in which classes of arguments are not asked what a function does, modes are."""

    _asked = _MODES_ALONE

    def __enter__(self) -> Self:
        self._before = _overrides.asked()
        _overrides.set_asked(max(self._before, self._asked))
        return self

    def __exit__(self, *details: object) -> None:
        _overrides.set_asked(self._before)


class DisableTorchFunction(DisableTorchFunctionSubclass):
    """A context in which nobody is asked what a function does."""

    _asked = _NOBODY


# Accessors whose results are what was stored, of whichever class; and what says a class itself.
NOT_CONVERTED = frozenset(
    [*(vars(Tensor)[name].__get__ for name in ("grad", "_base")), vars(Tensor)["as_subclass"]]
)


def _converted(result: Any, cls: type[Tensor]) -> Any:
    """Tensors, also those in tuples and lists, as instances of a class."""
    if cls is Tensor:
        return result
    if isinstance(result, Tensor):
        return result if isinstance(result, cls) else result.as_subclass(cls)
    if isinstance(result, tuple | list) and any(isinstance(x, Tensor | tuple) for x in result):
        return type(result)(_converted(item, cls) for item in result)
    return result


def _torch_function(
    cls: type[Tensor],
    func: Any,
    types: tuple[type, ...],
    args: tuple[Any, ...] = (),
    kwargs: dict[str, Any] | None = None,
) -> Any:
    """Calls a function of instances of `cls`; tensors that it gives are instances, too.

    Returns:
        NotImplemented where the class of another argument is no base of `cls`.
    """
    if not all(issubclass(cls, t) for t in types):
        return NotImplemented
    with DisableTorchFunctionSubclass():
        result = func(*args, **(kwargs or {}))
        return result if func in NOT_CONVERTED else _converted(result, cls)


_C.DisableTorchFunction = DisableTorchFunction
_C.DisableTorchFunctionSubclass = DisableTorchFunctionSubclass
Tensor.__torch_function__ = classmethod(_torch_function)  # type: ignore[attr-defined]

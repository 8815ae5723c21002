"""Forward mode: derivatives that travel with the values.

>>> with dual_level():
...     x = make_dual(flambeau.tensor(3.0), flambeau.tensor(1.0))
...     unpack_dual(x * x).tangent
tensor(6.)
"""

from __future__ import annotations

from types import TracebackType
from typing import NamedTuple

from flambeau import _C

__all__ = [
    "UnpackedDualTensor",
    "dual_level",
    "enter_dual_level",
    "exit_dual_level",
    "make_dual",
    "unpack_dual",
]

_level = 0


def enter_dual_level() -> int:
    """Starts forward mode. RuntimeError when it is on already: levels do not nest.

    Example:
        >>> from flambeau.autograd.forward_ad import enter_dual_level, exit_dual_level
        >>> from flambeau.autograd.forward_ad import make_dual, unpack_dual
        >>> level = enter_dual_level()
        >>> unpack_dual(make_dual(flambeau.tensor(3.), flambeau.tensor(1.)) ** 2).tangent
        tensor(6.)
        >>> exit_dual_level()
    """
    global _level
    _level = _C._autograd.enter_dual_level()
    return _level


def exit_dual_level(*, level: int | None = None) -> None:
    """Ends forward mode; all tangents are dropped.

    Args:
        level: what `enter_dual_level` gave, or None.

    Example:
        >>> from flambeau.autograd.forward_ad import enter_dual_level, exit_dual_level, make_dual
        >>> level = enter_dual_level()
        >>> x = make_dual(flambeau.tensor(3.), flambeau.tensor(1.))
        >>> exit_dual_level(level=level)
        >>> x
        tensor(3.)
    """
    global _level
    _C._autograd.exit_dual_level(_level if level is None else level)
    _level = 0


def make_dual(tensor: _C.Tensor, tangent: _C.Tensor, *, level: int | None = None) -> _C.Tensor:
    """A view of `tensor` that carries `tangent` (same shape, dtype and device).

    Raises:
        RuntimeError: outside of a dual level, or when the two do not match.

    Example:
        >>> from flambeau.autograd.forward_ad import dual_level, make_dual, unpack_dual
        >>> with dual_level():
        ...     x = make_dual(flambeau.tensor([1., 2.]), flambeau.tensor([1., 0.]))
        ...     unpack_dual(x.exp()).tangent
        tensor([2.7183, 0.0000])
    """
    return _C._autograd.make_dual(tensor, tangent)


class UnpackedDualTensor(NamedTuple):
    """What unpack_dual() returns: `primal`, the value, and `tangent`, or None.

    Example:
        >>> from flambeau.autograd.forward_ad import dual_level, make_dual, unpack_dual
        >>> with dual_level():
        ...     value, tangent = unpack_dual(make_dual(flambeau.tensor(3.), flambeau.tensor(1.)))
        >>> value, tangent
        (tensor(3.), tensor(1.))
    """

    primal: _C.Tensor
    tangent: _C.Tensor | None


def unpack_dual(tensor: _C.Tensor, *, level: int | None = None) -> UnpackedDualTensor:
    """The value and the tangent (None if it has none) of a tensor.

    Args:
        tensor: computed within the level.
        level: of which tangent; None: the one that is entered.

    Example:
        >>> from flambeau.autograd.forward_ad import dual_level, unpack_dual
        >>> with dual_level():
        ...     print(unpack_dual(flambeau.ones(1)).tangent)
        None
    """
    return UnpackedDualTensor(*_C._autograd.unpack_dual(tensor))


class dual_level:
    """Forward mode for the length of a ``with``.

    Example:
        >>> from flambeau.autograd.forward_ad import dual_level, make_dual, unpack_dual
        >>> with dual_level():
        ...     x = make_dual(flambeau.tensor(3.), flambeau.tensor(1.))
        ...     unpack_dual(x ** 2)
        UnpackedDualTensor(primal=tensor(9.), tangent=tensor(6.))
    """

    def __enter__(self) -> int:
        return enter_dual_level()

    def __exit__(
        self,
        exc_type: type[BaseException] | None,
        exc_value: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        exit_dual_level()

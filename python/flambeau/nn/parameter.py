"""Tensors that a module owns."""

from __future__ import annotations

from typing import Any

import flambeau
from flambeau import Tensor
from flambeau._values import check_memo


def _values(kind: str, data: Tensor | None) -> Tensor:
    if data is None:
        return flambeau.empty([0])
    if not isinstance(data, Tensor):
        raise TypeError(f"{kind}: data must be a Tensor, got {type(data).__name__}")
    return data


class Parameter(Tensor):
    """A tensor that is a weight: assigning it to a module registers it.

    Args:
        data: values of the parameter; the parameter shares their memory. None: an empty tensor.
        requires_grad: whether gradients are computed for it.
    """

    _prints_as_tensor = True

    def __new__(cls, data: Tensor | None = None, requires_grad: bool = True) -> Parameter:
        return Tensor._make_subclass(cls, _values("Parameter", data).detach(), requires_grad)

    def __repr__(self) -> str:
        return "Parameter containing:\n" + super().__repr__()

    def __deepcopy__(self, memo: dict[int, Any]) -> Parameter:
        check_memo(memo)
        if id(self) not in memo:
            memo[id(self)] = type(self)(self.detach().clone(), self.requires_grad)
        return memo[id(self)]

    def __reduce_ex__(self, protocol: Any) -> tuple[Any, ...]:
        return Parameter, (self.detach(), self.requires_grad)


class Buffer(Tensor):
    """A tensor that is state but no weight: assigning it to a module registers it as a buffer.

    Args:
        data: values of the buffer.
        persistent: whether it is part of the module's state_dict.
    """

    persistent: bool
    _prints_as_tensor = True

    def __new__(cls, data: Tensor | None = None, *, persistent: bool = True) -> Buffer:
        values = _values("Buffer", data)
        buffer = Tensor._make_subclass(cls, values.detach(), values.requires_grad)
        buffer.persistent = persistent
        return buffer

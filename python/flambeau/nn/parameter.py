"""Tensors that a module owns."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NoReturn

import flambeau
from flambeau import Tensor
from flambeau._C import _disabled_torch_function_impl
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

    Shapes: that of data.

    Example:
        >>> module = flambeau.nn.Module()
        >>> module.scale = flambeau.nn.Parameter(flambeau.ones(2))
        >>> [name for name, _ in module.named_parameters()]
        ['scale']
    """

    _prints_as_tensor = True
    __torch_function__ = _disabled_torch_function_impl

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

    Shapes: that of data.

    Example:
        >>> module = flambeau.nn.Module()
        >>> module.steps = flambeau.nn.Buffer(flambeau.zeros(()))
        >>> module.state_dict()
        OrderedDict([('steps', tensor(0.))])
        >>> list(module.parameters())
        []
    """

    persistent: bool
    _prints_as_tensor = True
    __torch_function__ = _disabled_torch_function_impl

    def __new__(cls, data: Tensor | None = None, *, persistent: bool = True) -> Buffer:
        values = _values("Buffer", data)
        buffer = Tensor._make_subclass(cls, values.detach(), values.requires_grad)
        buffer.persistent = persistent
        return buffer


# --- tensors without a shape ---

_MEANT_FOR_ALL = {"requires_grad_", "register_hook", *dir(object)}


def _without_values(cls: type) -> type:
    """Has what a Tensor computes raise: a tensor without a shape has no values."""

    def refusing(name: str) -> Callable[..., NoReturn]:
        def refuse(self: Any, *args: Any, **kwargs: Any) -> NoReturn:
            raise ValueError(
                f"{name}: an {type(self).__name__} has no values yet; expected a call of its lazy "
                "module, or materialize(), before"
            )

        return refuse

    for name, member in vars(Tensor).items():
        inherited = getattr(cls, name) is member
        if inherited and callable(member) and name not in _MEANT_FOR_ALL:
            setattr(cls, name, refusing(name))
    return cls


class UninitializedTensorMixin:
    """What UninitializedParameter and UninitializedBuffer have in common: a dtype and a device, and
    `materialize`, which gives a shape."""

    _becomes: type[Tensor]
    data: Any
    dtype: Any
    device: Any
    requires_grad: bool

    def materialize(self, shape: Any, device: Any = None, dtype: Any = None) -> None:
        """Becomes a usual tensor of a shape, with whatever values are in memory.

        Args:
            shape: sizes of the dimensions.
            device: where; None: where it is.
            dtype: of its elements; None: its own.
        """
        self.data = flambeau.empty(
            shape, device=device or self.data.device, dtype=dtype or self.data.dtype
        )
        self.__class__ = self._becomes  # type: ignore[assignment]

    @property
    def shape(self) -> NoReturn:
        raise RuntimeError(
            f"an {type(self).__name__} has no shape yet; expected a call of its lazy module, or "
            "materialize(), before"
        )

    def __repr__(self) -> str:
        return f"<{type(self).__name__}>"

    def __deepcopy__(self, memo: dict[int, Any]) -> Any:
        check_memo(memo)
        if id(self) not in memo:
            make, arguments = self.__reduce_ex__(2)
            memo[id(self)] = make(*arguments)
        return memo[id(self)]

    def __reduce_ex__(self, protocol: Any) -> tuple[Any, ...]:
        return type(self), (self.requires_grad, self.device, self.dtype)


@_without_values
class UninitializedParameter(UninitializedTensorMixin, Parameter):
    """A parameter whose shape is not known yet.

    Args:
        requires_grad: whether gradients will be computed for it.
        device, dtype: of its elements.

    Example:
        >>> weight = flambeau.nn.UninitializedParameter()
        >>> weight.materialize((2, 3))
        >>> weight.shape
        flambeau.Size([2, 3])
    """

    _becomes = Parameter

    def __new__(
        cls, requires_grad: bool = True, device: Any = None, dtype: Any = None
    ) -> UninitializedParameter:
        data = flambeau.empty(0, device=device, dtype=dtype)
        return Tensor._make_subclass(cls, data, requires_grad)


@_without_values
class UninitializedBuffer(UninitializedTensorMixin, Buffer):
    """A buffer whose shape is not known yet.

    Args:
        requires_grad: whether gradients will be computed for it.
        device, dtype: of its elements.
        persistent: whether it is part of the module's state_dict.

    Example:
        >>> buffer = flambeau.nn.UninitializedBuffer(requires_grad=False)
        >>> buffer.materialize((4,))
        >>> buffer.shape
        flambeau.Size([4])
    """

    _becomes = Buffer

    def __new__(
        cls,
        requires_grad: bool = False,
        device: Any = None,
        dtype: Any = None,
        persistent: bool = True,
    ) -> UninitializedBuffer:
        data = flambeau.empty(0, device=device, dtype=dtype)
        buffer = Tensor._make_subclass(cls, data, requires_grad)
        buffer.persistent = persistent
        return buffer


def is_lazy(param: Any) -> bool:
    """Whether a tensor has no shape yet."""
    return isinstance(param, UninitializedTensorMixin)

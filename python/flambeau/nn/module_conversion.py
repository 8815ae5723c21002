"""Moving and converting modules, and their modes."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any, TypeVar, cast

import flambeau
from flambeau import Tensor

if TYPE_CHECKING:
    from flambeau.nn.module import Module

T = TypeVar("T", bound="ModuleConversion")


class ModuleConversion:
    """The part of Module that changes everything below it."""

    training: bool
    _parameters: dict[str, Any]
    _buffers: dict[str, Any]
    children: Callable[[], Iterator[Any]]
    parameters: Callable[[], Iterator[Any]]
    buffers: Callable[[], Iterator[Tensor]]

    def apply(self: T, fn: Callable[[Module], None]) -> T:
        """Calls `fn` on every module below this one, then on this one."""
        for module in self.children():
            module.apply(fn)
        fn(cast("Module", self))
        return self

    def _apply(self: T, fn: Callable[[Tensor], Tensor], recurse: bool = True) -> T:
        """Replaces every parameter, its gradient and every buffer by `fn` of it; parameters stay
        the same objects, so that optimizers keep them."""
        for module in self.children() if recurse else ():
            module._apply(fn)
        for parameter in self._parameters.values():
            if parameter is None:
                continue
            grad = parameter.grad
            with flambeau.no_grad():
                parameter.data = fn(parameter.data)
                if grad is not None:
                    parameter.grad = fn(grad)
        for name, buffer in self._buffers.items():
            if buffer is not None:
                self._buffers[name] = fn(buffer)
        return self

    def to(self: T, *args: Any, **kwargs: Any) -> T:
        """Moves and converts parameters and buffers: `to(device)`, `to(dtype)`,
        `to(device, dtype)`, `to(tensor)`. A dtype applies to floating and complex tensors only, a
        memory_format to those of 4 and 5 dimensions."""
        device, dtype, memory_format = target(args, kwargs)

        def convert(tensor: Tensor) -> Tensor:
            keep = dtype is None or not (tensor.is_floating_point() or tensor.is_complex())
            moved = tensor.to(device=device, dtype=None if keep else dtype)
            if memory_format is None or tensor.dim() not in (4, 5):
                return moved
            return moved.contiguous(memory_format=memory_format)

        return self._apply(convert)

    def to_empty(self: T, *, device: Any, recurse: bool = True) -> T:
        """Moves parameters and buffers to a device without their values, which are whatever is in
        memory there.

        Args:
            device: where they go.
            recurse: those of submodules, too.
        """
        return self._apply(lambda t: flambeau.empty_like(t, device=device), recurse)

    def type(self: T, dst_type: Any) -> T:
        """Converts every parameter and buffer to a dtype."""
        return self._apply(lambda t: t.to(dst_type))

    def float(self: T) -> T:
        """Floating tensors become float32."""
        return self._floating(flambeau.float32)

    def double(self: T) -> T:
        """Floating tensors become float64."""
        return self._floating(flambeau.float64)

    def half(self: T) -> T:
        """Floating tensors become float16."""
        return self._floating(flambeau.float16)

    def bfloat16(self: T) -> T:
        """Floating tensors become bfloat16."""
        return self._floating(flambeau.bfloat16)

    def _floating(self: T, dtype: Any) -> T:
        return self._apply(lambda t: t.to(dtype) if t.is_floating_point() else t)

    def cpu(self: T) -> T:
        """Moves everything to the CPU."""
        return self._apply(lambda t: t.cpu())

    def cuda(self: T, device: Any = None) -> T:
        """Moves everything to a CUDA device."""
        target = "cuda" if device is None else device
        return self._apply(lambda t: t.to(flambeau.device(target)))

    def xpu(self: T, device: Any = None) -> T:
        """RuntimeError where there is a tensor to move: there is no backend of Intel's GPUs."""
        return self._apply(lambda t: t.to(flambeau.device(device or "xpu")))

    def compile(self, *args: Any, **kwargs: Any) -> None:
        """Nothing: modules run as they are written; see `flambeau.compile`."""

    def share_memory(self: T) -> T:
        """Moves parameters, their gradients and buffers to memory that other processes share; see
        `Tensor.share_memory_`."""
        for tensor in (*self.parameters(), *self.buffers()):
            tensor.share_memory_()
            if tensor.grad is not None:
                tensor.grad.share_memory_()
        return self

    def train(self: T, mode: bool = True) -> T:
        """Sets training mode here and below (dropout, batch norm); `train(False)` is `eval()`."""
        if not isinstance(mode, bool):
            raise ValueError(f"train: mode must be a bool, got {type(mode).__name__}")
        self.training = mode
        for module in self.children():
            module.train(mode)
        return self

    def eval(self: T) -> T:
        """Sets evaluation mode here and below."""
        return self.train(False)

    def requires_grad_(self: T, requires_grad: bool = True) -> T:
        """Whether gradients are computed for the parameters."""
        for parameter in self.parameters():
            parameter.requires_grad_(requires_grad)
        return self

    def zero_grad(self, set_to_none: bool = True) -> None:
        """Drops (or zeroes) the gradients of the parameters."""
        for parameter in self.parameters():
            if parameter.grad is None:
                continue
            if set_to_none:
                parameter.grad = None
            else:
                with flambeau.no_grad():
                    parameter.grad = flambeau.zeros_like(parameter.grad)


def target(args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[Any, Any, Any]:
    """(device, dtype, memory_format) of the arguments of Module.to()."""
    unknown = set(kwargs) - {"device", "dtype", "non_blocking", "memory_format"}
    if unknown:
        raise TypeError(f"to() got an unexpected keyword argument '{sorted(unknown)[0]}'")
    device, dtype = kwargs.get("device"), kwargs.get("dtype")
    for argument in args:
        if isinstance(argument, Tensor):
            device, dtype = argument.device, argument.dtype
        elif isinstance(argument, flambeau.dtype):
            dtype = argument
        elif isinstance(argument, str | flambeau.device):
            device = flambeau.device(argument)
        elif argument is not None and not isinstance(argument, bool):
            raise TypeError(
                f"to() takes a device, a dtype or a tensor, got {type(argument).__name__}"
            )
    if dtype is not None and not (dtype.is_floating_point or dtype.is_complex):
        raise TypeError(f"to() of a module takes a floating or complex dtype, got {dtype}")
    return device, dtype, kwargs.get("memory_format")

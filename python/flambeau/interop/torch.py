"""An installed PyTorch beside Flambeau: tensors of one memory, and PyTorch's modules as layers.

PyTorch is imported when it is first needed; `tests/parity/interop.py` tries all of this with it.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable
from typing import Any, TypeVar

import flambeau
from flambeau import Tensor, nn
from flambeau.autograd import Function
from flambeau.autograd.function import once_differentiable
from flambeau.utils import _pytree

__all__ = ["TorchModule", "from_torch", "to_torch"]

M = TypeVar("M", bound="TorchModule")


def pytorch() -> Any:
    """PyTorch's module `torch`.

    Raises:
        ModuleNotFoundError: it is not installed.
        RuntimeError: `torch` is a name of Flambeau here.
    """
    try:
        found = importlib.import_module("torch")
    except ModuleNotFoundError as error:
        if error.name != "torch":
            raise
        raise ModuleNotFoundError(
            "flambeau.interop.torch needs PyTorch: install it with 'pip install torch'",
            name="torch",
        ) from None
    if found is flambeau:
        raise RuntimeError(
            "flambeau.interop.torch needs PyTorch, but 'torch' stands for Flambeau in this process"
            " (run_as_torch)"
        )
    return found


def to_torch(tensor: Tensor) -> Any:
    """A tensor of PyTorch's that shares the memory, on the same device, without a history.

    Args:
        tensor: any strided one.

    Raises:
        ModuleNotFoundError: PyTorch is not installed.

    Example:
        >>> from flambeau.interop.torch import to_torch
        >>> ours = flambeau.zeros(2)
        >>> try:
        ...     to_torch(ours)[1] = 5
        ... except ModuleNotFoundError:  # there is no PyTorch here
        ...     ours[1] = 5
        >>> ours
        tensor([0., 5.])
    """
    return pytorch().from_dlpack(tensor.detach())


def from_torch(tensor: Any) -> Tensor:
    """A tensor that shares the memory of one of PyTorch's, on the same device, without a history.

    Args:
        tensor: any strided one, or whatever else speaks DLPack.

    Example:
        >>> import numpy
        >>> from flambeau.interop.torch import from_torch
        >>> numbers = numpy.zeros(3)
        >>> shared = from_torch(numbers)
        >>> numbers[1] = 5
        >>> shared
        tensor([0., 5., 0.], dtype=flambeau.float64)
    """
    if hasattr(tensor, "resolve_conj"):
        tensor = tensor.detach().resolve_conj().resolve_neg()
    return flambeau.from_dlpack(tensor)


class _Call(Function):
    """One call of a module of PyTorch's, whose own graph gives the gradients.

    Arguments are the call, which takes PyTorch's tensors, and Flambeau's tensors, those in the
    call's arguments before the parameters.
    """

    @staticmethod
    def forward(ctx: Any, call: Callable[[list[Any]], list[Any]], *tensors: Tensor) -> Any:
        library = pytorch()
        wanted = [i for i, need in enumerate(ctx.needs_input_grad[1:]) if need]
        theirs = [to_torch(tensor) for tensor in tensors]
        for i in wanted:
            theirs[i].requires_grad_()
        with library.set_grad_enabled(bool(wanted)):
            results = call(theirs)
        ctx.wanted, ctx.count = wanted, len(tensors)
        ctx.theirs, ctx.results = [theirs[i] for i in wanted], results
        ours = [from_torch(result) for result in results]
        ctx.mark_non_differentiable(
            *(o for o, r in zip(ours, results, strict=True) if not r.requires_grad)
        )
        return tuple(ours)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, *gradients: Tensor | None) -> tuple[Tensor | None, ...]:
        # A result that nobody used, or that has no gradient, does not take part.
        given = [
            (result, to_torch(gradient))
            for result, gradient in zip(ctx.results, gradients, strict=True)
            if gradient is not None and result.requires_grad
        ]
        found = pytorch().autograd.grad(
            [result for result, _ in given],
            ctx.theirs,
            [gradient for _, gradient in given],
            allow_unused=True,
            retain_graph=True,  # as often as Flambeau's own graph is kept
        )
        by_place = dict(zip(ctx.wanted, found, strict=True))
        each = (by_place.get(i) for i in range(ctx.count))
        return (None, *(None if gradient is None else from_torch(gradient) for gradient in each))


class TorchModule(nn.Module):
    """A module of PyTorch's as a layer of Flambeau, through which gradients flow.

    Parameters and buffers have the memory of PyTorch's and their names: an optimizer of Flambeau
    trains them, and `state_dict` has PyTorch's keys. Of gradients there is no further derivative.

    Args:
        module: of PyTorch's, converted already: of the dtype and on the device that it shall have.

    Shapes: arguments and results are PyTorch's, at any depth of lists, tuples and dictionaries;
    tensors among them become Flambeau's.

    Raises:
        ModuleNotFoundError: PyTorch is not installed.
        TypeError: it is no module of PyTorch's.

    Example:
        >>> from flambeau.interop.torch import TorchModule
        >>> try:
        ...     import torch
        ...     layer = TorchModule(torch.nn.Linear(3, 2))
        ... except ModuleNotFoundError:  # there is no PyTorch here
        ...     layer = flambeau.nn.Linear(3, 2)
        >>> layer(flambeau.ones(4, 3)).sum().backward()
        >>> layer.weight.grad.shape
        flambeau.Size([2, 3])
    """

    def __init__(self, module: Any) -> None:
        super().__init__()
        if not isinstance(module, pytorch().nn.Module):
            raise TypeError(
                "interop.torch.TorchModule(): argument 'module' must be a torch.nn.Module, got "
                f"{type(module).__name__}"
            )
        self.module = module
        _mirror(self, module, {})
        self.training = module.training

    def forward(self, *args: Any, **kwargs: Any) -> Any:
        """Calls the module of PyTorch's."""
        library = pytorch()
        leaves, structure = _pytree.tree_flatten((args, kwargs))
        inputs = [leaf for leaf in leaves if isinstance(leaf, Tensor)]
        parameters = dict(self.named_parameters())
        result_structure: Any = None
        others: list[Any] = []

        def call(tensors: list[Any]) -> list[Any]:
            nonlocal result_structure, others
            given = iter(tensors)
            own_args, own_kwargs = _pytree.tree_unflatten(
                [next(given) if isinstance(leaf, Tensor) else leaf for leaf in leaves], structure
            )
            result = library.func.functional_call(
                self.module, dict(zip(parameters, given, strict=True)), own_args, own_kwargs
            )
            others, result_structure = library.utils._pytree.tree_flatten(result)
            return [leaf for leaf in others if isinstance(leaf, library.Tensor)]

        found = iter(_Call.apply(call, *inputs, *parameters.values()))
        values = [next(found) if isinstance(leaf, library.Tensor) else leaf for leaf in others]
        return library.utils._pytree.tree_unflatten(values, result_structure)

    def train(self: M, mode: bool = True) -> M:
        """As of other modules; PyTorch's follows."""
        self.module.train(mode)
        return super().train(mode)

    def _apply(self, fn: Any, recurse: bool = True) -> Any:
        raise TypeError(
            "interop.torch.TorchModule: it shares the memory of PyTorch's module; convert that, and"
            " wrap it again"
        )

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.module!r})"


def _mirror(ours: nn.Module, theirs: Any, known: dict[int, Any]) -> None:
    """Gives a module the parameters, buffers and children of PyTorch's, with their memory. What is
    shared there is shared here.
    """

    def shared(tensor: Any, is_parameter: bool) -> Any:
        if tensor is None:
            return None
        if id(tensor) not in known:
            made = from_torch(tensor)
            known[id(tensor)] = (
                nn.Parameter(made, requires_grad=tensor.requires_grad) if is_parameter else made
            )
        return known[id(tensor)]

    for name, parameter in theirs._parameters.items():
        ours.register_parameter(name, shared(parameter, True))
    for name, buffer in theirs._buffers.items():
        persistent = name not in theirs._non_persistent_buffers_set
        ours.register_buffer(name, shared(buffer, False), persistent)
    for name, child in theirs._modules.items():
        if child is None:
            continue
        if id(child) not in known:
            known[id(child)] = nn.Module()
            _mirror(known[id(child)], child, known)
        ours.add_module(name, known[id(child)])

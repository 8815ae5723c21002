"""The base class: a module keeps its output, its parameters and their gradients."""

from __future__ import annotations

import copy
import inspect
import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Self, dataclass_transform

import flambeau
from flambeau import Tensor, dtype
from flambeau.legacy.nn._recording import Recording
from flambeau.utils._pytree import tree_map

# Methods have the names of these types.
Number = float
Kind = type


@dataclass_transform(eq_default=False)
class Module:
    """A function with parameters, whose derivatives the caller asks for.

    A subclass says in `compute(input, *parameters)` what it computes, in operators; gradients are
    those of autograd. Annotated fields of a class are the arguments of its constructor. A class
    that knows its gradients itself defines `updateOutput`, `updateGradInput` and, where it has
    parameters, `accGradParameters`.

    Inputs are tensors, or tables: lists of tensors. Dims count from 0.

    Attributes:
        output: of the last `forward`, without a history of autograd.
        gradInput: of the last `backward`, shaped as the input; None in the place of integers.
        train: whether this is training: `training()` and `evaluate()` set it.

    Example:
        >>> from flambeau.legacy import nn
        >>> class Double(nn.Module):
        ...     def updateOutput(self, input):
        ...         return 2 * input
        >>> Double().forward(flambeau.tensor([1.]))
        tensor([2.])
    """

    def __init_subclass__(cls) -> None:
        dataclass(eq=False, repr=False, init=bool(inspect.get_annotations(cls)))(cls)

    output: Any = None
    gradInput: Any = None
    train: bool = True
    inplace: bool = False
    _recording: Recording | None = None
    _names: tuple[str, ...] = ()
    _fan_in: int = 1

    def compute(self, *args: Any, **kwargs: Any) -> Any:
        """The output for an input, followed by the parameters in the order of their names."""
        raise NotImplementedError(
            f"{self.__class__.__name__} has no compute() and no updateOutput()"
        )

    # --- forward and backward ---

    def forward(self, input: Any) -> Any:
        """The output, which stays in `output`."""
        return self.updateOutput(input)

    def backward(self, input: Any, gradOutput: Any, scale: Number = 1) -> Any:
        """Adds to the gradients of parameters, `scale` times, and returns `gradInput`.

        Args:
            input: what the last `forward` was called with.
            gradOutput: the gradient with respect to the output, shaped as that is.
        """
        self.updateGradInput(input, gradOutput)
        self.accGradParameters(input, gradOutput, scale)
        return self.gradInput

    def __call__(self, input: Any, gradOutput: Any = None) -> Any:
        """`forward`; with `gradOutput` also `backward`, and both results."""
        self.forward(input)
        if gradOutput is None:
            return self.output
        self.backward(input, gradOutput)
        return self.output, self.gradInput

    def updateOutput(self, input: Any) -> Any:
        """Computes `output`."""
        kept = input.clone() if self.inplace else input
        parameters = [getattr(self, name) for name in self._names]
        self._recording = Recording(self.compute, kept, parameters)
        self.output = self._recording.output
        if self.inplace:
            self.output = input.copy_(self.output)
        return self.output

    def updateGradInput(self, input: Any, gradOutput: Any) -> Any:
        """Computes `gradInput`; arguments are those of `backward`.

        Raises:
            RuntimeError: if the input is not that of the last `forward`.
        """
        recording = self._recorded("updateGradInput", input)
        self.gradInput = recording.input_gradient(gradOutput)
        return self.gradInput

    def accGradParameters(self, input: Any, gradOutput: Any, scale: Number = 1) -> None:
        """Adds `scale` times the gradients of the parameters to those that the module keeps.

        Raises:
            RuntimeError: if the input is not that of the last `forward`.
        """
        if not self._names:
            return
        recording = self._recorded("accGradParameters", input)
        gradients = recording.parameter_gradients(gradOutput)
        for name, gradient in zip(self._names, gradients, strict=True):
            if gradient is not None:
                getattr(self, gradient_name(name)).add_(gradient, alpha=scale)

    def accUpdateGradParameters(self, input: Any, gradOutput: Any, lr: Number) -> None:
        """A step of gradient descent with the gradients of this input alone."""
        _, gradients = self.parameters()
        kept = [gradient.clone() for gradient in gradients]
        self.zeroGradParameters()
        self.accGradParameters(input, gradOutput)
        self.updateParameters(lr)
        for gradient, before in zip(gradients, kept, strict=True):
            gradient.copy_(before)

    def backwardUpdate(self, input: Any, gradOutput: Any, lr: Number) -> Any:
        """`gradInput`, and a step of gradient descent."""
        self.updateGradInput(input, gradOutput)
        self.accUpdateGradParameters(input, gradOutput, lr)
        return self.gradInput

    def _recorded(self, method: str, input: Any) -> Recording:
        if self._recording is None:
            raise RuntimeError(
                f"{self.__class__.__name__}.{method}(): forward() was not called before"
            )
        if not self.inplace and not self._recording.is_of(input):
            raise RuntimeError(
                f"{self.__class__.__name__}.{method}(): expected the input of the last forward(), "
                "got another one"
            )
        return self._recording

    # --- parameters ---

    def _own(self, fan_in: int, **shapes: Sequence[int] | None) -> None:
        """Makes parameters of these shapes, by their names, and draws them; None is none."""
        self._names = tuple(shapes)
        self._fan_in = fan_in
        for name, shape in shapes.items():
            made = None if shape is None else flambeau.zeros(*shape)
            setattr(self, name, made)
            setattr(self, gradient_name(name), None if shape is None else flambeau.zeros(*shape))
        self.reset()

    def reset(self, stdv: Number | None = None) -> Self:
        """Draws the parameters anew, uniformly around 0.

        Args:
            stdv: their standard deviation; left out, the bound is `1 / sqrt(fan_in)`.
        """
        bound = 1 / math.sqrt(self._fan_in) if stdv is None else stdv * math.sqrt(3)
        for parameter in self._own_parameters()[0]:
            parameter.uniform_(-bound, bound)
        return self

    def _own_parameters(self) -> tuple[list[Tensor], list[Tensor]]:
        names = [name for name in self._names if getattr(self, name) is not None]
        gradients = [getattr(self, gradient_name(name)) for name in names]
        return [getattr(self, name) for name in names], gradients

    def parameters(self) -> tuple[list[Tensor], list[Tensor]]:
        """All parameters, those of inner modules too, and their gradients."""
        parameters: list[Tensor] = []
        gradients: list[Tensor] = []
        for module in self.listModules():
            for found, more in zip((parameters, gradients), module._own_parameters(), strict=True):
                found += more
        return parameters, gradients

    def zeroGradParameters(self) -> None:
        """Sets the gradients of all parameters to 0."""
        for gradient in self.parameters()[1]:
            gradient.zero_()

    def updateParameters(self, learningRate: Number) -> None:
        """Subtracts `learningRate` times their gradients from the parameters."""
        for parameter, gradient in zip(*self.parameters(), strict=True):
            parameter.sub_(gradient, alpha=learningRate)

    def flattenParameters(self) -> tuple[Tensor, Tensor]:
        """Moves all parameters into one vector, and their gradients into another.

        The tensors of the modules become views of these, so that an optimizer may change all at
        once; modules that share a tensor share it still.
        """
        parameters, gradients = self.parameters()
        return _flattened(parameters), _flattened(gradients)

    def getParameters(self) -> tuple[Tensor, Tensor]:
        """`flattenParameters`, by its name of Lua Torch."""
        return self.flattenParameters()

    def share(self, other: Module, *names: str) -> Self:
        """Lets these tensors, such as "weight", lie where those of a module of the same kind do."""
        for mine, its in zip(self.listModules(), other.listModules(), strict=True):
            for name in names:
                if isinstance(getattr(mine, name, None), Tensor):
                    getattr(mine, name).data = getattr(its, name)
        return self

    # --- state ---

    def training(self) -> None:
        """Dropout drops, normalization looks at the batch."""
        self.apply(lambda module: setattr(module, "train", True))

    def evaluate(self) -> None:
        """Nothing is random, normalization takes what it has seen in training."""
        self.apply(lambda module: setattr(module, "train", False))

    def clearState(self) -> Self:
        """Forgets outputs and gradients of inputs, which files need not have."""
        for module in self.listModules():
            module.output = module.gradInput = module._recording = None
        return self

    def clone(self, *names: str) -> Self:
        """A copy, which shares the tensors of these names with the module."""
        self.clearState()
        copied = copy.deepcopy(self)
        return copied.share(self, *names) if names else copied

    def type(self, dtype: dtype) -> Self:
        """Converts parameters, their gradients and buffers of floating dtypes."""
        for module in self.listModules():
            for name, value in vars(module.clearState()).items():
                if name != "modules":
                    setattr(module, name, tree_map(lambda value: _converted(value, dtype), value))
        return self

    def float(self) -> Self:
        """`type(flambeau.float32)`."""
        return self.type(flambeau.float32)

    def double(self) -> Self:
        """`type(flambeau.float64)`."""
        return self.type(flambeau.float64)

    # --- inner modules ---

    def children(self) -> Sequence[Module]:
        """The modules directly inside."""
        return ()

    def listModules(self) -> list[Module]:
        """This module and all inside, each before its own."""
        return list(_walk(self))

    def findModules(self, kind: Kind) -> list[Module]:
        """Those of `listModules` that are of a class."""
        return [module for module in _walk(self) if isinstance(module, kind)]

    def apply(self, function: Callable[[Module], Any]) -> None:
        """Calls a function with this module and all inside."""
        for module in self.listModules():
            function(module)

    def __repr__(self) -> str:
        shown = {name: getattr(self, name) for name in getattr(self, "__dataclass_fields__", ())}
        for name in self._names:
            parameter = getattr(self, name)
            shown[name] = None if parameter is None else tuple(parameter.shape)
        listed = ", ".join(f"{name}={value!r}" for name, value in shown.items())
        return f"nn.{self.__class__.__name__}({listed})"


def gradient_name(parameter: str) -> str:
    """The attribute with a parameter's gradient: "gradWeight" of "weight"."""
    return f"grad{parameter[0].upper()}{parameter[1:]}"


def _walk(module: Module) -> Iterator[Module]:
    yield module
    for child in module.children():
        yield from _walk(child)


def _flattened(tensors: list[Tensor]) -> Tensor:
    """One vector, which the tensors become views of; what lies in one place does so there."""
    places: dict[tuple[Any, ...], list[Tensor]] = {}
    for tensor in tensors:
        places.setdefault((tensor.data_ptr(), tensor.shape, tensor.stride()), []).append(tensor)
    if not places:
        return flambeau.empty(0)
    firsts = [same[0] for same in places.values()]
    flat = flambeau.cat([first.reshape(-1) for first in firsts])
    parts = flat.split([first.numel() for first in firsts])
    for part, same in zip(parts, places.values(), strict=True):
        for tensor in same:
            tensor.data = part.view(tensor.shape)
    return flat


def _converted(value: Any, dtype: dtype) -> Any:
    floating = isinstance(value, Tensor) and value.is_floating_point()
    return value.to(dtype) if floating else value

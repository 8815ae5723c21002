"""Modules made of modules."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import flambeau
from flambeau import Tensor
from flambeau.legacy.nn.module import Module
from flambeau.utils._pytree import tree_leaves, tree_map

# Asks an inner module for its part of a backward pass; returns the gradient of its input.
Visit = Callable[[Module, Any, Any], Any]


class Container(Module):
    """Modules in a list. A kind of container says in `updateOutput` how inputs reach them, and in
    `_send` how gradients do.

    Example:
        >>> from flambeau.legacy import nn
        >>> isinstance(nn.Sequential(nn.Tanh()), nn.Container), nn.Sequential(nn.Tanh()).size()
        (True, 1)
    """

    def __init__(self, *modules: Module) -> None:
        self.modules: list[Module] = list(modules)

    def add(self, module: Module) -> Container:
        """Appends a module; returns the container."""
        self.modules.append(module)
        return self

    def get(self, index: int) -> Module:
        """The module at a place, which counts from 0."""
        return self.modules[index]

    def size(self) -> int:
        """How many modules are directly inside."""
        return len(self.modules)

    def children(self) -> Sequence[Module]:
        return self.modules

    def updateGradInput(self, input: Any, gradOutput: Any) -> Any:
        self.gradInput = self._send(input, gradOutput, lambda m, i, g: m.updateGradInput(i, g))
        return self.gradInput

    def accGradParameters(self, input: Any, gradOutput: Any, scale: float = 1) -> None:
        def accumulate(module: Module, input: Any, grad: Any) -> Any:
            module.accGradParameters(input, grad, scale)
            return module.gradInput

        self._send(input, gradOutput, accumulate)

    def backward(self, input: Any, gradOutput: Any, scale: float = 1) -> Any:
        self.gradInput = self._send(input, gradOutput, lambda m, i, g: m.backward(i, g, scale))
        return self.gradInput

    def _send(self, input: Any, gradOutput: Any, visit: Visit) -> Any:
        """Visits the modules with their inputs and gradients; returns the input's gradient."""
        raise NotImplementedError(f"{self.__class__.__name__} does not say where gradients flow")

    def __repr__(self) -> str:
        inner = "".join(f"\n({i}): {module!r}" for i, module in enumerate(self.modules))
        return f"nn.{self.__class__.__name__} {{" + inner.replace("\n", "\n  ") + "\n}"


class Sequential(Container):
    """One after another: each takes the output of the one before.

    Example:
        >>> from flambeau.legacy import nn
        >>> model = nn.Sequential(nn.Linear(4, 3), nn.Tanh())
        >>> x = flambeau.ones(2, 4)
        >>> model.forward(x).shape
        flambeau.Size([2, 3])
        >>> model.backward(x, flambeau.ones(2, 3)).shape  # the gradient of the input
        flambeau.Size([2, 4])
    """

    def updateOutput(self, input: Any) -> Any:
        self.output = input
        for module in self.modules:
            self.output = module.forward(self.output)
        return self.output

    def _send(self, input: Any, gradOutput: Any, visit: Visit) -> Any:
        inputs = [input, *(module.output for module in self.modules)]
        grad = gradOutput
        for module, before in zip(reversed(self.modules), reversed(inputs[:-1]), strict=True):
            grad = visit(module, before, grad)
        return grad

    def insert(self, module: Module, index: int) -> Sequential:
        """Puts a module before the one at a place."""
        self.modules.insert(index, module)
        return self

    def remove(self, index: int) -> Module:
        """Takes a module out and returns it."""
        return self.modules.pop(index)


class ConcatTable(Container):
    """Each module gets the whole input; the output is the table of their outputs.

    Example:
        >>> from flambeau.legacy import nn
        >>> nn.ConcatTable(nn.Identity(), nn.MulConstant(2.)).forward(flambeau.tensor([1.]))
        [tensor([1.]), tensor([2.])]
    """

    def updateOutput(self, input: Any) -> Any:
        self.output = [module.forward(input) for module in self.modules]
        return self.output

    def _send(self, input: Any, gradOutput: Any, visit: Visit) -> Any:
        grads = [visit(m, input, g) for m, g in zip(self.modules, gradOutput, strict=True)]
        return added(input, grads)


class ParallelTable(Container):
    """Each module gets its own element of the input, a table; so is the output.

    Example:
        >>> from flambeau.legacy import nn
        >>> model = nn.ParallelTable(nn.Identity(), nn.MulConstant(2.))
        >>> model.forward([flambeau.tensor([1.]), flambeau.tensor([3.])])
        [tensor([1.]), tensor([6.])]
    """

    def updateOutput(self, input: Any) -> Any:
        self.output = [m.forward(part) for m, part in zip(self.modules, input, strict=True)]
        return self.output

    def _send(self, input: Any, gradOutput: Any, visit: Visit) -> Any:
        triples = zip(self.modules, input, gradOutput, strict=True)
        return [visit(module, part, grad) for module, part, grad in triples]


class Concat(Container):
    """Each module gets the whole input; their outputs are joined.

    Args:
        dimension: along which they are joined.

    Example:
        >>> from flambeau.legacy import nn
        >>> model = nn.Concat(0).add(nn.Identity()).add(nn.MulConstant(2.))
        >>> model.forward(flambeau.tensor([1.]))
        tensor([1., 2.])
    """

    def __init__(self, dimension: int) -> None:
        super().__init__()
        self.dimension = dimension

    def updateOutput(self, input: Any) -> Any:
        outputs = [module.forward(input) for module in self.modules]
        self.output = self._joined(outputs)
        return self.output

    def _joined(self, outputs: list[Tensor]) -> Tensor:
        return flambeau.cat(outputs, self.dimension)

    def _parts(self, gradOutput: Tensor) -> Sequence[Tensor]:
        """What of the gradient belongs to the output of each module."""
        sizes = [module.output.shape[self.dimension] for module in self.modules]
        return gradOutput.split(sizes, self.dimension)

    def _send(self, input: Any, gradOutput: Any, visit: Visit) -> Any:
        parts = self._parts(gradOutput)
        return added(input, [visit(m, input, g) for m, g in zip(self.modules, parts, strict=True)])


class DepthConcat(Concat):
    """`Concat` of outputs whose other sizes differ: each lies in the middle of zeros.

    The first dim and the joined one must be equal or joined; the others grow to the largest.

    Example:
        >>> from flambeau.legacy import nn
        >>> model = nn.DepthConcat(1).add(nn.SpatialConvolution(1, 2, 1, 1))
        >>> model = model.add(nn.SpatialConvolution(1, 2, 3, 3))
        >>> model.forward(flambeau.ones(1, 1, 4, 4)).shape
        flambeau.Size([1, 4, 4, 4])
    """

    def _joined(self, outputs: list[Tensor]) -> Tensor:
        sizes = [max(at) for at in zip(*(output.shape for output in outputs), strict=True)]
        sizes[self.dimension] = sum(output.shape[self.dimension] for output in outputs)
        joined = outputs[0].new_zeros(sizes)
        for place, output in zip(self._parts(joined), outputs, strict=True):
            place.copy_(output)
        return joined

    def _parts(self, gradOutput: Tensor) -> Sequence[Tensor]:
        outputs = [module.output for module in self.modules]
        parts = super()._parts(gradOutput)
        return [_middle(p, out, self.dimension) for p, out in zip(parts, outputs, strict=True)]


class Parallel(Container):
    """Each module gets a slice of the input, and their outputs are joined.

    Args:
        inputDimension: whose slices, one per module, are the inputs, without that dim.
        outputDimension: along which the outputs are joined.

    Example:
        >>> from flambeau.legacy import nn
        >>> model = nn.Parallel(0, 0).add(nn.Identity()).add(nn.MulConstant(2.))
        >>> model.forward(flambeau.tensor([[1.], [3.]]))
        tensor([1., 6.])
    """

    def __init__(self, inputDimension: int, outputDimension: int) -> None:
        super().__init__()
        self.inputDimension = inputDimension
        self.outputDimension = outputDimension

    def updateOutput(self, input: Tensor) -> Tensor:
        slices = input.unbind(self.inputDimension)
        outputs = [m.forward(part) for m, part in zip(self.modules, slices, strict=True)]
        self.output = flambeau.cat(outputs, self.outputDimension)
        return self.output

    def _send(self, input: Tensor, gradOutput: Tensor, visit: Visit) -> Tensor:
        sizes = [module.output.shape[self.outputDimension] for module in self.modules]
        slices = input.unbind(self.inputDimension)
        parts = gradOutput.split(sizes, self.outputDimension)
        triples = zip(self.modules, slices, parts, strict=True)
        return flambeau.stack([visit(*triple) for triple in triples], self.inputDimension)


def added(input: Any, gradients: Sequence[Any]) -> Any:
    """The sum of gradients of one input, which may be a table."""
    columns = iter(zip(*(tree_leaves(gradient) for gradient in gradients), strict=True))

    def total(_: Tensor) -> Tensor | None:
        known = [gradient for gradient in next(columns) if gradient is not None]
        return None if not known else flambeau.stack(known).sum(0)

    return tree_map(total, input)


def _middle(whole: Tensor, part: Tensor, joined: int) -> Tensor:
    """The middle of a tensor of the size of another."""
    for dim, size in enumerate(part.shape):
        if dim != joined:
            whole = whole.narrow(dim, (whole.shape[dim] - size) // 2, size)
    return whole

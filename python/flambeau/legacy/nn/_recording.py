"""One call of operators, recorded so that its derivatives can be asked for later."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import flambeau
from flambeau import Tensor
from flambeau.utils._pytree import tree_leaves, tree_map


class Recording:
    """What a function of a tensor, or of a table (a list) of them, made of copies that autograd
    knows as leaves.

    Args:
        function: called with the input and the parameters.
        input: a tensor or a list of tensors, nested to any depth.
        parameters: tensors, or None for those that a module does without.
    """

    def __init__(
        self, function: Callable[..., Any], input: Any, parameters: Sequence[Tensor | None] = ()
    ) -> None:
        self.input = tree_map(_leaf, input)
        self._parameters = [None if p is None else _leaf(p) for p in parameters]
        with flambeau.enable_grad():
            self._result = function(self.input, *self._parameters)
        self.output = tree_map(lambda tensor: tensor.detach(), self._result)

    def is_of(self, input: Any) -> bool:
        """Whether this is a call with such an input: the same memory, or the same elements."""
        ours, others = tree_leaves(self.input), tree_leaves(input)
        return len(ours) == len(others) and all(map(_same, ours, others))

    def input_gradient(self, grad_output: Any) -> Any:
        """Shaped as the input is; None in the place of integers."""
        gradients = iter(self._gradients(tree_leaves(self.input), grad_output))
        return tree_map(lambda _: next(gradients), self.input)

    def parameter_gradients(self, grad_output: Any) -> list[Tensor | None]:
        return self._gradients(self._parameters, grad_output)

    def _gradients(self, leaves: Sequence[Tensor | None], grad_output: Any) -> list[Tensor | None]:
        """Of each leaf; zeros where the result does not depend on it."""
        wanted = [leaf for leaf in leaves if leaf is not None and leaf.requires_grad]
        pairs = zip(tree_leaves(self._result), tree_leaves(grad_output), strict=True)
        known = [(result, grad) for result, grad in pairs if result.requires_grad]
        if not wanted or not known:
            return [None if leaf is None else _zeros(leaf) for leaf in leaves]
        results, grads = zip(*known, strict=True)
        found = iter(
            flambeau.autograd.grad(results, wanted, grads, retain_graph=True, allow_unused=True)
        )
        gradients: list[Tensor | None] = []
        for leaf in leaves:
            if leaf is None or not leaf.requires_grad:
                gradients.append(None)
            else:
                gradient = next(found)
                gradients.append(_zeros(leaf) if gradient is None else gradient)
        return gradients


def _leaf(tensor: Tensor) -> Tensor:
    return tensor.detach().requires_grad_(tensor.is_floating_point())


def _zeros(leaf: Tensor) -> Tensor | None:
    return flambeau.zeros_like(leaf) if leaf.requires_grad else None


def _same(ours: Tensor, other: Any) -> bool:
    if not isinstance(other, Tensor) or ours.shape != other.shape or ours.dtype != other.dtype:
        return False
    place = ours.data_ptr() == other.data_ptr() and ours.stride() == other.stride()
    return place or flambeau.equal(ours, other)

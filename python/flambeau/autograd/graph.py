"""Looking at the graph that backward walks."""

from __future__ import annotations

from typing import NamedTuple

from flambeau import _C

Node = _C._autograd.Node


class GradientEdge(NamedTuple):
    """Where the gradient of a tensor flows: output `output_nr` of `node`."""

    node: _C._autograd.Node
    output_nr: int


def get_gradient_edge(tensor: _C.Tensor) -> GradientEdge:
    """The edge of a tensor that requires grad: its grad_fn, or a leaf's accumulator."""
    return GradientEdge(*_C._autograd.gradient_edge(tensor))


def saved_tensors(node: _C._autograd.Node) -> dict[str, _C.Tensor]:
    """The tensors that an operation keeps for its backward, by the names in its declaration.

    Raises:
        RuntimeError: when one was freed, or written in place since.
    """
    return dict(node._saved())


def increment_version(tensor: _C.Tensor | list[_C.Tensor]) -> None:
    """Notes that tensors were written behind autograd's back."""
    for item in [tensor] if isinstance(tensor, _C.Tensor) else tensor:
        item._bump_version()

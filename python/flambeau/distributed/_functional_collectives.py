"""Names that libraries import: results of collective calls are there when these return."""

from __future__ import annotations

from flambeau import Tensor
from flambeau.distributed.nn import functional
from flambeau.distributed.world import Group


def wait_tensor(tensor: Tensor) -> Tensor:
    """The tensor itself: no call of ours leaves one that is not there yet."""
    return tensor


def all_to_all_single_autograd(
    self: Tensor,
    output_split_sizes: list[int] | None,
    input_split_sizes: list[int] | None,
    group: Group,
    tag: str = "",
) -> Tensor:
    """`distributed.nn.functional.all_to_all_single`, whose result is a new tensor.

    Args:
        tag: accepted: a group is what it is.
    """
    rows = self.shape[0] if output_split_sizes is None else sum(output_split_sizes)
    output = self.new_empty((rows, *self.shape[1:]))
    return functional.all_to_all_single(output, self, output_split_sizes, input_split_sizes, group)

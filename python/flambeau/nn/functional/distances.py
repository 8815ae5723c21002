"""A loss whose distance is any function, which no signature holds."""

from __future__ import annotations

from collections.abc import Callable

from flambeau import Tensor
from flambeau.nn.functional.reductions import check_reduction, reduced


def triplet_margin_with_distance_loss(
    anchor: Tensor,
    positive: Tensor,
    negative: Tensor,
    *,
    distance_function: Callable[[Tensor, Tensor], Tensor] | None = None,
    margin: float = 1.0,
    swap: bool = False,
    reduction: str = "mean",
) -> Tensor:
    """max(d(anchor, positive) - d(anchor, negative) + margin, 0), for any distance d.

    Args:
        anchor, positive, negative: tensors of one shape.
        distance_function: d, of two tensors; None: `pairwise_distance`.
        margin: by how much the negative should be farther away.
        swap: use d(positive, negative) where it is smaller than d(anchor, negative).
        reduction: "none", "mean" or "sum".

    Returns:
        A number, or with reduction "none" one loss per distance.

    Raises:
        ValueError: for a margin that is not positive, or an unknown reduction.
        RuntimeError: for inputs that differ in their number of dims.

    Example:
        >>> F = flambeau.nn.functional
        >>> anchor, positive = flambeau.zeros(1, 2), flambeau.tensor([[0., 1.]])
        >>> F.triplet_margin_with_distance_loss(anchor, positive, flambeau.tensor([[0., 1.5]]))
        tensor(0.5000)
    """
    from flambeau.nn import functional as F

    name = "triplet_margin_with_distance_loss"
    check_reduction(f"{name}()", reduction)
    if margin <= 0:
        raise ValueError(f"{name}(): margin must be positive, got {margin}")
    if not anchor.dim() == positive.dim() == negative.dim():
        shapes = ", ".join(str(tuple(t.shape)) for t in (anchor, positive, negative))
        raise RuntimeError(f"{name}(): expected inputs of as many dims each, got shapes {shapes}")
    distance = F.pairwise_distance if distance_function is None else distance_function
    near, far = distance(anchor, positive), distance(anchor, negative)
    if swap:
        far = far.minimum(distance(positive, negative))
    return reduced((near - far + margin).clamp(min=0), reduction)

"""Sets of values whose parts along a dim lie in sets of their own."""

from __future__ import annotations

from collections.abc import Sequence

import flambeau
from flambeau import Tensor
from flambeau.distributions._constraint import Constraint


class _Parts(Constraint):
    """Values whose parts along a dim lie in sets of their own."""

    def __init__(self, cseq: Sequence[Constraint], dim: int) -> None:
        self.cseq, self.dim = list(cseq), dim
        if not all(isinstance(c, Constraint) for c in self.cseq):
            raise TypeError(f"expected constraints, got {self.cseq}")
        super().__init__()

    @property
    def is_discrete(self) -> bool:
        return any(c.is_discrete for c in self.cseq)

    @property
    def event_dim(self) -> int:
        return max(c.event_dim for c in self.cseq)

    def _arguments(self) -> str:
        return ""

    def _check_dim(self, value: Tensor) -> None:
        if not -value.dim() <= self.dim < value.dim():
            raise ValueError(
                f"{self!r}: a tensor of shape {tuple(value.shape)} has no dim {self.dim}"
            )


class _Cat(_Parts):
    """Parts of several lengths along a dim, as those of a concatenation.

    Args:
        cseq: the sets of the parts.
        dim: along which they lie.
        lengths: of the parts; None: 1 each.

    Example:
        >>> from flambeau.distributions import constraints
        >>> constraint = constraints.cat([constraints.positive, constraints.real], lengths=[1, 1])
        >>> constraint.check(flambeau.tensor([1., -1.]))
        tensor([True, True])
    """

    def __init__(
        self,
        cseq: Sequence[Constraint],
        dim: int = 0,
        lengths: Sequence[int] | None = None,
    ) -> None:
        super().__init__(cseq, dim)
        self.lengths = [1] * len(self.cseq) if lengths is None else list(lengths)
        if len(self.lengths) != len(self.cseq):
            raise ValueError(
                f"cat: expected a length per constraint, got {len(self.lengths)} lengths "
                f"for {len(self.cseq)} constraints"
            )

    def check(self, value: Tensor) -> Tensor:
        self._check_dim(value)
        found, start = [], 0
        for constraint, length in zip(self.cseq, self.lengths, strict=True):
            found.append(constraint.check(value.narrow(self.dim, start, length)))
            start += length
        return flambeau.cat(found, self.dim)


class _Stack(_Parts):
    """Slices along a dim, as those of a stack.

    Args:
        cseq: the sets of the slices.
        dim: along which they lie.

    Example:
        >>> from flambeau.distributions import constraints
        >>> constraint = constraints.stack([constraints.positive, constraints.real])
        >>> constraint.check(flambeau.tensor([[1.], [-1.]]))
        tensor([[True],
                [True]])
    """

    def __init__(self, cseq: Sequence[Constraint], dim: int = 0) -> None:
        super().__init__(cseq, dim)

    @property
    def event_dim(self) -> int:
        dims = super().event_dim
        return dims + 1 if self.dim + dims < 0 else dims

    def check(self, value: Tensor) -> Tensor:
        self._check_dim(value)
        slices = value.unbind(self.dim)
        found = [c.check(v) for c, v in zip(self.cseq, slices, strict=True)]
        return flambeau.stack(found, self.dim)

"""Softmax over many classes, the rare ones in clusters (E. Grave et al., Efficient softmax
approximation for GPUs, 2016).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import flambeau
from flambeau import Tensor
from flambeau._values import brief
from flambeau.nn import functional as F
from flambeau.nn.containers import ModuleList, Sequential
from flambeau.nn.linear import Linear
from flambeau.nn.module import Module


class ASMoutput(NamedTuple):
    """The log-probability of each target, and minus their mean."""

    output: Tensor
    loss: Tensor


class AdaptiveLogSoftmaxWithLoss(Module):
    """Log-probabilities of classes that are sorted by how frequent they are.

    Args:
        in_features: features of the input.
        n_classes: number of classes.
        cutoffs: where clusters of rarer classes begin, increasing, between 1 and n_classes - 1.
        div_value: each cluster has so many times fewer features than the one before.
        head_bias: whether the projection to the frequent classes has a bias.
        device, dtype: of the parameters.

    Shapes: input (N, in_features) or (in_features), target (N) or (); output as the target.

    Source: E. Grave et al., Efficient softmax approximation for GPUs, 2016.

    Example:
        >>> layer = flambeau.nn.AdaptiveLogSoftmaxWithLoss(8, n_classes=100, cutoffs=[10, 50])
        >>> output, loss = layer(flambeau.randn(3, 8), flambeau.tensor([0, 20, 99]))
        >>> output.shape, loss.shape
        (flambeau.Size([3]), flambeau.Size([]))
        >>> print(f"{layer.log_prob(flambeau.randn(1, 8)).exp().sum():.2f}")
        1.00
    """

    def __init__(
        self,
        in_features: int,
        n_classes: int,
        cutoffs: Sequence[int],
        div_value: float = 4.0,
        head_bias: bool = False,
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__()
        limits = list(cutoffs)
        in_order = all(a < b for a, b in zip([0, *limits], [*limits, n_classes], strict=True))
        if not limits or not in_order or any(int(c) != c for c in limits):
            raise ValueError(
                f"AdaptiveLogSoftmaxWithLoss: cutoffs must be increasing integers from 1 to "
                f"{n_classes - 1}, got {brief(limits)}"
            )
        self.in_features = in_features
        self.n_classes = n_classes
        self.cutoffs = [*limits, n_classes]
        self.div_value = div_value
        self.head_bias = head_bias
        self.shortlist_size = self.cutoffs[0]
        self.n_clusters = len(self.cutoffs) - 1
        self.head_size = self.shortlist_size + self.n_clusters
        where = {"device": device, "dtype": dtype}
        self.head = Linear(in_features, self.head_size, bias=head_bias, **where)
        self.tail = ModuleList()
        for i in range(self.n_clusters):
            hidden = int(in_features // div_value ** (i + 1))
            size = self.cutoffs[i + 1] - self.cutoffs[i]
            self.tail.append(
                Sequential(
                    Linear(in_features, hidden, bias=False, **where),
                    Linear(hidden, size, bias=False, **where),
                )
            )

    def reset_parameters(self) -> None:
        """Draws new weights."""
        self.head.reset_parameters()
        for layer in self.tail.modules():
            if isinstance(layer, Linear):
                layer.reset_parameters()

    def forward(self, input_: Tensor, target_: Tensor) -> ASMoutput:
        """(log-probability of each target, minus their mean)."""
        single = target_.dim() == 0
        if target_.dim() > 1 or input_.dim() != target_.dim() + 1:
            raise RuntimeError(
                f"AdaptiveLogSoftmaxWithLoss: expected an input with one dim more than the "
                f"target, which has one at most, got shapes {tuple(input_.shape)} and "
                f"{tuple(target_.shape)}"
            )
        rows = input_.unsqueeze(0) if single else input_
        classes = target_.unsqueeze(0) if single else target_
        if rows.shape[0] != classes.shape[0]:
            raise RuntimeError(
                f"AdaptiveLogSoftmaxWithLoss: expected a target for each of {rows.shape[0]} "
                f"samples, got {classes.shape[0]}"
            )
        if bool(((classes < 0) | (classes >= self.n_classes)).any()):
            raise RuntimeError(
                f"AdaptiveLogSoftmaxWithLoss: targets must be from 0 to {self.n_classes - 1}"
            )
        head = F.log_softmax(self.head(rows), 1)
        # A rare class counts through its cluster in the head.
        known = classes.clamp(max=self.shortlist_size - 1)
        output = head.gather(1, known.unsqueeze(1)).squeeze(1)
        for i, cluster in enumerate(self.tail):
            first, end = self.cutoffs[i], self.cutoffs[i + 1]
            chosen = ((classes >= first) & (classes < end)).nonzero().squeeze(1)
            if not chosen.numel():
                continue
            inside = F.log_softmax(cluster(rows.index_select(0, chosen)), 1)
            place = (classes.index_select(0, chosen) - first).unsqueeze(1)
            found = inside.gather(1, place).squeeze(1)
            found = found + head[:, self.shortlist_size + i].index_select(0, chosen)
            output = output.index_copy(0, chosen, found)
        loss = -output.mean()
        return ASMoutput(output.squeeze(0) if single else output, loss)

    def log_prob(self, input: Tensor) -> Tensor:
        """The log-probabilities of all classes, (N, n_classes)."""
        head = self.head(input)
        logs = F.log_softmax(head, 1)
        parts = [logs[:, : self.shortlist_size]]
        for i, cluster in enumerate(self.tail):
            inside = F.log_softmax(cluster(input), 1)
            parts.append(inside + logs[:, self.shortlist_size + i].unsqueeze(1))
        return flambeau.cat(parts, 1)

    def predict(self, input: Tensor) -> Tensor:
        """The most probable class of each sample, (N)."""
        return self.log_prob(input).argmax(1)

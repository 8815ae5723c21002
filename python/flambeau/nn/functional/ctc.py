"""Connectionist temporal classification (A. Graves et al., 2006): a recurrence over time, which no
entry can hold. Its steps are operators, so that it differentiates to any order.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import flambeau
from flambeau import Tensor
from flambeau._values import brief
from flambeau.nn.functional.reductions import check_reduction, reduced

_NAME = "ctc_loss"
# The logarithm of no probability: infinite ones would make differences of them NaN.
_NOTHING = -1e30


def ctc_loss(
    log_probs: Tensor,
    targets: Tensor,
    input_lengths: Tensor | Sequence[int],
    target_lengths: Tensor | Sequence[int],
    blank: int = 0,
    reduction: str = "mean",
    zero_infinity: bool = False,
) -> Tensor:
    """Minus the log-probability of label sequences, summed over all alignments with the input.

    The gradient is that of logits whose log_softmax `log_probs` are: it sums to 0 over the classes.

    Args:
        log_probs: logarithms of probabilities of classes, (T, N, C) or (T, C).
        targets: labels, none of them `blank`: (N, S), or those of all samples in one dim; without
            N, (S).
        input_lengths: how many of the T steps count, (N) or ().
        target_lengths: how many labels each sample has, (N) or ().
        blank: the class between labels.
        reduction: "none", "mean" (of the losses divided by their target lengths) or "sum".
        zero_infinity: losses, and gradients, of labels that do not fit the input are 0 rather than
            infinite.

    Returns:
        The loss: (N) or () with reduction "none", a number otherwise.

    Raises:
        RuntimeError: for shapes, lengths or labels that do not agree.
        ValueError: for an unknown reduction.
    """
    check_reduction(f"{_NAME}()", reduction)
    if log_probs.dim() not in (2, 3) or not log_probs.is_floating_point():
        raise RuntimeError(
            f"{_NAME}(): expected floating log_probs of two or three dims, got "
            f"{tuple(log_probs.shape)} of {log_probs.dtype}"
        )
    single = log_probs.dim() == 2
    probs = log_probs.unsqueeze(1) if single else log_probs
    steps, samples, classes = probs.shape
    if not 0 <= blank < classes:
        raise RuntimeError(f"{_NAME}(): blank must be from 0 to below {classes}, got {blank}")
    spans = _lengths("input_lengths", input_lengths, samples, steps, log_probs)
    sizes = _lengths("target_lengths", target_lengths, samples, None, log_probs)
    labels = _padded(targets.unsqueeze(0) if single and targets.dim() == 1 else targets, sizes)
    losses = _losses(probs, labels, spans, sizes, blank)
    if zero_infinity:
        losses = losses.where(losses != flambeau.inf, 0)
    if single:
        losses, sizes = losses.squeeze(0), sizes.squeeze(0)
    if reduction == "mean":
        losses = losses / sizes.clamp(min=1).to(losses.dtype)
    return reduced(losses, reduction)


def _lengths(
    name: str, given: Tensor | Sequence[int], samples: int, most: int | None, like: Tensor
) -> Tensor:
    """Lengths as a tensor of int64, one for each sample."""
    if isinstance(given, Tensor) and (given.is_floating_point() or given.is_complex()):
        raise RuntimeError(f"{_NAME}(): {name} must be integers, got {given.dtype}")
    lengths = flambeau.as_tensor(given, dtype=flambeau.int64, device=like.device).reshape([-1])
    if lengths.numel() != samples:
        raise RuntimeError(
            f"{_NAME}(): {name} must have one item for each of {samples} samples, got "
            f"{lengths.numel()}"
        )
    seen = lengths.tolist()
    if any(n < 0 or (most is not None and n > most) for n in seen):
        bound = "not be negative" if most is None else f"be from 0 to {most}"
        raise RuntimeError(f"{_NAME}(): {name} must {bound}, got {brief(seen)}")
    return lengths


def _padded(targets: Tensor, sizes: Tensor) -> Tensor:
    """Labels as (N, S), with anything where a sample has fewer."""
    if targets.is_floating_point() or targets.is_complex() or targets.dim() not in (1, 2):
        raise RuntimeError(
            f"{_NAME}(): expected targets of one or two dims and integers, got "
            f"{tuple(targets.shape)} of {targets.dtype}"
        )
    longest = max(sizes.tolist(), default=0)
    if targets.dim() == 2:
        if targets.shape[0] != sizes.numel() or targets.shape[1] < longest:
            raise RuntimeError(
                f"{_NAME}(): targets of shape {tuple(targets.shape)} do not hold {longest} labels "
                f"for each of {sizes.numel()} samples"
            )
        return targets[:, :longest].long()
    if targets.numel() != int(sizes.sum()):
        raise RuntimeError(
            f"{_NAME}(): target_lengths add up to {int(sizes.sum())}, there are "
            f"{targets.numel()} targets"
        )
    begins = (sizes.cumsum(0) - sizes).unsqueeze(1)
    places = begins + flambeau.arange(longest, device=targets.device)
    if not targets.numel():
        return targets.new_zeros(list(places.shape)).long()
    return targets.long()[places.clamp(max=targets.numel() - 1)]


def _losses(probs: Tensor, labels: Tensor, spans: Tensor, sizes: Tensor, blank: int) -> Tensor:
    """The losses of samples; infinity where labels do not fit."""
    steps, samples, classes = probs.shape
    inside = flambeau.arange(labels.shape[1], device=labels.device) < sizes.unsqueeze(1)
    if bool((inside & ((labels < 0) | (labels >= classes))).any()):
        raise RuntimeError(f"{_NAME}(): targets must be from 0 to below {classes}")
    # Blanks between, before and after the labels.
    states = 2 * labels.shape[1] + 1
    extended = labels.new_full([samples, states], blank)
    extended[:, 1::2] = labels.where(inside, blank)
    # A label may follow another one at once, unless they are the same.
    skips = extended.new_zeros([samples, states], dtype=flambeau.bool)
    skips[:, 2:] = (extended[:, 2:] != blank) & (extended[:, 2:] != extended[:, :-2])
    heights = probs.clamp(min=_NOTHING).gather(2, extended.expand(steps, samples, states))
    first = flambeau.arange(states, device=labels.device) < 2
    empty: Any = flambeau.full([samples, states], _NOTHING, dtype=probs.dtype, device=probs.device)
    rows = list(heights.unbind(0))
    alpha = rows[0].where(first, _NOTHING) if rows else empty
    shortest = min(spans.tolist(), default=0)
    for t in range(1, max(spans.tolist(), default=0)):
        beside = flambeau.nn.functional.pad(alpha, [2, 0], value=_NOTHING)
        skipped = beside[:, :-2].where(skips, _NOTHING)
        stepped = alpha.logaddexp(beside[:, 1:-1]).logaddexp(skipped) + rows[t]
        alpha = stepped if t < shortest else stepped.where((spans > t).unsqueeze(1), alpha)
    last = (2 * sizes).unsqueeze(1)
    ended = alpha.gather(1, last).squeeze(1)
    label = alpha.gather(1, (last - 1).clamp(min=0)).squeeze(1).where(sizes > 0, _NOTHING)
    found = -ended.logaddexp(label)
    # Of no steps at all, no labels are certain.
    found = found.where(spans > 0, found.new_zeros([]).where(sizes == 0, -_NOTHING))
    fits = found < -_NOTHING / 2
    found = found.where(fits, 0) + _normalizer(probs, spans).where(fits, 0)
    return found.where(fits, flambeau.inf)


def _normalizer(probs: Tensor, spans: Tensor) -> Tensor:
    """0, with the gradient that makes the whole one's sum over the classes 0."""
    steps = flambeau.arange(probs.shape[0], device=probs.device).unsqueeze(1)
    total = probs.exp().sum(2).where(steps < spans, 0).sum(0)
    return total - total.detach()

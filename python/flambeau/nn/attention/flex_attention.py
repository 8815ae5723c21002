"""Attention whose scores functions change and mask.

    def causal(batch, head, query, key):
        return query >= key

    def nearer_counts_more(score, batch, head, query, key):
        return score - 0.1 * (query - key)

    mask = create_block_mask(causal, None, None, 512, 512)
    output = flex_attention(q, k, v, score_mod=nearer_counts_more, block_mask=mask)

The functions are called with `flambeau.vmap` for all scores at once, which are in memory then: as
PyTorch does where it does not compile.
"""

from __future__ import annotations

import inspect
import math
from collections.abc import Callable
from typing import Any, NamedTuple

import flambeau
from flambeau import Tensor
from flambeau._values import brief
from flambeau.nn import functional as F
from flambeau.nn.attention.block_mask import (
    DEFAULT_SIZE,
    BlockMask,
    MaskMod,
    both,
    noop_mask,
    numbered,
)

__all__ = [
    "AuxOutput",
    "AuxRequest",
    "BlockMask",
    "and_masks",
    "create_block_mask",
    "create_mask",
    "flex_attention",
    "noop_mask",
    "or_masks",
]

# Names that libraries take from here.
_DEFAULT_SPARSE_BLOCK_SIZE = DEFAULT_SIZE
_mask_mod_signature = MaskMod
_score_mod_signature = Callable[[Tensor, Tensor, Tensor, Tensor, Tensor], Tensor]


class AuxRequest(NamedTuple):
    """What else `flex_attention` is to return.

    Args:
        lse: logarithms of the sums of exponentials of scores.
        max_scores: the largest scores.

    Example:
        >>> from flambeau.nn.attention.flex_attention import AuxRequest, flex_attention
        >>> q, k, v = flambeau.zeros(3, 1, 1, 2, 4)
        >>> _, found = flex_attention(q, k, v, return_aux=AuxRequest(lse=True))
        >>> found.lse  # log 2
        tensor([[[0.6931, 0.6931]]])
    """

    lse: bool = False
    max_scores: bool = False


class AuxOutput(NamedTuple):
    """What `AuxRequest` asked for; None of the rest.

    Args:
        lse, max_scores: [batch, heads, queries].

    Example:
        >>> from flambeau.nn.attention.flex_attention import AuxOutput
        >>> AuxOutput()
        AuxOutput(lse=None, max_scores=None)
    """

    lse: Tensor | None = None
    max_scores: Tensor | None = None


def and_masks(*mask_mods: MaskMod) -> MaskMod:
    """The mask of scores that count in all of some masks.

    Args:
        mask_mods: functions of indices (batch, head, query, key).

    Raises:
        RuntimeError: one cannot be called.

    Example:
        >>> from flambeau.nn.attention.flex_attention import and_masks, create_mask
        >>> near = and_masks(lambda b, h, q, kv: q >= kv, lambda b, h, q, kv: q - kv < 2)
        >>> create_mask(near, 1, 1, 3, 3)[0, 0]
        tensor([[ True, False, False],
                [ True,  True, False],
                [False,  True,  True]])
    """
    _check_callable("and_masks", mask_mods)

    def all_of(b: Tensor, h: Tensor, q: Tensor, kv: Tensor) -> Tensor:
        result = noop_mask(b, h, q, kv)
        for mask in mask_mods:
            result = result & mask(b, h, q, kv)
        return result

    return all_of


def or_masks(*mask_mods: MaskMod) -> MaskMod:
    """The mask of scores that count in any of some masks.

    Args:
        mask_mods: functions of indices (batch, head, query, key).

    Raises:
        RuntimeError: one cannot be called.

    Example:
        >>> from flambeau.nn.attention.flex_attention import create_mask, or_masks
        >>> prefix = or_masks(lambda b, h, q, kv: q >= kv, lambda b, h, q, kv: kv < 2)
        >>> create_mask(prefix, 1, 1, 3, 3)[0, 0]
        tensor([[ True,  True, False],
                [ True,  True, False],
                [ True,  True,  True]])
    """
    _check_callable("or_masks", mask_mods)

    def any_of(b: Tensor, h: Tensor, q: Tensor, kv: Tensor) -> Tensor:
        result = b.new_zeros((), dtype=flambeau.bool)
        for mask in mask_mods:
            result = result | mask(b, h, q, kv)
        return result

    return any_of


def _check_callable(name: str, functions: tuple[Any, ...]) -> None:
    for function in functions:
        if not callable(function):
            raise RuntimeError(f"{name}(): expected functions, got {brief(function)}")


def _everywhere(
    function: Callable[..., Tensor],
    sizes: tuple[int, int, int, int],
    device: Any,
    scores: Tensor | None = None,
) -> Tensor:
    """A function of (batch, head, query, key), or of a score and these, of all there are."""
    first: tuple[Any, ...] = () if scores is None else (0,)
    given = () if scores is None else (scores,)
    for place in (3, 2, 1, 0):
        dims = tuple(0 if i == place else None for i in range(4))
        function = flambeau.vmap(function, in_dims=(*first, *dims))
    return function(*given, *(flambeau.arange(n, device=device) for n in sizes))


def create_mask(
    mod_fn: Callable[..., Tensor],
    B: int | None,
    H: int | None,
    Q_LEN: int,
    KV_LEN: int,
    device: Any = None,
) -> Tensor:
    """Which scores count, as a tensor of bool.

    Args:
        mod_fn: says it of indices (batch, head, query, key); or changes a score, given before
            these, and makes it -inf where it does not count.
        B, H: of the batch and of the heads; None: the mask is the same for all, and 1.
        Q_LEN, KV_LEN: of queries and keys.
        device: None: the default one.

    Returns:
        [B, H, Q_LEN, KV_LEN].

    Example:
        >>> from flambeau.nn.attention.flex_attention import create_mask
        >>> create_mask(lambda b, h, q, kv: q >= kv, None, None, 2, 3)
        tensor([[[[ True, False, False],
                  [ True,  True, False]]]])
    """
    sizes = (B or 1, H or 1, Q_LEN, KV_LEN)
    if _takes_scores(mod_fn):
        scores = flambeau.zeros(sizes, device=device)
        return ~flambeau.isneginf(_everywhere(mod_fn, sizes, device, scores))
    return _everywhere(mod_fn, sizes, device)


def _takes_scores(function: Callable[..., Tensor]) -> bool:
    kinds = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
    parameters = inspect.signature(function).parameters.values()
    needed = [p for p in parameters if p.kind in kinds and p.default is p.empty]
    if len(needed) not in (4, 5):
        raise ValueError(
            "create_mask(): expected a function of 4 indices, or of a score and these, got one of "
            f"{len(needed)} arguments"
        )
    return len(needed) == 5


def create_block_mask(
    mask_mod: MaskMod,
    B: int | None,
    H: int | None,
    Q_LEN: int,
    KV_LEN: int,
    device: Any = None,
    BLOCK_SIZE: int | tuple[int, int] = DEFAULT_SIZE,
    _compile: bool = False,
    separate_full_blocks: bool = True,
    compute_dq_write_order: bool = False,
    dq_kv_order: bool = True,
) -> BlockMask:
    """The mask of a function, and which of its blocks are empty.

    Args:
        mask_mod: says of indices (batch, head, query, key) whether a score counts.
        B, H: of the batch and of the heads; None: the mask is the same for all.
        Q_LEN, KV_LEN: of queries and keys.
        device: None: the default one.
        BLOCK_SIZE: queries and keys of a block, or one number for both.
        separate_full_blocks: whether full blocks are listed apart.
        compute_dq_write_order, dq_kv_order: accepted: orders of PyTorch's kernels for GPUs.

    Example:
        >>> from flambeau.nn.attention.flex_attention import create_block_mask
        >>> document = flambeau.tensor([0] * 128 + [1] * 128)
        >>> def same(b, h, q, kv):
        ...     return document[q] == document[kv]
        >>> create_block_mask(same, None, None, 256, 256).to_dense()[0, 0]
        tensor([[1, 0],
                [0, 1]], dtype=flambeau.int32)
    """
    rows, columns = sizes = both(BLOCK_SIZE)
    mask = create_mask(mask_mod, B, H, Q_LEN, KV_LEN, device)
    padded = F.pad(mask.to(flambeau.int32), (0, -KV_LEN % columns, 0, -Q_LEN % rows))
    counts = padded.unflatten(-1, (-1, columns)).unflatten(-3, (-1, rows)).sum((-3, -1))
    full = counts == rows * columns
    if not separate_full_blocks:
        full = flambeau.zeros_like(full)
    numbers, indices = numbered((counts > 0) & ~full)
    full_numbers, full_indices = numbered(full) if separate_full_blocks else (None, None)
    return BlockMask(
        (Q_LEN, KV_LEN),
        numbers,
        indices,
        full_numbers,
        full_indices,
        BLOCK_SIZE=sizes,
        mask_mod=mask_mod,
    )


def flex_attention(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    score_mod: Callable[..., Tensor] | None = None,
    block_mask: BlockMask | None = None,
    scale: float | None = None,
    enable_gqa: bool = False,
    return_lse: bool = False,
    kernel_options: Any = None,
    *,
    return_aux: AuxRequest | None = None,
) -> Any:
    """Attention: sums of values, weighted by the softmax of scores that functions change.

    Args:
        query: [batch, heads, queries, width].
        key: [batch, heads, keys, width]; its batch may be 1.
        value: [batch, heads, keys, width of results].
        score_mod: makes a score of a score and its indices (batch, head, query, key).
        block_mask: which scores count; None: all.
        scale: factor of the products of queries and keys; None: 1 / sqrt(width).
        enable_gqa: whether several heads of queries share one of keys and values.
        return_lse: the former way of `return_aux=AuxRequest(lse=True)`, which gives (result, lse).
        kernel_options: accepted: they choose among kernels for GPUs.
        return_aux: what else to return.

    Returns:
        [batch, heads, queries, width of results], 0 where no score counts; with `return_aux` also
        an `AuxOutput`.

    Raises:
        ValueError: shapes do not fit together, or to the mask.

    Example:
        >>> from flambeau.nn.attention.flex_attention import flex_attention
        >>> q, k, v = flambeau.randn(3, 1, 2, 4, 8)
        >>> slopes = flambeau.tensor([0.5, 0.25])
        >>> def biased(score, b, h, q, kv):
        ...     return score - slopes[h] * (q - kv).abs()
        >>> flex_attention(q, k, v, score_mod=biased).shape
        flambeau.Size([1, 2, 4, 8])
    """
    groups = _check(query, key, value, block_mask, enable_gqa)
    if scale is None:
        scale = 1 / math.sqrt(query.shape[-1])
    batch, heads, queries = query.shape[:3]
    sizes = (batch, heads, queries, key.shape[-2])
    keep = None
    if block_mask is not None:
        keep = block_mask.keeps(_everywhere(block_mask.mask_mod, sizes, query.device))
    if score_mod is None and not return_lse and return_aux is None:
        key, value = (t.expand(batch, *t.shape[1:]) for t in (key, value))
        return F.scaled_dot_product_attention(
            query, key, value, attn_mask=keep, scale=scale, enable_gqa=enable_gqa
        )
    key, value = (t.repeat_interleave(groups, 1) if groups > 1 else t for t in (key, value))
    precise = flambeau.float64 if query.dtype == flambeau.float64 else flambeau.float32
    scores = (query @ key.mT).to(precise) * scale
    if score_mod is not None:
        scores = _everywhere(score_mod, sizes, query.device, scores)
    if keep is not None:
        scores = scores.masked_fill(~keep, -math.inf)
    ignored = (scores == -math.inf).all(-1, keepdim=True)
    weights = scores.masked_fill(ignored, 0.0).softmax(-1).masked_fill(ignored, 0.0)
    result = weights.to(query.dtype) @ value
    if not return_lse and return_aux is None:
        return result
    lse = scores.logsumexp(-1)
    if return_aux is None:
        return result, lse
    largest = scores.amax(-1) if return_aux.max_scores else None
    return result, AuxOutput(lse if return_aux.lse else None, largest)


def _check(query: Tensor, key: Tensor, value: Tensor, mask: BlockMask | None, grouped: bool) -> int:
    """How many heads of queries share one of keys.

    Raises:
        ValueError: shapes do not fit.
    """
    shapes = [tuple(t.shape) for t in (query, key, value)]
    shown = f"got query {shapes[0]}, key {shapes[1]} and value {shapes[2]}"
    if any(len(shape) != 4 for shape in shapes):
        raise ValueError(f"flex_attention(): expected (batch, heads, length, width), {shown}")
    if shapes[0][-1] != shapes[1][-1] or shapes[1][:-1] != shapes[2][:-1]:
        raise ValueError(
            "flex_attention(): query and key must have one width, key and value the same keys, "
            f"{shown}"
        )
    if shapes[1][0] not in (1, shapes[0][0]):
        raise ValueError(f"flex_attention(): batches differ, {shown}")
    heads, shared = shapes[0][1], shapes[1][1]
    if heads != shared and not (grouped and shared and heads % shared == 0):
        advice = "" if grouped else "; enable_gqa=True lets several share one"
        raise ValueError(f"flex_attention(): heads differ{advice}, {shown}")
    if mask is not None:
        wanted = (shapes[0][0], heads, shapes[0][2], shapes[1][2])
        if mask.shape[-2:] != wanted[2:] or any(
            ours not in (1, n) for ours, n in zip(mask.shape[:-2], wanted[:2], strict=True)
        ):
            raise ValueError(
                f"flex_attention(): block_mask is of {mask.shape}, and scores are {wanted}"
            )
    return heads // shared if shared else 1

"""Attention with functions of scores, against loops over them in NumPy."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

import flambeau
from flambeau import Tensor
from flambeau.nn.attention.flex_attention import (
    AuxRequest,
    BlockMask,
    and_masks,
    create_block_mask,
    create_mask,
    flex_attention,
    or_masks,
)

DOCUMENTS = [0, 0, 0, 1, 1, 2, 2, 2, 2, 2]


def causal(b: Any, h: Any, q: Any, kv: Any) -> Any:
    return q >= kv


def near(b: Any, h: Any, q: Any, kv: Any) -> Any:
    return abs(q - kv) <= 2


def by_batch_and_head(b: Any, h: Any, q: Any, kv: Any) -> Any:
    return (q + kv + b) % (h + 2) != 0


def same_document(b: Any, h: Any, q: Any, kv: Any) -> Any:
    table = DOCUMENTS if isinstance(q, int) else flambeau.tensor(DOCUMENTS)
    return table[q] == table[kv]


def plain(score: Any, b: Any, h: Any, q: Any, kv: Any) -> Any:
    return score


def sloped(score: Any, b: Any, h: Any, q: Any, kv: Any) -> Any:
    return score * (1 + 0.125 * b) - 0.25 * (h + 1) * (q - kv)  # exact in single precision


def capped(score: Any, b: Any, h: Any, q: Any, kv: Any) -> Any:
    tanh = math.tanh if isinstance(score, float) else flambeau.tanh
    return 2 * tanh(score / 2)


def by_loops(q: Any, k: Any, v: Any, score_mod: Any, mask: Any, scale: float) -> Any:
    """Results and logarithms of sums, one score after the other."""
    result, sums = np.zeros((*q.shape[:3], v.shape[-1])), np.full(q.shape[:3], -np.inf)
    for b, h, i in np.ndindex(*q.shape[:3]):
        shared = h // (q.shape[1] // k.shape[1])
        weights = {}
        for j in range(k.shape[2]):
            if mask is None or bool(mask(b, h, i, j)):
                score = float(q[b, h, i] @ k[b, shared, j]) * scale
                weights[j] = math.exp(score_mod(score, b, h, i, j))
        if weights:
            total = sum(weights.values())
            result[b, h, i] = sum(w / total * v[b, shared, j] for j, w in weights.items())
            sums[b, h, i] = math.log(total)
    return result, sums


def inputs(heads: int = 3, shared: int = 3, queries: int = 10, keys: int = 10) -> list[Tensor]:
    rng = np.random.default_rng(heads * 100 + queries)
    shapes = [(2, heads, queries, 4), (2, shared, keys, 4), (2, shared, keys, 5)]
    return [flambeau.tensor(rng.normal(size=shape)) for shape in shapes]


@pytest.mark.parametrize("block", [1, 4, (2, 3), 128])
@pytest.mark.parametrize("mask", [causal, near, by_batch_and_head, same_document])
@pytest.mark.parametrize("score_mod", [plain, sloped, capped])
def test_values(score_mod: Any, mask: Any, block: Any) -> None:
    q, k, v = inputs()
    made = create_block_mask(mask, 2, 3, 10, 10, BLOCK_SIZE=block)
    found, aux = flex_attention(q, k, v, score_mod, made, return_aux=AuxRequest(lse=True))
    expected, sums = by_loops(q.numpy(), k.numpy(), v.numpy(), score_mod, mask, 0.5)
    np.testing.assert_allclose(found.numpy(), expected, rtol=1e-10, atol=1e-12)
    np.testing.assert_allclose(aux.lse.numpy(), sums, rtol=1e-10)
    assert aux.max_scores is None


def test_a_mask_alone_and_heads_that_share() -> None:
    q, k, v = inputs(heads=4, shared=2, queries=5)
    mask = create_block_mask(near, None, None, 5, 10, BLOCK_SIZE=2)
    found = flex_attention(q, k, v, block_mask=mask, scale=0.7, enable_gqa=True)
    expected, _ = by_loops(q.numpy(), k.numpy(), v.numpy(), plain, near, 0.7)
    np.testing.assert_allclose(found.numpy(), expected, rtol=1e-10, atol=1e-12)
    found = flex_attention(q, k, v, sloped, enable_gqa=True)
    expected, _ = by_loops(q.numpy(), k.numpy(), v.numpy(), sloped, None, 0.5)
    np.testing.assert_allclose(found.numpy(), expected, rtol=1e-10, atol=1e-12)


@pytest.mark.parametrize("score_mod", [None, plain])
def test_queries_whose_scores_do_not_count_get_zero(score_mod: Any) -> None:
    q, k, v = (t.requires_grad_() for t in inputs())
    mask = create_block_mask(lambda b, h, q, kv: q < kv, None, None, 10, 10, BLOCK_SIZE=4)
    found = flex_attention(q, k, v, score_mod, mask)
    assert (found[:, :, -1] == 0).all() and not found.isnan().any()
    found.sum().backward()
    assert all(not t.grad.isnan().any() for t in (q, k, v))
    assert (q.grad[:, :, -1] == 0).all()


def test_gradients_reach_what_functions_use() -> None:
    q, k, v = (t.requires_grad_() for t in inputs(queries=4, keys=5))
    bias = flambeau.randn(3, 9, dtype=flambeau.float64, requires_grad=True)

    def run(q: Tensor, k: Tensor, v: Tensor, bias: Tensor) -> Tensor:
        def biased(score: Any, b: Any, h: Any, i: Any, j: Any) -> Any:
            return score + bias[h, i - j + 4]

        mask = create_block_mask(near, None, None, 4, 5, BLOCK_SIZE=2)
        result: Tensor = flex_attention(q, k, v, biased, mask)
        return result

    assert flambeau.autograd.gradcheck(run, (q, k, v, bias))


def test_masks_of_masks() -> None:
    def dense(mask: Any) -> Any:
        return np.array(create_mask(mask, 2, 3, 10, 10).tolist())

    def looped(mask: Any) -> Any:
        return np.array([bool(mask(*i)) for i in np.ndindex(2, 3, 10, 10)]).reshape(2, 3, 10, 10)

    masks = [causal, by_batch_and_head, same_document]
    every = [looped(mask) for mask in masks]
    np.testing.assert_array_equal(dense(and_masks(*masks)), np.logical_and.reduce(every))
    np.testing.assert_array_equal(dense(or_masks(*masks)), np.logical_or.reduce(every))
    assert dense(and_masks()).all() and not dense(or_masks()).any()
    hidden = create_mask(lambda s, b, h, q, kv: flambeau.where(q < 3, s, -math.inf), 1, 1, 4, 2)
    assert hidden[0, 0].tolist() == [[True, True]] * 3 + [[False, False]]
    with pytest.raises(RuntimeError, match=r"and_masks\(\): expected functions, got 3"):
        and_masks(causal, 3)  # type: ignore[arg-type]


@pytest.mark.parametrize("mask", [causal, near, by_batch_and_head])
@pytest.mark.parametrize("lengths", [(10, 10), (7, 9), (8, 4)])
def test_blocks(mask: Any, lengths: tuple[int, int]) -> None:
    made = create_block_mask(mask, 2, 3, *lengths, BLOCK_SIZE=(2, 4))
    assert made.shape == (2, 3, *lengths)
    rows, columns = -(-lengths[0] // 2), -(-lengths[1] // 4)
    (
        partial,
        full,
    ) = np.zeros((2, 2, 3, rows, columns), dtype=bool)
    for b, h, i, j in np.ndindex(2, 3, rows, columns):
        block = [
            x < lengths[0] and y < lengths[1] and bool(mask(b, h, x, y))
            for x in range(2 * i, 2 * i + 2)
            for y in range(4 * j, 4 * j + 4)
        ]
        full[b, h, i, j] = all(block)
        partial[b, h, i, j] = any(block) and not all(block)
    np.testing.assert_array_equal(made.partial_blocks().numpy(), partial)
    np.testing.assert_array_equal(made.full_blocks().numpy(), full)
    np.testing.assert_array_equal(made.to_dense().numpy(), partial | full)
    np.testing.assert_array_equal(made.kv_num_blocks.numpy(), partial.sum(-1))
    np.testing.assert_array_equal(made.q_num_blocks.numpy(), partial.sum(-2))
    np.testing.assert_array_equal(made.full_q_num_blocks.numpy(), full.sum(-2))
    for row, count, at in zip(
        partial.reshape(-1, columns),
        made.kv_num_blocks.flatten().tolist(),
        made.kv_indices.reshape(-1, columns).tolist(),
        strict=True,
    ):
        assert sorted(at) == list(range(columns))
        assert at[:count] == np.flatnonzero(row).tolist()
    whole = create_block_mask(mask, 2, 3, *lengths, BLOCK_SIZE=(2, 4), separate_full_blocks=False)
    assert whole.full_kv_indices is None
    np.testing.assert_array_equal(whole.partial_blocks().numpy(), partial | full)


def test_parts_of_a_mask() -> None:
    made = create_block_mask(by_batch_and_head, 2, 3, 10, 10, BLOCK_SIZE=2)
    part = made[1, 2]
    assert part.shape == (1, 1, 10, 10)
    np.testing.assert_array_equal(part.to_dense()[0, 0].numpy(), made.to_dense()[1, 2].numpy())
    row = made[:, :, 2]
    assert row.kv_indices.shape == (2, 3, 1, 5)
    q, k, v = inputs(queries=1)
    row.seq_lengths = (1, 10)
    with pytest.raises(RuntimeError, match="set mask_mod"):
        flex_attention(q, k, v, block_mask=row)
    row.mask_mod = lambda b, h, q, kv: by_batch_and_head(b, h, q + 4, kv)
    found = flex_attention(q, k, v, block_mask=row)
    expected, _ = by_loops(q.numpy(), k.numpy(), v.numpy(), plain, row.mask_mod, 0.5)
    np.testing.assert_allclose(found.numpy(), expected, rtol=1e-10, atol=1e-12)
    blocks = BlockMask.from_kv_blocks(*made.as_tuple()[2:6], BLOCK_SIZE=2)
    np.testing.assert_array_equal(blocks.to_dense().numpy(), made.to_dense().numpy())
    assert made.to("cpu").shape == made.shape


def test_picture() -> None:
    made = create_block_mask(causal, 1, 1, 6, 6, BLOCK_SIZE=2)
    assert made.to_string() == "(0, 0)\n░░\n██░░\n████░░"
    assert repr(made).startswith("BlockMask(shape=(1, 1, 6, 6), sparsity=33.33%,")


def test_mistakes_say_what_was_seen() -> None:
    q, k, v = inputs(heads=4, shared=2)
    with pytest.raises(ValueError, match="heads differ; enable_gqa=True lets several share one"):
        flex_attention(q, k, v)
    with pytest.raises(ValueError, match=r"block_mask is of \(1, 1, 4, 10\), and scores are"):
        flex_attention(q, k, v, enable_gqa=True, block_mask=create_block_mask(causal, 1, 1, 4, 10))
    with pytest.raises(ValueError, match="must have one width"):
        flex_attention(q[..., :3], k, v, enable_gqa=True)
    with pytest.raises(ValueError, match="function of 4 indices, or of a score and these"):
        create_mask(lambda b: b, 1, 1, 2, 2)

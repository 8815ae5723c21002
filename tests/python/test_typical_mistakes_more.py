"""Typical mistakes of every day: what the message says of operator, argument, seen and expected."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

import flambeau
from flambeau import nn, optim
from flambeau.nn import functional as F
from flambeau.utils.data import DataLoader, TensorDataset

x = flambeau.ones(2, 3)

# What is done, the exception, and its message.
MISTAKES: dict[str, tuple[Callable[[], Any], type[Exception], str]] = {
    "view of no size": (
        lambda: flambeau.ones(2, 3).view(4, -1),
        RuntimeError,
        "view: shape [4, -1] with 4 known elements does not divide the 6 elements of the tensor",
    ),
    "elements of reshape": (
        lambda: x.reshape(7),
        RuntimeError,
        "reshape: shape [7] has 7 elements, the tensor has 6",
    ),
    "index of an embedding": (
        lambda: nn.Embedding(3, 2)(flambeau.tensor([5])),
        IndexError,
        "embedding: argument input holds index 5 at position 0; expected 0 <= index < 3",
    ),
    "state of an LSTM": (
        lambda: nn.LSTM(3, 4)(flambeau.ones(5, 2, 3), flambeau.ones(1, 2, 4)),
        RuntimeError,
        "LSTM: expected a first state of shape (1, 2, 4), got (2, 4)",
    ),
    "features of a query": (
        lambda: nn.MultiheadAttention(4, 2)(
            flambeau.ones(3, 1, 5), flambeau.ones(3, 1, 5), flambeau.ones(3, 1, 5)
        ),
        RuntimeError,
        "multi_head_attention_forward: expected a query of 4 features, a multiple of 2 heads, "
        "got shapes (3, 1, 5), (3, 1, 5), (3, 1, 5)",
    ),
    "shape of a target": (
        lambda: F.binary_cross_entropy_with_logits(flambeau.ones(3), flambeau.ones(3, 1)),
        ValueError,
        "binary_cross_entropy_with_logits(): input and target must have the same shape, got "
        "[3] and [3, 1]",
    ),
    "scores of integers": (
        lambda: F.cross_entropy(flambeau.ones(2, 3).long(), flambeau.tensor([0, 1])),
        RuntimeError,
        "cross_entropy(): argument 'input' has dtype int64, expected one of: float16, "
        "bfloat16, float32, float64",
    ),
    "groups of channels": (
        lambda: nn.GroupNorm(2, 3),
        ValueError,
        "GroupNorm: 3 channels do not divide into 2 groups",
    ),
    "negative rate": (
        lambda: optim.Adam(nn.Linear(2, 2).parameters(), lr=-1),
        ValueError,
        "Adam: lr must not be negative, got -1",
    ),
    "schedule of nothing": (
        lambda: optim.lr_scheduler.StepLR(None, 1),
        TypeError,
        "StepLR: expected an Optimizer, got NoneType",
    ),
    "too many indices": (
        lambda: x[0, 0, 0],
        IndexError,
        "index: 3 indices for a tensor of dimension 2 (shape [2, 3])",
    ),
    "shape of a mask": (
        lambda: x[flambeau.ones(3, dtype=flambeau.bool)],
        IndexError,
        "index: a mask of shape [3] at dimension 0 does not match the tensor of shape [2, 3]",
    ),
    "dtype of an index": (
        lambda: x.gather(1, flambeau.ones(2, 1)),
        RuntimeError,
        "gather(): argument 'index' has dtype float32, expected one of: int32, int64",
    ),
    "index of scatter_": (
        lambda: flambeau.zeros(2, 2).scatter_(1, flambeau.tensor([[3]]), 1.0),
        RuntimeError,
        "scatter_(): index 3 is out of bounds for dim 1 of size 2",
    ),
    "sizes of einsum": (
        lambda: flambeau.einsum("ij,jk->ik", x, flambeau.ones(4, 2)),
        RuntimeError,
        "einsum(): dimension 'j' has sizes 3 and 4 in 'ij,jk->ik'",
    ),
    "output of einsum": (
        lambda: flambeau.einsum("ij->ijk", x),
        RuntimeError,
        "einsum(): 'k' of the output of 'ij->ijk' must occur in a term, and once",
    ),
    "inverse of a rectangle": (
        lambda: flambeau.linalg.inv(x),
        RuntimeError,
        "linalg.inv(): expected square matrices, [*, n, n], got A of shape [2, 3]",
    ),
    "factor of a negative matrix": (
        lambda: flambeau.linalg.cholesky(-flambeau.eye(2)),
        flambeau.linalg.LinAlgError,
        "linalg.cholesky(): the matrix is not positive-definite: its leading minor of order 1 "
        "is not",
    ),
    "lengths of a dataset": (
        lambda: TensorDataset(flambeau.ones(2), flambeau.ones(3)),
        ValueError,
        "TensorDataset: first sizes must be equal, got [2, 3]",
    ),
    "samples of two shapes": (
        lambda: list(DataLoader([flambeau.ones(2), flambeau.ones(3)], batch_size=2)),
        RuntimeError,
        "default_collate: samples of shapes (2,) and (3,) cannot be stacked; make them one "
        "shape, or join them in a collate_fn of your own",
    ),
    "tensor of None": (
        lambda: flambeau.tensor([None, 1]),
        TypeError,
        "tensor(): cannot make a tensor of None; expected numbers, nested sequences of "
        "numbers, an array or a tensor",
    ),
    "dim of squeeze": (
        lambda: x.squeeze(4),
        IndexError,
        "squeeze(): dim 4 is out of range for a tensor of 2 dimensions; expected -2 to 1",
    ),
    "k of topk": (
        lambda: x.topk(9),
        RuntimeError,
        "topk(): k = 9 is out of range for dim 1 of shape [2, 3]",
    ),
    "negative weights": (
        lambda: flambeau.multinomial(flambeau.tensor([-1.0, 2.0]), 1),
        RuntimeError,
        "multinomial(): weights must be finite and not negative, got -1",
    ),
    "scale of a distribution": (
        lambda: flambeau.distributions.Normal(0.0, -1.0),
        ValueError,
        "Normal(loc: 0.0, scale: -1.0): parameter scale of shape () does not satisfy "
        "GreaterThan(lower_bound=0.0): -1.0",
    ),
    "dims of a target": (
        lambda: F.nll_loss(flambeau.ones(2, 3), flambeau.tensor([[0, 1]])),
        ValueError,
        "nll_loss(): target of shape [1, 2] does not fit input of shape [2, 3]: expected the "
        "input's shape without its class dim",
    ),
    "amounts of pad": (
        lambda: F.pad(x, (1,)),
        RuntimeError,
        "pad(): expected an even number of at most 2 amounts for each dim of shape [2, 3], got [1]",
    ),
    "grid of three dims": (
        lambda: F.grid_sample(flambeau.ones(1, 1, 2, 2), flambeau.ones(1, 2, 2, 3)),
        RuntimeError,
        "grid_sample(): expected images [n, c, h, w] and a grid [n, h', w', 2], or volumes "
        "and a grid [n, d', h', w', 3], got shapes [1, 1, 2, 2] and [1, 2, 2, 3]",
    ),
    "lengths of ctc_loss": (
        lambda: F.ctc_loss(
            flambeau.ones(5, 1, 3).log_softmax(2),
            flambeau.tensor([[0, 1]]),
            flambeau.tensor([9]),
            flambeau.tensor([2]),
        ),
        RuntimeError,
        "ctc_loss(): input_lengths must be from 0 to 5, got 9",
    ),
    "LBFGS without a closure": (
        lambda: flambeau.optim.LBFGS([flambeau.ones(1, requires_grad=True)]).step(),
        TypeError,
        "LBFGS: step() needs a closure that computes the loss and gradients",
    ),
    "sizes of vmap": (
        lambda: flambeau.vmap(lambda a, b: a + b)(flambeau.ones(2), flambeau.ones(3)),
        ValueError,
        "vmap(): the mapped dims differ in size: [2, 3]",
    ),
    "vectors of two lengths": (
        lambda: F.cosine_similarity(flambeau.ones(2, 3), flambeau.ones(2, 4)),
        RuntimeError,
        "cosine_similarity: shapes [2, 3] and [2, 4] cannot be broadcast together; aligned at "
        "the right, sizes must be equal or 1",
    ),
    "mask of attention": (
        lambda: nn.TransformerEncoderLayer(4, 2, batch_first=True)(
            flambeau.ones(1, 3, 4), flambeau.ones(2, 2)
        ),
        RuntimeError,
        "scaled_dot_product_attention(): attn_mask of shape [2, 3] does not broadcast to the "
        "scores of [1, 2, 3, 2] by [1, 2, 3, 2]",
    ),
    "norm of no weight": (
        lambda: flambeau.nn.utils.weight_norm(nn.ReLU()),
        ValueError,
        "weight_norm: ReLU has no parameter 'weight'",
    ),
    "norm to clip to": (
        lambda: nn.utils.clip_grad_norm_(nn.Linear(2, 2).parameters(), "1"),
        TypeError,
        "clip_grad_norm_: max_norm must be a number, got '1'",
    ),
    "order of lengths": (
        lambda: nn.utils.rnn.pack_padded_sequence(flambeau.ones(3, 2, 1), flambeau.tensor([1, 3])),
        RuntimeError,
        "pack_padded_sequence: lengths must not increase, got [1, 3]; pass "
        "enforce_sorted=False to have them sorted",
    ),
    "checkpoint of no function": (
        lambda: flambeau.utils.checkpoint.checkpoint(5, x),
        TypeError,
        "checkpoint(): function must be callable, got 5",
    ),
}


@pytest.mark.parametrize("name", MISTAKES)
def test_message(name: str) -> None:
    make, kind, wanted = MISTAKES[name]
    with pytest.raises(kind) as caught:
        make()
    assert str(caught.value) == wanted

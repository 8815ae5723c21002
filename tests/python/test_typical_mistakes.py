"""Typical mistakes with tensors: each message names the operator and the argument, what was seen
and what was expected, and the remedy where one is likely."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

import flambeau
from flambeau.nn import functional as F

FLOAT = flambeau.ones
INTS = {"dtype": flambeau.int64}


def leaf(*shape: int) -> flambeau.Tensor:
    return flambeau.ones(*shape, requires_grad=True)


def backward_twice() -> None:
    x = leaf(2)
    y = (x * x).sum()
    y.backward()
    y.backward()


def write_over_a_saved_value() -> None:
    y = leaf(2).exp()
    y.add_(1)
    y.sum().backward()


def backward_of_what_was_not_recorded() -> None:
    with flambeau.no_grad():
        y = (leaf(2) * 2).sum()
    y.backward()


def write_into_a_view_of_a_leaf() -> None:
    leaf(2, 2)[0].mul_(2)


def use_as_condition() -> None:
    if FLOAT(3) > 0:
        pass


# What is done, the exception, and all that its message says, up to "...".
MISTAKES: dict[str, tuple[Callable[[], object], type[Exception], str]] = {
    "matmul of shapes": (
        lambda: FLOAT(2, 3) @ FLOAT(2, 3),
        RuntimeError,
        "matmul(): shapes [2, 3] and [2, 3] do not multiply: the last dim of the first must equal "
        "the last but one of the second (its only one if it is a vector)",
    ),
    "matmul of dtypes": (
        lambda: FLOAT(2, 3) @ FLOAT(3, 2, dtype=flambeau.float64),
        RuntimeError,
        "matmul(): argument 'other' has dtype float64 but 'self' has dtype float32; they must be "
        "the same: convert one with .to()",
    ),
    "mm of a batch": (
        lambda: flambeau.mm(FLOAT(2, 3, 4), FLOAT(4, 2)),
        RuntimeError,
        "mm(): expected two matrices, got shapes [2, 3, 4] and [4, 2]",
    ),
    "bmm of batches": (
        lambda: flambeau.bmm(FLOAT(2, 3, 4), FLOAT(3, 4, 2)),
        RuntimeError,
        "bmm(): expected [2, 4, *] for mat2, got [3, 4, 2]",
    ),
    "sum of shapes": (
        lambda: FLOAT(2, 3) + FLOAT(2, 4),
        RuntimeError,
        "add: shapes [2, 3] and [2, 4] cannot be broadcast together; aligned at the right, sizes "
        "must be equal or 1",
    ),
    "sum of devices": (
        lambda: FLOAT(2) + flambeau.ones(2, device="meta"),
        RuntimeError,
        "add: expected all tensors on one device, got meta and cpu...",
    ),
    "attention": (
        lambda: F.scaled_dot_product_attention(FLOAT(2, 3, 4), FLOAT(2, 3, 5), FLOAT(2, 3, 4)),
        RuntimeError,
        "scaled_dot_product_attention(): expected query and key with as many features, key and "
        "value with as many positions, got shapes [2, 3, 4], [2, 3, 5] and [2, 3, 4]",
    ),
    "targets of another batch": (
        lambda: F.cross_entropy(FLOAT(4, 3), flambeau.zeros(5, **INTS)),
        ValueError,
        "cross_entropy(): target of shape [5] does not fit input of shape [4, 3]: expected the "
        "input's shape without its class dim",
    ),
    "targets that are no class": (
        lambda: F.cross_entropy(FLOAT(4, 3), flambeau.tensor([0, 1, 2, 3])),
        IndexError,
        "cross_entropy: argument target holds class 3 at position 3; expected 0 <= class < 3 or "
        "ignore_index = -100",
    ),
    "classes as floats": (
        lambda: F.cross_entropy(FLOAT(4, 3), flambeau.zeros(4)),
        RuntimeError,
        "cross_entropy(): a target of probabilities must have the input's shape [4, 3], got [4]; "
        "a target of classes has dtype int64",
    ),
    "classes as int32": (
        lambda: F.cross_entropy(FLOAT(4, 3), flambeau.zeros(4, dtype=flambeau.int32)),
        RuntimeError,
        "cross_entropy(): argument 'target' has dtype int32, expected one of: uint8, int64",
    ),
    "one-hot targets for classes": (
        lambda: F.nll_loss(FLOAT(4, 3), flambeau.zeros(4, 2, **INTS)),
        RuntimeError,
        "nll_loss(): target of shape [4, 2] does not fit input of shape [4, 3]: expected the "
        "input's shape without its class dim",
    ),
    "squared error of shapes": (
        lambda: F.mse_loss(FLOAT(4, 3), FLOAT(5)),
        RuntimeError,
        "mse_loss(): shapes [4, 3] and [5] cannot be broadcast",
    ),
    "logits for probabilities": (
        lambda: F.binary_cross_entropy(FLOAT(3) * 2, FLOAT(3)),
        RuntimeError,
        "binary_cross_entropy(): argument input must lie in [0, 1], got 2",
    ),
    "binary targets of a shape": (
        lambda: F.binary_cross_entropy(FLOAT(3), FLOAT(4)),
        ValueError,
        "binary_cross_entropy(): input and target must have the same shape, got [3] and [4]",
    ),
    "one_hot": (
        lambda: F.one_hot(flambeau.tensor([3]), 2),
        RuntimeError,
        "one_hot(): class 3 is not in [0, 2)",
    ),
    "pooling": (
        lambda: F.max_pool2d(FLOAT(1, 1, 2, 2), 3),
        RuntimeError,
        "max_pool2d(): the kernel [3, 3] does not fit the input [2, 2] with padding [0, 0] at "
        "spatial dimension 0",
    ),
    "interpolation": (
        lambda: F.interpolate(FLOAT(1, 1, 4)),
        ValueError,
        "interpolate(): give one of size and scale_factor",
    ),
    "backward twice": (
        backward_twice,
        RuntimeError,
        "MulBackward0: the saved tensor 'other' was freed by an earlier backward; to run backward "
        "through the graph a second time, pass retain_graph=True to the first one",
    ),
    "writing over a saved value": (
        write_over_a_saved_value,
        RuntimeError,
        "ExpBackward0: the gradient needs 'result' (flambeau.float32 [2], the operator's result), "
        "but it was modified in place after it was saved: it is at version 1, expected version 0. "
        "Use the out-of-place form of the later operator, or clone the tensor first",
    ),
    "writing over a leaf": (
        lambda: leaf(2).add_(1),
        RuntimeError,
        "add_(): self is a leaf tensor that requires grad and cannot be written in place; use the "
        "out-of-place form, or write inside no_grad()",
    ),
    "writing into a view of a leaf": (
        write_into_a_view_of_a_leaf,
        RuntimeError,
        "mul_(): self is a view of a leaf tensor that requires grad and cannot be written in "
        "place; use the out-of-place form, or write inside no_grad()",
    ),
    "backward of a vector": (
        lambda: (leaf(3) * 2).backward(),
        RuntimeError,
        "backward: a gradient can be left out for a scalar root only; root 0 has shape [3], pass "
        "a gradient of that shape",
    ),
    "backward without a graph": (
        backward_of_what_was_not_recorded,
        RuntimeError,
        "backward: root 0 does not require grad and was not computed from a tensor that does; was "
        "it computed inside no_grad(), or from detached tensors?",
    ),
    "a gradient of another shape": (
        lambda: (leaf(3) * 2).backward(FLOAT(2)),
        RuntimeError,
        "backward: the gradient of root 0 has shape [2], expected the root's shape [3]",
    ),
    "the gradient of something else": (
        lambda: flambeau.autograd.grad(leaf(2).sum(), leaf(2)),
        RuntimeError,
        "backward: input 0 was not used to compute the roots; pass allow_unused=True to get None "
        "for it",
    ),
    "gradients of integers": (
        lambda: flambeau.ones(2, dtype=flambeau.int64, requires_grad=True),
        RuntimeError,
        "requires_grad: only floating and complex tensors can require gradients, got dtype int64",
    ),
    "an array of what requires grad": (
        lambda: leaf(2).numpy(),
        RuntimeError,
        "numpy(): the tensor requires grad, which an array cannot record; use detach().numpy()",
    ),
    "the number of a vector": (
        lambda: FLOAT(3).item(),
        RuntimeError,
        "item(): needs a tensor of one element, got shape [3] (3 elements)",
    ),
    "a vector as condition": (
        use_as_condition,
        RuntimeError,
        "bool(): the truth value of a tensor of shape [3] is ambiguous; use any() or all()",
    ),
    "an unknown device": (
        lambda: flambeau.ones(2, device="gpu"),
        RuntimeError,
        "device: unknown device 'gpu'; expected one of cpu, cuda, meta...",  # and packages' own
    ),
    "view of another size": (
        lambda: FLOAT(6).view(4, 2),
        RuntimeError,
        "view: shape [4, 2] has 8 elements, the tensor has 6",
    ),
    "view across strides": (
        lambda: FLOAT(2, 3).T.view(6),
        RuntimeError,
        "view: a tensor of shape [3, 2] and strides [1, 3] cannot be seen as [6] without a copy: "
        "a new dimension would span memory that is not evenly spaced; use reshape()",
    ),
    "cat of shapes": (
        lambda: flambeau.cat([FLOAT(2, 3), FLOAT(2, 4)]),
        RuntimeError,
        "cat(): sizes must agree except in dimension 0, got [2, 3] and [2, 4]",
    ),
    "stack of shapes": (
        lambda: flambeau.stack([FLOAT(2), FLOAT(3)]),
        RuntimeError,
        "stack(): expected tensors of one shape, got [2] and [3]",
    ),
    "an index beyond the end": (
        lambda: FLOAT(3)[3],
        IndexError,
        "index 3 is out of bounds for dimension 0 with size 3",
    ),
    "too many indices": (
        lambda: FLOAT(3)[0, 0],
        IndexError,
        "index: 2 indices for a tensor of dimension 1 (shape [3])",
    ),
    "a tensor of indices beyond the end": (
        lambda: FLOAT(3)[flambeau.tensor([0, 5])],
        IndexError,
        "index(): index 5 is out of bounds for dim 0 of size 3",
    ),
    "floats as indices": (
        lambda: FLOAT(3)[flambeau.tensor([0.5])],
        IndexError,
        "index: tensors used as indices must hold ints or bools, got dtype flambeau.float32",
    ),
    "a mask of another shape": (
        lambda: FLOAT(3)[flambeau.tensor([True, False])],
        IndexError,
        "index: a mask of shape [2] at dimension 0 does not match the tensor of shape [3]",
    ),
    "a dim that is not there": (
        lambda: FLOAT(2, 3).sum(2),
        IndexError,
        "sum(): dim 2 is out of range for a tensor of 2 dimensions; expected -2 to 1",
    ),
    "softmax of a dim": (
        lambda: FLOAT(2).softmax(1),
        IndexError,
        "softmax(): dim 1 is out of range for a tensor of 1 dimensions; expected -1 to 0",
    ),
    "a missing argument": (
        lambda: flambeau.cat(),
        TypeError,
        "cat(): argument 'tensors' is missing\n  given:    cat()\n  expected: cat(tensors: ...",
    ),
    "an unknown keyword": (
        lambda: FLOAT(3).sum(dims=0),
        TypeError,
        "Tensor.sum(): unknown keyword argument 'dims', did you mean 'dim'?...",
    ),
    "a text for a size": (
        lambda: flambeau.ones("3"),
        TypeError,
        "ones(): argument 'size' (position 1) must be int | Sequence[int], not str...",
    ),
    "a list for a tensor": (
        lambda: F.relu([1, 2]),
        TypeError,
        "nn.functional.relu(): argument 'input' (position 1) must be Tensor, not list of int...",
    ),
    "ragged lists": (
        lambda: flambeau.tensor([[1, 2], [3]]),
        ValueError,
        "tensor(): ragged data: expected a sequence of length 2 at data[1], got length 1",
    ),
    "floats written into integers": (
        lambda: flambeau.ones(2, **INTS).add_(0.5),
        RuntimeError,
        "add: a result of dtype flambeau.float32 cannot be written to a tensor of dtype "
        "flambeau.int64; convert the tensor, or use the form that gives a new one",
    ),
    "a result that does not fit": (
        lambda: FLOAT(2).add_(FLOAT(3, 2)),
        RuntimeError,
        "add: an operand of shape [3, 2] does not broadcast to the shape [2] of the result",
    ),
    "permute": (
        lambda: FLOAT(2, 3).permute(0, 0),
        RuntimeError,
        "permute(): dim 0 appears more than once in dims [0, 0]",
    ),
    "expand": (
        lambda: FLOAT(2, 3).expand(4, 3),
        RuntimeError,
        "expand: a tensor of shape [2, 3] cannot become [4, 3]: dimension 0 has size 2, not 1",
    ),
    "gather": (
        lambda: FLOAT(2, 3).gather(1, flambeau.tensor([[5]])),
        RuntimeError,
        "gather(): index 5 is out of bounds for dim 1 of size 3",
    ),
    "where of numbers": (
        lambda: flambeau.where(FLOAT(2), FLOAT(2), FLOAT(2)),
        RuntimeError,
        "where(): argument 'condition' has dtype float32, expected one of: bool",
    ),
    "the inverse of a singular matrix": (
        lambda: flambeau.linalg.inv(flambeau.zeros(2, 2)),
        flambeau.linalg.LinAlgError,
        "linalg.inv(): the matrix is singular: element 1 of the diagonal of U is zero",
    ),
    "a range without end": (
        lambda: flambeau.arange(0, 5, 0),
        RuntimeError,
        "arange(): argument step must not be zero",
    ),
    "an empty range": (
        lambda: flambeau.randint(5, 3, (2,)),
        RuntimeError,
        "randint(): expected integers from low to below high, got low = 5, high = 3",
    ),
    "a file that is not there": (
        lambda: flambeau.load(Path("no such folder") / "model.pt"),
        FileNotFoundError,
        "[Errno 2] No such file or directory: 'no such folder/model.pt'",
    ),
}


@pytest.mark.parametrize("name", MISTAKES)
def test_message(name: str) -> None:
    make, kind, wanted = MISTAKES[name]
    with pytest.raises(kind) as caught:
        make()
    message = str(caught.value)
    if wanted.endswith("..."):
        assert message.startswith(wanted[:-3])
    else:
        assert message == wanted

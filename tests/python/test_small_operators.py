"""Operators whose edges the generated tests do not reach, against NumPy and what defines them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import scipy.special

import flambeau as torch
from flambeau.autograd import gradcheck, gradgradcheck


def bits(tensor: Any) -> list[int]:
    return [b & 0xFFFF for b in tensor.view(torch.int16).tolist()]


def test_nextafter_of_every_float16() -> None:
    every = np.arange(2**16, dtype=np.uint16).view(np.float16)
    ours = torch.from_numpy(every.view(np.int16)).view(torch.float16)
    for bound in (np.inf, -np.inf, 0.0, -0.0, 1.0):
        towards = torch.full_like(ours, bound)
        found = torch.nextafter(ours, towards).view(torch.int16).numpy().view(np.float16)
        with np.errstate(all="ignore"):
            wanted = np.nextafter(every, np.float16(bound))
        np.testing.assert_array_equal(np.isnan(found), np.isnan(wanted))
        same = every == np.float16(bound)  # C gives the bound, whose zero may have another sign
        assert (np.signbit(found[same]) == np.signbit(bound)).all()
        kept = ~np.isnan(wanted) & ~same
        np.testing.assert_array_equal(found[kept].view(np.int16), wanted[kept].view(np.int16))


def test_nextafter_of_bfloat16() -> None:
    x = torch.tensor([1.0, -1.0, 0.0, -0.0, 3.3895e38, float("inf")], dtype=torch.bfloat16)
    up = torch.nextafter(x, torch.tensor(float("inf"), dtype=torch.bfloat16))
    assert bits(up) == [0x3F81, 0xBF7F, 0x0001, 0x0001, 0x7F80, 0x7F80]
    down = torch.nextafter(x, torch.tensor(float("-inf"), dtype=torch.bfloat16))
    assert bits(down) == [0x3F7F, 0xBF81, 0x8001, 0x8001, 0x7F7E, 0x7F7F]
    assert torch.nextafter(x, x.float()).dtype is torch.float32
    assert x.clone().nextafter_(x + 1).dtype is torch.bfloat16


def test_logsumexp_of_complex_numbers() -> None:
    random = np.random.default_rng(4)
    z = random.standard_normal((3, 5)) + 1j * random.standard_normal((3, 5))
    found = torch.logsumexp(torch.from_numpy(z + 1000), 1).numpy()
    np.testing.assert_allclose(found, scipy.special.logsumexp(z, axis=1) + 1000)
    leaf = torch.from_numpy(z).requires_grad_()
    assert gradcheck(lambda t: torch.logsumexp(t, (0, 1)), (leaf,))
    assert gradgradcheck(lambda t: torch.logsumexp(t, 0, keepdim=True), (leaf,))
    nothing = torch.full((2,), complex(-np.inf, 0.0))
    assert torch.logsumexp(nothing, 0).real == -np.inf


def test_hashes_are_words_joined() -> None:
    """Values by the documentation of PyTorch's rule: words of 64 bits, exclusive or."""
    x = torch.arange(6.0).reshape(2, 3)
    words = np.arange(6.0).view(np.uint64)
    assert torch.hash_tensor(x).dtype is torch.uint64
    assert int(torch.hash_tensor(x)) == np.bitwise_xor.reduce(words)
    assert torch.hash_tensor(x.half(), 1).tolist() == torch.hash_tensor(x.double(), 1).tolist()
    assert torch.hash_tensor(torch.tensor([-1, 2], dtype=torch.int8)).tolist() == 2**64 - 3
    assert torch.hash_tensor(torch.tensor([True] * 3)).tolist() == 1
    assert x.hash_tensor(0, keepdim=True).shape == (1, 3)
    with pytest.raises(RuntimeError, match="mode must be 0"):
        torch.hash_tensor(x, mode=1)
    with pytest.raises(RuntimeError, match="a dim is needed"):
        torch.hash_tensor(torch.ones(0))


@pytest.mark.parametrize("reduce", ["sum", "mean", "max", "min", "prod"])
def test_segments_and_their_gradients(reduce: str) -> None:
    random = np.random.default_rng(6)
    data = torch.from_numpy(random.standard_normal((2, 6, 3))).requires_grad_()
    lengths = torch.tensor([[2, 3, 1], [1, 4, 1]])

    def reduced(x: Any) -> Any:
        return torch.segment_reduce(x, reduce, lengths=lengths, axis=1)

    assert gradcheck(reduced, (data,)) and gradgradcheck(reduced, (data,))
    offsets = torch.tensor([[0, 2, 5, 6], [0, 1, 5, 6]])
    found = torch.segment_reduce(data, reduce, offsets=offsets, axis=1)
    assert torch.equal(found, reduced(data))


def test_segments_without_elements_and_places_without_segment() -> None:
    x = torch.tensor([1.0, 2, 3, 4])
    empty = torch.tensor([2, 0, 2])
    assert torch.segment_reduce(x, "max", lengths=empty).tolist() == [2, -np.inf, 4]
    assert torch.segment_reduce(x, "min", lengths=empty).tolist() == [1, np.inf, 3]
    assert torch.segment_reduce(x, "prod", lengths=empty).tolist() == [2, 1, 12]
    assert torch.segment_reduce(x, "mean", lengths=empty)[1].isnan()
    assert torch.segment_reduce(x, "mean", lengths=empty, initial=10).tolist() == [6.5, 10, 8.5]
    assert torch.segment_reduce(x, "sum", lengths=torch.tensor([2, 1]), unsafe=True).tolist() == [
        3,
        3,
    ]
    assert torch.segment_reduce(x, "sum", offsets=torch.tensor([1, 2, 3])).tolist() == [2, 3]
    for lengths, message in (([2, 1], "must add up to 4"), ([5, -1], "must not be negative")):
        with pytest.raises(RuntimeError, match=message):
            torch.segment_reduce(x, "sum", lengths=torch.tensor(lengths))
    for offsets in ([0, 3, 2], [-1, 3], [0, 5]):
        with pytest.raises(RuntimeError, match="offsets must ascend from at least 0 to at most 4"):
            torch.segment_reduce(x, "sum", offsets=torch.tensor(offsets), unsafe=True)


@pytest.mark.parametrize("kind", ["avg", "max"])
@pytest.mark.parametrize("dims", [1, 2, 3])
def test_adaptive_pools_of_nothing(kind: str, dims: int) -> None:
    pool = getattr(torch.nn.functional, f"adaptive_{kind}_pool{dims}d")
    x = torch.ones((2, 3) + (4,) * dims, requires_grad=True)
    size = (0,) + (2,) * (dims - 1)
    found = pool(x, size)
    assert found.shape == (2, 3, *size)
    found.sum().backward()
    assert x.grad is not None and not x.grad.any()
    if kind == "max":
        assert [t.shape for t in pool(x, size, return_indices=True)] == [(2, 3, *size)] * 2

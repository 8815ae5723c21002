"""What the inputs of PyTorch's own tests showed, each as a test that needs no PyTorch."""

from __future__ import annotations

import math

import numpy as np
import pytest
import scipy.special as sp

import flambeau as torch
from flambeau.nn import functional as F


@pytest.mark.parametrize("kept", [False, True])
def test_masked_product_of_a_number(kept: bool) -> None:
    found = torch.masked.prod(torch.tensor(3.0), dim=0, keepdim=kept, mask=torch.tensor(True))
    assert found.shape == () and found.item() == 3.0


@pytest.mark.parametrize("name", ["argmax", "argmin"])
@pytest.mark.parametrize("dtype", [torch.float32, torch.int8, torch.bfloat16])
def test_masked_places_have_the_dtype_of_the_elements(name: str, dtype: torch.dtype) -> None:
    values = np.array([[4, 1, 3], [2, 9, 7]])
    place = getattr(torch.masked, name)
    found = place(torch.from_numpy(values).to(dtype), 1)
    assert found.dtype is dtype
    assert found.tolist() == getattr(np, name)(values, 1).tolist()
    assert place(torch.from_numpy(values), 1, dtype=torch.int64).dtype is torch.int64


def test_masked_spread_of_complex_numbers_is_complex() -> None:
    values = np.array([1 + 1j, 3 - 1j, 5 + 2j])
    x = torch.from_numpy(values)
    for name in ("var", "std"):
        found = getattr(torch.masked, name)(x, correction=0.5)
        assert found.dtype is torch.complex128
        np.testing.assert_allclose(found.item(), getattr(np, name)(values, ddof=0.5))


def test_masked_logsumexp_of_integers_and_complex_numbers() -> None:
    whole = torch.tensor([[1, 2], [3, 4]])
    mask = torch.tensor([[True, True], [False, True]])
    expected = [math.log(math.exp(1) + math.exp(2)), 4.0]
    found = torch.masked.logsumexp(whole, 1, dtype=torch.float32, mask=mask)
    np.testing.assert_allclose(found.numpy(), expected, rtol=1e-6)
    found = torch.masked.logsumexp(whole, 1, mask=mask)
    assert (found.dtype, found.tolist()) == (torch.int64, [2, 4])
    values = np.array([1 + 0.5j, -1 + 1j, 2j])
    found = torch.masked.logsumexp(
        torch.from_numpy(values), 0, mask=torch.tensor([True, False, True])
    )
    np.testing.assert_allclose(found.item(), np.log(np.sum(np.exp(values[[0, 2]]))))


def test_logsumexp_of_no_complex_numbers() -> None:
    found = torch.logsumexp(torch.zeros(0, 2, dtype=torch.complex64), 0)
    assert found.real.tolist() == [-math.inf] * 2


@pytest.mark.parametrize("dtype", [torch.int8, torch.int64])
def test_mvlgamma_of_integers(dtype: torch.dtype) -> None:
    found = torch.mvlgamma(torch.tensor([3, 5], dtype=dtype), 2)
    assert found.dtype is torch.float32
    np.testing.assert_allclose(found.numpy(), [sp.multigammaln(n, 2) for n in (3, 5)], rtol=1e-6)


def test_response_norm_of_integers_is_that_of_numbers() -> None:
    whole = torch.arange(24).reshape(2, 4, 3)
    found = F.local_response_norm(whole, 3, alpha=0.5)
    assert found.dtype is torch.float32
    np.testing.assert_array_equal(found, F.local_response_norm(whole.float(), 3, alpha=0.5))


@pytest.mark.parametrize("asked", [False, True])
def test_both_results_of_pooling_with_indices(asked: bool) -> None:
    image = torch.tensor([[[1.0, 2.0, 5.0], [3.0, 4.0, 0.0]]])
    result, indices = F.max_pool2d_with_indices(image, 2, 1, return_indices=asked)
    assert (result.tolist(), indices.tolist()) == ([[[4.0, 5.0]]], [[[4, 2]]])


def test_gradient_without_a_spacing() -> None:
    values = torch.tensor([1.0, 4.0, 9.0, 16.0])
    (found,) = torch.gradient(values, spacing=None, dim=None)
    np.testing.assert_array_equal(found.numpy(), np.gradient(values.numpy()))


@pytest.mark.parametrize("training", [False, True])
def test_batch_norm_of_nothing(training: bool) -> None:
    none = torch.empty(0, requires_grad=True)
    found = F.batch_norm(none, torch.empty(0), torch.empty(0), training=training)
    assert found.shape == (0,)
    found.sum().backward()
    assert none.grad is not None and none.grad.shape == (0,)
    with pytest.raises(ValueError, match=r"at least two dims.*\[3\]"):
        F.batch_norm(torch.ones(3), torch.zeros(3), torch.ones(3), training=training)


def test_nextafter_takes_the_dtype_of_the_tensor_that_has_dims() -> None:
    halves = torch.ones(3, dtype=torch.float16)
    for number in (torch.tensor(2.0), torch.tensor(2.0, dtype=torch.bfloat16)):
        found = torch.nextafter(halves, number)
        assert found.dtype is torch.float16
        assert found.tolist() == [1 + 2**-10] * 3
        assert torch.nextafter(number, halves).dtype is torch.float16
    assert torch.nextafter(halves, torch.tensor([2.0])).dtype is torch.float32


@pytest.mark.parametrize("dtype", [torch.int8, torch.uint8, torch.int64])
def test_geometric_draws_of_integers(dtype: torch.dtype) -> None:
    torch.manual_seed(0)
    draws = torch.zeros(20_000, dtype=dtype).geometric_(0.25)
    assert draws.min() == 1
    assert abs(draws.double().mean() - 4) < 5 * math.sqrt(12 / 20_000)


def test_geometric_draws_that_no_integer_holds_are_the_largest() -> None:
    assert torch.zeros(50, dtype=torch.int8).geometric_(1e-9).tolist() == [127] * 50
    assert torch.zeros(50, dtype=torch.int64).geometric_(1e-300).min() > 2**62


def test_the_former_name_of_a_reflected_division() -> None:
    assert torch.tensor([2.0, 4.0]).__rdiv__(8).tolist() == [4.0, 2.0]


def test_resizing_as_a_function() -> None:
    x, like = torch.zeros(2), torch.ones(2, 3)
    assert torch.resize_as_(x, like) is x and x.shape == (2, 3)
    assert torch.ones(0).resize_as_(like, memory_format=torch.contiguous_format).shape == (2, 3)


def test_errors() -> None:
    with pytest.raises(RuntimeError, match="a weight for each class"):
        F.multi_margin_loss(
            torch.ones(2, 3), torch.zeros(2, dtype=torch.int64), weight=torch.ones(2)
        )
    with pytest.raises(RuntimeError, match="does not fit input"):
        F.cross_entropy(torch.ones(2, 3, 5), torch.zeros(2, 4, dtype=torch.int64))
    with pytest.raises(ValueError, match="does not fit input"):
        F.cross_entropy(torch.ones(2, 3, 5), torch.zeros(1, 5, dtype=torch.int64))
    with pytest.raises(RuntimeError, match="one class for each row"):
        F.multi_margin_loss(torch.ones(2, 3), torch.zeros(3, dtype=torch.int64))
    with pytest.raises(ValueError, match="one is complex"):
        torch.optim.SparseAdam([torch.ones(2, dtype=torch.complex64, requires_grad=True)])

"""`nn.grad`: gradients of convolutions, against finite differences and the convolutions' own."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import flambeau
from flambeau import Tensor, nn
from flambeau.autograd import Function, gradcheck
from flambeau.nn import functional

CONVOLUTIONS = {1: functional.conv1d, 2: functional.conv2d, 3: functional.conv3d}
HOW: list[dict[str, Any]] = [
    {},
    {"stride": 2, "padding": 1},
    {"stride": 3, "dilation": 2, "padding": 2},
    {"groups": 2, "padding": 1},
    {"stride": 2, "groups": 2, "dilation": 2},
]


def numbers(*shape: int, seed: int = 0, kind: Any = flambeau.float64) -> Tensor:
    generator = np.random.default_rng(seed)
    values = generator.normal(size=shape) + 1j * generator.normal(size=shape)
    return flambeau.tensor(values if kind.is_complex else values.real, dtype=kind)


def of_convolution(dims: int, how: dict[str, Any], kind: Any = flambeau.float64) -> Any:
    """The input, the filters, and a gradient of the result."""
    groups = how.get("groups", 1)
    x = numbers(2, 2 * groups, *(7, 6, 5)[:dims], seed=1, kind=kind)
    w = numbers(2 * groups, 2, *(3, 2, 2)[:dims], seed=2, kind=kind)
    result = CONVOLUTIONS[dims](x, w, **how)
    return x, w, numbers(*result.shape, seed=3, kind=kind)


def functions(dims: int) -> tuple[Any, Any]:
    return getattr(nn.grad, f"conv{dims}d_input"), getattr(nn.grad, f"conv{dims}d_weight")


@pytest.mark.parametrize("kind", [flambeau.float64, flambeau.complex128], ids=str)
@pytest.mark.parametrize("how", HOW, ids=str)
@pytest.mark.parametrize("dims", CONVOLUTIONS)
def test_gradients_are_those_of_autograd(dims: int, how: dict[str, Any], kind: Any) -> None:
    x, w, grad_output = of_convolution(dims, how, kind)
    by_input, by_weight = functions(dims)
    x.requires_grad_(), w.requires_grad_()
    CONVOLUTIONS[dims](x, w, **how).backward(grad_output)
    with flambeau.no_grad():
        found = by_input(x.shape, w, grad_output, **how), by_weight(x, w.shape, grad_output, **how)
    np.testing.assert_allclose(found[0].numpy(), x.grad.numpy(), atol=1e-12)
    np.testing.assert_allclose(found[1].numpy(), w.grad.numpy(), atol=1e-12)
    alone = by_weight(x.detach()[0], w.shape, grad_output[0], **how)  # without a batch
    one = by_weight(x.detach()[:1], w.shape, grad_output[:1], **how)
    np.testing.assert_allclose(alone.numpy(), one.numpy(), atol=1e-12)


@pytest.mark.parametrize("how", HOW, ids=str)
@pytest.mark.parametrize("dims", CONVOLUTIONS)
def test_gradients_are_finite_differences(dims: int, how: dict[str, Any]) -> None:
    x, w, grad_output = of_convolution(dims, how)

    def value(x: Tensor, w: Tensor) -> float:
        return (CONVOLUTIONS[dims](x, w, **how) * grad_output).sum().item()

    by_input, by_weight = functions(dims)
    along_x, along_w = numbers(*x.shape, seed=4), numbers(*w.shape, seed=5)
    slope_x = (by_input(x.shape, w, grad_output, **how) * along_x).sum().item()
    slope_w = (by_weight(x, w.shape, grad_output, **how) * along_w).sum().item()
    # What is linear has no error but that of rounding.
    assert value(x + along_x, w) - value(x, w) == pytest.approx(slope_x, rel=1e-9, abs=1e-9)
    assert value(x, w + along_w) - value(x, w) == pytest.approx(slope_w, rel=1e-9, abs=1e-9)


@pytest.mark.parametrize("dims", CONVOLUTIONS)
def test_they_have_derivatives(dims: int) -> None:
    how = {"stride": 2, "padding": 1}
    x, w, grad_output = of_convolution(dims, how)
    by_input, by_weight = functions(dims)
    w.requires_grad_(), x.requires_grad_(), grad_output.requires_grad_()
    assert gradcheck(lambda w, g: by_input(x.shape, w, g, **how), (w, grad_output), fast_mode=True)
    assert gradcheck(lambda x, g: by_weight(x, w.shape, g, **how), (x, grad_output), fast_mode=True)


class Convolution(Function):
    """What these functions are for."""

    @staticmethod
    def forward(ctx: Any, x: Tensor, w: Tensor) -> Tensor:
        ctx.save_for_backward(x, w)
        return functional.conv2d(x, w, padding=1)

    @staticmethod
    def backward(ctx: Any, grad_output: Tensor) -> tuple[Tensor, Tensor]:
        x, w = ctx.saved_tensors
        return (
            nn.grad.conv2d_input(x.shape, w, grad_output, padding=1),
            nn.grad.conv2d_weight(x, w.shape, grad_output, padding=1),
        )


def test_a_function_with_its_own_backward() -> None:
    x, w = numbers(1, 2, 4, 4).requires_grad_(), numbers(3, 2, 3, 3, seed=1).requires_grad_()
    assert gradcheck(Convolution.apply, (x, w))


def test_mistakes_are_named() -> None:
    x, w = flambeau.ones(2, 3, 8, 8), flambeau.ones(4, 3, 3, 3)
    with pytest.raises(RuntimeError, match=r"conv2d_weight\(\): grad_output .* \(2, 4, 6, 6\)"):
        nn.grad.conv2d_weight(x, w.shape, flambeau.ones(2, 4, 5, 6))
    with pytest.raises(RuntimeError, match=r"conv2d_input\(\): grad_output .* got \(4, 6, 6\)"):
        nn.grad.conv2d_input(x.shape, w, flambeau.ones(4, 6, 6))
    with pytest.raises(RuntimeError, match=r"conv2d_input\(\): stride must be an int or 2"):
        nn.grad.conv2d_input(x.shape, w, flambeau.ones(2, 4, 6, 6), stride=(1, 1, 1))
    for groups in (0, 2, -1):
        with pytest.raises(RuntimeError, match="shapes of no convolution"):
            nn.grad.conv2d_input(x.shape, w, flambeau.ones(2, 4, 6, 6), groups=groups)
    with pytest.raises(RuntimeError, match="shapes of no convolution"):
        nn.grad.conv1d_weight(x, w.shape, flambeau.ones(2, 4, 6, 6))
    with pytest.raises(RuntimeError, match=r"input\(\): .*argument stride must be positive, got"):
        nn.grad.conv2d_input(x.shape, w, flambeau.ones(2, 4, 6, 6), stride=0)

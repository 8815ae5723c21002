"""Fusion with batch norms, calls with other parameters, memory formats, modules without values."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import flambeau
from flambeau import Tensor, nn
from flambeau.nn.utils.stateless import functional_call


def trained(norm: Any) -> Any:
    """A batch norm in evaluation mode, of statistics that are not the first ones."""
    with flambeau.no_grad():
        norm.running_mean.normal_()
        norm.running_var.uniform_(0.5, 2)
        for tensor in (norm.weight, norm.bias):
            if tensor is not None:
                tensor.normal_()
    return norm.eval()


@pytest.mark.parametrize("bias", [True, False])
@pytest.mark.parametrize("affine", [True, False])
@pytest.mark.parametrize("transpose", [True, False])
def test_a_convolution_takes_its_batch_norm_in(bias: bool, affine: bool, transpose: bool) -> None:
    kind = nn.ConvTranspose2d if transpose else nn.Conv2d
    convolution = kind(3, 4, 2, bias=bias).eval()
    norm = trained(nn.BatchNorm2d(4, affine=affine))
    fused = nn.utils.fuse_conv_bn_eval(convolution, norm, transpose=transpose)
    assert type(fused) is kind
    x = flambeau.randn(2, 3, 5, 5)
    expected = norm(convolution(x)).detach().numpy()
    np.testing.assert_allclose(fused(x).detach(), expected, rtol=1e-4, atol=1e-5)


def test_a_linear_takes_its_batch_norm_in() -> None:
    linear, norm = nn.Linear(3, 4).eval(), trained(nn.BatchNorm1d(4))
    fused = nn.utils.fuse_linear_bn_eval(linear, norm)
    x = flambeau.randn(2, 3)
    expected = norm(linear(x)).detach().numpy()
    np.testing.assert_allclose(fused(x).detach(), expected, rtol=1e-4, atol=1e-5)
    with pytest.raises(ValueError, match="features"):
        nn.utils.fuse_linear_bn_eval(linear, trained(nn.BatchNorm1d(3)))
    with pytest.raises(ValueError, match="evaluation"):
        nn.utils.fuse_linear_bn_eval(linear.train(), norm)
    unknown = nn.BatchNorm1d(4, track_running_stats=False).eval()
    with pytest.raises(ValueError, match="statistics"):
        nn.utils.fuse_linear_bn_eval(linear.eval(), unknown)


def test_calls_with_other_parameters() -> None:
    layer = nn.Linear(3, 2)
    before = layer.weight
    weight = flambeau.randn(2, 3, requires_grad=True)
    x = flambeau.randn(4, 3)
    result = functional_call(layer, {"weight": weight}, x)
    expected = x.numpy() @ weight.detach().numpy().T + layer.bias.detach().numpy()
    np.testing.assert_allclose(result.detach(), expected, rtol=1e-5, atol=1e-6)
    result.sum().backward()
    assert weight.grad is not None
    np.testing.assert_allclose(weight.grad, np.tile(x.numpy().sum(0), (2, 1)), 1e-5)
    assert layer.weight is before
    assert before.grad is None


def test_gradients_reach_what_parameters_are_made_of() -> None:
    layer = nn.Sequential(nn.Linear(1, 1, bias=False))
    scale = flambeau.tensor(3.0, requires_grad=True)
    made = {"0.weight": (scale * 2).reshape(1, 1)}
    functional_call(layer, made, (flambeau.ones(1, 1),)).sum().backward()
    assert scale.grad is not None
    assert scale.grad.item() == 2


def test_buffers_and_failures_leave_the_module_as_it_was() -> None:
    layer = nn.BatchNorm1d(2)
    count = layer.num_batches_tracked
    given = {"num_batches_tracked": flambeau.tensor(7), "running_mean": flambeau.zeros(2)}
    functional_call(layer, given, flambeau.randn(3, 2))
    assert given["num_batches_tracked"].item() == 8
    assert given["running_mean"].abs().sum().item() > 0
    assert layer.num_batches_tracked is count
    assert count.item() == 0
    with pytest.raises(ValueError, match="dimensions"):
        functional_call(layer, given, flambeau.ones(1))
    assert layer.num_batches_tracked is count

    class Counting(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.register_buffer("count", flambeau.tensor(0))

        def forward(self, by: int = 1) -> Tensor:
            self.count = self.count + by
            return self.count

    counting, state = Counting(), {"count": flambeau.tensor(5)}
    functional_call(counting, state, kwargs={"by": 2})
    assert state["count"].item() == 7
    assert counting.count.item() == 0


def test_tied_and_strict_calls() -> None:
    pair = nn.Sequential(nn.Linear(1, 1, bias=False), nn.Linear(1, 1, bias=False))
    pair[1].weight = pair[0].weight
    two, x = flambeau.full([1, 1], 2.0), flambeau.ones(1, 1)
    assert functional_call(pair, {"0.weight": two}, x, strict=True).item() == 4
    single = functional_call(pair, {"0.weight": two}, x, tie_weights=False).item()
    assert abs(single - 2 * pair[0].weight.item()) < 1e-6
    with pytest.raises(ValueError, match=r"0\.weight, 1\.weight"):
        functional_call(pair, {"0.weight": two, "1.weight": two + 1}, x)
    with pytest.raises(RuntimeError, match="missing keys: weight.*unexpected keys: other"):
        functional_call(nn.Linear(1, 1), {"other": two, "bias": two}, x, strict=True)
    with pytest.raises(TypeError, match="dict"):
        functional_call(pair, [two], x)  # type: ignore[arg-type]


def test_memory_formats_of_weights() -> None:
    model = nn.Sequential(nn.Conv2d(3, 4, 2), nn.Conv3d(3, 4, 2))
    nn.utils.convert_conv2d_weight_memory_format(model, flambeau.channels_last)
    assert model[0].weight.is_contiguous(memory_format=flambeau.channels_last)
    assert model[1].weight.is_contiguous()
    nn.utils.convert_conv3d_weight_memory_format(model, flambeau.channels_last_3d)
    assert model[1].weight.is_contiguous(memory_format=flambeau.channels_last_3d)


def test_modules_without_values() -> None:
    layer = nn.utils.skip_init(nn.Linear, 3, 2, bias=False, dtype=flambeau.float64)
    assert layer.weight.shape == (2, 3)
    assert layer.weight.dtype == flambeau.float64
    with pytest.raises(TypeError, match="class of modules"):
        nn.utils.skip_init(nn.ReLU(), 3)  # type: ignore[arg-type]

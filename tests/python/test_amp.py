"""Scopes of autocast, what is kept between calls, and the scaler of losses."""

from __future__ import annotations

import math
import threading
from typing import Any, ClassVar

import pytest

import flambeau
from flambeau import Tensor, nn
from flambeau.amp import GradScaler, autocast, custom_bwd, custom_fwd

F = nn.functional


def product_dtype() -> flambeau.dtype:
    x = flambeau.ones(2, 2)
    return (x @ x).dtype


def fail_inside() -> None:
    with autocast("cpu"):
        raise ZeroDivisionError


def test_scopes_nest_and_end_with_an_exception() -> None:
    assert product_dtype() == flambeau.float32
    with autocast("cpu"):
        assert product_dtype() == flambeau.bfloat16
        with autocast("cpu", dtype=flambeau.float16):
            assert product_dtype() == flambeau.float16
            with autocast("cpu", enabled=False):
                assert product_dtype() == flambeau.float32
            with pytest.raises(ZeroDivisionError):
                fail_inside()
            assert product_dtype() == flambeau.float16
        assert flambeau.get_autocast_dtype("cpu") == flambeau.bfloat16
    assert product_dtype() == flambeau.float32
    assert not flambeau.is_autocast_enabled("cpu")


def test_one_scope_can_be_entered_again() -> None:
    scope = autocast("cpu")
    with scope, scope:
        assert product_dtype() == flambeau.bfloat16
    assert product_dtype() == flambeau.float32


def test_a_decorated_function_has_a_scope_at_each_call() -> None:
    decorated = autocast("cpu")(product_dtype)
    assert decorated() == flambeau.bfloat16
    assert product_dtype() == flambeau.float32


def test_threads_have_scopes_of_their_own() -> None:
    found: list[flambeau.dtype] = []
    with autocast("cpu"):
        thread = threading.Thread(target=lambda: found.append(product_dtype()))
        thread.start()
        thread.join()
    assert found == [flambeau.float32]


def test_float64_integers_inplace_and_out_are_left_alone() -> None:
    doubles, whole = flambeau.ones(2, 2, dtype=flambeau.float64), flambeau.ones(2, 2).long()
    out = flambeau.empty(2, 2)
    with autocast("cpu"):
        assert (doubles @ doubles).dtype == flambeau.float64
        assert (whole @ whole).dtype == flambeau.int64
        assert flambeau.mm(flambeau.ones(2, 2), flambeau.ones(2, 2), out=out) is out
        assert flambeau.ones(2, 2).addmm_(flambeau.ones(2, 2), out).dtype == flambeau.float32


@pytest.mark.parametrize(
    ("device_type", "dtype", "message"),
    [
        ("cpu", flambeau.float64, "bfloat16 or float16, got"),
        ("meta", None, "there is none for the device type 'meta'"),
        ("gpu", None, "gpu"),
    ],
)
def test_what_cannot_be_is_refused(device_type: str, dtype: Any, message: str) -> None:
    with pytest.raises(RuntimeError, match=message):
        autocast(device_type, dtype)


def test_the_device_type_is_a_string() -> None:
    with pytest.raises(TypeError, match="'device_type' to be a string"):
        autocast(True)  # type: ignore[arg-type]


def gradient_in_float32(layer: nn.Linear, x: Tensor) -> Tensor:
    """Of the sum of the layer's outputs, from values that bfloat16 holds."""
    (grad,) = flambeau.autograd.grad(layer(x.bfloat16().float()).sum(), layer.weight)
    return grad


def test_gradients_reach_float32_weights() -> None:
    flambeau.manual_seed(0)
    layer, x = nn.Linear(5, 3), flambeau.randn(7, 5)
    with autocast("cpu"):
        loss = layer(x).sum()
    assert loss.dtype == flambeau.bfloat16
    loss.backward()
    assert layer.weight.grad is not None
    assert layer.weight.grad.dtype == flambeau.float32
    expected = gradient_in_float32(layer, x)
    assert flambeau.allclose(layer.weight.grad, expected, rtol=0.02, atol=0.05)


def casts_of(weight: Tensor, output: Tensor) -> Any:
    """The node that converted the weight for an output."""
    function: Any = output.grad_fn
    found = [f for f, _ in function.next_functions if f is not None and f.next_functions]
    return next(f for f in found if getattr(f.next_functions[0][0], "variable", None) is weight)


def test_a_weight_is_converted_once_in_a_scope() -> None:
    layer, x = nn.Linear(4, 4, bias=False), flambeau.randn(2, 4)
    with autocast("cpu"):
        first, second = layer(x), layer(x)
        assert casts_of(layer.weight, first) is casts_of(layer.weight, second)
        first.sum().backward()  # what the other shares is still there
        second.sum().backward()
    with autocast("cpu"):
        assert casts_of(layer.weight, layer(x)) is not casts_of(layer.weight, first)
    with autocast("cpu", cache_enabled=False):
        assert casts_of(layer.weight, layer(x)) is not casts_of(layer.weight, layer(x))


def test_nothing_is_kept_outside_of_scopes() -> None:
    """Their end forgets converted weights; a program that has none may go on forever."""
    flambeau.set_autocast_enabled("cpu", True)
    try:
        weight, x = flambeau.randn(4, 4, requires_grad=True), flambeau.randn(2, 4)
        assert casts_of(weight, x @ weight) is not casts_of(weight, x @ weight)
    finally:
        flambeau.set_autocast_enabled("cpu", False)


def test_a_weight_that_changed_is_converted_anew() -> None:
    layer, x = nn.Linear(3, 3, bias=False), flambeau.ones(1, 3)
    with autocast("cpu"):
        layer(x)
        with flambeau.no_grad():
            layer.weight.fill_(2.0)
        assert layer(x).tolist() == [[6.0, 6.0, 6.0]]
        layer.weight.data = flambeau.ones(3, 3)
        assert layer(x).tolist() == [[3.0, 3.0, 3.0]]
        with flambeau.no_grad():
            assert not layer(x).requires_grad
        assert layer(x).requires_grad


class Scaled(flambeau.autograd.Function):
    """Says in which dtype its forward and its backward multiply."""

    seen: ClassVar[list[flambeau.dtype]] = []

    @staticmethod
    @custom_fwd(device_type="cpu", cast_inputs=flambeau.float32)
    def forward(ctx: Any, x: Tensor) -> Tensor:
        Scaled.seen.append((x @ x).dtype)
        return x * 2

    @staticmethod
    @custom_bwd(device_type="cpu")
    def backward(ctx: Any, grad: Tensor) -> Tensor:
        Scaled.seen.append((grad @ grad).dtype)
        return grad * 2


def test_a_function_that_casts_its_inputs() -> None:
    x = flambeau.ones(2, 2, dtype=flambeau.bfloat16, requires_grad=True)
    Scaled.seen.clear()
    with autocast("cpu"):
        y = Scaled.apply(x)
        assert y.dtype == flambeau.float32
        y.sum().backward()
    assert Scaled.seen == [flambeau.float32, flambeau.float32]
    assert x.grad is not None
    assert x.grad.dtype == flambeau.bfloat16


def train(lower: bool) -> float:
    """The loss of a small network after some steps."""
    flambeau.manual_seed(1)
    model = nn.Sequential(nn.Linear(8, 32), nn.LayerNorm(32), nn.GELU(), nn.Linear(32, 4))
    x = flambeau.randn(64, 8)
    labels = x[:, :4].argmax(1)
    optimizer = flambeau.optim.AdamW(model.parameters(), lr=0.01)
    loss = flambeau.zeros([])
    for _ in range(60):
        with autocast("cpu", enabled=lower):
            loss = F.cross_entropy(model(x), labels)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    assert all(p.dtype == flambeau.float32 for p in model.parameters())
    return loss.item()


def test_training_in_bfloat16_reaches_the_loss_of_float32() -> None:
    assert train(lower=True) == pytest.approx(train(lower=False), rel=0.05, abs=0.01)


# Scaling ------------------------------------------------------------------------------------------


def one_weight(value: float = 1.0) -> tuple[Tensor, flambeau.optim.SGD]:
    weight = flambeau.tensor([value], requires_grad=True)
    return weight, flambeau.optim.SGD([weight], lr=0.5)


def test_scaled_steps_are_those_without_a_scaler() -> None:
    weight, optimizer = one_weight()
    scaler = GradScaler("cpu", init_scale=1024.0, growth_interval=2)
    for _ in range(4):
        optimizer.zero_grad()
        scaler.scale((weight * 3).sum()).backward()
        scaler.step(optimizer)
        scaler.update()
    assert weight.item() == pytest.approx(1.0 - 4 * 0.5 * 3)
    assert scaler.get_scale() == 1024.0 * 2 * 2


@pytest.mark.parametrize("bad", [math.inf, math.nan])
def test_a_step_with_infinite_gradients_is_left_out(bad: float) -> None:
    weight, optimizer = one_weight()
    scaler = GradScaler("cpu", init_scale=8.0)
    scaler.scale((weight * bad).sum()).backward()
    assert scaler.step(optimizer) is None
    scaler.update()
    assert weight.item() == 1.0
    assert scaler.get_scale() == 4.0


def test_gradients_can_be_clipped_between() -> None:
    weight, optimizer = one_weight()
    scaler = GradScaler("cpu")
    scaler.scale((weight * 100).sum()).backward()
    scaler.unscale_(optimizer)
    assert weight.grad is not None
    assert weight.grad.item() == 100.0
    nn.utils.clip_grad_norm_([weight], 1.0)
    scaler.step(optimizer)
    assert weight.item() == pytest.approx(0.5, abs=1e-4)
    with pytest.raises(RuntimeError, match="stepped already"):
        scaler.step(optimizer)
    with pytest.raises(RuntimeError, match="stepped already"):
        scaler.unscale_(optimizer)


def test_the_state_of_a_scaler_goes_on() -> None:
    scaler, other = GradScaler("cpu", init_scale=4.0), GradScaler("cpu")
    scaler.set_growth_interval(7)
    other.load_state_dict(scaler.state_dict())
    assert other.state_dict() == scaler.state_dict()
    with pytest.raises(RuntimeError, match="the state is empty"):
        other.load_state_dict({})


def test_a_scaler_that_is_off_does_nothing() -> None:
    weight, optimizer = one_weight()
    scaler = GradScaler("cpu", enabled=False)
    loss = weight.sum()
    assert scaler.scale(loss) is loss
    loss.backward()
    scaler.step(optimizer)
    scaler.update()
    assert weight.item() == 0.5
    assert scaler.get_scale() == 1.0
    assert scaler.state_dict() == {}


def test_losses_in_containers() -> None:
    scaler = GradScaler("cpu", init_scale=2.0)
    one = flambeau.ones([])
    scaled = scaler.scale([one, (one, {"a": one})])
    assert scaled == [2.0, (2.0, {"a": 2.0})]
    with pytest.raises(ValueError, match="got float"):
        scaler.scale(1.0)


@pytest.mark.parametrize(
    "wrong", [{"growth_factor": 1.0}, {"backoff_factor": 1.0}, {"growth_factor": math.nan}]
)
def test_factors_that_lead_nowhere(wrong: dict[str, float]) -> None:
    with pytest.raises(ValueError, match="factor"):
        GradScaler("cpu", **wrong)  # type: ignore[arg-type]


def test_an_update_needs_a_step() -> None:
    scaler = GradScaler("cpu")
    with pytest.raises(RuntimeError, match="no optimizer has stepped"):
        scaler.update()
    scaler.update(16.0)
    assert scaler.get_scale() == 16.0

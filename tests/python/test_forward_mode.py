"""Forward mode beyond single operators: writes in place, whole networks, what it refuses."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

import flambeau
from flambeau import Tensor, nn
from flambeau.autograd import forward_ad, functional
from flambeau.nn import functional as F

make_dual = forward_ad.make_dual


def tangent(tensor: Tensor) -> list[float]:
    found = forward_ad.unpack_dual(tensor).tangent
    assert found is not None
    return found.tolist()


SHARING: list[Callable[[Tensor], Tensor]] = [
    lambda x: x + 1,
    lambda x: x.clone(),
    lambda x: F.relu(x),
    lambda x: x.expand(1, 3) - 0,
    lambda x: flambeau.cat([x]),
]


@pytest.mark.parametrize("function", SHARING)
def test_a_write_in_place_reaches_no_other_tangent(function: Callable[[Tensor], Tensor]) -> None:
    """Operators whose tangent is that of their argument do not share its memory."""
    with forward_ad.dual_level():
        x = make_dual(flambeau.tensor([1.0, 2.0, 3.0]), flambeau.ones(3)) * 1
        y = function(x)
        y.mul_(5)
        assert np.ravel(tangent(y)).tolist() == [5.0, 5.0, 5.0]
        assert tangent(x) == [1.0, 1.0, 1.0]


def test_a_write_into_a_view_keeps_the_rest_of_the_tangent() -> None:
    with forward_ad.dual_level():
        x = make_dual(flambeau.tensor([1.0, 2.0, 3.0]), flambeau.ones(3)) * 1
        view = x[1:]
        view.mul_(3)
        assert tangent(x) == [1.0, 3.0, 3.0]
        x.mul_(2)
        assert tangent(x) == [2.0, 6.0, 6.0]
        assert tangent(view) == [6.0, 6.0]


def test_an_index_that_takes_everything() -> None:
    with forward_ad.dual_level():
        x = make_dual(flambeau.tensor([1.0, 2.0, 3.0]), flambeau.ones(3)) * 1
        for whole in (x[:], x[...], x[:3]):
            assert tangent(whole) == [1.0, 1.0, 1.0]
        x[:].mul_(3)
        assert tangent(x) == [3.0, 3.0, 3.0]


def test_a_write_into_a_transposed_result() -> None:
    """Tangents are laid out as what they belong to, so that views of both agree."""
    with forward_ad.dual_level():
        x = make_dual(flambeau.ones(3, 2).t(), flambeau.ones(2, 3)) * 1
        x[0].mul_(4)
        assert tangent(x) == [[4.0, 4.0, 4.0], [1.0, 1.0, 1.0]]


def test_several_results() -> None:
    """Each has its tangent; indices have none."""
    with forward_ad.dual_level():
        x = make_dual(flambeau.tensor([[3.0, 1.0, 2.0]]), flambeau.tensor([[1.0, 10.0, 100.0]]))
        values, indices = x.sort(1)
        assert tangent(values) == [[10.0, 100.0, 1.0]]
        assert forward_ad.unpack_dual(indices).tangent is None
        var, mean = flambeau.var_mean(x, 1)
        assert tangent(mean) == [37.0]
        assert tangent(var) == pytest.approx([2 / 2 * (1 * 1 - 1 * 10 + 0 * 100)])


def test_dropout_keeps_what_it_chose() -> None:
    with forward_ad.dual_level():
        x = make_dual(flambeau.ones(1000), flambeau.full((1000,), 3.0))
        y = F.dropout(x, 0.5)
        chosen = y.numpy() != 0
        assert 0 < chosen.sum() < 1000
        assert tangent(y) == (6.0 * chosen).tolist()


class Network(nn.Module):
    """The layers whose tangents are declared."""

    def __init__(self) -> None:
        super().__init__()
        self.conv = nn.Conv2d(1, 4, 3)
        self.batch = nn.BatchNorm2d(4)
        self.group = nn.GroupNorm(2, 4)
        self.layer = nn.LayerNorm(16)
        self.last = nn.Linear(16, 3)

    def forward(self, x: Tensor) -> Tensor:
        x = F.max_pool2d(self.group(self.batch(self.conv(x))), 2)
        return F.log_softmax(self.last(self.layer(x.flatten(1))), 1)


def test_a_network() -> None:
    """Columns of the Jacobian by forward mode, rows by reverse mode."""
    flambeau.manual_seed(1)
    network = Network().to(flambeau.float64)
    x = flambeau.randn(2, 1, 6, 6, dtype=flambeau.float64)
    forward = functional.jacobian(network, x, strategy="forward-mode")
    reverse = functional.jacobian(network, x)
    np.testing.assert_allclose(forward.numpy(), reverse.numpy(), rtol=1e-9, atol=1e-12)


def test_hessian_vector_product() -> None:
    """Forward over reverse agrees with reverse over reverse."""
    flambeau.manual_seed(2)
    x, v = (flambeau.randn(4, 5, dtype=flambeau.float64) for _ in range(2))

    def loss(x: Tensor) -> Tensor:
        spread = F.layer_norm(x, [5]).softmax(1).cumprod(0).std(1)
        return (spread * x.amax(1)).norm() + x.logsumexp([0]).prod()

    with forward_ad.dual_level():
        dual = make_dual(x, v).requires_grad_()
        (gradient,) = flambeau.autograd.grad(loss(dual), dual)
        found = forward_ad.unpack_dual(gradient).tangent
    assert found is not None
    expected = functional.hvp(loss, x, v)[1]
    np.testing.assert_allclose(found.numpy(), expected.numpy(), rtol=1e-9, atol=1e-12)


def test_out_carries_no_tangent() -> None:
    out = flambeau.zeros(3)
    with forward_ad.dual_level():
        x = make_dual(flambeau.ones(3), flambeau.ones(3))
        with pytest.raises(RuntimeError, match=r"sin\(\): functions with out=.* tangents"):
            flambeau.sin(x, out=out)
        with pytest.raises(RuntimeError, match=r"nan_to_num\(\): functions with out=.* tangents"):
            flambeau.nan_to_num(x, out=out)


def test_errors_in_place_name_the_operator() -> None:
    large = flambeau.ones(3, 2)
    with pytest.raises(
        RuntimeError, match=r"^div_: an operand of shape \[3, 2\] does not broadcast"
    ):
        flambeau.ones(2).div_(large, rounding_mode="floor")
    recorded = flambeau.ones(2, requires_grad=True) * 1
    with pytest.raises(RuntimeError, match=r"^div_\(\): the result has shape \[3, 2\]"):
        recorded.div_(large, rounding_mode="floor")
    with forward_ad.dual_level():
        x = make_dual(flambeau.ones(2), flambeau.ones(2)) * 1
        with pytest.raises(RuntimeError, match=r"^mul_\(\): the result has shape \[3, 2\]"):
            x.mul_(large)


@pytest.mark.parametrize("x", [[2.0, 0.0, 3.0, 4.0], [0.0, 5.0, 0.0, -1.0], [0.0, 0.0, 0.0]])
def test_gradients_of_products_at_zeros(x: list[float]) -> None:
    """First and second derivatives, from products over all elements but one and but two."""
    count = len(x)

    def without(upto: int, *left_out: int) -> float:
        if len(set(left_out)) < len(left_out) or max(left_out) > upto:
            return 0.0
        return float(np.prod([x[k] for k in range(upto + 1) if k not in left_out]))

    weights = np.arange(1.0, count + 1)
    for function, weight in (
        (lambda t: (t.cumprod(0) * flambeau.tensor(weights)).sum(), weights),
        (lambda t: t.prod(), np.eye(count)[-1]),
        (lambda t: t.prod(0), np.eye(count)[-1]),
    ):
        point = flambeau.tensor(x, dtype=flambeau.float64)
        gradient = functional.jacobian(function, point)
        hessian = functional.hessian(function, point)
        for j in range(count):
            expected = sum(w * without(i, j) for i, w in enumerate(weight))
            assert gradient[j].item() == pytest.approx(expected)
            for k in range(count):
                expected = sum(w * without(i, j, k) for i, w in enumerate(weight))
                assert hessian[j, k].item() == pytest.approx(expected)


def test_tangents_of_functions_have_none_themselves() -> None:
    class Square(flambeau.autograd.Function):
        @staticmethod
        def forward(ctx, x):  # type: ignore[no-untyped-def]
            ctx.save_for_backward(x)
            ctx.save_for_forward(x)
            return x * x

        @staticmethod
        def jvp(ctx, t):  # type: ignore[no-untyped-def]
            return 2 * ctx.saved_tensors[0] * t

    with forward_ad.dual_level():
        result = Square.apply(make_dual(flambeau.tensor([3.0]), flambeau.ones(1)))
        pushed = forward_ad.unpack_dual(result).tangent
        assert pushed is not None and pushed.tolist() == [6]
        assert forward_ad.unpack_dual(pushed).tangent is None

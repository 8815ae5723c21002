"""Modules that learn their sizes from the first input; tensors without a shape; SyncBatchNorm."""

from __future__ import annotations

import copy
import pickle
from typing import Any

import numpy as np
import pytest

import flambeau
from flambeau import Tensor, nn


def lazy_cases() -> list[Any]:
    """(lazy class, arguments, shape of an input, sizes that its usual class is made of)."""
    cases: list[Any] = [(nn.LazyLinear, (4,), (2, 5), (5, 4))]
    for rank in (1, 2, 3):
        image = (2, 3, *[6] * rank)
        cases += [
            (getattr(nn, f"LazyConv{rank}d"), (4, 2), image, (3, 4, 2)),
            (getattr(nn, f"LazyConvTranspose{rank}d"), (4, 2), image, (3, 4, 2)),
            (getattr(nn, f"LazyBatchNorm{rank}d"), (), image, (3,)),
            (getattr(nn, f"LazyInstanceNorm{rank}d"), (), image, (3,)),
        ]
    return cases


@pytest.mark.parametrize(("lazy", "given", "shape", "sizes"), lazy_cases())
def test_a_lazy_layer_becomes_a_usual_one(lazy: Any, given: Any, shape: Any, sizes: Any) -> None:
    usual = getattr(nn, lazy.__name__.removeprefix("Lazy"))
    options = {"affine": True, "track_running_stats": True} if "Inst" in lazy.__name__ else {}
    flambeau.manual_seed(0)
    layer = lazy(*given)
    assert layer.has_uninitialized_params()
    assert list(layer.state_dict()) == list(usual(*sizes, **options).state_dict())
    x = flambeau.randn(shape)
    flambeau.manual_seed(1)
    result = layer(x)
    assert type(layer) is usual
    assert all(type(p) is nn.Parameter for p in layer.parameters())
    flambeau.manual_seed(1)
    expected = usual(*sizes, **options)
    assert repr(layer) == repr(expected)
    np.testing.assert_array_equal(result.detach().numpy(), expected(x).detach().numpy())


@pytest.mark.parametrize(("lazy", "given", "shape", "sizes"), lazy_cases())
def test_a_state_gives_shapes(lazy: Any, given: Any, shape: Any, sizes: Any) -> None:
    source, target = lazy(*given), lazy(*given)
    unborn = lazy(*given).state_dict()
    x = flambeau.randn(shape)
    source(x)
    with pytest.raises(RuntimeError, match="without a shape"):
        source.load_state_dict(unborn)
    target.load_state_dict(unborn)
    assert target.has_uninitialized_params()
    target.load_state_dict(source.state_dict())
    assert not target.has_uninitialized_params()
    source.eval(), target.eval()
    np.testing.assert_array_equal(source(x).detach().numpy(), target(x).detach().numpy())
    assert repr(source) == repr(target)


def test_an_optimizer_keeps_lazy_parameters() -> None:
    model = nn.Sequential(nn.LazyLinear(3), nn.ReLU(), nn.LazyLinear(1))
    optimizer = flambeau.optim.SGD(model.parameters(), lr=0.1)
    loss = model(flambeau.ones(2, 5)).square().mean()
    loss.backward()
    before = model[2].weight.detach().clone()
    optimizer.step()
    assert not bool((model[2].weight == before).all())


def test_adagrad_needs_shapes() -> None:
    with pytest.raises(ValueError, match="no values"):
        flambeau.optim.Adagrad(nn.LazyLinear(3).parameters())


def test_conversions_before_the_first_input() -> None:
    layer = nn.LazyLinear(3).double()
    for made in (layer, copy.deepcopy(layer), pickle.loads(pickle.dumps(layer))):
        made(flambeau.ones(2, 5, dtype=flambeau.float64))
        assert made.weight.shape == (3, 5)
        assert made.weight.dtype == flambeau.float64


def test_tensors_without_a_shape() -> None:
    for lazy, usual in (
        (nn.UninitializedParameter(), nn.Parameter),
        (nn.UninitializedBuffer(), nn.Buffer),
    ):
        assert repr(lazy) == f"<{type(lazy).__name__}>"
        with pytest.raises(RuntimeError, match="no shape"):
            _ = lazy.shape
        with pytest.raises(ValueError, match="no values"):
            _ = lazy + 1
        with pytest.raises(ValueError, match="no values"):
            lazy.sum()
        lazy.materialize((2, 3), dtype=flambeau.float64)
        assert type(lazy) is usual
        assert (lazy.shape, lazy.dtype) == ((2, 3), flambeau.float64)
        assert (lazy * 0 + 1).sum().item() == 6


def test_wrong_inputs() -> None:
    with pytest.raises(RuntimeError, match="dimensions"):
        nn.LazyConv2d(3, 2)(flambeau.ones(2, 2))
    with pytest.raises(ValueError, match="divide"):
        nn.LazyConv1d(4, 2, groups=2)(flambeau.ones(1, 3, 5))

    class Forgetful(nn.modules.lazy.LazyModuleMixin):
        def __init__(self) -> None:
            super().__init__()
            self.weight = nn.UninitializedParameter()

        def initialize_parameters(self, x: Tensor) -> None:
            pass

    with pytest.raises(RuntimeError, match="without a shape"):
        Forgetful()(flambeau.ones(1))


def test_a_lazy_module_of_ones_own() -> None:
    class Shift(nn.modules.lazy.LazyModuleMixin):
        made = 0

        def __init__(self) -> None:
            super().__init__()
            self.by = nn.UninitializedParameter()

        def initialize_parameters(self, x: Tensor, scale: float) -> None:
            self.made += 1
            self.by.materialize(x.shape)
            with flambeau.no_grad():
                self.by.fill_(3)

        def forward(self, x: Tensor, scale: float) -> Tensor:
            return (x + self.by) * scale

    layer = Shift()
    for _ in range(2):
        assert layer(flambeau.ones(2), scale=2.0).tolist() == [8, 8]
    assert layer.made == 1


def test_sync_batch_norm_is_batch_norm() -> None:
    x = flambeau.randn(4, 3, 2, 2)
    plain, sync = nn.BatchNorm2d(3), nn.SyncBatchNorm(3)
    for _ in range(2):
        np.testing.assert_array_equal(plain(x).detach().numpy(), sync(x).detach().numpy())
        plain.eval(), sync.eval()
    with pytest.raises(ValueError, match="2 dimensions"):
        sync(flambeau.ones(3))
    with pytest.raises(ValueError, match="process_group"):
        nn.SyncBatchNorm(3, process_group=object())


def test_converting_to_sync_batch_norm() -> None:
    model = nn.Sequential(nn.Linear(3, 3), nn.Sequential(nn.BatchNorm1d(3, bias=False))).eval()
    weight = model[1][0].weight
    converted = nn.SyncBatchNorm.convert_sync_batchnorm(model)
    assert converted is model
    inner = model[1][0]
    assert type(inner) is nn.SyncBatchNorm
    assert inner.weight is weight
    assert inner.bias is None
    assert not inner.training


def test_no_features_at_all() -> None:
    """Nothing is drawn, and nothing is what memory held."""
    assert nn.LazyLinear(3)(flambeau.randn(2, 0)).tolist() == [[0.0] * 3] * 2

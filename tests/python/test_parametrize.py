"""Parametrized tensors: caching, assignment, removal; orthogonal matrices, norms."""

from __future__ import annotations

import copy
import pickle
from typing import Any

import numpy as np
import pytest
import scipy.linalg

import flambeau
from flambeau import Tensor, nn
from flambeau.nn.utils import parametrizations, parametrize
from flambeau.nn.utils.parametrize import is_parametrized, register_parametrization


class Symmetric(nn.Module):
    def forward(self, x: Tensor) -> Tensor:
        return x.triu() + x.triu(1).mT

    def right_inverse(self, value: Tensor) -> Tensor:
        return value.triu()


class Doubled(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.calls = 0

    def forward(self, x: Tensor) -> Tensor:
        self.calls += 1
        return x * 2

    def right_inverse(self, value: Tensor) -> Tensor:
        return value / 2


class Outer(nn.Module):
    """A matrix of rank one, of two vectors."""

    def forward(self, x: Tensor, y: Tensor) -> Tensor:
        return x.unsqueeze(-1) @ y.unsqueeze(-2)

    def right_inverse(self, value: Tensor) -> tuple[Tensor, Tensor]:
        left, values, right = flambeau.linalg.svd(value, full_matrices=False)
        root = values[0].sqrt()
        return left[:, 0] * root, right[0] * root


def test_a_parameter_becomes_a_function_of_its_original() -> None:
    layer = nn.Linear(3, 3)
    weight = layer.weight
    before = weight.detach().clone()
    assert register_parametrization(layer, "weight", Symmetric()) is layer
    assert layer.parametrizations.weight.original is weight
    assert list(layer.state_dict()) == ["bias", "parametrizations.weight.original"]
    np.testing.assert_array_equal(layer.weight.detach(), np.triu(before) + np.triu(before, 1).T)
    x = flambeau.randn(2, 3)
    np.testing.assert_allclose(
        layer(x).detach(), x.numpy() @ layer.weight.detach().numpy().T + layer.bias.detach(), 1e-5
    )
    layer(x).sum().backward()
    assert weight.grad is not None
    assert weight.grad.tril(-1).abs().sum().item() == 0
    assert "ParametrizedLinear(\n  in_features=3" in repr(layer)
    assert is_parametrized(layer)
    assert is_parametrized(layer, "weight")
    assert not is_parametrized(layer, "bias")
    assert parametrize.type_before_parametrizations(layer) is nn.Linear


def test_assignment_goes_through_right_inverses() -> None:
    layer = nn.Linear(3, 3)
    register_parametrization(layer, "weight", Symmetric())
    register_parametrization(layer, "weight", Doubled())
    wanted = flambeau.randn(3, 3)
    wanted = wanted + wanted.mT
    layer.weight = wanted
    np.testing.assert_allclose(layer.weight.detach(), wanted.numpy(), 1e-6)
    np.testing.assert_allclose(
        layer.parametrizations.weight.original.detach(), np.triu(wanted.numpy()) / 2
    )
    register_parametrization(layer, "bias", nn.Tanh())
    with pytest.raises(RuntimeError, match="Tanh has no right_inverse"):
        layer.bias = flambeau.zeros(3)


def test_several_originals() -> None:
    layer = nn.Linear(4, 3)
    register_parametrization(layer, "weight", Outer())
    names = [name for name, _ in layer.named_parameters()]
    assert names == [
        "bias",
        "parametrizations.weight.original0",
        "parametrizations.weight.original1",
    ]
    assert np.linalg.matrix_rank(layer.weight.detach().numpy()) == 1
    with pytest.raises(ValueError, match="2 tensors"):
        parametrize.remove_parametrizations(layer, "weight", leave_parametrized=False)
    value = layer.weight.detach().clone()
    parametrize.remove_parametrizations(layer, "weight")
    assert isinstance(layer.weight, nn.Parameter)
    np.testing.assert_array_equal(layer.weight.detach(), value.numpy())


@pytest.mark.parametrize("leave", [True, False])
def test_removal(leave: bool) -> None:
    layer = nn.Linear(3, 3)
    weight = layer.weight
    register_parametrization(layer, "weight", Symmetric())
    register_parametrization(layer, "bias", Doubled())
    value = (layer.weight if leave else weight).detach().clone()
    parametrize.remove_parametrizations(layer, "weight", leave_parametrized=leave)
    assert layer.weight is weight
    np.testing.assert_array_equal(weight.detach(), value.numpy())
    assert is_parametrized(layer, "bias")
    parametrize.remove_parametrizations(layer, "bias", leave_parametrized=leave)
    assert type(layer) is nn.Linear
    assert not hasattr(layer, "parametrizations")
    with pytest.raises(ValueError, match="not parametrized"):
        parametrize.remove_parametrizations(layer, "weight")


def test_copies_are_independent() -> None:
    layer = nn.Linear(3, 3)
    register_parametrization(layer, "weight", Symmetric())
    clone = copy.deepcopy(layer)
    parametrize.remove_parametrizations(layer, "weight")
    np.testing.assert_array_equal(clone.weight.detach(), layer.weight.detach().numpy())
    with pytest.raises(RuntimeError, match="state_dict"):
        pickle.dumps(clone)


def test_caching() -> None:
    layer = nn.Linear(3, 3)
    register_parametrization(layer, "weight", doubled := Doubled(), unsafe=True)
    with parametrize.cached():
        assert layer.weight is layer.weight
        with parametrize.cached():
            assert layer.weight is layer.weight
    assert doubled.calls == 1
    assert layer.weight is not layer.weight


def test_buffers_modes_and_wrong_parametrizations() -> None:
    layer = nn.BatchNorm1d(3).eval()
    register_parametrization(layer, "running_var", doubled := Doubled())
    assert not doubled.training
    assert list(dict(layer.named_buffers())) == [
        *("running_mean", "num_batches_tracked"),
        "parametrizations.running_var.original",
    ]
    assert layer.running_var.tolist() == [1, 1, 1]

    class Halved(nn.Module):
        def forward(self, x: Tensor) -> Tensor:
            return x[:1]

    class Wider(nn.Module):
        def forward(self, x: Tensor) -> Tensor:
            return x.double()

    linear = nn.Linear(3, 3)
    before = linear.weight.detach().clone()
    for wrong in (Halved(), Wider()):
        with pytest.raises(ValueError, match="must keep"):
            register_parametrization(linear, "weight", wrong)
        np.testing.assert_array_equal(linear.weight.detach(), before.numpy())
        register_parametrization(linear, "weight", Doubled())
        with pytest.raises(ValueError, match="must keep"):
            register_parametrization(linear, "weight", wrong)
        parametrize.remove_parametrizations(linear, "weight")
    register_parametrization(linear, "weight", Halved(), unsafe=True)
    assert linear.weight.shape == (1, 3)
    with pytest.raises(ValueError, match="no parameter or buffer 'nothing'"):
        register_parametrization(linear, "nothing", Doubled())


def test_transfer() -> None:
    source, target = nn.Linear(3, 3), nn.Linear(3, 3)
    register_parametrization(source, "weight", Symmetric())
    register_parametrization(source, "weight", Doubled())
    parametrize.transfer_parametrizations_and_params(source, target)
    np.testing.assert_array_equal(source.weight.detach(), target.weight.detach().numpy())
    assert len(target.parametrizations.weight) == 2


# --- orthogonal ---


def is_orthogonal(matrix: Tensor) -> bool:
    m = matrix.detach().numpy()
    m = m if m.shape[-2] >= m.shape[-1] else m.swapaxes(-1, -2)
    return bool(np.allclose(m.conj().swapaxes(-1, -2) @ m, np.eye(m.shape[-1]), atol=2e-6))


@pytest.mark.parametrize("chart", ["matrix_exp", "cayley", "householder"])
@pytest.mark.parametrize("shape", [(4, 3), (3, 4), (3, 3)])
def test_orthogonal_weights_stay_orthogonal(chart: str, shape: tuple[int, int]) -> None:
    layer = nn.Linear(*shape)
    parametrizations.orthogonal(layer, orthogonal_map=chart)
    assert list(layer.state_dict()) == [
        *("bias", "parametrizations.weight.original", "parametrizations.weight.0.base"),
    ]
    optimizer = flambeau.optim.SGD(layer.parameters(), lr=0.5)
    seen = []
    for _ in range(3):
        assert is_orthogonal(layer.weight)
        seen.append(layer.weight.detach().clone())
        optimizer.zero_grad()
        layer(flambeau.ones(2, shape[0])).square().sum().backward()
        optimizer.step()
    assert (seen[0] - seen[2]).abs().max().item() > 1e-3
    # Assigning an orthogonal matrix gives just that one.
    wanted = np.linalg.qr(np.random.default_rng(0).normal(size=(4, 4)))[0][: shape[1], : shape[0]]
    wanted = scipy.linalg.polar(wanted)[0].astype(np.float32)
    layer.weight = flambeau.tensor(wanted)
    np.testing.assert_allclose(layer.weight.detach(), wanted, atol=2e-6)


def test_orthogonal_maps() -> None:
    x = flambeau.randn(3, 3)
    A = np.tril(x.numpy()) - np.tril(x.numpy()).T
    expected = {
        "matrix_exp": scipy.linalg.expm(A),
        "cayley": np.linalg.solve(np.eye(3) - A / 2, np.eye(3) + A / 2),
    }
    for chart, matrix in expected.items():
        layer = nn.Linear(3, 3)
        parametrizations.orthogonal(layer, orthogonal_map=chart, use_trivialization=False)
        layer.parametrizations.weight.original.data = x
        np.testing.assert_allclose(layer.weight.detach(), matrix, atol=1e-5)
        with pytest.raises(NotImplementedError, match=chart):
            layer.weight = x
    for rows, columns in ((3, 3), (5, 3)):
        layer = nn.Linear(columns, rows)
        parametrizations.orthogonal(layer, orthogonal_map="householder", use_trivialization=False)
        wanted = np.linalg.qr(np.random.default_rng(1).normal(size=(rows, columns)))[0]
        layer.weight = flambeau.tensor(wanted.astype(np.float32))
        np.testing.assert_allclose(layer.weight.detach(), wanted, atol=1e-6)


def test_unitary_batches() -> None:
    module = nn.Module()
    module.weight = nn.Parameter(flambeau.randn(2, 4, 3, dtype=flambeau.complex128))
    parametrizations.orthogonal(module)
    assert is_orthogonal(module.weight)
    assert module.weight.shape == (2, 4, 3)


def test_what_cannot_be_orthogonal() -> None:
    layer = nn.Linear(2, 2)
    with pytest.raises(ValueError, match="2 dimensions"):
        parametrizations.orthogonal(layer, "bias")
    with pytest.raises(ValueError, match="orthogonal_map"):
        parametrizations.orthogonal(layer, orthogonal_map="other")
    with pytest.raises(ValueError, match="no parameter"):
        parametrizations.orthogonal(layer, "nothing")


# --- norms ---


def lengths(weight: Any, dim: int | None) -> Any:
    axes = tuple(i for i in range(weight.ndim) if i != dim)
    return np.sqrt((weight**2).sum(axes if dim is not None else None, keepdims=dim is not None))


@pytest.mark.parametrize("dim", [0, 1, None])
@pytest.mark.parametrize("former", [False, True])
def test_weight_norm(dim: int | None, former: bool) -> None:
    layer = nn.Conv2d(2, 3, 2)
    weight = layer.weight.detach().numpy().copy()
    normalize: Any = nn.utils.weight_norm if former else parametrizations.weight_norm
    normalize(layer, dim=dim)
    names = ["g", "v"] if former else ["0", "1"]
    prefix = "weight_" if former else "parametrizations.weight.original"
    state = layer.state_dict()
    assert list(state) == ["bias", *(prefix + name for name in names)]
    np.testing.assert_allclose(state[prefix + names[0]], lengths(weight, dim), 1e-6)
    x = flambeau.randn(1, 2, 4, 4)
    layer(x)
    np.testing.assert_allclose(layer.weight.detach(), weight, 1e-5)
    with flambeau.no_grad():
        state[prefix + names[0]].mul_(3)
    layer(x).sum().backward()
    np.testing.assert_allclose(layer.weight.detach(), 3 * weight, 1e-5)
    # Along the direction itself the gradient of the direction vanishes.
    gradient = dict(layer.named_parameters())[prefix + names[1]].grad
    assert gradient is not None
    axes = tuple(i for i in range(4) if i != dim) if dim is not None else None
    assert abs((gradient.numpy() * weight).sum(axes)).max() < 1e-4


def test_states_of_the_former_weight_norm() -> None:
    former, layer = nn.Linear(3, 2), nn.Linear(3, 2)
    nn.utils.weight_norm(former)
    parametrizations.weight_norm(layer)
    layer.load_state_dict(former.state_dict())
    np.testing.assert_allclose(layer.weight.detach(), former.weight.detach().numpy())


@pytest.mark.parametrize("former", [False, True])
def test_spectral_norm(former: bool) -> None:
    flambeau.manual_seed(0)
    for layer in (nn.Linear(4, 3), nn.ConvTranspose1d(2, 3, 2)):
        rows = 1 if isinstance(layer, nn.ConvTranspose1d) else 0
        weight = np.moveaxis(layer.weight.detach().numpy().copy(), rows, 0)
        largest = np.linalg.svd(weight.reshape(len(weight), -1))[1][0]
        normalize: Any = nn.utils.spectral_norm if former else parametrizations.spectral_norm
        normalize(layer, n_power_iterations=30)
        x = flambeau.randn(2, 4) if not rows else flambeau.randn(1, 2, 5)
        layer(x)
        found = np.moveaxis(layer.weight.detach().numpy(), rows, 0)
        np.testing.assert_allclose(found, weight / largest, 1e-3)
        prefix = "weight_" if former else "parametrizations.weight."
        names = ["orig", "u", "v"] if former else ["original", "0._u", "0._v"]
        assert list(layer.state_dict()) == ["bias", *(prefix + name for name in names)]
        before = layer.state_dict()[prefix + names[1]].clone()
        layer.eval()(x).sum().backward()
        np.testing.assert_array_equal(layer.state_dict()[prefix + names[1]], before.numpy())
        # The normalized weight does not change with the scale of the original.
        original = dict(layer.named_parameters())[prefix + names[0]]
        assert original.grad is not None
        assert abs((original.grad * original).sum().item()) < 1e-4


def test_spectral_norm_goes_on_from_the_left_vector() -> None:
    """What files of others hold gives what it gave them: here the right vector does not count."""
    layer = nn.utils.spectral_norm(nn.Linear(4, 3))
    weight = layer.weight_orig.detach().numpy().astype(np.float64)
    left = np.array([0.6, 0.0, 0.8])
    with flambeau.no_grad():
        layer.weight_u.copy_(flambeau.from_numpy(left))
        layer.weight_v.fill_(7.0)
    layer(flambeau.ones(1, 4))
    right = left @ weight / np.linalg.norm(left @ weight)
    left = weight @ right / np.linalg.norm(weight @ right)
    np.testing.assert_allclose(layer.weight_v, right, 1e-5)
    np.testing.assert_allclose(layer.weight_u, left, 1e-5)
    np.testing.assert_allclose(layer.weight.detach(), weight / (left @ weight @ right), 1e-5)


def test_spectral_norm_of_a_vector_and_wrong_arguments() -> None:
    layer = nn.Linear(3, 2)
    parametrizations.spectral_norm(layer, "bias")
    assert abs(layer.bias.norm().item() - 1) < 1e-6
    for function in (nn.utils.spectral_norm, parametrizations.spectral_norm):
        with pytest.raises(ValueError, match="n_power_iterations"):
            function(layer, n_power_iterations=0)
        with pytest.raises(ValueError, match="no parameter"):
            function(layer, "nothing")


def test_former_norms_are_removed() -> None:
    for add, remove in (
        (nn.utils.weight_norm, nn.utils.remove_weight_norm),
        (nn.utils.spectral_norm, nn.utils.remove_spectral_norm),
    ):
        layer = nn.Linear(3, 2)
        add(layer)
        with pytest.raises(RuntimeError, match="already"):
            add(layer)
        x = flambeau.randn(2, 3)
        expected = layer.eval()(x).detach()
        remove(layer)
        assert sorted(layer.state_dict()) == ["bias", "weight"]
        assert isinstance(layer.weight, nn.Parameter)
        np.testing.assert_allclose(layer(x).detach(), expected.numpy(), 1e-6)
        with pytest.raises(ValueError, match="not normalized"):
            remove(layer)

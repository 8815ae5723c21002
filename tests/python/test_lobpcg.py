"""lobpcg against eigenvalues by SciPy, and its gradients against differences."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import scipy.linalg
import scipy.sparse

import flambeau as torch

RANDOM = np.random.default_rng(11)


def symmetric(*shape: int) -> Any:
    array = RANDOM.standard_normal(shape)
    return array + np.swapaxes(array, -1, -2)


def definite(n: int) -> Any:
    array = RANDOM.standard_normal((n, n))
    return array @ array.T / n + np.eye(n)


@pytest.mark.parametrize("method", ["ortho", "basic", None])
@pytest.mark.parametrize("largest", [True, False])
@pytest.mark.parametrize("generalized", [False, True])
def test_eigenvalues_are_scipys(method: str | None, largest: bool, generalized: bool) -> None:
    torch.manual_seed(1)
    a, b = symmetric(40, 40), definite(40) if generalized else None
    B = None if b is None else torch.from_numpy(b)
    E, X = torch.lobpcg(
        torch.from_numpy(a), 3, B, largest=largest, method=method, tol=1e-10, niter=500
    )
    wanted = scipy.linalg.eigh(a, b, eigvals_only=True)
    wanted = wanted[::-1][:3] if largest else wanted[:3]
    np.testing.assert_allclose(E.numpy(), wanted, rtol=1e-8)
    x = X.numpy()
    metric = np.eye(40) if b is None else b
    np.testing.assert_allclose(a @ x, metric @ x * E.numpy(), atol=1e-6)
    np.testing.assert_allclose(x.T @ metric @ x, np.eye(3), atol=1e-8)


def test_batches_and_a_given_start() -> None:
    a = symmetric(2, 3, 20, 20)
    start = torch.from_numpy(RANDOM.standard_normal((2, 3, 20, 4)))
    E, X = torch.lobpcg(torch.from_numpy(a), 2, X=start, tol=1e-10)
    assert E.shape == (2, 3, 2) and X.shape == (2, 3, 20, 2)
    np.testing.assert_allclose(E.numpy(), np.linalg.eigvalsh(a)[..., ::-1][..., :2], rtol=1e-8)
    assert torch.lobpcg(torch.ones(0, 20, 20), 2)[1].shape == (0, 20, 2)


def test_sparse_matrices_and_preconditioners() -> None:
    n = 300
    diagonals = scipy.sparse.diags([2 + np.arange(n), -np.ones(n - 1), -np.ones(n - 1)], [0, 1, -1])
    coo = diagonals.tocoo()
    a = torch.sparse_coo_tensor(
        torch.from_numpy(np.stack([coo.row, coo.col]).astype(np.int64)),
        torch.from_numpy(coo.data), (n, n),
    )  # fmt: skip
    inverse = torch.diag(1 / torch.from_numpy(diagonals.diagonal()))
    steps: list[int] = []
    E, _ = torch.lobpcg(
        a, 2, iK=inverse, largest=False, tol=1e-9, tracker=lambda s: steps.append(s.ivars["istep"])
    )
    wanted = np.linalg.eigvalsh(diagonals.toarray())[:2]
    np.testing.assert_allclose(E.numpy(), wanted, rtol=1e-8)
    plain: list[int] = []
    torch.lobpcg(a, 2, largest=False, tol=1e-9, tracker=lambda s: plain.append(s.ivars["istep"]))
    assert steps == list(range(1, len(steps) + 1)) and len(steps) < len(plain)


def test_a_tracker_stops_it() -> None:
    def stop(state: Any) -> None:
        assert state.X.shape == (30, 2) and state.R.shape == (30, 2)
        state.bvars["force_stop"] = state.ivars["istep"] == 2
        seen.append(float(state.tvars["rerr"].amax()))

    seen: list[float] = []
    torch.lobpcg(torch.from_numpy(symmetric(30, 30)), 2, tol=0.0, tracker=stop)
    assert len(seen) == 2
    torch.lobpcg(torch.from_numpy(symmetric(30, 30)), 2, niter=0, tracker=stop)
    assert len(seen) == 2


def test_gradients() -> None:
    a = torch.from_numpy(symmetric(12, 12)).requires_grad_()
    start = torch.from_numpy(RANDOM.standard_normal((12, 2)))
    weights = torch.from_numpy(RANDOM.standard_normal((12, 2)))

    def weighted(matrix: Any) -> Any:
        E, X = torch.lobpcg((matrix + matrix.mT) / 2, 2, X=start, tol=1e-13, niter=300)
        # The sign of a vector is not determined; the product of two is.
        return E, (X * X * weights).sum(), X[:, :1] @ X[:, 1:].mT @ X[:, 1:] @ X[:, :1].mT

    assert torch.autograd.gradcheck(weighted, (a,), atol=1e-4)
    E, _ = torch.lobpcg(a, 2, X=start, tol=1e-12)
    E.sum().backward()
    vectors = np.linalg.eigh(a.detach().numpy())[1][:, -2:]
    assert a.grad is not None
    np.testing.assert_allclose(a.grad.numpy(), vectors @ vectors.T, atol=1e-6)


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        ((torch.ones(4, 5),), ValueError, "square"),
        ((torch.ones(9, 9), 4), ValueError, "less than 3 times"),
        ((torch.ones(9, 9), 0), ValueError, "k must be from 1"),
        ((torch.ones(9, 9).long(),), TypeError, "float32 or float64"),
        ((torch.ones(9, 9), 1, None, torch.ones(8, 1)), ValueError, "X must have shape"),
    ],
)
def test_what_is_refused(arguments: Any, error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        torch.lobpcg(*arguments)
    with pytest.raises(ValueError, match="method must be"):
        torch.lobpcg(torch.ones(9, 9), method="other")
    with pytest.raises(NotImplementedError, match="B is None"):
        torch.lobpcg(torch.eye(9, requires_grad=True), B=torch.eye(9))

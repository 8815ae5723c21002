"""Singular values of large matrices that few of them describe, by products with random vectors.

N. Halko, P.-G. Martinsson, J. A. Tropp, Finding Structure with Randomness: Probabilistic Algorithms
for Constructing Approximate Matrix Decompositions, 2011: algorithms 4.4 and 5.1.
"""

from __future__ import annotations

from flambeau import _C
from flambeau._C import Tensor
from flambeau._C.linalg import qr, svd
from flambeau._values import brief

_ROUNDS = 1000  # after a few, nothing changes but rounding


def svd_lowrank(
    A: Tensor, q: int | None = 6, niter: int | None = 2, M: Tensor | None = None
) -> tuple[Tensor, Tensor, Tensor]:
    """U [*, m, q], S [*, q] and V [*, n, q] with `A - M` about `U diag(S) V^H`.

    `A`: matrices, [*, m, n]. `q`: a little more than the rank that is expected. `niter`: further
    rounds, each of which makes the result more exact. `M`: subtracted from A; it broadcasts. The
    numbers drawn are those of the default generator. ValueError where q or niter is impossible.

    Example:
        >>> x = flambeau.outer(flambeau.arange(4.), flambeau.tensor([3., 4.]))  # of rank 1
        >>> U, S, V = flambeau.svd_lowrank(x, q=1)
        >>> bool(((U * S) @ V.T - x).abs().max() < 1e-4)
        True
    """
    q, niter = 6 if q is None else q, 2 if niter is None else niter
    _check("svd_lowrank", A, q, niter)
    whole = A if M is None else A - M.broadcast_to(A.shape)
    if A.shape[-2] < A.shape[-1]:
        V, S, U = _tall(whole.mH, q, niter)
        return U, S, V
    return _tall(whole, q, niter)


def pca_lowrank(
    A: Tensor, q: int | None = None, center: bool = True, niter: int = 2
) -> tuple[Tensor, Tensor, Tensor]:
    """Principal components of the rows of matrices: U, S and V of `svd_lowrank`.

    `A`: observations in rows, [*, m, n]. `q`: how many components; None: 6 or, where smaller, m or
    n. `center`: whether the mean of the rows is subtracted. ValueError where q or niter is
    impossible.

    Example:
        >>> x = flambeau.outer(flambeau.arange(4.), flambeau.tensor([3., 4.]))  # of rank 1
        >>> U, S, V = flambeau.pca_lowrank(x, q=2)
        >>> V[:, 0].abs().round(decimals=2)  # the direction of all rows
        tensor([0.6000, 0.8000])
    """
    q = min(6, *A.shape[-2:]) if q is None else q
    _check("pca_lowrank", A, q, niter)
    return svd_lowrank(A - A.mean(-2, True) if center else A, q, niter)


def _check(name: str, A: Tensor, q: int, niter: int) -> None:
    if A.dim() < 2:
        raise ValueError(f"{name}(): expected matrices, got shape {tuple(A.shape)}")
    if not 0 <= q <= min(A.shape[-2:]):
        raise ValueError(
            f"{name}(): q = {q} is not between 0 and the smaller size of shape {tuple(A.shape)}"
        )
    if not 0 <= niter <= _ROUNDS:
        raise ValueError(f"{name}(): niter must be from 0 to {_ROUNDS}, got {brief(niter)}")


def _tall(A: Tensor, q: int, niter: int) -> tuple[Tensor, Tensor, Tensor]:
    """Of at least as many rows as columns."""
    drawn = _C.randn(A.shape[-1], q, dtype=A.dtype, device=A.device)
    Q = qr(A @ drawn).Q
    for _ in range(niter):
        Q = qr(A @ qr(A.mH @ Q).Q).Q
    U, S, Vh = svd(Q.mH @ A, full_matrices=False)
    return Q @ U, S, Vh.mH

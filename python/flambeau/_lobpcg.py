"""A few extreme eigenvalues of large symmetric matrices, by products with them alone.

A. V. Knyazev, Toward the Optimal Preconditioned Eigensolver: Locally Optimal Block Preconditioned
Conjugate Gradient Method, 2001; bases by A. Stathopoulos and K. Wu, A Block Orthogonalization
Procedure with Constant Synchronization Requirements, 2002.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from math import prod
from typing import Any

import flambeau
from flambeau._C import Tensor
from flambeau._values import brief
from flambeau.autograd import Function, no_grad

_STEPS = 1000
_METHODS = ("ortho", "basic")


def lobpcg(
    A: Tensor,
    k: int | None = None,
    B: Tensor | None = None,
    X: Tensor | None = None,
    n: int | None = None,
    iK: Tensor | None = None,
    niter: int | None = None,
    tol: float | None = None,
    largest: bool | None = None,
    method: str | None = None,
    tracker: Callable[[LOBPCG], None] | None = None,
    ortho_iparams: Mapping[str, int] | None = None,
    ortho_fparams: Mapping[str, float] | None = None,
    ortho_bparams: Mapping[str, bool] | None = None,
) -> tuple[Tensor, Tensor]:
    """Extreme eigenvalues E [*, k] and eigenvectors X [*, m, k] with `A X = B X diag(E)`.

    Gradients flow to a strided `A` where `B` is None; they are symmetric. They cannot be
    differentiated again.

    Args:
        A: symmetric matrices, [*, m, m], or one sparse matrix; float32 or float64.
        k: how many; None: as many as `X` has columns, or 1.
        B: symmetric positive definite matrices like `A`; None: identities.
        X: the start, [*, m, n], k <= n; None: random numbers of the default generator.
        n: columns of that start, where `X` is None; None: k.
        iK: a preconditioner, [*, m, m], about the inverse of `A`.
        niter: the most steps; -1: until it has converged; None: 1000.
        tol: relative residuals at which it has; None: the square root of the dtype's epsilon.
        largest: whether the largest eigenvalues are wanted (the default), or the smallest.
        method: 'ortho' (the default) or 'basic', which fails where its basis is singular.
        tracker: is called with the state, an `LOBPCG`, after each step; it stops the steps by
            `bvars["force_stop"] = True`.
        ortho_iparams, ortho_fparams, ortho_bparams: kept in the state for a tracker.

    Raises:
        ValueError: if shapes, `k`, `n` or `method` are impossible, or `m < 3 * n`.
        TypeError: if the dtype is another one.

    Example:
        >>> matrix = flambeau.diag(flambeau.arange(1., 13.))
        >>> values, vectors = flambeau.lobpcg(matrix, k=2)
        >>> values.round(decimals=2)
        tensor([12., 11.])
    """
    how = "ortho" if method is None else method
    if how not in _METHODS:
        raise ValueError(f"lobpcg(): method must be 'ortho' or 'basic', got {brief(method)}")
    _check_matrix(A)
    count, columns = _counts(A, k, X, n)
    given: dict[str, dict[str, Any]] = {
        "iparams": {"m": A.shape[-1], "n": columns, "k": count}
        | {"niter": _STEPS if niter is None else niter, **(ortho_iparams or {})},
        "fparams": {"tol": flambeau.finfo(A.dtype).eps ** 0.5 if tol is None else tol}
        | dict(ortho_fparams or {}),
        "bparams": {"largest": largest is None or bool(largest)} | dict(ortho_bparams or {}),
    }

    def solved(matrix: Tensor) -> tuple[Tensor, Tensor]:
        return _batched(matrix, B, X, iK, given, how, tracker)

    if not (flambeau.is_grad_enabled() and A.requires_grad):
        return solved(A)
    if B is not None or A.is_sparse:
        raise NotImplementedError("lobpcg(): gradients flow to a strided A alone, where B is None")
    values, vectors = _Differentiated.apply((A + A.mT) / 2, solved)
    return values, vectors


def _check_matrix(A: Tensor) -> None:
    if A.dtype not in (flambeau.float32, flambeau.float64):
        raise TypeError(f"lobpcg(): A must be float32 or float64, got {A.dtype}")
    if A.ndim < 2 or A.shape[-1] != A.shape[-2]:
        raise ValueError(f"lobpcg(): A must be square matrices, got shape {tuple(A.shape)}")


def _counts(A: Tensor, k: int | None, X: Tensor | None, n: int | None) -> tuple[int, int]:
    """How many eigenvalues, and columns that are worked with."""
    m = A.shape[-1]
    if X is not None and (X.ndim != A.ndim or X.shape[:-1] != A.shape[:-1]):
        raise ValueError(
            f"lobpcg(): X must have shape [*, {m}, n] for A of shape {tuple(A.shape)}, got "
            f"{tuple(X.shape)}"
        )
    count = (1 if X is None else X.shape[-1]) if k is None else k
    columns = X.shape[-1] if X is not None else count if n is None else n
    if not 0 < count <= columns:
        raise ValueError(f"lobpcg(): k must be from 1 to the {columns} columns, got {count}")
    if m < 3 * columns:
        raise ValueError(f"lobpcg(): {m} rows are less than 3 times the {columns} columns of X")
    return count, columns


def _batched(
    A: Tensor,
    B: Tensor | None,
    X: Tensor | None,
    iK: Tensor | None,
    given: Mapping[str, Mapping[str, Any]],
    method: str,
    tracker: Callable[[LOBPCG], None] | None,
) -> tuple[Tensor, Tensor]:
    """One matrix after the other."""
    m, n, k = (given["iparams"][name] for name in ("m", "n", "k"))
    with no_grad():
        if X is None:
            X = flambeau.randn(*A.shape[:-1], n, dtype=A.dtype, device=A.device)
        if A.ndim == 2:
            return LOBPCG(A, B, X, iK, given, method, tracker).run()
        flat = [None if t is None else t.reshape(-1, m, t.shape[-1]) for t in (A, B, X, iK)]
        found = []
        for i in range(prod(A.shape[:-2])):
            a, b, x, inverse = (None if t is None else t[i] for t in flat)
            found.append(LOBPCG(a, b, x, inverse, given, method, tracker).run())
        if not found:
            return A.new_empty(*A.shape[:-2], k), A.new_empty(*A.shape[:-1], k)
        values, vectors = (flambeau.stack(parts) for parts in zip(*found, strict=True))
        return values.reshape(*A.shape[:-2], k), vectors.reshape(*A.shape[:-1], k)


class LOBPCG:
    """The state of the iteration for one matrix, which a tracker looks at.

    Attributes:
        A, B, iK: the matrices.
        E, X, S, R: eigenvalues, their vectors, the basis that these are searched in, residuals.
        iparams, fparams, bparams: what was given: m, n, k, niter; tol; largest.
        ivars, fvars, bvars, tvars: istep and converged_count; A_norm; force_stop; rerr.
    """

    def __init__(
        self,
        A: Any,
        B: Tensor | None,
        X: Any,
        iK: Tensor | None,
        given: Mapping[str, Mapping[str, Any]],
        method: str,
        tracker: Callable[[LOBPCG], None] | None,
    ) -> None:
        self.A, self.B, self.iK, self.X = A, B, iK, X
        self.iparams = dict(given["iparams"])
        self.fparams = dict(given["fparams"])
        self.bparams = dict(given["bparams"])
        self.method, self.tracker = method, tracker
        self.E = X.new_zeros(X.shape[1])
        self.S = X.new_zeros(X.shape[0], 0)
        self.R = flambeau.zeros_like(X)
        self.ivars = {"istep": 0, "converged_count": 0}
        self.bvars = {"force_stop": False}
        self.tvars: dict[str, Tensor] = {}
        # Norms of the matrices, as far as random vectors show them.
        probe = flambeau.randn(X.shape[0], X.shape[1], dtype=X.dtype, device=X.device)
        size = probe.norm()
        self.fvars = {"A_norm": float((A @ probe).norm() / size)}
        self.fvars["B_norm"] = float((self._times_B(probe)).norm() / size)

    def run(self) -> tuple[Tensor, Tensor]:
        """Steps until k residuals are small; the first k eigenvalues and vectors."""
        k, most = self.iparams["k"], self.iparams["niter"]
        self._search(self._orthonormal(self.X))
        self._measure()
        directions = self.X[:, :0]
        while not self._is_done(most):
            self.ivars["istep"] += 1
            residuals = self.R if self.iK is None else self.iK @ self.R
            directions = self._search(self._basis(residuals, directions))
            self._measure()
            if self.tracker is not None:
                self.tracker(self)
        return self.E[:k], self.X[:, :k]

    def _is_done(self, most: int) -> bool:
        has_converged = self.ivars["converged_count"] >= self.iparams["k"]
        is_last = 0 <= most <= self.ivars["istep"]
        return has_converged or is_last or self.bvars["force_stop"]

    def _times_B(self, vectors: Tensor) -> Tensor:
        return vectors if self.B is None else self.B @ vectors

    def _basis(self, residuals: Tensor, directions: Tensor) -> Tensor:
        """Orthonormal vectors: those of X, then what else is searched."""
        more = flambeau.cat([residuals, directions], 1)
        if self.method == "basic":
            more = more / more.norm(dim=0).clamp_min(flambeau.finfo(more.dtype).tiny)
            return self._by_cholesky(flambeau.cat([self.X, more], 1))
        for _ in range(2):  # twice is enough, where rounding leaves something the first time
            more = more - self.X @ (self.X.mT @ self._times_B(more))
            more = self._orthonormal(more)
        return flambeau.cat([self.X, more], 1)

    def _by_cholesky(self, vectors: Tensor) -> Tensor:
        factor = flambeau.linalg.cholesky(vectors.mT @ self._times_B(vectors))
        return flambeau.linalg.solve_triangular(factor, vectors.mT, upper=False).mT

    def _orthonormal(self, vectors: Tensor) -> Tensor:
        """An orthonormal basis of the same span, in which lengths are those of B; directions that
        rounding alone tells apart are left out.
        """
        gram = vectors.mT @ self._times_B(vectors)
        lengths = gram.diagonal().clamp_min(0).sqrt()
        kept = lengths > 0
        vectors, lengths = vectors[:, kept] / lengths[kept], lengths[kept]
        gram = gram[kept][:, kept] / lengths / lengths[:, None]
        sizes, turned = flambeau.linalg.eigh(gram)
        limit = 10 * flambeau.finfo(gram.dtype).eps * float(sizes.amax() if len(sizes) else 0)
        chosen = sizes > limit
        return vectors @ (turned[:, chosen] / sizes[chosen].sqrt())

    def _search(self, basis: Tensor) -> Tensor:
        """Sets E and X to the best in an orthonormal basis; returns what was added to X."""
        n = self.iparams["n"]
        if basis.shape[1] < n:
            raise ValueError(f"lobpcg(): X has {basis.shape[1]} independent columns, not {n}")
        self.S = basis
        projected = basis.mT @ (self.A @ basis)
        values, turned = flambeau.linalg.eigh((projected + projected.mT) / 2)
        if self.bparams["largest"]:
            values, turned = values.flip(0), turned.flip(1)
        self.E, turned = values[:n], turned[:, :n]
        self.X = basis @ turned
        return basis[:, n:] @ turned[n:]

    def _measure(self) -> None:
        """The residuals, and how many of the first ones are small."""
        self.R = self.A @ self.X - self._times_B(self.X) * self.E
        scale = self.fvars["A_norm"] + self.E.abs() * self.fvars["B_norm"]
        errors = self.R.norm(dim=0) / (self.X.norm(dim=0) * scale).clamp_min(
            flambeau.finfo(self.E.dtype).tiny
        )
        self.tvars["rerr"] = errors
        small = (errors <= self.fparams["tol"]).tolist()
        self.ivars["converged_count"] = [*small, False].index(False)


class _Differentiated(Function):
    """Eigenvalues and vectors of symmetric matrices, with their gradient by perturbation theory:
    vectors move along the others by what stands between them over the gap of the eigenvalues.
    """

    @staticmethod
    def forward(ctx: Any, A: Tensor, solved: Callable[[Tensor], tuple[Tensor, Tensor]]) -> Any:
        values, vectors = solved(A)
        ctx.save_for_backward(A, values, vectors)
        return values, vectors

    @staticmethod
    def backward(ctx: Any, grad_values: Tensor, grad_vectors: Tensor) -> Any:
        if flambeau.is_grad_enabled():
            raise NotImplementedError("lobpcg(): gradients cannot be differentiated again")
        A, values, vectors = ctx.saved_tensors
        return _gradient(A, values, vectors, grad_values, grad_vectors), None


def _gradient(A: Tensor, E: Tensor, U: Tensor, grad_E: Tensor, grad_U: Tensor) -> Tensor:
    gaps = E.unsqueeze(-2) - E.unsqueeze(-1)
    shared = U.mT @ grad_U
    inside = flambeau.where(gaps == 0, 0, shared / flambeau.where(gaps == 0, 1, gaps))
    result = U @ (flambeau.diag_embed(grad_E) + inside) @ U.mT
    identity = flambeau.eye(A.shape[-1], dtype=A.dtype, device=A.device)
    outside = identity - U @ U.mT
    rest = outside @ grad_U
    for j in range(E.shape[-1]):
        shifted = E[..., j, None, None] * identity - A
        moved = flambeau.linalg.solve(
            outside @ shifted @ outside + U @ U.mT, rest[..., j].unsqueeze(-1)
        )
        result = result + moved @ U[..., j].unsqueeze(-1).mT
    return (result + result.mT) / 2

"""Linear algebra of a thousand matrices of 4x4 and 8x8, forward and backward."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from workloads.workload import Call, Make, Workload, filled

MANY = 1000
Operands = dict[str, Any]
Function = Callable[[Any, Operands], Any]


def _operands(torch: Any, n: int, dtype: str) -> Operands:
    """General, definite and triangular matrices, right-hand sides, and factors of these."""
    a, b = filled(torch, MANY, n, n, dtype=dtype), filled(torch, MANY, n, n, dtype=dtype)
    eye = torch.eye(n, dtype=a.dtype)
    definite = a @ a.mH + eye
    factors, pivots = torch.linalg.lu_factor(a)
    indefinite, exchanges = torch.linalg.ldl_factor(definite)
    reflections, tau = torch.geqrf(a)
    return {
        "a": a,
        "b": b,
        "h": (definite + definite.mH) / 2,
        "t": torch.tril(a) + n * eye,
        "lu": factors,
        "pivots": pivots,
        "ld": indefinite,
        "exchanges": exchanges,
        "l": torch.linalg.cholesky(definite),
        "qr": reflections,
        "tau": tau,
    }


def _alone(name: str, of: str = "a", **options: Any) -> tuple[str, tuple[str, ...], Function]:
    """An operator of `linalg` of one operand."""
    return name, (of,), lambda t, x: getattr(t.linalg, name)(x[of], **options)


FUNCTIONS: tuple[tuple[str, tuple[str, ...], Function], ...] = (
    *(_alone(name, "h") for name in ("cholesky", "cholesky_ex", "eigh", "eigvalsh")),
    *(_alone(name, "h") for name in ("ldl_factor", "ldl_factor_ex")),
    *(_alone(name) for name in ("lu_factor", "lu_factor_ex", "lu", "det", "slogdet")),
    *(_alone(name) for name in ("inv", "inv_ex", "qr", "eig", "eigvals", "svdvals")),
    *(_alone(name) for name in ("pinv", "matrix_rank", "cond", "matrix_exp")),
    _alone("svd", full_matrices=False),
    _alone("matrix_norm", ord="nuc"),
    _alone("matrix_power", n=3),
    ("logdet", ("h",), lambda t, x: t.logdet(x["h"])),
    ("geqrf", ("a",), lambda t, x: t.geqrf(x["a"])),
    ("cholesky_inverse", ("l",), lambda t, x: t.cholesky_inverse(x["l"])),
    ("cholesky_solve", ("b", "l"), lambda t, x: t.cholesky_solve(x["b"], x["l"])),
    ("lu_unpack", ("lu",), lambda t, x: t.lu_unpack(x["lu"], x["pivots"])),
    ("lu_solve", ("lu", "b"), lambda t, x: t.linalg.lu_solve(x["lu"], x["pivots"], x["b"])),
    ("ldl_solve", ("ld",), lambda t, x: t.linalg.ldl_solve(x["ld"], x["exchanges"], x["b"])),
    ("solve", ("a", "b"), lambda t, x: t.linalg.solve(x["a"], x["b"])),
    (
        "solve_triangular",
        ("t", "b"),
        lambda t, x: t.linalg.solve_triangular(x["t"], x["b"], upper=False),
    ),
    (
        "householder_product",
        ("qr", "tau"),
        lambda t, x: t.linalg.householder_product(x["qr"], x["tau"]),
    ),
    ("ormqr", ("qr", "tau", "b"), lambda t, x: t.ormqr(x["qr"], x["tau"], x["b"])),
    ("lstsq", ("a", "b"), lambda t, x: t.linalg.lstsq(x["a"], x["b"])),
    ("lstsq gelsd", ("a", "b"), lambda t, x: t.linalg.lstsq(x["a"], x["b"], driver="gelsd")),
)
WITHOUT_GRADIENT = {"ldl_factor", "ldl_factor_ex", "ldl_solve", "matrix_rank", "geqrf"}


def _forward(function: Function, n: int, dtype: str) -> Make:
    def make(torch: Any) -> Call:
        operands = _operands(torch, n, dtype)
        return lambda: function(torch, operands)

    return make


def _backward(function: Function, names: tuple[str, ...], n: int, dtype: str) -> Make:
    """Alone: the graph is made once."""

    def make(torch: Any) -> Call:
        operands = _operands(torch, n, dtype)
        for name in names:
            operands[name].requires_grad_()
        found = function(torch, operands)
        parts = found if isinstance(found, tuple) else (found,)
        total = sum((part.abs() ** 2).sum() for part in parts if part.requires_grad)
        leaves = [operands[name] for name in names]
        return lambda: torch.autograd.grad(total, leaves, retain_graph=True)

    return make


def _all() -> Iterator[Workload]:
    for n in (4, 8):
        for dtype in ("float32", "float64", "complex64"):
            for name, names, function in FUNCTIONS:
                shown = f"{dtype} {name} {MANY} of {n}x{n}"
                yield Workload(shown, 0.3, _forward(function, n, dtype))
                if name not in WITHOUT_GRADIENT:
                    yield Workload(f"{shown} backward", 0.3, _backward(function, names, n, dtype))


WORKLOADS = list(_all())

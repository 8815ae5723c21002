"""flambeau.array_api, the namespace of the Python array API standard, compared with NumPy's, which
is one, too.

Signatures and the names of functions come from array_api_strict, where it is installed.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import pytest

import flambeau
from flambeau import array_api as xp

generator = np.random.default_rng(0)
FLOATS = generator.normal(size=(3, 4, 2)).astype(np.float32)
INTS = generator.integers(-5, 6, (3, 4, 2)).astype(np.int32)
UNSIGNED = np.array([3, 200, 100, 7, 7], np.uint8)
BOOLS = FLOATS > 0
COMPLEX = (FLOATS + 1j * FLOATS[::-1]).astype(np.complex64)
VECTOR = np.array([3.0, 1.0, 2.0, 1.0])
SQUARE = generator.normal(size=(2, 3, 3)) + 3 * np.eye(3)
SCALAR64 = np.array(2.5)
ZEROS = np.array([-0.0, 0.0, 4.0, -4.0])

Case = Callable[[Any, Callable[[np.ndarray], Any]], Any]

# One per function whose meaning is written in flambeau.array_api, or whose arguments are renamed;
# `a` makes an array of the library.
CASES: dict[str, Case] = {
    "arange": lambda x, a: [x.arange(5), x.arange(1, 7, 2), x.arange(5, 1), x.arange(0.0, 1, 0.25)],
    "asarray": lambda x, a: [x.asarray(3), x.asarray([1.0, 2.0], dtype=x.float64)],
    "zeros": lambda x, a: [x.zeros(3), x.ones((2, 3), dtype=x.int16), x.full((2,), 7)],
    "full": lambda x, a: [x.full(2, 1.5, dtype=x.float64), x.full((), True)],
    "eye": lambda x, a: [x.eye(3, k=1), x.eye(2, 4, k=-1), x.eye(2, k=9), x.eye(3, 2)],
    "linspace": lambda x, a: [
        x.linspace(0, 1, 5, dtype=x.float64),
        x.linspace(0, 1, 4, endpoint=False, dtype=x.float64),
    ],
    "meshgrid": lambda x, a: list(x.meshgrid(a(VECTOR), a(UNSIGNED))),
    "tril": lambda x, a: [x.tril(a(SQUARE), k=-1), x.triu(a(SQUARE), k=1)],
    "like": lambda x, a: [x.zeros_like(a(INTS)), x.full_like(a(FLOATS), 2)],
    "astype": lambda x, a: x.astype(a(INTS), x.float64),
    "broadcast": lambda x, a: [
        *x.broadcast_arrays(a(FLOATS), a(SCALAR64)),
        x.broadcast_to(a(VECTOR), (2, 4)),
    ],
    "concat": lambda x, a: [
        x.concat([a(INTS), a(FLOATS.astype(np.float64))], axis=1),
        x.concat([a(INTS), a(VECTOR)], axis=None),
    ],
    "stack": lambda x, a: [x.stack([a(FLOATS), a(FLOATS)], axis=1), *x.unstack(a(INTS), axis=2)],
    "expand_dims": lambda x, a: [x.expand_dims(a(INTS), axis=1), x.squeeze(a(INTS[:1]), axis=0)],
    "flip": lambda x, a: [x.flip(a(INTS)), x.flip(a(INTS), axis=1), x.flip(a(INTS), axis=(0, 2))],
    "permute_dims": lambda x, a: [x.permute_dims(a(INTS), (2, 0, 1)), x.moveaxis(a(INTS), 0, 2)],
    "repeat": lambda x, a: [x.repeat(a(INTS), 2), x.repeat(a(INTS), 3, axis=1)],
    "reshape": lambda x, a: [x.reshape(a(INTS), (4, 6)), x.reshape(a(INTS), (-1,), copy=True)],
    "roll": lambda x, a: [
        x.roll(a(INTS), 2),
        x.roll(a(INTS), 1, axis=1),
        x.roll(a(INTS), 1, axis=(0, 1)),
        x.roll(a(INTS), (1, 2), axis=(0, 1)),
    ],
    "tile": lambda x, a: x.tile(a(INTS), (2, 1, 3)),
    "sum": lambda x, a: [
        x.sum(a(FLOATS)),
        x.sum(a(FLOATS), axis=(0, 2), keepdims=True),
        x.sum(a(INTS), axis=-1),
        x.sum(a(UNSIGNED)),
        x.sum(a(INTS), dtype=x.float64),
    ],
    "prod": lambda x, a: [
        x.prod(a(FLOATS), axis=(0, 2)),
        x.prod(a(FLOATS), keepdims=True),
        x.prod(a(UNSIGNED)),
        x.prod(a(INTS), axis=0),
    ],
    "max": lambda x, a: [
        x.max(a(FLOATS), axis=(0, 1)),
        x.min(a(INTS)),
        x.max(a(INTS), axis=1, keepdims=True),
    ],
    "mean": lambda x, a: [x.mean(a(FLOATS), axis=(1, 2)), x.mean(a(FLOATS), keepdims=True)],
    "var": lambda x, a: [
        x.var(a(FLOATS)),
        x.var(a(FLOATS), axis=1, correction=1),
        x.std(a(FLOATS), axis=(0, 2), keepdims=True),
    ],
    "all": lambda x, a: [
        x.all(a(BOOLS), axis=(0, 2)),
        x.any(a(INTS), axis=1, keepdims=True),
        x.all(a(INTS)),
        x.any(a(BOOLS)),
    ],
    "count_nonzero": lambda x, a: [
        x.count_nonzero(a(INTS)),
        x.count_nonzero(a(INTS), axis=1, keepdims=True),
    ],
    "cumulative_sum": lambda x, a: [
        x.cumulative_sum(a(VECTOR)),
        x.cumulative_sum(a(INTS), axis=1, include_initial=True),
        x.cumulative_prod(a(FLOATS), axis=-1, include_initial=True),
        x.cumulative_sum(a(UNSIGNED)),
    ],
    "diff": lambda x, a: x.diff(a(INTS), axis=1, n=2),
    "argmax": lambda x, a: [
        x.argmax(a(FLOATS)),
        x.argmin(a(FLOATS), axis=1),
        x.argmax(a(FLOATS), axis=0, keepdims=True),
    ],
    "sort": lambda x, a: [
        x.sort(a(FLOATS), axis=0),
        x.sort(a(INTS), descending=True) if x is xp else x.flip(x.sort(a(INTS)), axis=-1),
        x.argsort(a(VECTOR)),
    ],
    "nonzero": lambda x, a: list(x.nonzero(a(INTS))),
    "searchsorted": lambda x, a: [
        x.searchsorted(a(np.sort(VECTOR)), a(np.array([0.5, 1.0, 9.0]))),
        x.searchsorted(a(VECTOR), a(np.array([1.0])), side="right", sorter=x.argsort(a(VECTOR))),
    ],
    "take": lambda x, a: [
        x.take(a(INTS), a(np.array([2, 0, -1])), axis=1),
        x.take(a(VECTOR), a(np.array([1, 1]))),
        x.take_along_axis(a(INTS), a(np.zeros((3, 1, 2), np.int64)), axis=1),
    ],
    "isin": lambda x, a: [
        x.isin(a(INTS), a(np.array([1, 2], np.int32))),
        x.isin(a(INTS), a(np.array([1, 2], np.int32)), invert=True),
    ],
    "unique": lambda x, a: [
        *x.unique_all(a(INTS)),
        *x.unique_counts(a(VECTOR)),
        *x.unique_inverse(a(VECTOR)),
        x.sort(x.unique_values(a(UNSIGNED))),
    ],
    "where": lambda x, a: [
        x.where(a(BOOLS), a(FLOATS), 0),
        x.where(a(BOOLS), a(FLOATS), a(SCALAR64)),
    ],
    "clip": lambda x, a: [
        x.clip(a(FLOATS), -0.5, 0.5),
        x.clip(a(INTS), 0, None),
        x.clip(a(FLOATS), None, a(FLOATS[0])),
    ],
    "equal": lambda x, a: [x.equal(a(INTS), a(INTS[::-1].copy())), x.not_equal(a(INTS), 1)],
    "sign": lambda x, a: [x.sign(a(FLOATS)), x.sign(a(COMPLEX)), x.bitwise_invert(a(INTS))],
    "ranks do not count": lambda x, a: [
        x.add(a(FLOATS), a(SCALAR64)),
        x.maximum(a(SCALAR64), a(FLOATS)),
        x.multiply(a(COMPLEX), a(SCALAR64)),
    ],
    "numbers": lambda x, a: [
        x.add(1, a(FLOATS)),
        x.maximum(0, a(INTS)),
        x.atan2(a(FLOATS), 2),
        x.less(0.5, a(FLOATS)),
        x.logical_and(a(BOOLS), True),
        x.nextafter(a(FLOATS), 1.0),
        x.pow(2, a(FLOATS)),
    ],
    "kinds": lambda x, a: [
        x.floor(a(INTS)),
        x.round(a(COMPLEX * 3)),
        x.sign(a(np.array([np.nan, -np.inf]))),
        x.round(a(FLOATS)),
        x.abs(a(COMPLEX)),
        x.real(a(COMPLEX)),
        x.bitwise_left_shift(a(np.abs(INTS)), 2),
        x.remainder(a(INTS), 3),
        x.floor_divide(a(INTS), 3),
    ],
    "signs of zeros": lambda x, a: [
        x.signbit(x.remainder(a(ZEROS), a(np.array([1.0, 1.0, -2.0, 2.0])))),
        x.remainder(a(ZEROS), 3),
    ],
    "linalg": lambda x, a: [
        x.linalg.matmul(a(SQUARE), a(SQUARE)),
        x.linalg.inv(a(SQUARE)),
        x.linalg.det(a(SQUARE)),
        x.linalg.solve(a(SQUARE), a(SQUARE[0])),
        x.linalg.solve(a(SQUARE[0]), a(SQUARE[1, 0])),
        x.linalg.trace(a(SQUARE), offset=1),
        x.linalg.matrix_norm(a(SQUARE), ord="nuc"),
        x.linalg.matrix_rank(a(SQUARE)),
        x.linalg.pinv(a(SQUARE)),
        x.linalg.vector_norm(a(FLOATS), axis=(0, 1), keepdims=True, ord=3),
        x.linalg.outer(a(VECTOR), a(VECTOR)),
        x.linalg.cross(a(SQUARE), a(SQUARE[::-1].copy()), axis=-2),
        x.linalg.cholesky(a(np.eye(3) * 2.0)),
        x.linalg.svdvals(a(SQUARE)),
        x.linalg.diagonal(a(SQUARE), offset=-1),
        x.linalg.slogdet(a(SQUARE)).logabsdet,
        x.linalg.matrix_power(a(SQUARE), 3),
        x.linalg.eigvalsh(a(SQUARE + SQUARE.swapaxes(1, 2))),
    ],
    "products": lambda x, a: [
        x.vecdot(a(COMPLEX), a(COMPLEX), axis=1),
        x.tensordot(a(FLOATS), a(FLOATS), axes=((0, 1), (0, 1))),
        x.matrix_transpose(a(SQUARE)),
        x.matmul(a(SQUARE), a(SQUARE.astype(np.float32))),
    ],
    "fft": lambda x, a: [
        x.fft.fft(a(SQUARE), axis=1),
        x.fft.rfft(a(SQUARE), n=4, axis=-1, norm="ortho"),
        x.fft.ifftn(a(COMPLEX.astype(np.complex128)), axes=(0, 1)),
        x.fft.fftshift(a(VECTOR), axes=0),
        x.fft.fftfreq(5, d=0.5),
    ],
}


def numbers(made: Any) -> np.ndarray:
    return made.numpy() if isinstance(made, flambeau.Tensor) else np.asarray(made)


@pytest.mark.parametrize("name", CASES)
def test_results_are_those_of_numpy(name: str) -> None:
    previous = flambeau.get_default_dtype()
    flambeau.set_default_dtype(flambeau.float64)  # NumPy's
    try:
        seen = CASES[name](xp, lambda array: flambeau.asarray(array.copy()))
    finally:
        flambeau.set_default_dtype(previous)
    wanted = CASES[name](np, lambda array: array)
    seen, wanted = (v if isinstance(v, list) else [v] for v in (seen, wanted))
    assert len(seen) == len(wanted)
    for i, (ours, theirs) in enumerate(zip(seen, wanted, strict=True)):
        assert isinstance(ours, flambeau.Tensor), i
        ours, theirs = numbers(ours), np.asarray(theirs)
        assert ours.dtype == theirs.dtype, f"{i}: {ours.dtype}, expected {theirs.dtype}"
        assert ours.shape == theirs.shape, i
        np.testing.assert_allclose(ours, theirs, rtol=2e-5, atol=2e-6, err_msg=str(i))


def test_tensors_name_their_namespace() -> None:
    x = flambeau.ones(2, 3)
    assert x.__array_namespace__() is xp
    assert x.__array_namespace__(api_version="2024.12") is xp
    assert xp.__array_api_version__ == "2024.12"
    with pytest.raises(ValueError, match="'api_version' is '2031.12', expected one of 2021.12"):
        x.__array_namespace__(api_version="2031.12")
    assert x.to_device("cpu").device == x.device
    with pytest.raises(ValueError, match="'stream' must be None"):
        x.to_device("cpu", stream=1)


def test_dtypes() -> None:
    assert xp.result_type(flambeau.ones(2), flambeau.ones((), dtype=xp.float64)) == xp.float64
    assert xp.result_type(xp.int8, xp.uint8) == xp.int16
    assert xp.result_type(flambeau.ones(2, dtype=xp.int8), 3) == xp.int8
    assert xp.result_type(xp.float32, 1j) == xp.complex64
    with pytest.raises(ValueError, match="at least one array or dtype"):
        xp.result_type(1, 2)
    assert xp.can_cast(xp.int8, xp.int16) and not xp.can_cast(xp.int16, xp.int8)
    assert not xp.can_cast(xp.uint64, xp.int64)
    assert xp.can_cast(flambeau.ones(1), xp.float64)
    for kind, wanted in (
        ("bool", "bool"),
        ("signed integer", "int8"),
        ("unsigned integer", "uint16"),
        ("integral", "uint8"),
        ("real floating", "float64"),
        ("complex floating", "complex64"),
        ("numeric", "int32"),
        (("bool", "integral"), "bool"),
    ):
        assert xp.isdtype(getattr(xp, wanted), kind)
        assert np.isdtype(np.dtype(wanted), kind)
    assert not xp.isdtype(xp.bool, "numeric") and xp.isdtype(xp.int8, xp.int8)
    with pytest.raises(ValueError, match="'kind' is 'real', expected one of"):
        xp.isdtype(xp.int8, "real")
    assert xp.finfo(flambeau.ones(1, dtype=xp.float64)).eps == np.finfo(np.float64).eps
    assert xp.iinfo(xp.int16).max == 32767


def test_info() -> None:
    info = xp.__array_namespace_info__()
    assert info.capabilities()["boolean indexing"] is True
    with pytest.raises(RuntimeError, match="64 dimensions"):
        flambeau.empty((1,) * (info.capabilities()["max dimensions"] + 1))
    assert info.default_device() in info.devices()
    assert info.default_dtypes()["real floating"] == flambeau.float32
    assert info.dtypes(kind="signed integer") == {
        name: getattr(flambeau, name) for name in ("int8", "int16", "int32", "int64")
    }
    for name, dtype in info.dtypes(kind="numeric").items():
        x = flambeau.ones(2, dtype=dtype)
        assert xp.add(x, x).dtype == dtype, name


def test_errors_name_what_is_wrong() -> None:
    x = flambeau.ones(2, 3)
    with pytest.raises(ValueError, match=r"axis 1 of shape \(2, 3\) has 3 elements, expected 1"):
        xp.squeeze(x, axis=1)
    with pytest.raises(ValueError, match="'axis' is needed for an array of 2 dims"):
        xp.take(x, flambeau.tensor([0]))
    with pytest.raises(ValueError, match=r"cumulative_sum\(\): argument 'axis' is needed"):
        xp.cumulative_sum(x)
    with pytest.raises(ValueError, match="at least one dim, got a scalar"):
        xp.nonzero(flambeau.tensor(1))
    with pytest.raises(ValueError, match=r"'copy' is False, but an array of shape \(3, 2\)"):
        xp.reshape(x.T, (6,), copy=False)
    with pytest.raises(RuntimeError):
        xp.reshape(x, (4,), copy=False)
    with pytest.raises(AttributeError, match="no_such_function"):
        xp.no_such_function  # noqa: B018


def test_gradients_flow_through() -> None:
    x = flambeau.ones(3, requires_grad=True)
    xp.sum(xp.clip(x * 2, 0, 5)).backward()
    assert x.grad is not None and x.grad.tolist() == [2, 2, 2]


def test_copies() -> None:
    x = flambeau.ones(2)
    assert xp.from_dlpack(x).data_ptr() == x.data_ptr()
    assert xp.from_dlpack(x, copy=True).data_ptr() != x.data_ptr()
    assert xp.astype(x, xp.float32, copy=False) is x
    assert xp.astype(x, xp.float32) is not x
    assert xp.reshape(x, (2, 1), copy=True).data_ptr() != x.data_ptr()


def _standard() -> list[tuple[str, str]]:
    strict = pytest.importorskip("array_api_strict", reason="array_api_strict is not installed")
    spaces = {"": strict, "linalg": strict.linalg, "fft": strict.fft}
    return [
        (space, name)
        for space, module in spaces.items()
        for name in module.__all__
        if "strict" not in name.lower() and name not in ("Device", "__version__")
    ]


def test_every_name_of_the_standard_is_there() -> None:
    for space, name in _standard():
        assert hasattr(getattr(xp, space) if space else xp, name), f"{space}.{name}"


def _parameters(function: Callable[..., Any]) -> Mapping[str, inspect.Parameter]:
    """None of a function of several forms."""
    try:
        return inspect.signature(function).parameters
    except ValueError:
        return {}


def test_signatures_are_those_of_the_standard() -> None:
    """Of functions that are written here; declared ones take positions, and have the keywords."""
    import array_api_strict as strict

    for space, name in _standard():
        ours = getattr(getattr(xp, space) if space else xp, name)
        theirs = getattr(getattr(strict, space) if space else strict, name)
        if not inspect.isfunction(ours) or not (seen := _parameters(ours)):
            continue
        wanted = inspect.signature(theirs).parameters
        if hasattr(ours, "__wrapped__"):
            keywords = {n for n, p in wanted.items() if p.kind == p.KEYWORD_ONLY}
            assert keywords <= seen.keys(), name
            continue
        assert list(seen) == list(wanted), name
        for parameter in wanted.values():
            assert seen[parameter.name].kind == parameter.kind, f"{name}: {parameter.name}"

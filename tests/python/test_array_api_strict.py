"""Random calls of the array API, compared with array_api_strict: values, dtypes, shapes."""

from __future__ import annotations

import inspect
import itertools
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import flambeau
from flambeau import Tensor
from flambeau import array_api as xp

pytestmark = pytest.mark.filterwarnings("ignore::RuntimeWarning")  # NumPy's, of empty means
strict = pytest.importorskip("array_api_strict", reason="array_api_strict is not installed")

# Those that `__array_namespace_info__` names. NumPy, which computes for array_api_strict, knows
# nothing of mixed kinds in products; the standard leaves them open.
BOOL, INTEGER = ("bool",), ("int8", "int16", "int32", "int64", "uint8")
REAL, COMPLEX = ("float32", "float64"), ("complex64", "complex128")
DTYPES = (*BOOL, *INTEGER, *REAL, *COMPLEX)
SHAPES = [(), (3,), (2, 3), (0,), (2, 1, 3), (4, 0)]


def numbers(shape: tuple[int, ...], dtype: str, seed: int) -> np.ndarray[Any, Any]:
    """Finite ones, and for integers none that is 0: NumPy warns of division by it, and we raise."""
    draw = np.random.default_rng(seed)
    if dtype == "bool":
        return draw.random(shape) < 0.5
    values = draw.choice([1, 2, 3, 4, 5] if dtype[0] == "u" else [-3, -2, -1, 1, 2, 3, 5], shape)
    if dtype in (*REAL, *COMPLEX):
        values = values / 4 + (1j * draw.choice([0.0, 0.5, -1.5], shape) if dtype in COMPLEX else 0)
    return values.astype(dtype)


def agree(name: str, call: Callable[[Any, Callable[[Any], Any]], Any], given: Any) -> bool:
    """Whether both give the same, where array_api_strict gives anything. `call` gets a namespace
    and what makes an array of it.
    """
    try:
        with np.errstate(all="ignore"):
            wanted = call(strict, strict.asarray)
    except (TypeError, ValueError, IndexError, RuntimeError):
        return False
    found = call(xp, lambda array: flambeau.tensor(array))
    pairs = [(found, wanted)]
    if isinstance(wanted, tuple | list):
        assert len(found) == len(wanted)
        pairs = list(zip(found, wanted, strict=True))
    for ours, theirs in pairs:
        assert isinstance(ours, Tensor)
        left, right = ours.numpy(), np.asarray(theirs._array)
        assert (left.dtype, left.shape) == (right.dtype, right.shape), (name, given)
        close = 1e-5 if left.dtype in (np.float32, np.complex64) else 1e-10
        np.testing.assert_allclose(left, right, rtol=close, atol=close, err_msg=f"{name} {given}")
    return True


def functions(*parameters: str) -> list[str]:
    """Those whose arguments by position are these arrays."""
    found = []
    for name in strict.__all__ if hasattr(strict, "__all__") else dir(strict):
        function = getattr(strict, name)
        if inspect.isfunction(function) and hasattr(xp, name):
            names = list(inspect.signature(function).parameters.values())
            positional = [p.name for p in names if p.kind is p.POSITIONAL_ONLY]
            required = [p for p in names if p.default is p.empty and p.name not in positional]
            if tuple(positional) == parameters and not required:
                found.append(name)
    return sorted(found)


OF_ONE = [name for name in functions("x") if name != "empty_like"]  # whose elements are any
OF_TWO = functions("x1", "x2")
AXES: list[dict[str, Any]] = [{}, {"axis": 0}, {"axis": -1}, {"axis": (0, 1)}, {"axis": ()}]
REDUCTIONS = [n for n in OF_ONE if "keepdims" in getattr(xp, n).__code__.co_varnames]
# Of no dims NumPy makes one, or takes axis 0, which the standard does not say.
OF_DIMS = ("argsort", "cumulative_prod", "cumulative_sum", "sort")


def test_there_are_many() -> None:
    assert len(OF_ONE) > 50 and len(OF_TWO) > 25 and len(REDUCTIONS) > 8


@pytest.mark.parametrize("name", OF_ONE)
def test_functions_of_one_array(name: str) -> None:
    count = 0
    for i, (dtype, shape) in enumerate(itertools.product(DTYPES, SHAPES)):
        array = numbers(shape, dtype, i)
        if name in OF_DIMS and not shape:
            continue
        call = lambda space, made: getattr(space, name)(made(array))  # noqa: B023, E731
        count += agree(name, call, array)
    assert count > 0 or name == "cumulative_sum"


@pytest.mark.parametrize("name", OF_TWO)
def test_functions_of_two_arrays(name: str) -> None:
    count = 0
    shapes = [((4,), (4,)), ((), (3,)), ((2, 1), (1, 3)), ((0,), (1,))]
    if name in ("matmul", "tensordot", "vecdot"):
        shapes = [((3,), (3,)), ((2, 3), (3,)), ((2, 3, 2), (2, 2)), ((2, 3), (2, 3))]
    kinds = [(INTEGER, INTEGER), (REAL, REAL), (COMPLEX, COMPLEX), (BOOL, BOOL), (REAL, COMPLEX)]
    for first, second in kinds:
        for i, (a, b, (s, t)) in enumerate(itertools.product(first, second, shapes)):
            x, y = numbers(s, a, i), numbers(t, b, i + 1)
            if "shift" in name:
                y = np.abs(y)
            if name == "searchsorted" and x.ndim:
                x = np.sort(x)
            call = lambda space, made: getattr(space, name)(made(x), made(y))  # noqa: B023, E731
            count += agree(name, call, (x, y))
    assert count > 0


@pytest.mark.parametrize("name", REDUCTIONS)
def test_reductions_along_dims(name: str) -> None:
    dtypes: list[str | None] = [None, *DTYPES[1:]] if name in ("sum", "prod") else [None]
    for i, (dtype, shape, axes) in enumerate(itertools.product(DTYPES, SHAPES[1:], AXES)):
        array = numbers(shape, dtype, i)
        for keepdims, kind in itertools.product((False, True), dtypes):
            if kind is not None and np.result_type(dtype, kind) != kind:
                continue  # NumPy multiplies in the one, we in the other
            call = lambda space, made: getattr(space, name)(  # noqa: E731
                made(array),  # noqa: B023
                keepdims=keepdims,  # noqa: B023
                **axes,  # noqa: B023
                **({} if kind is None else {"dtype": getattr(space, kind)}),  # noqa: B023
            )
            agree(name, call, (dtype, shape, axes, keepdims, kind))


def test_distinct_complex_numbers() -> None:
    x = flambeau.tensor(
        [1 + 2j, 1 + 1j, complex(0.0, -0.0), 0j, 1 + 2j, complex("nan"), complex("nan")]
    )
    values, first, inverse, counts = xp.unique_all(x)
    assert values[:3].tolist() == [0j, 1 + 1j, 1 + 2j] and values.shape == (5,)
    assert counts.tolist() == [2, 1, 2, 1, 1]
    assert first[:3].tolist() == [2, 1, 0]
    assert flambeau.equal(values[inverse][:5], x[:5])
    assert xp.unique_values(x).shape == (5,)

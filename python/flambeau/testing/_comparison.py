"""Comparing tensors in tests."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import flambeau
from flambeau import Tensor

__all__ = ["assert_allclose", "assert_close"]

# dtype name: (rtol, atol), the widths that PyTorch documents for assert_close.
_TOLERANCES = {
    "float16": (1e-3, 1e-5),
    "bfloat16": (1.6e-2, 1e-5),
    "float32": (1.3e-6, 1e-5),
    "float64": (1e-7, 1e-7),
    "complex64": (1.3e-6, 1e-5),
    "complex128": (1e-7, 1e-7),
}


def assert_close(
    actual: Any,
    expected: Any,
    *,
    allow_subclasses: bool = True,
    rtol: float | None = None,
    atol: float | None = None,
    equal_nan: bool = False,
    check_device: bool = True,
    check_dtype: bool = True,
    check_layout: bool = True,
    check_stride: bool = False,
    msg: str | Callable[[str], str] | None = None,
) -> None:
    """Fails unless |actual - expected| <= atol + rtol * |expected| everywhere.

    Args:
        actual, expected: tensors, numbers, NumPy arrays, or sequences and mappings of them.
        allow_subclasses: whether different types of tensors may be compared.
        rtol, atol: both or none; none: by dtype (exact for integers and bool).
        equal_nan: whether NaN equals NaN.
        check_device, check_dtype, check_layout, check_stride: what else must be equal.
        msg: the message instead, or a function of it.

    Raises:
        AssertionError: with the number of differing elements and the largest difference.
        ValueError: if only one of rtol and atol is given.
        TypeError: for things that cannot be compared.

    Example:
        >>> flambeau.testing.assert_close(flambeau.tensor([1.]), flambeau.tensor([1. + 1e-7]))
        >>> try:
        ...     flambeau.testing.assert_close(flambeau.tensor([1.]), flambeau.tensor([2.]))
        ... except AssertionError:
        ...     print("not close")
        not close
    """
    if (rtol is None) != (atol is None):
        raise ValueError("assert_close: give both rtol and atol, or neither")
    options = {
        "allow_subclasses": allow_subclasses,
        "rtol": rtol,
        "atol": atol,
        "equal_nan": equal_nan,
        "device": check_device,
        "dtype": check_dtype,
        "layout": check_layout,
        "stride": check_stride,
    }
    problem = _compare(actual, expected, options, "")
    if problem is not None:
        raise AssertionError(msg(problem) if callable(msg) else msg or problem)


# The same of assert_allclose.
_FORMER_TOLERANCES = {"float16": (1e-3, 1e-3), "float32": (1e-4, 1e-5), "float64": (1e-5, 1e-8)}


def assert_allclose(
    actual: Any,
    expected: Any,
    rtol: float | None = None,
    atol: float | None = None,
    equal_nan: bool = True,
    msg: str = "",
) -> None:
    """The former assert_close: dtypes may differ, NaN equals NaN, and tolerances are wider.

    Args:
        actual, expected: tensors, or what a tensor is made of.
        rtol, atol: both or none; none: those of the dtype that tolerates more.
        equal_nan: whether NaN equals NaN.
        msg: the message instead.

    Raises:
        AssertionError: as assert_close.
        ValueError: if only one of rtol and atol is given.

    Example:
        >>> flambeau.testing.assert_allclose(flambeau.tensor([1.0]), [1.00001])
    """
    right = flambeau.as_tensor(expected)
    left = flambeau.as_tensor(actual, dtype=None if isinstance(actual, Tensor) else right.dtype)
    if rtol is None and atol is None:
        widths = [_FORMER_TOLERANCES.get(t.dtype.name, (0.0, 0.0)) for t in (left, right)]
        rtol, atol = (max(each) for each in zip(*widths, strict=True))
    options: dict[str, Any] = {"rtol": rtol, "atol": atol, "equal_nan": equal_nan}
    assert_close(left, right, **options, check_dtype=False, msg=msg or None)


def _compare(actual: Any, expected: Any, options: dict[str, Any], where: str) -> str | None:
    if isinstance(actual, Mapping) and isinstance(expected, Mapping):
        if actual.keys() != expected.keys():
            return f"Keys differ{where}: {sorted(actual)} and {sorted(expected)}"
        pairs = [(actual[key], expected[key], f"[{key!r}]") for key in actual]
    elif _is_sequence(actual) and _is_sequence(expected):
        if len(actual) != len(expected):
            return f"Lengths differ{where}: {len(actual)} and {len(expected)}"
        pairs = [(a, e, f"[{i}]") for i, (a, e) in enumerate(zip(actual, expected, strict=True))]
    else:
        return _compare_tensors(actual, expected, options, where)
    for a, e, step in pairs:
        problem = _compare(a, e, options, f"{where or ' at '}{step}")
        if problem is not None:
            return problem
    return None


def _is_sequence(value: Any) -> bool:
    return isinstance(value, Sequence) and not isinstance(value, str)


def _as_tensor(value: Any) -> Tensor:
    if isinstance(value, Tensor):
        return value
    if value is None or isinstance(value, str):
        raise TypeError(f"assert_close: cannot compare {type(value).__name__}")
    if isinstance(value, float):
        return flambeau.tensor(value, dtype=flambeau.float64)
    if isinstance(value, complex):
        return flambeau.tensor(value, dtype=flambeau.complex128)
    return flambeau.as_tensor(value)


def _compare_tensors(actual: Any, expected: Any, options: dict[str, Any], where: str) -> str | None:
    if not options["allow_subclasses"] and type(actual) is not type(expected):
        raise TypeError(
            f"assert_close: {type(actual).__name__} and {type(expected).__name__}{where}"
        )
    if actual is None or expected is None:
        return None if actual is expected else f"None on one side only{where}"
    numbers = isinstance(actual, int | float | complex) and isinstance(
        expected, int | float | complex
    )
    if numbers and not options["equal_nan"] and actual == expected:
        return None
    given, wanted = _as_tensor(actual).detach(), _as_tensor(expected).detach()
    if given.shape != wanted.shape:
        return f"Shapes differ{where}: {tuple(given.shape)} and {tuple(wanted.shape)}"
    for name in ("device", "dtype", "layout"):
        mine, theirs = getattr(given, name), getattr(wanted, name)
        if options[name] and mine != theirs and not (numbers and name == "dtype"):
            return f"{name} differs{where}: {mine} and {theirs}"
    if options["stride"] and given.stride() != wanted.stride():
        return f"stride differs{where}: {given.stride()} and {wanted.stride()}"
    rtol, atol = options["rtol"], options["atol"]
    if rtol is None:
        names = (given.dtype.name, wanted.dtype.name)
        rtol = max(_TOLERANCES.get(n, (0.0, 0.0))[0] for n in names)
        atol = max(_TOLERANCES.get(n, (0.0, 0.0))[1] for n in names)
    return _difference(given.cpu(), wanted.cpu(), rtol, atol, options["equal_nan"], where)


def _difference(
    given: Tensor, wanted: Tensor, rtol: float, atol: float, equal_nan: bool, where: str
) -> str | None:
    common = flambeau.promote_types(given.dtype, wanted.dtype)
    if common in (flambeau.float16, flambeau.bfloat16, flambeau.bool):
        common = flambeau.float32
    given, wanted = given.to(common), wanted.to(common)
    exact = rtol == 0 and atol == 0
    if exact and not equal_nan:
        close = given == wanted
    else:
        close = flambeau.isclose(given, wanted, rtol=rtol, atol=atol, equal_nan=equal_nan)
    if bool(close.all().item()):
        return None
    far = int((~close).sum().item())
    error = (given - wanted).abs().to(flambeau.float64)
    error = flambeau.where(close, flambeau.zeros_like(error), error).reshape(-1)
    values = error.tolist()
    worst = max(range(len(values)), key=lambda i: (values[i] != values[i], values[i]))
    index: list[int] = []
    rest = worst
    for size in reversed(given.shape):
        rest, position = divmod(rest, size)
        index.insert(0, position)
    a, e = given.reshape(-1)[worst].item(), wanted.reshape(-1)[worst].item()
    kind = "equal" if exact else "close"
    return (
        f"Tensors are not {kind}{where}: {far} of {given.numel()} elements differ "
        f"({100 * far / given.numel():.1f} %). Largest difference {values[worst]:.6g} at "
        f"{tuple(index)}: got {a}, expected {e} (rtol {rtol:g}, atol {atol:g})"
    )

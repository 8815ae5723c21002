"""What references and samples may call, and how much they may ask for.

Declarations come from anywhere: their text reaches no file, no process and no Python object but
numbers, text, lists and arrays, and a slip of the pen exhausts neither memory nor patience.
"""

from __future__ import annotations

import functools
import itertools
import math
import threading
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping
from types import MappingProxyType
from typing import Any

import numpy as np


class RefusedError(ValueError):
    """More than formulas may compute, or something else than numbers."""


class FailedError(RefusedError):
    """A function of a file of references did not return. `place`: the file and line it got to."""

    def __init__(self, message: str, place: tuple[str, int] | None = None) -> None:
        super().__init__(message)
        self.place = place


LONGEST_LIST = 100_000
LARGEST_ARRAY = 4_000_000
_LARGEST_EXPONENT = 4096
_LONGEST_INTEGER = 20_000  # bits
_MULTIPLICATIONS_PER_ELEMENT = 100  # of matrix products, in the time of an element
_MOST_VALUES = 1_000_000  # in the lists that are given to a function
_MOST_STEPS = 300_000
STEPS_OF_A_CALL = 5  # in the time of a node
_MOST_ELEMENTS = 20_000_000  # that one evaluation computes: also a bound on what it holds


class Work(threading.local):
    """How much the evaluation that is under way has done, nested evaluations included."""

    depth = 0
    steps = 0
    elements = 0

    def enter(self) -> None:
        """Begins an evaluation, or one inside of it."""
        if not self.depth:
            self.steps = self.elements = 0
        self.depth += 1

    def leave(self) -> None:
        """Ends what was begun last."""
        self.depth -= 1

    def step(self, count: int = 1) -> None:
        """Counts nodes that are evaluated. RefusedError where they are too many."""
        self.steps += count
        if self.steps > _MOST_STEPS:
            raise RefusedError("this takes too long")

    def compute(self, elements: int) -> None:
        """Counts elements that are computed. RefusedError where they are too many."""
        self.elements += elements
        if self.elements > _MOST_ELEMENTS:
            raise RefusedError("this takes too long")


work = Work()


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


# Besides ufuncs and number types.
_NUMPY = _words(
    """
    all allclose amax amin angle any append arange argmax argmin argsort argwhere around array
    array_equal array_split asarray ascontiguousarray atleast_1d atleast_2d atleast_3d average
    bincount block broadcast_arrays broadcast_shapes broadcast_to clip column_stack
    concatenate convolve copy correlate count_nonzero cov cross cumprod cumsum delete diag
    diagflat diagonal diff digitize dot dstack einsum empty empty_like expand_dims eye finfo
    fix flatnonzero flip fliplr flipud full full_like gradient hstack identity iinfo imag
    indices inner insert interp isclose iscomplexobj isin isneginf isposinf isreal isrealobj
    ix_ kron linspace logspace max mean median meshgrid min moveaxis nan_to_num nanmax nanmean
    nanmedian nanmin nanprod nanstd nansum nanvar ndim nonzero ones ones_like outer pad
    partition percentile prod promote_types ptp quantile ravel real repeat reshape resize
    result_type roll rollaxis rot90 round searchsorted shape sign sinc size sort split squeeze
    stack std sum swapaxes take take_along_axis tensordot tile trace transpose trapezoid tri
    tril tril_indices triu triu_indices unique unravel_index unwrap vander var vdot vsplit
    vstack where zeros zeros_like
    """
)
_LINALG = _words(
    """
    cholesky cond det eig eigh eigvals eigvalsh inv lstsq matrix_norm matrix_power matrix_rank
    multi_dot norm pinv qr slogdet solve svd svdvals vector_norm
    """
)
_FFT = _words(
    """
    fft fft2 fftfreq fftn fftshift hfft ifft ifft2 ifftn ifftshift ihfft irfft irfft2 irfftn
    rfft rfft2 rfftfreq rfftn
    """
)
_UFUNC_METHODS = frozenset(["accumulate", "outer", "reduce"])
# Those of SciPy whose time and memory follow from the sizes of their arrays: others loop as often
# as an argument says, do not end for some, or crash.
_SPECIAL = _words(
    """
    agm beta betainc betaln boxcox boxcox1p cbrt chdtr chdtrc cosdg cosm1 cotdg dawsn digamma
    ellipe ellipk ellipkm1 entr erf erfc erfcinv erfcx erfi erfinv exp1 exp10 exp2 expi expit expm1
    exprel fresnel gamma gammainc gammaincc gammaln gammasgn gdtr gdtrc huber i0 i0e i1 i1e
    inv_boxcox inv_boxcox1p j0 j1 k0 k0e k1 k1e kl_div lambertw log1p log_expit log_ndtr log_softmax
    loggamma logit logsumexp multigammaln ndtr ndtri owens_t poch polygamma pseudo_huber psi radian
    rel_entr rgamma round shichi sici sindg softmax spence tandg voigt_profile wofz xlog1py xlogy
    y0 y1 zeta zetac
    """
)
# Functions that do something as often as an integer says.
_COUNTED = _words("array_split around diff multigammaln round split vsplit")
_HIGHEST_COUNT = 1000
_MATH = frozenset(
    name
    for name in dir(math)
    if not name.startswith("_") and name not in ("comb", "factorial", "lcm", "perm")
)
# Functions whose results are as large as the numbers that they are given.
_SIZED = _FFT | _words(
    """
    broadcast_to diag diagflat empty eye full identity indices linspace logspace ones pad repeat
    resize tile tri tril_indices triu_indices vander zeros
    """
)
_SHAPED = _words("empty eye full identity indices linspace logspace ones tri zeros")
_OUTER = frozenset(["convolve", "correlate", "einsum", "kron", "outer", "tensordot", "meshgrid"])
_PRODUCTS = frozenset(["dot", "inner", "matmul", "vdot"])


def resolve(module: Any, path: list[str]) -> Any:
    """A function or number of NumPy, scipy.special or math; LookupError where it is not offered."""
    dotted = ".".join(path)
    name = path[-1]
    if module is np and dotted == "lib.stride_tricks.sliding_window_view":
        return np.lib.stride_tricks.sliding_window_view
    if module is np and dotted == "lib.stride_tricks.as_strided":
        return _as_strided
    if module is np and len(path) == 2 and path[0] in ("linalg", "fft"):
        if name in (_LINALG if path[0] == "linalg" else _FFT):
            return getattr(getattr(np, path[0]), name)
        raise LookupError(dotted)
    value = getattr(module, path[0], None)
    if not _is_offered(module, path[0], value):
        raise LookupError(dotted)
    if len(path) == 2 and isinstance(value, np.ufunc) and name in _UFUNC_METHODS:
        return getattr(value, name)
    if len(path) != 1:
        raise LookupError(dotted)
    return _REPLACED.get((module.__name__, name), value)


def _is_offered(module: Any, name: str, value: Any) -> bool:
    if value is None or module is not np:
        return value is not None and name in (_MATH if module is math else _SPECIAL)
    is_number_type = isinstance(value, type) and issubclass(value, np.number | np.bool_)
    return isinstance(value, np.ufunc | float) or is_number_type or name in _NUMPY


def offered_names(root: str, module: Any) -> Iterator[str]:
    """`np.exp` and the like: what can be called, for hints."""
    for name in dir(module):
        if _is_offered(module, name, getattr(module, name)):
            yield f"{root}.{name}"


def call(function: Callable[..., Any], args: list[Any], keywords: Mapping[str, Any]) -> Any:
    """The value of a call. RefusedError where it asks for too much."""
    given = [*(args or [None]), *keywords.values()]
    name = getattr(function, "__name__", "")
    check_arguments(name, function, given)
    return checked(function(*args, **keywords))


def check_arguments(name: str, function: Any, given: list[Any]) -> None:
    """RefusedError where a call would compute too much, or with Python objects.

    `given`: what the function is applied to, then the rest.
    """
    values = list(itertools.islice(flattened(given), _MOST_VALUES + 1))
    if len(values) > _MOST_VALUES:
        raise RefusedError("these are too many values")
    for value in values:
        if isinstance(value, str) and _is_other_dtype(value):
            raise RefusedError(f"arrays of '{value}' are not available here")
        if isinstance(value, int) and not -(2**63) <= value < 2**64:
            raise RefusedError("an integer of more than 64 bits")
    arrays = [v for v in values if isinstance(v, np.ndarray)]
    sizes = math.prod(max(a.size, 1) for a in arrays)
    if name in _COUNTED and any(n > _HIGHEST_COUNT for n in _integers(given[1:])):
        raise RefusedError(f"a count of more than {_HIGHEST_COUNT}")
    if name == "repeat" and any(isinstance(v, float | np.floating) for v in values):
        raise RefusedError("a count is an integer")
    if name in _SIZED:
        has_data = name not in _SHAPED and isinstance(given[0], np.ndarray)
        sizes *= math.prod(max(n, 1) for n in _integers(given[1:] if has_data else given))
        _limit(sizes)
    elif name in _OUTER:
        _limit(sizes)
    elif name in _PRODUCTS:
        check_product(arrays)
    elif name in _LINALG and function is not np.linalg.norm:
        _limit(16 * sum(a.size for a in arrays))
        work.compute(10 * int(sum(a.size**1.5 for a in arrays)))
    elif len(arrays) > 1 and sizes > LARGEST_ARRAY:
        check_broadcast(arrays)
    work.compute(sum(a.size for a in arrays))


def _integers(values: Iterable[Any]) -> Iterator[int]:
    """The magnitudes of integers that may be sizes, those in arrays too."""
    for value in flattened(values):
        if isinstance(value, int | np.integer):
            yield abs(int(value))
        elif isinstance(value, np.ndarray) and value.dtype.kind in "iu" and 0 < value.size <= 64:
            yield from (abs(int(n)) for n in value.ravel())


def check_product(arrays: list[Any]) -> None:
    """RefusedError where a matrix product would be too large."""
    if len(arrays) == 2 and all(a.ndim for a in arrays):
        inner = max(arrays[0].shape[-1], 1)
        multiplications = max(arrays[0].size, 1) * max(arrays[1].size, 1) // inner
        _limit(multiplications // inner)
        work.compute(multiplications // _MULTIPLICATIONS_PER_ELEMENT)


def check_broadcast(arrays: Iterable[Any]) -> None:
    """RefusedError where an elementwise result would be too large."""
    shapes = [np.shape(a) for a in arrays]
    try:
        _limit(math.prod(np.broadcast_shapes(*shapes)))
    except RefusedError:
        raise
    except ValueError:
        return  # these shapes are joined, or the function says that they do not fit


def checked(value: Any) -> Any:
    """The value, if it is one that formulas may hold. RefusedError where it is not."""
    if isinstance(value, np.ndarray | np.generic):
        if value.dtype.kind in "OV":
            raise RefusedError("an array of Python objects is not available here")
        _limit(value.size)
        work.compute(value.size)
    elif isinstance(value, list | tuple | str) and len(value) > LONGEST_LIST:
        raise RefusedError("the list is too long")
    elif isinstance(value, int) and value.bit_length() > _LONGEST_INTEGER:
        raise RefusedError("the value is too large")
    return value


def check_operands(symbol: str, left: Any, right: Any) -> None:
    """RefusedError where `left symbol right` would ask for too much."""
    if symbol == "%" and isinstance(left, str):
        raise RefusedError("text cannot be formatted here")
    if isinstance(left, np.ndarray | np.generic) or isinstance(right, np.ndarray | np.generic):
        arrays = [v for v in (left, right) if isinstance(v, np.ndarray)]
        check_arguments("matmul" if symbol == "@" else "", None, [left, right])
        if symbol == "@":
            check_product(arrays)
        return
    if isinstance(left, int) and isinstance(right, int):
        if symbol == "**" and abs(right) * max(left.bit_length(), 1) > _LONGEST_INTEGER:
            raise RefusedError("the value is too large")
        if symbol == "<<" and right > _LARGEST_EXPONENT:
            raise RefusedError("the value is too large")
    for items, count in ((left, right), (right, left)):
        repeats = symbol == "*" and isinstance(items, list | tuple | str)
        if repeats and isinstance(count, int) and len(items) * count > LONGEST_LIST:
            raise RefusedError("the list is too long")


def flattened(values: Iterable[Any], depth: int = 0) -> Iterator[Any]:
    """The values, those of lists and tuples one by one."""
    for value in values:
        if isinstance(value, list | tuple) and depth < 8:
            yield from flattened(value, depth + 1)
        else:
            yield value


def _limit(count: int) -> None:
    if count > LARGEST_ARRAY:
        raise RefusedError(f"an array of {count} elements is too large")


def _is_other_dtype(text: str) -> bool:
    """Whether NumPy takes the text for a dtype that is not one of numbers."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return np.dtype(text).kind not in "biufc"
    except (TypeError, ValueError, SyntaxError):
        return False


def _as_strided(x: Any, shape: Any = None, strides: Any = None) -> Any:
    """NumPy's, within the bounds of the array."""
    x = np.ascontiguousarray(x)
    shape = tuple(x.shape if shape is None else shape)
    strides = tuple(x.strides if strides is None else strides)
    if len(shape) != len(strides) or any(s < 0 for s in strides) or any(n < 0 for n in shape):
        raise RefusedError("shape and strides are as many, and not negative")
    reach = x.itemsize + sum((n - 1) * s for n, s in zip(shape, strides, strict=True) if n)
    if 0 not in shape and reach > x.nbytes:
        raise RefusedError("the strides lead out of the array")
    _limit(math.prod(shape))
    return np.lib.stride_tricks.as_strided(x, shape, strides, writeable=False)


def arange(start: Any, stop: Any = None, step: Any = 1, dtype: Any = None) -> Any:
    """np.arange, within bounds."""
    start, stop = (0, start) if stop is None else (start, stop)
    _limit(math.ceil(abs((stop - start) / step)) if step else 0)
    return np.arange(start, stop, step, dtype=dtype)


def _bincount(x: Any, weights: Any = None, minlength: int = 0) -> Any:
    _limit(max(int(np.max(x, initial=0)), minlength))
    return np.bincount(x, weights, minlength)


def _product(values: Iterable[Any], start: Any = 1) -> Any:
    return functools.reduce(lambda a, b: checked(a * b), values, start)


def _sum(values: Iterable[Any], start: Any = 0) -> Any:
    found = list(values)
    if any(isinstance(v, list | tuple | str) for v in [*found[:1], start]):
        raise RefusedError("lists cannot be summed here")
    return sum(found, start)


def _range(*bounds: int) -> range:
    found = range(*bounds)
    if len(found) > LONGEST_LIST:
        raise RefusedError("the range is too long")
    return found


def _pow(base: Any, exponent: Any) -> Any:
    check_operands("**", base, exponent)
    return pow(base, exponent)


def _round(number: Any, digits: int = 0) -> Any:
    if abs(digits) > 400:
        raise RefusedError("too many digits")
    return round(number, digits) if digits else round(number)


_REPLACED: dict[tuple[str, str], Callable[..., Any]] = {
    ("numpy", "arange"): arange,
    ("numpy", "bincount"): _bincount,
    ("math", "prod"): _product,
}
# Python's own functions, and those that stand for them.
BUILTINS: Mapping[str, Any] = MappingProxyType(
    {f.__name__: f for f in (abs, all, any, bool, complex, divmod, enumerate, float, int, len)}
    | {f.__name__: f for f in (list, max, min, reversed, slice, sorted, str, tuple, zip)}
    | {"pow": _pow, "range": _range, "round": _round, "sum": _sum}
)

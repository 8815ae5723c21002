"""C functions called with tensors: what arrives there, and what is refused."""

from __future__ import annotations

import ctypes
import shutil
import subprocess
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import flambeau
from flambeau._build.lock import exclusive
from flambeau.autograd import forward_ad
from flambeau.ops import c_function
from flambeau.ops._declaration import CDeclarationError, parse_declaration

SOURCE = r"""
#include <cstdint>
#include <cstdio>
#include <stdexcept>
extern "C" {
void saxpy(int64_t n, float a, const float* x, float* y) {
  for (int64_t i = 0; i < n; ++i) y[i] += a * x[i];
}
void matrix_product(int64_t m, int64_t k, int64_t n, const double* a, const double* b, double* c) {
  for (int64_t i = 0; i < m; ++i)
    for (int64_t j = 0; j < n; ++j) {
      c[i * n + j] = 0;
      for (int64_t l = 0; l < k; ++l) c[i * n + j] += a[i * k + l] * b[l * n + j];
    }
}
// More of everything than there are registers.
double many(int8_t a, float b, int64_t c, double d, uint8_t e, float f, int32_t g, double h,
            int16_t i, float j, int64_t k, double l, bool m, float n, uint64_t o, double p,
            float q, double r, const float* s) {
  return a + b * 2 + c * 3 + d * 4 + e * 5 + f * 6 + g * 7 + h * 8 + i * 9 + j * 10 + k * 11 +
         l * 12 + m * 13 + n * 14 + o * 15 + p * 16 + q * 17 + r * 18 + s[0] * 19;
}
bool is_null(const void* p) { return p == nullptr; }
float half(float x) { return x / 2; }
int32_t negate(int32_t x) { return -x; }
uint8_t wraps(uint8_t x) { return x + 1; }
uint64_t largest() { return UINT64_MAX; }
int64_t count(int32_t n, const void* p) { return n; }
void fails(int64_t n) { throw std::runtime_error("no " + std::to_string(n)); }
}
"""


@pytest.fixture(scope="session")
def library(shared_folder: Path) -> ctypes.CDLL:
    """The functions above, compiled."""
    path = shared_folder / "libfunctions.so"
    compiler = shutil.which("g++")
    assert compiler is not None
    with exclusive(shared_folder / "c_function"):
        if not path.exists():
            source = shared_folder / "functions.cpp"
            source.write_text(SOURCE)
            command = [compiler, "-O1", "-shared", "-fPIC", str(source), "-o", str(path)]
            subprocess.run(command, check=True)
    return ctypes.CDLL(str(path))


def test_arrays_and_sizes(library: ctypes.CDLL) -> None:
    saxpy = c_function("void saxpy(int64 n, float32 a, const float32 x[n], float32 y[n])", library)
    x, y = flambeau.arange(6.0).reshape(2, 3), flambeau.ones(2, 3)
    version = y._version
    assert saxpy(2.0, x, y) is None
    np.testing.assert_array_equal(y.numpy(), 1 + 2 * x.numpy())
    assert (x._version, y._version) == (0, version + 1)
    saxpy(x=x, y=y, a=1)
    np.testing.assert_array_equal(y.numpy(), 1 + 3 * x.numpy())
    assert saxpy.__name__ == "saxpy"
    assert "const float32 x[n]" in repr(saxpy)


def test_pointers_without_sizes(library: ctypes.CDLL) -> None:
    """C's own spelling, the size given."""
    function = c_function("void saxpy(int64_t n, float a, const float *x, float *y);", library)
    x, y = flambeau.arange(4.0), flambeau.zeros(4)
    function(3, 1.0, x, y)
    assert y.tolist() == [0.0, 1.0, 2.0, 0.0]


def test_matrices(library: ctypes.CDLL) -> None:
    product = c_function(
        "void product(int64 m, int64 k, int64 n, const double a[m][k], const double b[k][n],"
        " double c[m][n])",
        library,
        symbol="matrix_product",
    )
    a, b = flambeau.randn(3, 4).double(), flambeau.randn(4, 2).double()
    c = flambeau.empty(3, 2, dtype=flambeau.float64)
    product(a, b, c)
    np.testing.assert_allclose(c.numpy(), a.numpy() @ b.numpy())
    with pytest.raises(
        ValueError, match="product\\(\\): argument 'b' has k = 3, but 'a' has k = 4"
    ):
        product(a, b[:3], c)
    with pytest.raises(ValueError, match="argument 'c' must have 2 dims, got shape \\[6\\]"):
        product(a, b, c.reshape(6))


def test_more_arguments_than_registers(library: ctypes.CDLL) -> None:
    many = c_function(
        "double many(int8 a, float b, int64 c, double d, uint8 e, float f, int32 g, double h,"
        " int16 i, float j, int64 k, double l, bool m, float n, uint64 o, double p, float q,"
        " double r, const float32* s)",
        library,
    )
    values: list[Any] = [-1, 2.5, -3, 4.5, 5, -6.5, -7, 8.5, -9, 10.5, 11, 12.5, True, 14.5, 15]
    values += [16.5, -17.5, 18.5, flambeau.tensor([3.0])]
    numbers = [*values[:-1], 3.0]
    assert many(*values) == sum(v * (i + 1) for i, v in enumerate(numbers))


def test_results(library: ctypes.CDLL) -> None:
    assert c_function("float half(float x)", library)(3) == 1.5
    assert c_function("int32 negate(int32 x)", library)(7) == -7
    assert c_function("uint8 wraps(uint8 x)", library)(255) == 0
    assert c_function("uint64 largest()", library)() == 2**64 - 1
    is_null = c_function("bool is_null(const void*? p)", library)
    assert is_null(None) is True
    assert is_null(flambeau.ones(2, dtype=flambeau.int16)) is False


def test_exceptions(library: ctypes.CDLL) -> None:
    with pytest.raises(RuntimeError, match="no 3"):
        c_function("void fails(int64 n)", library)(3)


@pytest.mark.parametrize(
    ("arguments", "kind", "message"),
    [
        (lambda x, y: (1.0, x.double(), y), TypeError, "'x' must have dtype float32, got float64"),
        (lambda x, y: (1.0, x, [1.0]), TypeError, "'y' must be a Tensor, got list"),
        (lambda x, y: (1.0, x, None), TypeError, "'y' must be a Tensor, got None"),
        (lambda x, y: ("1", x, y), TypeError, "'a' must be a number, got str"),
        (lambda x, y: (1.0, x), TypeError, "expected 3 arguments, got 2"),
        (lambda x, y: (1.0, x[:2], y), ValueError, "'y' has n = 4, but 'x' has n = 2"),
        (
            lambda x, y: (1.0, flambeau.ones(8)[::2], y),
            RuntimeError,
            "'x' must be contiguous, got shape [4] with strides [2]; pass contiguous()",
        ),
        (lambda x, y: (1.0, x.to("meta"), y), RuntimeError, "'x' is on device meta"),
        (lambda x, y: (1.0, x.requires_grad_(), y), RuntimeError, "'x' requires grad"),
    ],
)
def test_refused(library: ctypes.CDLL, arguments: Any, kind: type[Exception], message: str) -> None:
    saxpy = c_function("void saxpy(int64 n, float32 a, const float32 x[n], float32 y[n])", library)
    y = flambeau.zeros(4)
    with pytest.raises(kind) as error:
        saxpy(*arguments(flambeau.ones(4), y))
    assert message in str(error.value)
    assert str(error.value).startswith("saxpy(): ")
    assert y.tolist() == [0, 0, 0, 0]


def test_refused_names_and_ranges(library: ctypes.CDLL) -> None:
    negate = c_function("int32 negate(int32 x)", library)
    with pytest.raises(TypeError, match="there is no argument 'z'"):
        negate(z=1)
    with pytest.raises(TypeError, match="negate\\(\\): expected 1 arguments, got 2"):
        negate(1, x=1)
    with pytest.raises(OverflowError, match="'x' is out of range for int32: 2147483648"):
        negate(2**31)
    with pytest.raises(TypeError, match="'x' must be an int, got float"):
        negate(1.0)
    wraps = c_function("uint8 wraps(uint8 x)", library)
    with pytest.raises(OverflowError, match="out of range for uint8: -1"):
        wraps(-1)


def test_gradients_are_never_lost(library: ctypes.CDLL) -> None:
    """Without recording the same call is fine; a tangent is refused as well."""
    saxpy = c_function("void saxpy(int64 n, float32 a, const float32 x[n], float32 y[n])", library)
    x, y = flambeau.ones(3, requires_grad=True), flambeau.zeros(3)
    with flambeau.no_grad():
        saxpy(1.0, x, y)
    assert y.tolist() == [1, 1, 1]
    with forward_ad.dual_level(), pytest.raises(RuntimeError, match="'x' requires grad"):
        saxpy(1.0, forward_ad.make_dual(x.detach(), flambeau.ones(3)), y)


@pytest.mark.parametrize(
    ("text", "message", "column"),
    [
        ("void f(int64 n, flot32* x)", "tensors have no dtype 'flot32'", 16),
        ("void f(int64 n, float32 x[m])", "'m' is no integer parameter", 26),
        ("void f(const int64 n)", "'int64' is no type of a number", 7),
        ("string f()", "'string' is no type of a result", 0),
        ("void f(int64 n", "expected ')'", 14),
        ("void f() x", "the declaration should end here", 9),
        ("void f(int64 n, int64 n)", "there are two parameters 'n'", 22),
        ("void f(float32* x[3])", "not both", 7),
        ("void (int64 n)", "expected the function's name", 5),
        ("", "expected a result type", 0),
    ],
)
def test_wrong_declarations(text: str, message: str, column: int) -> None:
    with pytest.raises(CDeclarationError) as error:
        parse_declaration(text)
    first, shown, marker = str(error.value).split("\n")
    assert message in first
    assert shown == f"  {text}"
    assert marker == "  " + " " * column + "^"


def test_missing_symbols_and_libraries(library: ctypes.CDLL) -> None:
    with pytest.raises(AttributeError, match="has no symbol 'nothing'"):
        c_function("void nothing()", library)
    with pytest.raises(OSError, match="missing"):
        c_function("void f()", "./missing.so")
    assert c_function("double cos(double x)", "libm.so.6")(0.0) == 1.0

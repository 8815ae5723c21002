"""Emitted scalar C++, compiled and compared with NumPy."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import numpy as np
import pytest

from flambeau.codegen.formula.functions import headers_of, load_functions
from flambeau.codegen.formula.parse import parse_source
from flambeau.codegen.formula.to_cpp import ScalarType, Symbol, emit_constant, emit_scalar
from flambeau.codegen.formula.to_numpy import to_numpy
from flambeau.codegen.text.source import DeclarationError
from flambeau.codegen.write.files import Texts
from flambeau.codegen.write.functions import emit_functions

ROOT = Path(__file__).resolve().parents[2]
COMPILER = shutil.which("g++") or shutil.which("clang++")
SYMBOLS = {
    "x": Symbol("x"),
    "y": Symbol("y"),
    "mask": Symbol("mask", ScalarType.BOOL),
    "index": Symbol("index", ScalarType.INDEX),
    "alpha": Symbol("alpha", ScalarType.NUMBER),
    "p": Symbol("p", ScalarType.FLOAT),
    "n": Symbol("n", ScalarType.INT),
    "flag": Symbol("flag", ScalarType.FLAG),
    "mode": Symbol("mode", ScalarType.STRING),
    "limit": Symbol("(*limit)", ScalarType.FLOAT, presence="limit.has_value()"),
}
NUMBERS = {"alpha": 1.5, "p": 0.25, "n": 3, "flag": True}
FORMULAS = [
    "x + alpha * y",
    "x * sigmoid(x) * (1 + x * (1 - sigmoid(x)))",
    "mask * x / (1 - p)",
    "x * (1 - p ** n) / n",
    "where(x > 0, x, alpha * expm1(x))",
    "(x > 0) - (x < 0) + x",
    "abs(x) < p or not mask and y >= x",
    "x ** 3 + (x + y) ** 2 - x ** -2 + abs(x) ** 0.5 + (x * y) ** 4",
    "maximum(x + y, 0) * (2 if flag else 3)",
    "0.5 if x == y else (0 if x < y else 1)",
    "x // y + x % y",
    "index % 2 * x + index // 3",
    "1 if mask and flag else -inf",
    "index / 4 + n / 2 + 7 // 2",
    "-(x - y) * -2 - -x",
    "mask + mask * 2 - index",
    "sqrt(p) * x + floor(n / 2)",
    "round(x * 10 ** n) / 10 ** n",
    "atan2(x, y) + copysign(2.0, x) * (pi if flag else p)",
    "exp(index) + log1p(abs(x)) * erf(y)",
    "x if isnan(x) or isfinite(y) else nan",
]
PROGRAM = """
#define FLAMBEAU_ISA baseline
#include <cmath>
#include <cstdio>
#include "cpu/math.h"
HEADERS
namespace flambeau::cpu::FLAMBEAU_ISA {
using T = double; using R = double; using N = double;
template <class V> void print(V value) { std::printf("%.17g\\n", static_cast<double>(value)); }
void all(T x, T y, bool mask, int64_t index) {
  const N alpha = 1.5; const double p = 0.25; const int64_t n = 3; const bool flag = true;
  (void)alpha, (void)p, (void)n, (void)flag, (void)mask, (void)index, (void)y;
FORMULAS
}
}  // namespace flambeau::cpu::FLAMBEAU_ISA
int main() {
  double x, y; long mask, index;
  while (std::scanf("%lf %lf %ld %ld", &x, &y, &mask, &index) == 4)
    flambeau::cpu::FLAMBEAU_ISA::all(x, y, mask != 0, index);
}
"""


def function_calls() -> list[str]:
    """Every function on elements of double. Those written by their definitions are compared with
    mpmath, for arguments that belong together (tests/python/test_special_functions.py).
    """
    calls = []
    for function in load_functions().values():
        kinds = {"element": ["x", "y"], "integer": ["2", "2"], "condition": ["mask", "mask"]}
        is_written = function.written_in is not None
        if function.level == "element" and function.accepts != {"integral"} and not is_written:
            names = [kinds[p.type][i % 2] for i, p in enumerate(function.parameters)]
            if [p.type for p in function.parameters] == ["integer", "element"]:
                names = ["2", "x"]
            calls.append(f"{function.name}({', '.join(names)})")
    return calls


@pytest.mark.skipif(COMPILER is None, reason="there is no C++ compiler")
def test_compiled_formulas_agree_with_numpy(tmp_path: Path) -> None:
    sources = FORMULAS + function_calls()
    blocks = []
    called = set[str]()
    for source in sources:
        code = emit_scalar([parse_source(source)], SYMBOLS)
        called |= code.calls
        body = "".join(f"{line} " for line in (*code.hoisted, *code.statements))
        blocks.append(f"  {{ {body}print({code.results[0].code}); }}")
    program = tmp_path / "formulas.cpp"
    headers = "\n".join(f'#include "{header}"' for header in headers_of(called))
    text = PROGRAM.replace("FORMULAS", "\n".join(blocks)).replace("HEADERS", headers)
    program.write_text(text, encoding="utf-8")
    random = np.random.default_rng(0)
    x, y = random.uniform(-0.95, 2.5, 40), random.uniform(0.3, 2.5, 40)
    x[0] = y[0]
    x[1] = np.nan
    mask, index = random.random(40) < 0.5, random.integers(-5, 9, 40)
    written = Texts()
    emit_functions(written)
    for name, text in written.files.items():
        (tmp_path / name).parent.mkdir(exist_ok=True, parents=True)
        (tmp_path / name).write_text(text, encoding="utf-8")
    command = [str(COMPILER), "-std=c++20", "-O1", "-w", f"-I{ROOT / 'native'}", f"-I{tmp_path}"]
    # What the vector forms of functions need; scalar calls do not use them.
    units = [str(program), str(ROOT / "native/cpu/math_bounds.cpp")]
    linking = ["-fno-math-errno", "-o", str(tmp_path / "formulas"), *units, "-lmvec", "-lm"]
    subprocess.run(command + linking, check=True, capture_output=True, timeout=300)
    rows = "\n".join(
        f"{a!r} {b!r} {int(m)} {i}"
        for a, b, m, i in zip(x.tolist(), y.tolist(), mask, index, strict=True)
    )
    output = subprocess.run(
        [str(tmp_path / "formulas")], input=rows, capture_output=True, text=True, check=True
    ).stdout
    found = np.array(output.split(), dtype=float).reshape(40, len(sources))
    values = {**NUMBERS, "x": x, "y": y, "mask": mask, "index": index}
    for column, source in enumerate(sources):
        expected = to_numpy(parse_source(source))(values)
        np.testing.assert_allclose(
            found[:, column], expected + np.zeros(40), rtol=2e-7, atol=1e-12, err_msg=source
        )


@pytest.mark.parametrize(
    ("source", "hoisted", "statements", "result"),
    [
        ("x * (1 - p)", ["const T c0 = static_cast<T>(1 - p);"], [], "x * c0"),
        (
            "exp(x) / (1 + exp(x))",
            [],
            ["const T t0 = math::exp(x);"],
            "t0 / (T(1) + t0)",
        ),
        ("0.5 * x ** 2", [], [], "T(0.5) * (x * x)"),
        ("abs(x) * x", [], [], "T(math::abs(x)) * x"),
        ("maximum(x + y, 1)", [], [], "math::maximum(T(x + y), T(1))"),
        ("x + 1j", [], [], "x + ::flambeau::math::make_complex<T>(0.0, 1.0)"),
        ("mask and not index", [], [], "mask && !(index != 0)"),
        ("conj(p) * x", ["const T c0 = static_cast<T>(p);"], [], "c0 * x"),
        # Vectors of their own are called where nothing chooses.
        ("log(x) * y", [], [], "math::alone::log(x) * y"),
        ("log(x) if y > 0 else x", [], [], "y > T(0) ? math::log(x) : x"),
    ],
)
def test_spelling(source: str, hoisted: list[str], statements: list[str], result: str) -> None:
    code = emit_scalar([parse_source(source)], SYMBOLS)
    assert list(code.hoisted) == hoisted
    assert list(code.statements) == statements
    assert code.results[0].code == result


def test_results_in_order_see_the_new_values() -> None:
    formulas = [parse_source("p * x + (1 - p) * y"), parse_source("y - alpha * x")]
    code = emit_scalar(formulas, SYMBOLS, bind_results=["x", "y"])
    assert code.statements[0] == "const T t0 = c0 * x + c1 * y;"
    assert code.statements[1] == "const T t1 = y - math::scaled(c2, t0);"


def test_draws_are_numbered_and_a_substituted_let_is_one_draw() -> None:
    tree = parse_source("uniform() + normal()")
    assert emit_scalar([tree], {}).draws == ("uniform", "normal")
    shared = parse_source("uniform()")
    twice = parse_source("s + s * s")
    from flambeau.codegen.formula.nodes import substitute

    assert emit_scalar([substitute(twice, {"s": shared})], {}).draws == ("uniform",)


@pytest.mark.parametrize(
    ("source", "code"),
    [
        ("mode == 'tanh'", 'std::string_view(mode) == std::string_view("tanh")'),
        ("limit is None", "!(limit.has_value())"),
        ("limit is not None and limit > 2", "(limit.has_value()) && (*limit) > 2"),
        ("p == 0 or not flag", "p == 0 || !flag"),
    ],
)
def test_conditions(source: str, code: str) -> None:
    assert emit_constant(parse_source(source), SYMBOLS).results[0].code == code


@pytest.mark.parametrize(
    ("source", "message"),
    [
        ("x + z", "unknown name 'z'"),
        ("frobnicate(x)", "unknown function 'frobnicate'"),
        ("exp(x, y)", "takes 1 arguments"),
        ("x @ y", "cannot be computed element by element"),
        ("x.shape", "cannot be computed element by element"),
        ("p is None", "is never None"),
        ("mode + 1", "used as a number"),
    ],
)
def test_mistakes(source: str, message: str) -> None:
    with pytest.raises(DeclarationError, match=message):
        emit_scalar([parse_source(source)], SYMBOLS)

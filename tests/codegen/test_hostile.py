"""Declarations cannot run code, reach files, or exhaust memory or time."""

from __future__ import annotations

import time
from pathlib import Path

import numpy as np
import pytest
from support import check_text

from flambeau.codegen.check.registry import run_checks
from flambeau.codegen.check.report import Context
from flambeau.codegen.check.samples import sample_value
from flambeau.codegen.formula.evaluate import EvaluationError, Evaluator
from flambeau.codegen.formula.parse import Language, parse_source
from flambeau.codegen.read.loader import load_texts
from flambeau.codegen.text.source import DeclarationError, Diagnostics
from flambeau.codegen.write.files import Output

CODE = [
    "__import__('os').system('true')",
    "().__class__.__bases__[0].__subclasses__()",
    "self.__class__",
    "self.ctypes",
    "self.data",
    "self.tofile('x')",
    "self.dump('x')",
    "self.setflags(write=True)",
    "np.load('x')",
    "np.save('x', self)",
    "np.savetxt('x', self)",
    "np.fromfile('x')",
    "np.memmap('x')",
    "np.genfromtxt('x')",
    "np.ctypeslib.load_library('c', '.')",
    "np.f2py.compile('')",
    "np.random.seed(0)",
    "np.frompyfunc(len, 1, 1)",
    "np.vectorize(len)(self)",
    "np.fromfunction(len, (3,))",
    "np.lib.format.open_memmap('x')",
    "np.linalg.linalg",
    "np.__builtins__",
    "np.sys.modules",
    "np.os.system('true')",
    "math.__loader__",
    "sp.np.load('x')",
    "sp.pro_cv(1, 1, self)",
    "sp.pro_cv.outer(self, self)",
    "sp.test()",
    "eval('1')",
    "exec('1')",
    "open('x')",
    "compile('1', '', 'eval')",
    "getattr(self, 'T')",
    "setattr(self, 'T', 1)",
    "globals()",
    "type(self)",
    "object()",
    "print(1)",
    "input()",
    "breakpoint()",
    "len.__self__",
    "'{0.__class__}'.format(1)",
    "'%s' % self",
    "f'{self}'",
    "(yield)",
    "(x := 1)",
    "lambda: 1",
    "map(len, [self])",
    "{1: 2}",
    "self.astype('O')",
    "np.array([None, 1])",
    "np.array(10**30)",
    "np.power(10**30, self)",
    "np.zeros(3, dtype='O')",
    "np.zeros(3, [('a', 'O')])",
]
COSTLY = [
    "9 ** 9 ** 9",
    "(2 ** 4096) ** 4096",
    "1 << 10 ** 9",
    "pow(9, 9 ** 9)",
    "round(1, -10 ** 9)",
    "[0] * 10 ** 9",
    "'x' * 10 ** 9",
    "'%0999999999d' % 1",
    "range(10 ** 9)",
    "[1 for a in range(99999) for b in range(99999) if a < 0]",
    "(lambda a: (lambda b: (lambda c: c + c + c + c)(b + b + b + b))(a + a + a + a))([0] * 9999)",
    "math.factorial(10 ** 6)",
    "math.comb(10 ** 6, 10 ** 5)",
    "math.prod([2 ** 4000] * 9999)",
    "sum([[0] * 999] * 9999, [])",
    "np.zeros(10 ** 9)",
    "np.ones((10 ** 5, 10 ** 5))",
    "np.empty((2 ** 40, 2 ** 40))",
    "np.full(10 ** 9, 1.0)",
    "np.arange(10 ** 9)",
    "np.arange(0, 1, 1e-12)",
    "np.linspace(0, 1, 10 ** 9)",
    "np.eye(10 ** 5)",
    "np.diag(self, 10 ** 6)",
    "np.tile(self, 10 ** 9)",
    "np.repeat(self, 10 ** 9)",
    "self.repeat(10 ** 9)",
    "np.pad(self, 10 ** 9)",
    "np.resize(self, 10 ** 9)",
    "np.broadcast_to(self, (10 ** 9, 3))",
    "np.outer(np.arange(9999), np.arange(9999))",
    "np.multiply.outer(np.arange(9999), np.arange(9999))",
    "np.arange(9999)[:, None] * np.arange(9999)",
    "np.arange(9999)[:, None] @ np.arange(9999)[None]",
    "np.einsum('i,j,k->ijk', np.arange(999), np.arange(999), np.arange(999))",
    "np.kron(np.arange(9999), np.arange(9999))",
    "np.bincount([10 ** 9])",
    "np.fft.fft(self, 10 ** 9)",
    "np.linalg.svd(np.zeros((1500, 1500)))",
    "np.zeros(np.array([10 ** 5, 10 ** 5]))",
    "np.repeat(self, np.array([10 ** 9] * 3))",
    "np.repeat(repeats=np.array([10 ** 9] * 3), a=self)",
    "self.repeat(np.array([10 ** 9] * 3))",
    "self.astype(bool).repeat(1e9)",
    "self.round(-10 ** 9)",
    "np.round(self, 10 ** 9)",
    "np.tile(self, np.array([10 ** 3] * 3))",
    "np.tile(reps=np.array([10 ** 3] * 3), A=self)",
    "np.diff(self, 10 ** 9)",
    "[np.ones(4 * 10 ** 6) for a in range(10 ** 4)]",
    "[np.sin(np.arange(10 ** 6)).sum() for a in range(10 ** 5)]",
    "[np.linalg.svd(np.eye(400))[1].max() for a in range(10 ** 5)]",
    "[(np.ones((900, 900)) @ np.ones((900, 900))).max() for a in range(10 ** 5)]",
    "[sum(self.sum() for a in range(99999)) for b in range(999)]",
    "np.split(np.zeros(0), 10 ** 9)",
    "np.array_split(self, 10 ** 9)",
    "sp.multigammaln(10.0 ** 12, 10 ** 9)",
    "sp.eval_legendre(10 ** 12, self)",
    "sp.mathieu_a(10 ** 9, self)",
    "np.lib.stride_tricks.as_strided(self, (9, 9), (8, 10 ** 6))",
    "np.lib.stride_tricks.as_strided(self, (3,), (-8,))",
]
SAMPLES = ["randn(10 ** 9)", "randn(10 ** 5, 10 ** 5)", "eye(10 ** 5)", "full([9 ** 9], 0)"]
SAMPLES += [
    "arange(10 ** 9)",
    "linspace(0, 1, 10 ** 9)",
    "randint(0, 9, 10 ** 9)",
    "zeros(2 ** 62)",
]


@pytest.fixture(autouse=True)
def in_an_empty_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


@pytest.mark.parametrize("text", CODE + COSTLY)
def test_a_reference_is_refused(text: str, tmp_path: Path) -> None:
    started = time.process_time()
    with pytest.raises((DeclarationError, EvaluationError)):
        Evaluator({"self": np.arange(3.0)})(parse_source(text, Language.REFERENCE))
    assert time.process_time() - started < 20  # without bounds they take minutes at least
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("text", CODE + COSTLY + SAMPLES)
def test_a_sample_is_refused(text: str) -> None:
    with pytest.raises((DeclarationError, EvaluationError)):
        sample_value(text, 0)


@pytest.mark.parametrize(
    "text", ["self.T.__class__", "np.exp(self)", "self.sum()", "(lambda: 1)()"]
)
def test_a_formula_calls_functions_only(text: str) -> None:
    with pytest.raises(DeclarationError):
        parse_source(text)


def test_composites_that_double_each_other_end() -> None:
    text = '- op: "f0(Tensor self) -> Tensor result"\n  kind: composite\n  body: "self"\n'
    for n in range(1, 40):
        text += f'- op: "f{n}(Tensor self) -> Tensor result"\n  kind: composite\n'
        text += f'  body: "f{n - 1}(f{n - 1}(self))"\n'
        text += '  reference: "self"\n  samples: [randn(2)]\n' if n > 35 else ""
    diagnostics = Diagnostics()
    loaded = load_texts({"doubling.yaml": text}, diagnostics)
    started = time.process_time()
    run_checks(Context.of(loaded))
    assert time.process_time() - started < 20


def test_lets_that_nest_each_other_are_refused() -> None:
    lets = ", ".join(f'a{n}: "{"-" * 50}a{n - 1}"' for n in range(1, 40))
    text = (
        '- op: "f(Tensor self) -> Tensor result"\n  kind: pointwise\n  expr: "self"\n'
        f'  derivative: {{let: {{a0: "grad", {lets}}}, self: "a39"}}\n'
    )
    assert any("200 levels" in d.message for d in check_text(text))


@pytest.mark.parametrize("part", [*"[{'\"(#\t", "- ", "? ", "a: ", "- a\n", "&a ", "- b: c: d\n"])
def test_long_files_end(part: str) -> None:
    started = time.process_time()
    check_text(part * (100_000 // len(part)))
    assert time.process_time() - started < 20


def test_a_file_has_a_largest_size() -> None:
    (found,) = check_text("#" * 5_000_000)
    assert found.message == "a file of more than 4000000 characters"


@pytest.mark.parametrize("name", ["..", "../../x", "/etc/x", "a/b", "a\\0b", "x" * 300, ""])
def test_names_stay_names(name: str) -> None:
    """Names become names of files and of C++; an operator's and a kernel's lead nowhere else."""
    (found, *_) = check_text(f'- op: "{name}(Tensor self) -> Tensor result"\n  kind: view\n')
    assert found.span.line == 1
    head = '- op: "f(Tensor self) -> int64 result"\n  kind: structured\n  shape: dynamic\n'
    (found, *_) = check_text(f'{head}  kernel: {{cpu: "{name}"}}\n')
    assert found.span.line == 4


def test_nothing_is_written_outside_the_folder(tmp_path: Path) -> None:
    (tmp_path / "outside").mkdir()
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "ops").symlink_to(tmp_path / "outside")
    output = Output(tmp_path / "out")
    for name in ("../x", "/tmp/x", "ops/x.h", "ops/../../x"):
        with pytest.raises(ValueError, match="outside"):
            output.write(name, "text")
    assert not list((tmp_path / "outside").iterdir())

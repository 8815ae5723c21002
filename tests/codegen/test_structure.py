"""Each structural check finds its mistake, at its place; the sample itself has none."""

from __future__ import annotations

from pathlib import Path

import pytest
from support import SAMPLE, TABLES, assert_found, check_text, load_text, marked, plant

from flambeau.codegen.check.registry import run_checks
from flambeau.codegen.check.report import Context
from flambeau.codegen.read.loader import load_texts
from flambeau.codegen.text.source import Diagnostics
from flambeau.codegen.tools.cli import main


def test_the_sample_has_no_mistake() -> None:
    assert [d.render() for d in check_text(SAMPLE)] == []


# What stands in the sample, what replaces it (the place of the mistake is between « and »), the
# message, and a part of the hint.
MISTAKES = [
    ('"self * sigmoid(self)"', '"«slf» * sigmoid(self)"', "unknown name 'slf'", "'self'"),
    ('"self * sigmoid(self)"', '"self * «sigmoit»(self)"', "unknown function 'sigmoit'", "'sigm"),
    ('"self * sigmoid(self)"', '"self * «transpose»(self)"', "'transpose' is an operator", None),
    ('"self * sigmoid(self)"', '"self * «uniform()»"', "'uniform()' needs `random", None),
    ('self: "(s + self * slope) * grad"', 'self: "«gard» * s"', "unknown name 'gard'", "'grad'"),
    ('self: "(s + self * slope) * grad"', 'self: "«grad_x» * s"', "unknown name 'grad_x'", None),
    ('slope: "s * (1 - s)"', 'slope: "«t» * (1 - s)"', "unknown name 't'", None),
    ('step: "acc + x"', 'step: "acc + «y»"', "unknown name 'y' in 'step'", None),
    ('combine: "a + b"', 'combine: "a + «x»"', "unknown name 'x' in 'combine'", None),
    ('finish: "acc / n"', 'finish: "acc / «m»"', "unknown name 'm' in 'finish'", None),
    (
        '"reduced(self.shape, dim, keepdim)"\n  linear',
        '"«reducd»(self.shape, dim, keepdim)"\n  linear',
        "unknown function 'reducd'",
        "'reduced'",
    ),
    (
        '"reduced(self.shape, dim, keepdim)"\n  linear',
        '"reduced(«self.shap», dim, keepdim)"\n  linear',
        "unknown metadata '.shap'",
        "'shape'",
    ),
    ('result: "[b, n, m]"', 'result: "[b, n, «mm»]"', "unknown name 'mm'", None),
    ('mat2.shape", result', '«mat».shape", result', "unknown name 'mat'", "'mat2'"),
    ("b == b2 and k == k2", "b == «b3» and k == k2", "unknown name 'b3'", None),
    ("[{b}, {k}, *]", "[{b}, {«kk»}, *]", "unknown name 'kk'", None),
    ('{d: "add(self, target', '{d: "«ad»(self, target', "function or operator 'ad'", "'add'"),
    ('{d: "add(self, target', '{d: "«sigmoid»(self) + add(self, target', "'sigmoid' cannot", None),
    ("total(d * d)", "«total(d, 1, True, False)»", "no overload of 'total'", "3 arguments by pos"),
    ("total(d * d)", "«total(d, dims=1)»", "no overload of 'total'", "has no argument 'dims'"),
    ("total(d * d)", "«total(keepdim=True)»", "no overload of 'total'", "needs the argument 'self"),
    ("sum_dtype(self.dtype)", "«sum_dtyp»(self.dtype)", "'sum_dtyp'", "'sum_dtype'"),
    ('{"alpha == 0 and', '{"«alhpa» == 0 and', "unknown name 'alhpa'", "'alpha'"),
    (
        "  random: philox\n",
        '  «shape»: "[]"\n  random: philox\n',
        "a pointwise operator has no 'shape'",
        None,
    ),
    (
        '  kind: pointwise\n  variants: [list]\n  derivative: none\n  expr: "param - lr * grad"',
        "  kind: «pointwise»\n  variants: [list]\n  derivative: none",
        "a pointwise operator needs 'expr'",
        None,
    ),
    (
        '  reduce: {init: "0", step: "acc + x", combine: "a + b", finish: "acc / n"}\n',
        '  «body»: "self"\n',
        "a reduction operator has no 'body'",
        None,
    ),
    (
        "  shape: {geometry: expanded}\n",
        "  «kernel»: {}\n",
        "a view operator has no 'kernel'",
        None,
    ),
    (
        "  kind: structured\n  variants: [function, method]\n  shape: dynamic\n",
        "  kind: «structured»\n  variants: [function, method]\n",
        "a structured operator needs 'shape'",
        None,
    ),
    (
        "kernel: {cpu: indexing/nonzero.cpp}",
        "«kernel»: {cuda: indexing/nonzero.cu}",
        "a structured operator needs a kernel for cpu",
        None,
    ),
    (
        "kernel: {cpu: indexing/nonzero.cpp}",
        'kernel: {any: indexing/nonzero.cpp}\n  «body»: "self"',
        "a kernel for 'any' backend leaves nothing to the body",
        None,
    ),
    (
        "kernel: {cpu: indexing/nonzero.cpp}",
        "kernel: {any: «cpu»}",
        "'any: cpu' needs a kernel for cpu",
        None,
    ),
    (
        "kernel: {cpu: indexing/nonzero.cpp}\n",
        "kernel: {cpu: indexing/nonzero.cpp}\n  «overwrites»: self\n",
        "'overwrites' is for kernels of one result that have a form in place",
        None,
    ),
    (
        "kernel: {cpu: indexing/nonzero.cpp}\n",
        "kernel: {cpu: indexing/nonzero.cpp}\n  overwrites: «slf»\n",
        "'overwrites' 'slf' is unknown; expected self",
        "'self'",
    ),
    (
        "  shape: dynamic\n",
        '  shape: {result: "[]", «offset»: "0"}\n',
        "only a view has 'offset'",
        None,
    ),
    ("  shape: dynamic\n", "  shape: {«geometry»: expanded}\n", "only a view has a geometry", None),
    ("variants: [list]", "variants: «[list, out]»", "the variant 'out' needs a result", None),
    ("variants: [function, method]\n", "variants: «[list]»\n", "'list' needs a Tensor(mut)", None),
    ("  body:\n", '  «derivative»: {self: "grad"}\n  body:\n', "of a composite follows", "none"),
    ("let: {s: ", 'let: {«self»: "1", s: ', "the let 'self' hides an argument", None),
    ("linear_in: [self, other]", "linear_in: [self, «othr»]", "'othr' is not a tensor", "'other'"),
    (
        "linear_in: [self, mat2]\n",
        "linear_in: [self, mat2]\n  additive: [«mat2»]\n",
        "'mat2' is in linear_in already",
        None,
    ),
    (
        "linear_in: [self, mat2]\n",
        'linear_in: [self, mat2]\n  batch: {«mat»: "self", others: "self"}\n',
        "'batch' names 'mat', which is no tensor argument",
        "'mat2'",
    ),
    (
        "linear_in: [self, mat2]\n",
        'linear_in: [self, mat2]\n  batch: «{self: "self"}»\n',
        "'batch' has nothing for 'others'",
        None,
    ),
    (
        "kernel: {cpu: indexing/nonzero.cpp}",
        "kernel: {cpu: indexing/nonzero.cpp}\n  «batch»: body",
        "'batch: body' needs a body",
        None,
    ),
    (
        "kernel: {cpu: indexing/nonzero.cpp}",
        '«kernel»: {cpu: indexing/nonzero.cpp}\n  body: "self"',
        "there is a kernel and a body: say by 'batch'",
        "'joined'",
    ),
    (
        "linear_in: [self, mat2]\n",
        'linear_in: [self, mat2]\n  batch: "self + «m»"\n',
        "unknown name 'm' in a formula of 'batch'",
        None,
    ),
    ("  body:\n", '  forward: {«resutl»: "self"}\n  body:\n', "'resutl' is not a result", "'resul"),
    ('{alpha: "factor', '{«alhpa»: "x", alpha: "factor', "'alhpa' is documented", "'alpha'"),
    ("returns: {result", "returns: {«resutl»", "'resutl' is documented, but is not a res", "'resu"),
    ("see: [add]", "see: [«ad»]", "there is no 'ad'", "'add'"),
    (">>> x = flambeau.tensor([-1., 0., 1.])", "«>»>>x = 1", "the example is not a doctest", None),
    (
        "randn(3, 1), randn(1, 4), alpha",
        "randn(3, 1), randn(1, 4), «slf»=1, alpha",
        "there is no argument 'slf'",
        "'self'",
    ),
    (
        "- randn(2), randn(2), reduction='none'",
        "- «randn(2)»",
        "the sample lacks 'target'",
        None,
    ),
    ("extremes: {self", "extremes: {«slf»", "extremes: 'slf' is not a tensor", "'self'"),
    ("aliases: [plus]", "aliases: [«bmm»]", "the alias 'bmm' is a name of 'bmm'", None),
    ("aliases: [plus]", "aliases: [«add»]", "the alias 'add' is the operator's own name", None),
    (
        "aliases: [plus]",
        "also_in: [«specal»]",
        "'specal' is no namespace, and no name in one",
        "'special'",
    ),
    ("aliases: [plus]", "also_in: [«special.lambda»]", "'lambda' is a keyword of Python", None),
    ("aliases: [plus]", "also_in: [«main»]", "'add' lies in the operator's own", "'aliases'"),
    ("aliases: [plus]", "also_in: [«nn.functional.silu»]", "is a name of 'silu'", None),
    ("aliases: [plus]", "inplace: «argument»", "'inplace' 'argument' is unknown", None),
    ('operator: "@"', 'inplace: «keyword»\n  operator: "@"', "the in-place form", "add inplace"),
    ("aliases: [plus]", "role: «copied»", "role 'copied' is unknown", "'copy'"),
    ('operator: "@"', 'operator: "«+»"', "the operator + belongs to 'add'", None),
]

# The same where the mistake is found elsewhere: the third string shows where.
ELSEWHERE = [
    (
        '{mask: "uniform() >= p", result: "input / (1 - p) if mask else 0"}',
        '{result: "input * uniform()"}',
        '«expr»: {result: "input * uniform()"}',
        "'expr' has no formula for 'mask'",
        None,
    ),
    (
        'indices: "values.shape"}',
        "}",
        "«shape»: {values:",
        "'shape' has no formula for 'indices'",
        None,
    ),
    (
        '"param - lr * grad"',
        '"param - lr"',
        "Tensor «grad», *, float lr",
        "the tensor 'grad' is not mentioned in 'expr'",
        None,
    ),
    (
        '{d: "add(self, target, alpha=-1)"}',
        '{d: "add(self, self)"}',
        "Tensor «target», *, str",
        "the tensor 'target' is not mentioned in 'body'",
        None,
    ),
    (
        "dim dim0, dim dim1) -> view(self) result",
        "dim dim0, dim dim1) -> Tensor result",
        '"«transpose(Tensor self, dim dim0, dim dim1) -> Tensor result»"',
        "'result' of a view operator must be a view",
        "view(self) result",
    ),
    (
        "(Tensor self) -> int64 result",
        "(Tensor self) -> view(self) result",
        "kind: «structured»\n  variants: [function, method]\n  shape: dynamic",
        "'result' is a view, but the operator is structured",
        None,
    ),
    (
        'int64 result"\n  kind: structured\n  variants: [function, method]',
        'Tensor[] results"\n  kind: structured\n  variants: [function, out]',
        "variants: «[function, out]»\n  shape: dynamic",
        "the variant 'out' needs results that are tensors",
        None,
    ),
    (
        "  random: philox\n",
        "",
        'mask: "«uniform()» >= p"',
        "'uniform()' needs `random: philox`",
        None,
    ),
    (
        ", *, Generator? generator=None)",
        ")",
        '"«dropout(Tensor input, float p=0.5) -> (Tensor result, hidden bool mask)»"',
        "a random operator needs a Generator",
        None,
    ),
    (
        "hidden bool mask",
        "spare bool mask",
        '"«dropout(Tensor input, float p=0.5, *, Generator? generator=None) -> '
        '(Tensor result, spare bool mask)»"',
        "only a structured operator has spare results",
        "write `hidden`",
    ),
    (
        'mask: "uniform() >= p"',
        'mask: "input >= p"',
        "random: «philox»",
        "'expr' draws no number",
        None,
    ),
    (
        '    mat2: "bmm(transpose(self, 1, 2), grad)"\n',
        "",
        "Tensor «mat2»)",
        "the tensor 'mat2' has no derivative",
        "`mat2: none`",
    ),
    (
        'derivative: {other: "conj(alpha) * grad"}',
        'derivative: {self: "grad", other: "conj(alpha) * grad"}',
        'derivative: {«self»: "grad", other',
        "the gradient of 'self' follows from 'expr'",
        "leave it out",
    ),
    (
        "variants: [list]\n  derivative: none",
        'variants: [list]\n  derivative: {grad: "1"}',
        "Tensor «grad», *, float lr",
        "the argument 'grad' is called like the gradient",
        None,
    ),
    (
        '  args: {alpha: "factor of `other`"}\n',
        "",
        "Scalar «alpha»=1",
        "the argument 'alpha' is undocumented",
        None,
    ),
    (
        ">>> flambeau.nn.functional.silu(x)",
        ">>> flambeau silu",
        "flambeau «silu»",
        "the example does not parse",
        None,
    ),
    (
        "      rejects: mat2=randn(2, 3, 5)\n",
        "",
        "- error: «stacks_multiply»",
        "no test violates the error 'stacks_multiply'",
        "rejects",
    ),
]


@pytest.mark.parametrize(("old", "new", "message", "hint"), MISTAKES, ids=[m[2] for m in MISTAKES])
def test_mistakes(old: str, new: str, message: str, hint: str | None) -> None:
    text, place = plant(old, new)
    diagnostic = assert_found(check_text(text), place, message)
    if hint is not None:
        assert hint in (diagnostic.hint or "")


@pytest.mark.parametrize(
    ("old", "new", "where", "message", "hint"), ELSEWHERE, ids=[m[3] for m in ELSEWHERE]
)
def test_mistakes_elsewhere(old: str, new: str, where: str, message: str, hint: str | None) -> None:
    assert SAMPLE.count(old) == 1
    text = SAMPLE.replace(old, new)
    plain = where.replace("«", "").replace("»", "")
    assert text.count(plain) == 1, plain
    text, place = marked(text.replace(plain, where))
    diagnostic = assert_found(check_text(text), place, message)
    if hint is not None:
        assert hint in (diagnostic.hint or "")


def test_operators_are_declared_once() -> None:
    again = '\n- op: "«max_dim(Tensor self) -> Tensor result»"\n  kind: composite\n  body: "self"\n'
    text, place = marked(SAMPLE + again)
    found = assert_found(check_text(text), place, "'max_dim' is declared already")
    assert str(found.notes[0].span) == "sample.yaml:115:8"


def test_one_int_is_tried_before_a_list() -> None:
    text, place = marked(
        '- op: "f.sizes(Tensor self, int[] sizes) -> Tensor result"\n'
        "  kind: composite\n"
        '  body: "self"\n'
        '  summary: "F."\n'
        '- op: "f(Tensor self, int «size») -> Tensor result"\n'
        "  kind: composite\n"
        '  body: "self"\n'
        '  summary: "F."\n'
    )
    found = assert_found(check_text(text), place, "an int of 'f' would be a list of 'f.sizes'")
    assert str(found.notes[0].span) == "sample.yaml:1:8"


def test_kernel_files_exist(tmp_path: Path) -> None:
    for file in ("reduce/argreduce.cpp", "indexing/nonzero.cpp"):
        (tmp_path / "cpu" / file).parent.mkdir(exist_ok=True, parents=True)
        (tmp_path / "cpu" / file).touch()
    found = check_text(SAMPLE, native=tmp_path)
    lines = SAMPLE.split("\n")
    assert [
        (d.message, lines[d.span.line - 1][d.span.column - 1 :][: d.span.length]) for d in found
    ] == [
        ("bmm: native/cpu/linalg/bmm.cpp does not exist", "linalg/bmm.cpp"),
        ("bmm: native/cuda/linalg/bmm.cu does not exist", "linalg/bmm.cu"),
    ]


def test_uses_of_entries_with_mistakes_are_no_mistakes() -> None:
    text, place = plant("kind: reduction", "kind: «reductoin»")
    found = check_text(text)
    assert len(found) == 1, "\n".join(d.render() for d in found)
    assert_found(found, place, "kind 'reductoin' is unknown")


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("aliases: [short]", "aliases: [«int8»]", "'int8' is declared already"),
        (
            'accumulate: float32\n  numpy: "<f2"',
            "accumulate: «float31»\n  numpy: '<f2'",
            "float16: there is no dtype 'float31'",
        ),
    ],
)
def test_tables(old: str, new: str, message: str) -> None:
    name = "declarations/dtypes.yaml"
    assert TABLES[name].count(old) == 1
    text, place = marked(TABLES[name].replace(old, new))
    diagnostics = Diagnostics()
    loaded = load_texts({**TABLES, name: text}, diagnostics)
    assert len(diagnostics) == 0
    found = run_checks(Context(loaded.declarations), computing=False)
    assert_found(found, place, message)


def test_command(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "mine.yaml"
    file.write_text('- op: "f(Tensr self) -> Tensor result"\n  kind: pointwise\n')
    assert main(["check", str(file), "--no-kernels", "--structure"]) == 1
    lines = capsys.readouterr().out.split("\n")
    assert lines[0] == f"{file}:1:10: error: unknown type 'Tensr'"
    assert lines[1] == '  - op: "f(Tensr self) -> Tensor result"'
    assert lines[2] == "           ^~~~~"
    assert lines[3] == "  hint: did you mean 'Tensor'?"
    assert lines[-2].endswith(" s: 1 mistake")


def test_command_without_mistakes(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for name in ("dtypes", "backends", "common"):
        (tmp_path / f"{name}.yaml").write_text(TABLES[f"declarations/{name}.yaml"])
    (tmp_path / "sample.yaml").write_text(SAMPLE)
    options = ["check", "--declarations", str(tmp_path), "--no-kernels", "--structure"]
    assert main(options) == 0
    output = capsys.readouterr().out
    assert output.startswith("11 operators checked (formulas not evaluated) in ")
    assert output.endswith(" s: no mistakes\n")


def test_a_failing_entry_is_named_as_incomplete() -> None:
    loaded, _ = load_text('- op: "f.g(Tensor self) -> x"\n  kind: view\n  aliases: [h]\n')
    assert loaded.incomplete == {"f.g", "f", "h"}

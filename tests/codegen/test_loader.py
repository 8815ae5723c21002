"""Entries of every kind become the model, and mistakes in them become diagnostics."""

from __future__ import annotations

from pathlib import Path

import pytest
from support import SAMPLE, assert_found, check_text, load_text, marked, plant, sample_operator

from flambeau.codegen.formula.nodes import Expression
from flambeau.codegen.formula.parse import parse_source
from flambeau.codegen.model.entries import KernelFile, Kind
from flambeau.codegen.read.loader import (
    declaration_files,
    library_declarations,
    load,
    load_declarations,
)
from flambeau.codegen.text.folders import default_folder
from flambeau.codegen.text.source import DeclarationError, Diagnostics
from flambeau.codegen.write.dtypes import emit_dtypes

FLOATS = {"float16", "bfloat16", "float32", "float64"}
COMPLEX = {"complex64", "complex128"}
INTEGERS = {"uint8", "int8", "int16", "int32", "int64"}
LIMITED = {"uint16", "uint32", "uint64"}


def same(expression: Expression | None, text: str) -> bool:
    return expression == parse_source(text)


def test_pointwise() -> None:
    silu = sample_operator("silu")
    assert silu.kind is Kind.POINTWISE
    assert silu.family == "sample"
    assert silu.namespace == "nn.functional"
    assert silu.variants == {"function", "method", "inplace", "out"}
    assert same(silu.expressions["result"], "self * sigmoid(self)")
    assert silu.dtypes.promote == ("self",)
    assert silu.dtypes.accepts["self"] == FLOATS | INTEGERS | LIMITED | {"bool"}
    assert silu.dtypes.kernels == FLOATS
    assert silu.dtypes.integers_to_float
    assert silu.derivative is not None
    assert same(
        silu.derivative.formulas["self"],
        "(sigmoid(self) + self * (sigmoid(self) * (1 - sigmoid(self)))) * grad",
    )
    assert silu.test.extremes == {"self": (-200.0, 0.0, 10000.0)}
    assert silu.doc.arguments == {"self": "the input tensor"}
    assert silu.argument("self").doc == "the input tensor"
    assert silu.doc.math == r"y_i = x_i\,\sigma(x_i)"


def test_promotion_constraints_and_shortcuts() -> None:
    add = sample_operator("add")
    assert add.operator == "+"
    assert add.aliases == ("plus",)
    assert add.dtypes.promote == ("self", "other")
    assert add.dtypes.accepts["other"] == FLOATS | COMPLEX | INTEGERS
    assert add.linear_in == ("self", "other")
    ((condition, value),) = add.skip_when
    assert same(condition, "alpha == 0 and is_complex(self.dtype)")
    assert same(value, "self")
    (constraint,) = add.constraints
    assert (constraint.name, constraint.exception) == ("integral_factor", "ValueError")
    texts = [p if isinstance(p, str) else f"<{p}>" for p in constraint.parts]
    assert texts == ["alpha is ", "<alpha>", " for ", "<self.dtype>"]
    assert add.test.rejects["integral_factor"]["alpha"] == "1.5"
    assert add.test.samples == ({"self": "randn(3, 1)", "other": "randn(1, 4)", "alpha": "2"},)


def test_reduction() -> None:
    total = sample_operator("total")
    assert total.reduce is not None
    assert total.shape is not None
    assert same(total.reduce.step, "acc + x")
    assert same(total.reduce.finish, "acc / n")
    assert same(total.shape.shapes["result"], "reduced(self.shape, dim, keepdim)")
    assert total.dtypes.results == {"result": "dtype or sum_dtype(self.dtype)"}
    assert total.dtypes.accumulate == "float32"


def test_views() -> None:
    transpose = sample_operator("transpose")
    assert transpose.shape is not None
    assert same(transpose.shape.strides, "swapped(self.strides, dim0, dim1)")
    assert same(transpose.shape.offset, "self.offset")
    spread = sample_operator("spread")
    assert spread.shape is not None
    assert spread.shape.geometry == "expanded"
    assert spread.signature.results[0].view_of == "self"


def test_composite() -> None:
    error = sample_operator("square_error")
    ((name, value),) = error.body_lets
    assert name == "d"
    assert same(value, "add(self, target, alpha=-1)")
    assert same(error.body, "total(d * d) if reduction == 'sum' else d * d")


def test_structured() -> None:
    bmm = sample_operator("bmm")
    assert bmm.shape is not None
    lets = [(names, str(value)) for names, value in bmm.shape.lets]
    assert lets == [(("b", "n", "k"), "self.shape"), (("b2", "k2", "m"), "mat2.shape")]
    assert bmm.kernels["cpu"] == KernelFile("cpu", "linalg/bmm.cpp")
    assert bmm.kernels["cuda"] == KernelFile("cuda", "linalg/bmm.cu")
    assert bmm.dtypes.same_as == {"mat2": "self"}
    assert bmm.dtypes.accepts["mat2"] == FLOATS | COMPLEX
    assert bmm.dtypes.promote == ("self",)
    assert bmm.constraints[0].exception == "RuntimeError"


def test_several_results() -> None:
    largest = sample_operator("max.dim")
    assert largest.identifier == "max_dim"
    assert largest.derivative is not None
    # Only `values` has a gradient, so formulas may call it `grad_values` or `grad`.
    assert same(largest.derivative.formulas["self"], "spread(grad, self.shape)")
    assert largest.test.samples == ({"self": "randn(3, 4)", "dim": "1"},)


def test_random_and_hidden_results() -> None:
    dropout = sample_operator("dropout")
    assert dropout.random == "philox"
    assert list(dropout.expressions) == ["mask", "result"]
    assert dropout.test.tolerance == 1e-3
    assert not dropout.test.gradient


def test_mutable_arguments_and_dynamic_shapes() -> None:
    sgd = sample_operator("sgd_")
    assert list(sgd.expressions) == ["param"]
    assert sgd.derivative is not None
    assert sgd.derivative.none
    nonzero = sample_operator("nonzero")
    assert nonzero.shape is not None
    assert nonzero.shape.dynamic


def test_automatic_derivative() -> None:
    text = SAMPLE.replace(
        'let: {s: "sigmoid(self)", slope: "s * (1 - s)"}\n    self: "(s + self * slope) * grad"',
        "self: auto",
    ).replace('expr: "self * sigmoid(self)"', 'expr: "exp(self)"')
    silu = sample_operator("silu", text)
    assert silu.derivative is not None
    assert silu.derivative.auto == {"self"}
    assert same(silu.derivative.formulas["self"], "grad * result")


def test_entries_with_mistakes_do_not_hide_the_others() -> None:
    text, _ = plant("kind: composite", "kind: «composit»")
    loaded, found = load_text(text)
    assert len(found) == 1
    assert len(loaded.declarations.operators) == 10
    assert loaded.incomplete == {"square_error"}


MISTAKES = [
    ("kind: composite", "kind: «composit»", "kind 'composit' is unknown", "'composite'"),
    ("  namespace: nn", "  «namespce»: nn", "unknown key 'namespce'", "'namespace'"),
    ("variants: [list]", "variants: [«lits»]", "'lits' is unknown", "'list'"),
    ("variants: [list]", "variants: «list»", "'variants' must be a list, not text", "[a, b]"),
    ('operator: "+"', 'operator: "«plus»"', "operator 'plus' is unknown", None),
    ("namespace: nn.functional", "namespace: «nn.functionl»", "namespace 'nn.functionl'", "nn.f"),
    (
        'helper: "sgd_(Tensor(mut) param, Tensor grad, *, float lr) -> None"\n',
        'helper: "sgd_(Tensor(mut) param, Tensor grad, *, float lr) -> None"\n  «namespace»: fft\n',
        "unknown key 'namespace' in a helper",
        None,
    ),
    ("{self: float, int: promote}", "{self: «flot», int: promote}", "category 'flot'", "'float'"),
    ("{self: float|complex, result", "{self: float|«complx», result", "category 'complx'", None),
    ("mat2: same(self)", "mat2: same(«slf»)", "'slf' is not a tensor argument", "'self'"),
    ("promote: [self, other]", "promote: [self, «othr»]", "'othr' is not a tensor", "'other'"),
    ("accumulate: float32}\n  reduce", "accumulate: «float31»}\n  reduce", "'float31'", None),
    ('"dtype or sum_dtype(self.dtype)"', '"dtype or «)»"', "without a '('", None),
    ("dtypes: {input: float}", "dtypes: {«inptu»: float}", "'inptu' is neither", "'input'"),
    ('"self * sigmoid(self)"', '"self * sigmoid«(»self"', "'(' is not closed", None),
    ('{mask: "uniform()', '{«maks»: "uniform()', "'maks' is not a result", "'mask'"),
    (
        '  expr: {mask: "uniform() >= p", result: "input / (1 - p) if mask else 0"}',
        '  expr: "«uniform()»"',
        "one formula for several results",
        "write {result: ..., mask",
    ),
    ("reduce: {init:", "reduce: {«inti»:", "unknown key 'inti'", "'init'"),
    ('shape: {values: "reduced', 'shape: {«valeus»: "reduced', "'valeus' is not a result", None),
    ("b, n, k = self", "b, «2n», k = self", "'2n' is not a name", None),
    ("b2, k2, m = mat2.shape", "«mat2.shape»", "a let is written `name = value`", None),
    ("kernel: {cpu: indexing", "kernel: {«cpuu»: indexing", "unknown key 'cpuu'", "'cpu'"),
    ("cpu: linalg/bmm.cpp", "cpu: «[linalg/bmm.cpp]»", "a kernel's file must be", None),
    ("random: philox", "random: «mersenne»", "random 'mersenne' is unknown", None),
    ('{self: "spread(grad_values', '{«slf»: "spread(grad_values', "not a tensor arg", "'self'"),
    ("raise: ValueError", "raise: «ValueErr»", "'raise' 'ValueErr' is unknown", "'ValueError'"),
    ("alpha is {alpha} for {", "alpha is {alpha for «{»", "'{' inside a field", None),
    ("got {mat2.shape}", "got mat2.shape«}»", "'}' without a '{'", None),
    ("got {mat2.shape}", "got «{»mat2.shape", "'{' is not closed", None),
    ("got {mat2.shape}", "got {mat2.«+»}", "'+' is not expected here", None),
    ("[-200, 0, 1e4]", "[-200, «big», 1e4]", "an extreme must be a number, not 'big'", None),
    ("gradient: false", "gradient: «no»", "'gradient' 'no' is unknown", None),
    ("tolerance: 1e-3", "tolerance: «small»", "'tolerance' must be a number", None),
    ('summary: "Random zeros."', '«sumary»: "Random zeros."', "unknown key 'sumary'", None),
    ('- helper: "sgd_', '- «helpr»: "sgd_', "an entry starts with one of op", "'helper'"),
]


@pytest.mark.parametrize(("old", "new", "message", "hint"), MISTAKES, ids=[m[1] for m in MISTAKES])
def test_mistakes(old: str, new: str, message: str, hint: str | None) -> None:
    text, place = plant(old, new)
    found = check_text(text)
    diagnostic = assert_found(found, place, message)
    if hint is not None:
        assert hint in (diagnostic.hint or "")


def test_a_mistake_in_a_block_scalar_points_into_it() -> None:
    text, place = marked(
        '- op: "f(Tensor self) -> Tensor result"\n'
        "  kind: pointwise\n"
        "  expr: |\n"
        "    self *\n"
        "      («lambda: 1»)\n"
    )
    assert_found(load_text(text)[1], place, "cannot be used in a formula")


@pytest.mark.parametrize(
    ("text", "message", "line"),
    [
        ("a: 1\n", "a file of declarations is a list, not a mapping", 1),
        ("- 3\n", "an entry is a mapping, not text", 1),
        ("- kind: view\n  op: 'f() -> None'\n", "an entry starts with one of", 1),
        ("- op: [f]\n  kind: view\n", "'op' must be text, not a list", 1),
        ("- op: 'f() -> None'\n", "an operator has no 'kind'", 1),
        ("- op: 'f() -> None'\n  kind:\n", "kind must be text, not nothing", 2),
        ("- dtype: x\n  cpp: y\n", "a dtype has no 'size'", 1),
        ("- backend: x\n  emit: rust\n  doc: d\n", "emit 'rust' is unknown", 2),
    ],
)
def test_misshapen_files(text: str, message: str, line: int) -> None:
    _, found = load_text(text)
    assert any(message in d.message and d.span.line == line for d in found), found


def test_files_that_cannot_be_read(tmp_path: Path) -> None:
    binary = tmp_path / "binary.yaml"
    binary.write_bytes(b"- op: \xff\xfe")
    with pytest.raises(DeclarationError, match="1:7: error: byte 0xff is not UTF-8"):
        load_declarations(files=[binary])
    with pytest.raises(DeclarationError, match=r"missing\.yaml:1:1: error: cannot be read"):
        load_declarations(files=[tmp_path / "missing.yaml"])


def test_rooms(tmp_path: Path) -> None:
    """Files are read in the order of their names, whatever room they lie in; each has a name."""
    for room, family in (("b", "first"), ("a", "second"), ("c/d", "third")):
        (tmp_path / room).mkdir(parents=True)
        entry = f'- op: "{family}(Tensor self) -> Tensor result"\n  kind: composite\n  body: self\n'
        (tmp_path / room / f"{family}.yaml").write_text(entry)
    files = declaration_files(tmp_path)
    assert [file.stem for file in files] == ["first", "second", "third"]
    diagnostics = Diagnostics()
    assert [o.family for o in load(files, diagnostics).declarations.operators] == [
        "first", "second", "third",
    ]  # fmt: skip
    (tmp_path / "a" / "third.yaml").write_text("- op: 'another(Tensor self) -> Tensor'\n")
    with pytest.raises(DeclarationError) as error:
        load_declarations(tmp_path)
    (mistake,) = [d for d in error.value.diagnostics if "has a file already" in d.message]
    assert mistake.span.file == str(tmp_path / "c" / "d" / "third.yaml")
    assert [note.span.file for note in mistake.notes] == [str(tmp_path / "a" / "third.yaml")]


def test_the_librarys_declarations_load() -> None:
    declarations = library_declarations()
    assert len(declarations.dtypes) == 15
    assert [b.name for b in declarations.backends] == ["cpu", "cuda", "meta"]
    assert set(declarations.by_name) == {o.name for o in declarations.operators}
    assert all(p.suffix == ".yaml" for p in declaration_files(default_folder()))


def test_dtypes_headers() -> None:
    loaded, _ = load_text("")
    headers = emit_dtypes(loaded.declarations)
    assert all(
        text.startswith("// Generated from declarations/dtypes.yaml.") for text in headers.values()
    )
    dtypes, aliases = headers["dtypes.h"], headers["dtype_names.h"]
    assert '  X(bool_, bool, boolean, 1, "bool")' in dtypes
    assert 'X(complex64, ::flambeau::complex<float>, complex, 8, "complex64") \\\n' in dtypes
    assert dtypes.endswith('16, "complex128")\n')
    assert dtypes.count("\\\n") == 15 + 12
    computed = dtypes.partition("COMPUTED_DTYPE")[2]
    assert "int64_t" in computed and "uint16_t" not in computed
    assert '  X(int16, "short")' in aliases
    assert '  X(complex128, "cdouble")\n' in aliases
    assert 'X(uint8, "Byte", 0)' in aliases
    assert aliases.endswith('X(complex128, "ComplexDouble", 0)\n')
    assert aliases.count("\\\n") == 8 + 15

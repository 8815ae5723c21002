"""`ops show` and `ops diff`: what is derived from entries, and what edits of them change."""

from __future__ import annotations

import subprocess
from pathlib import Path

import numpy as np
import pytest
from support import small_library

from flambeau.codegen.check.samples import sample_value
from flambeau.codegen.formula.parse import parse_source
from flambeau.codegen.formula.to_numpy import to_numpy
from flambeau.codegen.model.entries import Declarations, Kind, Operator
from flambeau.codegen.read.loader import library_declarations
from flambeau.codegen.tools.cli import main
from flambeau.codegen.tools.explain import Explanation


@pytest.fixture(scope="module")
def library() -> Declarations:
    return library_declarations()


def sections(library: Declarations, name: str) -> dict[str, tuple[str, ...]]:
    operator = next(o for o in library.operators if o.full_name == name)
    found = Explanation(operator, library).sections()
    return {section.title: section.lines for section in found}


# show ---------------------------------------------------------------------------------------------


def test_everything_can_be_shown(library: Declarations) -> None:
    """Every operator says how it is called and differentiated, and whether it works in place."""
    for operator in library.operators:
        found = {s.title: s.lines for s in Explanation(operator, library).sections()}
        assert {"calls", "backends", "gradient", "in place"} <= found.keys(), operator.full_name


def test_what_is_shown_of_a_pointwise_operator(library: Declarations) -> None:
    found = sections(library, "sigmoid")
    assert (
        "flambeau.sigmoid(input: Tensor, *, out: Tensor | None = None) -> Tensor" in found["calls"]
    )
    assert found["saves"] == ("for self: result (tensor)",)
    assert found["computes"] == ("result = sigmoid(self)",)
    assert found["shape"] == ("that of self",)
    assert "sigmoid_: yes; the gradient does not read what is overwritten" in found["in place"]
    assert any(line.startswith("a later write into the result") for line in found["in place"])


def test_what_is_shown_of_a_structured_operator(library: Declarations) -> None:
    found = sections(library, "bmm")
    assert "cpu: by hand: native/cpu/linalg/matmul.cpp" in found["backends"] or any(
        line.startswith("cpu: by hand: native/cpu/linalg/") for line in found["backends"]
    )
    assert any("(linear)" in line for line in found["forward"])
    assert {line.split(":")[0] for line in found["saves"]} == {"for self", "for mat2"}


def test_second_order_formulas_are_derivatives_of_the_first(library: Declarations) -> None:
    """Compared with differences of the declared gradient, whatever operator it is."""
    compared = 0
    for operator in library.operators:
        if operator.kind is Kind.POINTWISE and operator.random is None:
            compared += _compare_second_order(operator, library)
    assert compared > 25


def _compare_second_order(operator: Operator, library: Declarations) -> int:
    """Of operators of one floating tensor, whose values lie where most functions are smooth."""
    arguments = operator.signature.arguments
    derivative = operator.derivative
    if [a.name for a in arguments] != ["self"] or not derivative or not derivative.formulas:
        return 0
    if list(operator.expressions) != ["result"] or "complex" in str(operator.dtypes.accepts):
        return 0
    x, grad = 0.1 + 0.3 * sample_value("rand(5)", 3), sample_value("randn(5)", 4)
    first = to_numpy(derivative.formulas["self"])
    result = to_numpy(operator.expressions["result"])

    def at(t: float) -> np.ndarray:
        moved = x + t
        return np.broadcast_to(
            first({"self": moved, "grad": grad, "result": result({"self": moved})}), 5
        )

    expected = (at(1e-5) - at(-1e-5)) / 2e-5
    lead = "of the gradient of self, for self: "
    lines = Explanation(operator, library).second_order()
    text = next((line.removeprefix(lead) for line in lines if line.startswith(lead)), "0")
    values = {"self": x, "grad": grad, "grad_grad": 1.0, "result": result({"self": x})}
    found = np.broadcast_to(to_numpy(parse_source(text))(values), 5)
    smooth = np.isfinite(expected)
    assert np.allclose(found[smooth], expected[smooth], rtol=1e-4, atol=1e-4), operator.full_name
    return 1


def test_overloads_are_shown_together_or_alone(
    small: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["show", "max", "--declarations", small]) == 0
    together = capsys.readouterr().out
    assert main(["show", "max.dim", "--declarations", small]) == 0
    alone = capsys.readouterr().out
    assert alone in together and "max.other  composite" in together
    assert "max.other  composite" not in alone
    for name in ("flambeau.max.dim", "relu_", "Tensor.relu", "flambeau.nn.functional.silu"):
        assert main(["show", name, "--declarations", small]) == 0


@pytest.mark.parametrize(
    ("option", "expected"),
    [
        ("--cpp", "struct ReluBackward final : OperatorNode"),
        ("--cpp", "ops/activation.h"),
        ("--cuda", "struct ReluKernel"),
        ("--binding", "relu_binding{"),
        ("--docs", "family: activation"),
        ("--tests", "reference: np.maximum(self, 0)"),
    ],
)
def test_generated_parts(
    option: str, expected: str, small: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["show", "relu", option, "--declarations", small]) == 0
    printed = capsys.readouterr().out
    assert expected in printed
    if option in ("--cpp", "--cuda", "--binding"):
        assert "relu6" not in printed  # of its family, the operator's part alone


def test_shown_code_is_the_generated_code(
    tmp_path: Path, small: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """Every function that is shown stands in the emitted file, line for line."""
    assert main(["emit", str(tmp_path), "--declarations", small]) == 0
    capsys.readouterr()
    assert main(["show", "silu", "--cpp", "--declarations", small]) == 0
    shown = capsys.readouterr().out.split("==> ops/activation.cpp <==\n")[1].split("\n==> ")[0]
    emitted = (tmp_path / "ops" / "activation.cpp").read_text(encoding="utf-8")
    body = shown[shown.index("KernelTable") :]
    assert body[: body.index("}  // namespace\n")] in emitted


# diff ---------------------------------------------------------------------------------------------


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    """A repository with declarations of the library, generated once."""
    folder = small_library(tmp_path / "declarations")
    assert main(["emit", str(tmp_path / "build" / "generated"), "--declarations", str(folder)]) == 0
    return folder


def edit(folder: Path, old: str, new: str) -> None:
    file = folder / "pointwise" / "activation.yaml"
    text = file.read_text(encoding="utf-8")
    assert old in text
    file.write_text(text.replace(old, new), encoding="utf-8")


def test_diff_shows_what_an_edit_changes(tree: Path, capsys: pytest.CaptureFixture[str]) -> None:
    capsys.readouterr()
    generated = tree.parent / "build" / "generated"
    before = {p: p.read_bytes() for p in generated.rglob("*") if p.is_file()}
    assert main(["diff", "--declarations", str(tree)]) == 0
    assert capsys.readouterr().out.startswith("0 of ")
    edit(tree, 'expr: "self * sigmoid(self)"', 'expr: "2 * self * sigmoid(self)"')
    assert main(["diff", "--declarations", str(tree)]) == 1
    printed = capsys.readouterr().out
    assert "--- a/formulas/activation-" in printed and "+++ b/ops/activation.cpp" in printed
    assert "ops/arithmetic" not in printed
    assert main(["diff", "--stat", "formulas/", "--declarations", str(tree)]) == 1
    counted = capsys.readouterr().out.splitlines()
    assert all("formulas/activation" in line for line in counted[:-1]) and len(counted) == 2
    assert {p: p.read_bytes() for p in generated.rglob("*") if p.is_file()} == before


def test_diff_is_a_patch(tree: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """`patch` makes of the old files what the generator makes of the new declarations."""
    edit(tree, "Sigmoid linear unit", "The sigmoid linear unit")
    new = 'extra(Tensor self) -> Tensor result"\\n  kind: composite\\n  body: "self * self"\\n'
    (tree / "extra.yaml").write_text(
        f'- op: "{new}'.replace("\\n", "\n") + '  summary: "A square."\n  samples: [randn(3)]\n',
        encoding="utf-8",
    )
    capsys.readouterr()
    assert main(["diff", "--declarations", str(tree)]) == 1
    patch = capsys.readouterr().out
    generated = tree.parent / "build" / "generated"
    subprocess.run(["patch", "-s", "-p1"], cwd=generated, input=patch, text=True, check=True)
    assert main(["diff", "--declarations", str(tree)]) == 0


def test_diff_against_a_revision(tree: Path, capsys: pytest.CaptureFixture[str]) -> None:
    def git(*arguments: str) -> None:
        identity = ["-c", "user.name=x", "-c", "user.email=x@example.org"]
        subprocess.run(["git", *identity, *arguments], cwd=tree, check=True, capture_output=True)

    git("init", "-q")
    git("add", ".")
    git("commit", "-q", "-m", "first")
    capsys.readouterr()
    against = ["diff", "--stat", "--declarations", str(tree), "--against"]
    assert main([*against, "HEAD"]) == 0
    edit(tree, 'expr: "self * sigmoid(self)"', 'expr: "2 * self * sigmoid(self)"')
    assert main([*against, "HEAD"]) == 1
    assert "formulas/activation-" in capsys.readouterr().out
    git("commit", "-q", "-a", "-m", "second")
    assert main([*against, "HEAD"]) == 0
    assert main([*against, "HEAD~1"]) == 1
    capsys.readouterr()
    for wrong in ("nonsense", "--output=/tmp/x"):
        assert main([*against[:-1], f"--against={wrong}"]) == 2
        assert "git:" in capsys.readouterr().err

"""`ops coverage`: the table, the page, what a backend must bring."""

from __future__ import annotations

import json
import re
from html.parser import HTMLParser
from pathlib import Path

import pytest
from support import SAMPLE, load_text, sample_folder

from flambeau.codegen.model.entries import Kind
from flambeau.codegen.tools.cli import main
from flambeau.codegen.tools.primitives import Needs, needs_of


@pytest.fixture
def options(tmp_path: Path) -> list[str]:
    return ["--declarations", str(sample_folder(tmp_path))]


def needs(backend: str, *names: str) -> Needs:
    loaded, _ = load_text(SAMPLE)
    operators = [o for o in loaded.declarations.operators if o.full_name in names]
    return needs_of(loaded.declarations, backend, operators)


def missing(found: Needs) -> list[str]:
    return [p.name for p in found.primitives if not p.exists]


def test_the_table_has_a_line_per_operator(
    options: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["coverage", *options]) == 0
    lines = capsys.readouterr().out.splitlines()
    silu = next(line for line in lines if line.startswith("silu "))
    assert silu.split()[:4] == ["silu", "pointwise", "generated", "generated"]
    assert silu.endswith("dersx")
    assert any(re.match(r" +2 of 11  no kernel on cuda", line) for line in lines)
    assert sum("  " in line and line[0].isalpha() for line in lines) == 12  # and the head


def test_gaps_are_told_in_full(options: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["coverage", "--gaps", *options]) == 0
    printed = capsys.readouterr().out
    assert "max.dim, nonzero" in printed and "silu  pointwise" not in printed


class Page(HTMLParser):
    """Counts rows of operators, and tags that are opened and not closed."""

    def __init__(self) -> None:
        super().__init__()
        self.rows: list[str] = []
        self.open: list[str] = []
        self.sources: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = dict(attrs)
        self.sources += [v for k, v in given.items() if k in ("src", "href") and v]
        if tag == "tr" and given.get("id"):
            self.rows.append(given["id"] or "")
        if tag not in ("meta", "input", "br"):
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag


def test_the_page(options: list[str], tmp_path: Path) -> None:
    """Every operator, well-formed, and nothing that is fetched from elsewhere."""
    file = tmp_path / "new" / "coverage.html"
    assert main(["coverage", "--html", str(file), *options]) == 0
    page = Page()
    page.feed(file.read_text(encoding="utf-8"))
    loaded, _ = load_text(SAMPLE)
    assert page.rows == [o.full_name for o in loaded.declarations.operators]
    assert not page.open and not page.sources


def test_text_of_declarations_is_escaped(options: list[str], tmp_path: Path) -> None:
    sample = Path(options[1]) / "sample.yaml"
    planted = SAMPLE.replace("Sum of two tensors.", "<script>alert(1)</script>")
    sample.write_text(planted, encoding="utf-8")
    file = tmp_path / "coverage.html"
    assert main(["coverage", "--html", str(file), *options]) == 0
    assert "<script>alert" not in file.read_text(encoding="utf-8")


def test_json(options: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["coverage", "--json", *options]) == 0
    assert len(json.loads(capsys.readouterr().out)["operators"]) == 11


def test_what_a_declared_backend_lacks() -> None:
    assert missing(needs("cpu")) == []
    assert missing(needs("cuda")) == ["max.dim", "nonzero"]
    assert missing(needs("meta")) == ["nonzero"]


def test_what_a_backend_of_ones_own_must_bring() -> None:
    """Views, composites and formulas over other operators come free."""
    found = needs("opencl")
    assert not found.declared and missing(found) == [p.name for p in found.primitives]
    assert [p.name for p in found.of(Kind.STRUCTURED)] == ["bmm", "max.dim", "nonzero"]
    assert [p.name for p in found.of(Kind.REDUCTION)] == ["total"]
    assert {"add", "silu"} <= {p.name for p in found.of(Kind.POINTWISE)}
    assert found.gradients > 0
    names = {p.name for p in found.primitives}
    assert not names & {"spread", "transpose", "square_error"}


def test_only_what_some_operators_need() -> None:
    """The closure over bodies and gradient formulas."""
    found = needs("opencl", "square_error")
    assert {p.name for p in found.primitives} >= {"add", "total"}
    assert "bmm" not in {p.name for p in found.primitives}
    found = needs("opencl", "spread")
    assert {p.name for p in found.primitives} == {"total"}  # its gradient sums


def test_formulas_over_other_operators_are_composed() -> None:
    text = (
        SAMPLE
        + """
- op: "doubled(Tensor self) -> Tensor result"
  kind: pointwise
  dtypes: {self: float}
  expr: "self + self"
  derivative: auto
"""
    )
    loaded, _ = load_text(text)
    found = needs_of(loaded.declarations, "opencl")
    assert found.composed == ("doubled",)
    (doubled,) = (o for o in loaded.declarations.operators if o.name == "doubled")
    assert [p.name for p in needs_of(loaded.declarations, "opencl", [doubled]).primitives][:1] == [
        "add"
    ]


def test_backend_command(options: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["coverage", "--backend", "opencl", "--for", "bmm", *options]) == 0
    printed = capsys.readouterr().out
    assert "'opencl' is not among the declared backends (cpu, cuda, meta)" in printed
    assert "missing: 1 primitive operators\n  bmm\n" in printed
    assert main(["coverage", "--backend", "cpu", *options]) == 0
    assert "missing: 0 primitive operators" in capsys.readouterr().out
    assert main(["coverage", "--backend", "cpu", "--for", "nothing", *options]) == 2

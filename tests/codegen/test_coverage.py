"""What operators have and lack, as `ops coverage` and the site of reference pages tell it."""

from __future__ import annotations

import json

import pytest
from support import SAMPLE, load_text

from flambeau.codegen.plan.coverage import Coverage, Row, as_json, coverage_of, gaps
from flambeau.codegen.read.loader import library_declarations
from flambeau.codegen.text.folders import default_folder

# Two composites over the sample's operators; one needs a kernel that CUDA lacks.
COMPOSITES = """
- op: "twice(Tensor self) -> Tensor result"
  kind: composite
  body: "bmm(self, self) + total(self)"
- op: "largest(Tensor self) -> Tensor result"
  kind: composite
  body: "twice(max(self, 0)[0])"
"""


def rows(text: str) -> dict[str, Row]:
    loaded, found = load_text(text)
    assert not found, "\n".join(d.render() for d in found)
    return {row.name: row for row in coverage_of(loaded.declarations).rows}


@pytest.fixture(scope="module")
def sample() -> dict[str, Row]:
    return rows(SAMPLE + COMPOSITES)


@pytest.mark.parametrize(
    ("name", "backend", "how", "lacks"),
    [
        ("silu", "cpu", "generated", ()),
        ("silu", "cuda", "generated", ()),
        ("silu", "meta", "shape rule", ()),
        ("total", "cuda", "generated", ()),
        ("spread", "cuda", "geometry", ()),
        ("bmm", "cuda", "by hand", ()),
        ("max.dim", "cpu", "by hand", ()),
        ("max.dim", "cuda", "missing", ("max.dim",)),
        ("max.dim", "meta", "shape rule", ()),
        ("nonzero", "meta", "missing", ("nonzero",)),
        ("twice", "cuda", "composed", ()),
        ("largest", "cpu", "composed", ()),
        ("largest", "cuda", "missing", ("max.dim",)),
    ],
)
def test_backends(
    sample: dict[str, Row], name: str, backend: str, how: str, lacks: tuple[str, ...]
) -> None:
    support = sample[name].backends[backend]
    assert (support.how, support.lacks) == (how, lacks)


def test_what_stands_in_for_a_kernel() -> None:
    """A body, and the CPU's kernel on copies, where CUDA has none."""
    kernel = "kernel: {cpu: indexing/nonzero.cpp}"
    for text, how in (
        ("kernel: {cpu: indexing/nonzero.cpp, any: cpu}", "on the host"),
        (kernel + '\n  body: "total(self)"', "composed"),
    ):
        support = rows(SAMPLE.replace(kernel, text))["nonzero"].backends
        assert (support["cpu"].how, support["cuda"].how) == ("by hand", how)


def test_gradients_are_followed_into_their_formulas() -> None:
    """A kernel that only the gradient needs is lacking for the gradient alone."""
    without = SAMPLE.replace(", cuda: linalg/bmm.cu", "")
    bmm = rows(without)["bmm"].backends["cuda"]
    assert (bmm.how, bmm.gradient_lacks) == ("missing", ("bmm",))
    gradient = 'derivative: {self: "spread(grad_values, self.shape)"}'
    assert gradient in SAMPLE
    planted = SAMPLE.replace(gradient, 'derivative: {self: "max(grad_values, 0)[0]"}')
    row = rows(planted)["max.dim"]
    assert row.backends["cpu"].gradient_lacks == ()
    assert row.backends["cuda"].gradient_lacks == ("max.dim",)


@pytest.mark.parametrize(
    ("name", "reverse", "forward"),
    [
        ("silu", "formula", "from reverse"),
        ("bmm", "formula", "linear"),
        ("square_error", "composed", "composed"),
        ("max.dim", "formula", "missing"),
        ("sgd_", "none", "none"),
        ("nonzero", "not applicable", "not applicable"),
    ],
)
def test_derivatives(sample: dict[str, Row], name: str, reverse: str, forward: str) -> None:
    assert (sample[name].reverse, sample[name].forward) == (reverse, forward)


def test_automatic_derivatives_are_told_from_declared_ones() -> None:
    declared = SAMPLE.index("  derivative:\n    let:")
    text = (
        SAMPLE[:declared] + "  derivative: auto\n" + SAMPLE[SAMPLE.index("  summary:", declared) :]
    )
    assert rows(text)["silu"].reverse == "automatic"


def test_a_gradient_without_gradient_ends_the_second_order() -> None:
    assert rows(SAMPLE)["spread"].second_order_lacks == ()
    text = SAMPLE.replace(
        'derivative: {self: "spread(grad, self.shape) / (self.numel / result.numel)"}',
        "derivative: none",
    )
    assert rows(text)["spread"].second_order_lacks == ("total",)


def test_dtypes(sample: dict[str, Row]) -> None:
    assert "int64" in sample["silu"].dtypes and "int64" in sample["silu"].converted
    assert "complex64" not in sample["silu"].dtypes
    assert sample["bmm"].dtypes[-2:] == ("complex64", "complex128")
    assert sample["twice"].dtypes_follow_body and not sample["bmm"].dtypes_follow_body


def test_what_is_missing_is_counted() -> None:
    loaded, _ = load_text(SAMPLE + COMPOSITES)
    found = {gap.what: gap for gap in gaps(coverage_of(loaded.declarations))}
    assert found["no kernel on cuda"].operators == ("max.dim", "nonzero", "largest")
    assert found["no documentation"].operators == ("twice", "largest")
    assert "silu" not in found["no example"].operators
    assert found["neither reference nor properties"].operators[-2:] == ("twice", "largest")
    assert found["no forward mode"].operators == ("max.dim",)
    assert found["no kernel on cpu"].operators == ()


@pytest.fixture(scope="module")
def library() -> Coverage:
    return coverage_of(library_declarations())


def test_json_says_the_same(library: Coverage) -> None:
    """Another program reads back what was written."""
    read = json.loads(json.dumps(as_json(library)))
    assert [o["name"] for o in read["operators"]] == [row.name for row in library.rows]
    assert read["operators"][0]["backends"]["cpu"]["how"] == library.rows[0].backends["cpu"].how
    assert {gap["what"]: len(gap["operators"]) for gap in read["gaps"]} == {
        gap.what: len(gap.operators) for gap in gaps(library)
    }


def test_places_are_those_of_the_entries(library: Coverage) -> None:
    """FILE:LINE is the line that declares the operator."""
    for row in library.rows:
        file = default_folder() / row.file.removeprefix("declarations/")
        line = file.read_text(encoding="utf-8").splitlines()[row.line - 1]
        name, dot, overload = row.name.partition(".")
        declared = (f'"{row.name}(', f'"$name{dot}{overload}(', f"copied_as: {row.name}")
        assert any(text in line for text in declared), name

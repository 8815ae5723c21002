"""Long lines of generated C++ are broken, and nothing but blanks changes."""

from __future__ import annotations

import re

import pytest

from flambeau.codegen.read.loader import library_declarations
from flambeau.codegen.write.everything import emit_into
from flambeau.codegen.write.files import Texts
from flambeau.codegen.write.layout import COLUMNS, laid_out

_CONDITION = "(condition(self) == 1) && (another_condition(other) <= some_other_number_that_is)"
_LONG = "word" * 15
_ARGUMENT = "ops::mul(ops::mul(grad, 0.7978845608028654), ops::add(self, 0.044715))"


@pytest.fixture(scope="module")
def generated() -> dict[str, str]:
    output = Texts()
    emit_into(library_declarations(), output)
    return {name: t for name, t in output.files.items() if name.endswith((".h", ".cpp", ".cu"))}


def test_no_line_of_generated_code_is_long(generated: dict[str, str]) -> None:
    assert len(generated) > 300
    for name, text in generated.items():
        for line in text.splitlines():
            # A text is one line of a message: it is not cut.
            without_texts = re.sub(r'"(?:[^"\\]|\\.)*"', '""', line)
            assert len(without_texts) <= COLUMNS, f"{name}: {line}"


def test_an_operator_is_a_page_of_code(generated: dict[str, str]) -> None:
    """Templates written by hand do the work; what is generated describes."""
    lines = sum(text.count("\n") for text in generated.values())
    assert lines / len(library_declarations().operators) <= 80


def test_generated_code_stays_as_it_is(generated: dict[str, str]) -> None:
    for name, text in generated.items():
        assert laid_out(text) == text, name


@pytest.mark.parametrize(
    ("line", "lines"),
    [
        pytest.param(
            f"  const auto t0 = ops::where(t1, {_ARGUMENT}, {_ARGUMENT});",
            [
                "  const auto t0 = ops::where(",
                "      t1, ops::mul(ops::mul(grad, 0.7978845608028654), ops::add(self, 0.044715)),",
                "      ops::mul(ops::mul(grad, 0.7978845608028654), ops::add(self, 0.044715)));",
            ],
            id="arguments",
        ),
        pytest.param(
            f"  return is_one ? {_ARGUMENT} : is_two ? {_ARGUMENT} : ops::f(self);",
            [
                "  return is_one",
                f"      ? {_ARGUMENT}",
                "      : is_two",
                f"      ? {_ARGUMENT}",
                "      : ops::f(self);",
            ],
            id="choice",
        ),
        pytest.param(
            f"  if (wants(0)) x = [&] {{ const auto t0 = {_ARGUMENT}; return ops::f(t0); }}();",
            [
                "  if (wants(0))",
                "    x = [&] {",
                f"      const auto t0 = {_ARGUMENT};",
                "      return ops::f(t0);",
                "    }();",
            ],
            id="block",
        ),
        pytest.param(
            f"  if (FLAMBEAU_UNLIKELY(!({_CONDITION}))) {{",
            ["  if (FLAMBEAU_UNLIKELY(!(", f"      {_CONDITION}))) {{"],
            id="condition",
        ),
        pytest.param(
            f'fail("a, b; c ? d : e && (f {_LONG}", "(", \'"\', {_LONG});',
            [
                "fail(",
                f'    "a, b; c ? d : e && (f {_LONG}", "(", \'"\',',
                f"    {_LONG});",
            ],
            id="texts",
        ),
        pytest.param(
            f"#define LONG(name) {_LONG}, {_LONG}",
            [f"#define LONG(name) {_LONG}, {_LONG}"],
            id="macro",
        ),
    ],
)
def test_layout(line: str, lines: list[str]) -> None:
    assert laid_out(line).split("\n") == lines
    assert "".join(laid_out(line).split()) == "".join(line.split())

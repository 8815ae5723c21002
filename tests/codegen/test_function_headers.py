"""A unit of generated code includes the functions that it calls, and no others: what changes one of
them compiles nothing else anew."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from flambeau.codegen.formula.functions import load_functions
from flambeau.codegen.read.loader import library_declarations
from flambeau.codegen.text.folders import default_folder, function_files
from flambeau.codegen.write.files import Texts
from flambeau.codegen.write.functions import emit_functions
from flambeau.codegen.write.native import emit_native

ROOT = Path(__file__).resolve().parents[2]
NUMBERS = "core/math/numbers.h"  # which every unit includes


@pytest.fixture(scope="module")
def generated() -> dict[str, str]:
    output = Texts()
    emit_functions(output)
    emit_native(library_declarations(), output)
    return output.files


def called(text: str) -> set[str]:
    """The functions of formulas that C++ calls."""
    names = set(re.findall(r"\bmath::(?:inlined::|alone::)*(\w+)\(", text))
    return names - set(re.findall(r"\b(\w+)\(", (ROOT / "native" / NUMBERS).read_text("utf-8")))


def included(text: str) -> set[str]:
    found = re.findall(r'^#include "((?:core/math|functions)/\w+\.h)"$', text, re.MULTILINE)
    assert found == sorted(set(found), key=lambda name: (name != NUMBERS, name))
    return set(found) - {NUMBERS}


def test_units_include_what_they_call(generated: dict[str, str]) -> None:
    functions = load_functions()
    units = {name: text for name, text in generated.items() if name.startswith("formulas/")}
    assert len(units) > 50
    for name, text in units.items():
        assert included(text) == {functions[f].header for f in called(text)}, name
    users = [name for name, text in units.items() if functions["lgamma"].header in included(text)]
    assert 0 < len(users) < len(units) / 4


def test_functions_include_what_they_call(generated: dict[str, str]) -> None:
    functions = load_functions()
    written = [f for f in functions.values() if f.written_in is not None]
    assert written
    for function in written:
        text = generated[function.header]
        expected = {functions[f].header for f in called(text)}
        if function.has_own_float:
            expected.add(function.family_header)
        assert included(text) == expected, function.name


def test_a_family_has_its_functions() -> None:
    """In its header, or in those of rooms that it names."""
    for function in load_functions().values():
        if function.level != "element" or function.expands is not None or function.written_in:
            continue
        text = with_own_headers(function.family_header)
        assert re.search(rf"\b{function.cpp}\b[(,)]", text), function.name


def test_functions_of_float_by_hand_are_there() -> None:
    by_hand = [f for f in load_functions().values() if f.has_own_float]
    assert by_hand
    for function in by_hand:
        assert f"float {function.cpp}(float " in with_own_headers(function.family_header)


def with_own_headers(header: str) -> str:
    """A header of core/math, those beside it that it includes, and the CPU's."""
    text = (ROOT / "native" / header).read_text("utf-8")
    for family in re.findall(r"#include FLAMBEAU_OWN\((\w+)\)", text):
        own = (ROOT / "native/cpu/math" / f"{family}.h").read_text("utf-8")
        parts = re.findall(r'#include "(cpu/elementary/\w+\.h)"', own)
        text += own + "".join((ROOT / "native" / part).read_text("utf-8") for part in parts)
        assert (ROOT / "native/cuda/math" / f"{family}.cuh").is_file()
    beside = re.findall(r'#include "(core/math/\w+\.h)"', text)
    is_list = "namespace" not in text
    return text + "".join(with_own_headers(name) for name in beside if is_list)


def test_files_of_functions_are_families() -> None:
    files = function_files(default_folder())
    assert {f.family for f in load_functions().values()} < {file.stem for file in files}

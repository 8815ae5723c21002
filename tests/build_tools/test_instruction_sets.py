"""The list of instruction sets, and what the compilers, C++ and the build make of it."""

from __future__ import annotations

import itertools
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
sys.path.append(str(ROOT))

from build_tools import processor  # noqa: E402
from build_tools.ninja_file import write_ninja  # noqa: E402
from build_tools.shared import instruction_sets  # noqa: E402
from build_tools.shared.compiler import BuildError, find_compiler  # noqa: E402
from build_tools.toolchain import Toolchain  # noqa: E402

USES = """
#include "instruction_sets.h"
constexpr const char* known[] = {
#define LISTED(name, test) #name,
    FLAMBEAU_FOR_EACH_INSTRUCTION_SET(LISTED)};
namespace loops {
FLAMBEAU_IN_EACH_SET(template <class T> const char* which();)
const char* (*const versions[])() = {nullptr FLAMBEAU_EACH_SET(&, ::which<int>)};
}
"""


@pytest.mark.parametrize("machine", instruction_sets.MACHINES)
def test_every_set_contains_those_before_it(machine: str) -> None:
    sets = instruction_sets.instruction_sets(machine)
    assert (sets[0].name, sets[0].needs) == ("baseline", {})
    for smaller, larger in itertools.pairwise(sets):
        assert smaller.needs.items() < larger.needs.items()


@pytest.mark.parametrize("built", [("baseline", "avx512"), ("avx2",), ("baseline",)])
def test_only_what_was_compiled_is_referred_to(built: tuple[str, ...], tmp_path: Path) -> None:
    (tmp_path / "instruction_sets.h").write_text(instruction_sets.header())
    (tmp_path / "uses.cpp").write_text(USES)
    flags = instruction_sets.without_flags(built, "x86_64").split()
    command = ["g++", "-std=c++20", "-E", "-P", *flags, f"-I{tmp_path}", str(tmp_path / "uses.cpp")]
    text = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    for name in instruction_sets.flags_of("x86_64"):
        assert (f"& {name} ::which<int>" in text or f"&{name} ::which<int>" in text) == (
            name in built
        )
        assert (f"namespace {name} {{" in text) == (name in built)
        assert f'"{name}"' in text


def test_the_words_of_this_processor_are_known() -> None:
    """What the build thinks that this processor can is what the library found out."""
    import flambeau

    usable = flambeau._C._cpu_capabilities()
    assert set(usable) <= set(processor.runnable_instruction_sets())


def test_other_machines(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A build for another machine holds its baseline, and all of its sets where that is asked for;
    what x86-64 alone has is left out.
    """
    monkeypatch.delenv(processor.VARIABLE, raising=False)
    assert list(processor.built_instruction_sets("aarch64")) == ["baseline"]
    monkeypatch.setenv(processor.VARIABLE, "all")
    assert list(processor.built_instruction_sets("aarch64")) == ["baseline", "armv8_2", "armv8_6"]
    toolchain = Toolchain("g++", "aarch64", (), "ninja")
    text = write_ninja(ROOT, tmp_path, tmp_path / "none", toolchain, None, wheel=True).read_text(
        encoding="utf-8"
    )
    assert "winograd.simd.armv8_6.o" in text and "avx2" not in text
    assert "vector_library" not in text


def test_unknown_machines_are_refused() -> None:
    with pytest.raises(BuildError, match="the processors x86_64 and aarch64, not for riscv64"):
        instruction_sets.instruction_sets("riscv64")


def test_a_missing_cross_compiler_is_named() -> None:
    with pytest.raises(BuildError, match="apt install g[+][+]-sparc64-linux-gnu`"):
        find_compiler("sparc64-linux-gnu-g++")

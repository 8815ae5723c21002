"""What a build compiles: for this machine, or for all."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
sys.path.append(str(ROOT))

from build_tools import processor  # noqa: E402
from build_tools.ninja_file import write_ninja  # noqa: E402
from build_tools.shared.instruction_sets import flags_of  # noqa: E402
from build_tools.toolchain import Toolchain  # noqa: E402

INSTRUCTION_SETS = flags_of("x86_64")


def written(folder: Path, python: str, wheel: bool) -> list[str]:
    """The lines of build.ninja, of sources that are written by hand."""
    toolchain = Toolchain("g++", "x86_64", (Path("/usr/include") / python,), "ninja")
    return (
        write_ninja(ROOT, folder, folder / "none", toolchain, None, wheel=wheel)
        .read_text(encoding="utf-8")
        .splitlines()
    )


def compiled(lines: list[str], name: str) -> set[str]:
    """The objects of a source."""
    targets = (line.split()[1].rstrip(":") for line in lines if line.startswith("build "))
    return {Path(target).name for target in targets if Path(target).name.startswith(f"{name}.")}


@pytest.mark.parametrize("best", INSTRUCTION_SETS)
def test_source_builds_are_for_this_machine(
    best: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    names = list(INSTRUCTION_SETS)
    runnable = names[: names.index(best) + 1]
    monkeypatch.setattr(processor, "runnable_instruction_sets", lambda: runnable)
    monkeypatch.delenv(processor.VARIABLE, raising=False)
    lines = written(tmp_path, "python3.11", wheel=False)
    expected = {f"winograd.simd.{name}.o" for name in {"baseline", best}}
    assert compiled(lines, "winograd.simd") == expected
    assert not compiled(lines, "vector_library")
    assert not any("strip" in line for line in lines)


def test_wheels_are_for_all(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(processor, "runnable_instruction_sets", lambda: ["baseline"])
    lines = written(tmp_path / "wheel" / "one", "python3.11", wheel=True)
    expected = {f"winograd.simd.{name}.o" for name in INSTRUCTION_SETS}
    assert compiled(lines, "winograd.simd") == expected
    assert compiled(lines, "vector_library") == {"vector_library.o"}
    assert any("strip" in line for line in lines)


def test_wheels_share_what_does_not_know_python(tmp_path: Path) -> None:
    """A second Python compiles the binding alone."""

    def edges(python: str) -> dict[str, str]:
        lines = written(tmp_path / "wheel" / python, python, wheel=True)
        made = [line for line in lines if line.startswith("build ") and ": compile " in line]
        starts = [lines.index(line) for line in made]
        return {
            line.split()[1].rstrip(":"): "\n".join(lines[start : start + 2])
            for line, start in zip(made, starts, strict=True)
        }

    first, second = edges("python3.11"), edges("python3.13")
    shared = first.keys() & second.keys()
    assert all(first[target] == second[target] for target in shared)
    assert not any("/usr/include/python" in first[target] for target in shared)
    apart = first.keys() - shared
    assert len(apart) < 0.3 * len(first)
    assert all("native/python" in target for target in apart)
    assert all("/usr/include/python3.11" in first[target] for target in apart)

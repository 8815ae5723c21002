"""The examples of CONTRIBUTING.md: declarations pass the checks, the kernel compiles."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import flambeau

ROOT = Path(__file__).resolve().parents[2]
PACKAGE = Path(flambeau.__file__).parent


def blocks(language: str) -> str:
    text = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    found = re.findall(rf"```{language}\n(.*?)```", text, re.DOTALL)
    assert found
    return "\n".join(found)


@pytest.fixture
def declarations(tmp_path: Path) -> Path:
    """The library's declarations and the examples."""
    folder = tmp_path / "declarations"
    shutil.copytree(PACKAGE / "declarations", folder)
    (folder / "contributing.yaml").write_text(blocks("yaml"), encoding="utf-8")
    return folder


def generator(*arguments: object) -> None:
    command = [sys.executable, "-m", "flambeau.codegen", *map(str, arguments)]
    process = subprocess.run(command, capture_output=True, text=True, check=False)
    assert process.returncode == 0, process.stdout + process.stderr


def test_declarations_pass_the_checks(declarations: Path) -> None:
    example = declarations / "contributing.yaml"
    generator("check", example, "--declarations", declarations, "--no-kernels")


@pytest.mark.skipif(shutil.which("g++") is None, reason="there is no C++ compiler")
def test_kernel_compiles(declarations: Path, tmp_path: Path) -> None:
    generated = tmp_path / "generated"
    generator("emit", generated, "--declarations", declarations)
    kernel = blocks("cpp").replace("kernels/linalg.h", "kernels/contributing.h")
    (tmp_path / "dyad.cpp").write_text(kernel, encoding="utf-8")
    command = ["g++", "-std=c++20", "-Wall", "-Wextra", "-Werror", "-fsyntax-only"]
    command += [f"-I{generated}", f"-I{PACKAGE / 'include'}", str(tmp_path / "dyad.cpp")]
    process = subprocess.run(command, capture_output=True, text=True, check=False)
    assert process.returncode == 0, process.stderr

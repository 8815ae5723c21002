"""`ops new`: what it writes passes the checks and compiles at once, and overwrites nothing."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest
from support import small_library

import flambeau.codegen
from flambeau.codegen.model.entries import Kind
from flambeau.codegen.read.loader import load_declarations
from flambeau.codegen.text.folders import default_folder, yaml_files
from flambeau.codegen.tools.cli import main
from flambeau.codegen.tools.new import additions, append

KINDS = [kind.value for kind in Kind]


@pytest.fixture
def declarations(tmp_path: Path) -> Path:
    """What the formulas of scaffolds call."""
    return small_library(tmp_path / "declarations")


def new(folder: Path, name: str, kind: str, *options: str) -> int:
    return main(["new", name, "--kind", kind, "--declarations", str(folder), *options])


@pytest.mark.parametrize("kind", KINDS)
def test_a_new_entry_passes_the_checks(
    declarations: Path, kind: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert new(declarations, "fresh_one", kind, "--file", "pointwise/fresh_one") == 0
    file = declarations / "pointwise" / "fresh_one.yaml"
    assert file.read_text(encoding="utf-8").startswith("# yaml-language-server: $schema=")
    # Of the kernels, those of the new operator are there.
    native = declarations.parent / "native"
    native.mkdir(exist_ok=True)
    command = ["check", str(file), "--declarations", str(declarations), "--native", str(native)]
    assert main(command) == 0
    assert main(["try", "fresh_one", "--declarations", str(declarations)]) == 0
    printed = capsys.readouterr().out
    assert "no mistakes" in printed and "agree" in printed


@pytest.mark.skipif(shutil.which("g++") is None, reason="there is no C++ compiler")
def test_new_entries_compile(declarations: Path, tmp_path: Path) -> None:
    """Operators, kernels and bindings of every kind, and the kernel that was written."""
    for kind in KINDS:
        assert new(declarations, f"fresh_{kind}", kind, "--file", "shape/fresh") == 0
    generated = tmp_path / "generated"
    assert main(["emit", str(generated), "--declarations", str(declarations)]) == 0
    written = tmp_path / "native/cpu/fresh/fresh_structured.cpp"
    emitted = [*generated.glob("ops/fresh.cpp"), *generated.glob("cpu/fresh*.cpp")]
    assert written.is_file() and len(emitted) >= 4  # loops, folds, registration, operators
    whole = tmp_path / "all.cpp"
    whole.write_text("".join(f'#include "{path}"\n' for path in [*emitted, written]))
    command = ["g++", "-std=c++20", "-Wall", "-Wextra", "-Wno-unused-parameter", "-Werror"]
    command += ["-fsyntax-only", "-fopenmp-simd"]
    command += ["-DFLAMBEAU_ISA=baseline", f"-I{generated}", *_include_paths(), str(whole)]
    process = subprocess.run(command, capture_output=True, text=True, check=False)
    assert process.returncode == 0, process.stderr


def _include_paths() -> list[str]:
    """The headers of the package, or of the tree where there is no package."""
    package = Path(flambeau.codegen.__file__).parents[1] / "include"
    root = Path(__file__).resolve().parents[2]
    return [f"-I{package if package.is_dir() else root / 'native'}"]


def test_nothing_is_overwritten(declarations: Path, capsys: pytest.CaptureFixture[str]) -> None:
    activation = declarations / "pointwise" / "activation.yaml"
    before = activation.read_text(encoding="utf-8")
    assert new(declarations, "relu", "view") == 2
    assert "'relu' is declared already, at " in capsys.readouterr().err
    assert new(declarations, "max_dim", "view") == 2  # C++ calls max.dim so
    kernel = declarations.parent / "native/cpu/activation/taken.cpp"
    kernel.parent.mkdir(parents=True)
    kernel.write_text("mine")
    capsys.readouterr()
    assert new(declarations, "taken", "structured", "--file", "activation") == 2
    assert "taken.cpp exists already" in capsys.readouterr().err
    assert kernel.read_text() == "mine"
    assert activation.read_text(encoding="utf-8") == before


FAMILIES = {p.stem: p for p in yaml_files(default_folder()) if "- family:" in p.read_text("utf-8")}


def test_new_entries_fit_the_heads_of_their_families(tmp_path: Path) -> None:
    """They leave out what the head gives, and decline what they do not have."""
    declarations = tmp_path / "declarations"
    shutil.copytree(default_folder(), declarations)
    for family, path in FAMILIES.items():
        file = declarations / path.relative_to(default_folder())
        for kind in (Kind.POINTWISE, Kind.COMPOSITE):
            entry, *_ = additions(f"{family}_{kind.value}", kind, file, declarations)
            append(entry)
    loaded = {o.name: o for o in load_declarations(declarations).operators}
    for family in FAMILIES:
        assert loaded[f"{family}_pointwise"].kind is Kind.POINTWISE
        composite = loaded[f"{family}_composite"]
        assert composite.namespace == ""
        assert len(composite.test.samples) == 2


def test_a_new_entry_goes_to_the_end_of_its_family(declarations: Path) -> None:
    activation = declarations / "pointwise" / "activation.yaml"
    before = activation.read_text(encoding="utf-8")
    for file in ("activation", "activation.yaml", "pointwise/activation", str(activation)):
        name = f"fresh_{len(file)}"
        assert new(declarations, name, "pointwise", "--file", file) == 0
        text = activation.read_text(encoding="utf-8")
        assert text.startswith(before) and f'"{name}(' in text[len(before) :]
        before = text


@pytest.mark.parametrize(
    ("name", "options", "message"),
    [
        ("Fresh", (), "'Fresh' is not a name"),
        ("fresh-one", (), "is not a name"),
        ("../fresh", (), "is not a name"),
        ("fresh_", (), "is not a name"),
        ("fresh", ("--file", "a b"), "is not a name for a file"),
        ("fresh", ("--file", "/nowhere/fresh.yaml"), "there is no folder /nowhere"),
        ("fresh", ("--file", "nowhere/fresh"), "there is no folder "),
        ("fresh", (), "there is no family 'fresh': say in which room it begins, --file ROOM/fresh"),
    ],
)
def test_refused(
    declarations: Path,
    name: str,
    options: tuple[str, ...],
    message: str,
    capsys: pytest.CaptureFixture[str],
) -> None:
    before = sorted(declarations.rglob("*"))
    assert new(declarations, name, "pointwise", *options) == 2
    assert message in capsys.readouterr().err
    assert sorted(declarations.rglob("*")) == before


def test_an_installed_package_is_left_alone(
    declarations: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Its declarations are those that its library was built from."""
    (declarations.parent / "__init__.py").touch()
    for options in (("--file", "activation"), ("--file", "shape/fresh")):
        assert new(declarations, "fresh", "pointwise", *options) == 2
    assert "belongs to an installed package: give another --file" in capsys.readouterr().err
    outside = declarations.parent / "mine" / "own.yaml"
    outside.parent.mkdir()
    (declarations.parent / "__init__.py").unlink()
    assert new(declarations, "fresh", "pointwise", "--file", str(outside)) == 0
    head, *rest = outside.read_text(encoding="utf-8").splitlines()
    assert any(line.startswith('- op: "fresh(') for line in rest)
    assert (outside.parent / head.split("$schema=")[1]).resolve().is_file()
    assert new(declarations, "other", "structured", "--file", str(outside)) == 2
    assert "say with --native where its kernel goes" in capsys.readouterr().err
    native = outside.parent / "kernels"
    options = ("--file", str(outside), "--native", str(native))
    assert new(declarations, "other", "structured", *options) == 0
    assert (native / "other.cpp").is_file()


def test_a_keyword_of_python_is_refused_by_the_signature(
    declarations: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert new(declarations, "lambda", "pointwise", "--file", "pointwise/lambda") == 1
    assert "keyword" in capsys.readouterr().out
    assert not (declarations / "pointwise" / "lambda.yaml").exists()

"""Where commands work: in a tree of Flambeau, in a package of operators, in an empty folder. Every
command that `ops new` prints is run as it is printed.
"""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest
from support import small_library

import flambeau.codegen
from flambeau.codegen.formula.functions import load_functions
from flambeau.codegen.text.folders import default_folder, library_folder
from flambeau.codegen.text.source import DeclarationError
from flambeau.codegen.tools.place import find_place

GENERATOR = Path(flambeau.codegen.__file__).resolve().parent


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    """A tree of Flambeau that is not the one that runs."""
    folder = tmp_path / "clone"
    small_library(folder / "declarations")
    ignored = shutil.ignore_patterns("__pycache__")
    shutil.copytree(GENERATOR, folder / "codegen", ignore=ignored)
    (folder / "native").mkdir()
    return folder


def run(command: str, folder: Path, shell: dict[str, str], code: int = 0) -> str:
    done = subprocess.run(
        command, shell=True, cwd=folder, env=shell, capture_output=True, text=True, check=False
    )
    said = done.stdout + done.stderr
    assert done.returncode == code, f"{command}\n{said}"
    return said


def printed(said: str) -> list[str]:
    """The commands after "next:"."""
    found = [line.strip() for line in said.partition("next:")[2].splitlines()[1:]]
    assert found
    return found


def test_a_tree_is_what_one_stands_in(tree: Path, shell: dict[str, str]) -> None:
    """Commands of the guide, in its folders too."""
    own = default_folder() / "pointwise" / "activation.yaml"
    before = own.read_bytes()
    said = run("flambeau ops new softclip --kind pointwise --file activation", tree, shell)
    assert said.startswith("added to declarations/pointwise/activation.yaml")
    for command in printed(said):
        run(command, tree, shell)
    checked = run("flambeau ops check declarations/pointwise/activation.yaml", tree, shell)
    assert "no mistakes" in checked and "note:" not in checked
    assert "no mistakes" in run("flambeau ops check ../declarations/pointwise/activation.yaml",
                                tree / "native", shell)  # fmt: skip
    assert "softclip" in run("flambeau ops show softclip", tree / "codegen" / "text", shell)
    assert own.read_bytes() == before
    missing = run("flambeau ops diff", tree, shell, code=2)
    assert f"there is no generated folder {tree}/build/generated: build first" in missing
    run("flambeau ops emit build/generated", tree, shell)
    assert "0 of " in run("flambeau ops diff --stat", tree, shell)
    run("flambeau ops new softclap --kind pointwise --file pointwise/activation.yaml",
        tree / "declarations", shell)  # fmt: skip
    assert "ops/activation.cpp" in run("flambeau ops diff --stat", tree, shell, code=1)


def test_another_generator_is_told_of(tree: Path, shell: dict[str, str]) -> None:
    with (tree / "codegen" / "text" / "folders.py").open("a") as file:
        file.write("# newer\n")
    said = run("flambeau ops check declarations/dtypes.yaml", tree, shell)
    assert f"note: {tree}/codegen is not the generator that runs" in said


def test_functions_of_formulas_are_those_of_the_tree(tree: Path) -> None:
    before = load_functions()
    file = tree / "declarations" / "functions" / "powers.yaml"
    with file.open("a", encoding="utf-8") as text:
        text.write('\n- function: "twice(x)"\n  doc: "`2 x`"\n  numpy: np.add\n')
    with library_folder(tree / "declarations"):
        assert "twice" in load_functions()
    assert load_functions() is before


def append_function(tree: Path, keys: str) -> None:
    with (tree / "declarations" / "functions" / "powers.yaml").open("a", encoding="utf-8") as file:
        file.write(f'\n- {{function: "twice(x)", doc: "`2 x`", written_in: double, {keys}}}\n')


def test_a_definition_may_serve_float_as_it_stands(tree: Path) -> None:
    append_function(tree, 'definition: "2 * x", single: same')
    with library_folder(tree / "declarations"):
        twice = load_functions()["twice"]
    assert twice.single == twice.definition is not None


def test_float_is_the_same_as_a_definition(tree: Path) -> None:
    append_function(tree, "numpy: np.add, single: same")
    with (
        library_folder(tree / "declarations"),
        pytest.raises(DeclarationError, match="there is no 'definition' that float shares"),
    ):
        load_functions()


@pytest.mark.parametrize("cost", ["0", "257", "low"])
def test_a_cost_is_a_number(tree: Path, cost: str) -> None:
    append_function(tree, f'definition: "2 * x", cost: {cost}')
    with (
        library_folder(tree / "declarations"),
        pytest.raises(DeclarationError, match=r"powers.yaml:\d+:\d+: .*a number from 1 to 256"),
    ):
        load_functions()


def test_vectors_are_a_functions_own(tree: Path) -> None:
    append_function(tree, 'definition: "2 * x", vectors: wide')
    message = r"powers.yaml:\d+:\d+: .*vectors is 'own', not 'wide'"
    with library_folder(tree / "declarations"), pytest.raises(DeclarationError, match=message):
        load_functions()


@pytest.mark.parametrize("kind", ["pointwise", "structured"])
def test_an_empty_folder_becomes_a_package(
    tmp_path: Path, kind: str, shell: dict[str, str]
) -> None:
    """Building and testing it is a test of tests/extension."""
    folder = tmp_path / "my-gates"
    folder.mkdir()
    said = run(f"flambeau ops new fresh --kind {kind}", folder, shell)
    check, try_, build = printed(said)
    assert "no mistakes" in run(check, folder, shell)
    assert "agree" in run(try_, folder, shell)
    assert build.endswith("flambeau ops test my_gates -k fresh")
    assert (folder / "pyproject.toml").read_text().count("flambeau.extension") == 1
    assert find_place(folder / "declarations").folder == folder / "declarations"
    assert (folder / "kernels" / "fresh.cpp").exists() == (kind == "structured")
    # From outside, by its path; and a second entry, in a folder below.
    said = run("flambeau ops new other --kind view --file my-gates/declarations/more.yaml",
               tmp_path, shell)  # fmt: skip
    assert "pyproject.toml" not in said
    for command in printed(said)[:2]:
        run(command, tmp_path, shell)
    said = run("flambeau ops new third --kind composite", folder / "declarations", shell)
    for command in printed(said)[:2]:
        run(command, folder / "declarations", shell)
    assert "3 operators checked" in run("flambeau ops check", folder, shell)


def test_a_file_of_nobody(tmp_path: Path, shell: dict[str, str]) -> None:
    """What flambeau.ops.load compiles."""
    said = run("flambeau ops new fresh --kind pointwise --file ./x.yaml", tmp_path, shell)
    for command in printed(said):
        run(command, tmp_path, shell)
    refused = run("flambeau ops new flipped --kind structured --file ./x.yaml", tmp_path, shell, 2)
    assert "say with --native where its kernel goes" in refused
    command = "flambeau ops new flipped --kind structured --file ./x.yaml --native code"
    for printed_command in printed(run(command, tmp_path, shell)):
        run(printed_command, tmp_path, shell)
    assert (tmp_path / "code" / "flipped.cpp").is_file()
    assert not (tmp_path / "pyproject.toml").exists()


def test_a_file_beside_a_package(tmp_path: Path, shell: dict[str, str]) -> None:
    """It is none of the package's declarations, so the package's tests do not know it."""
    run("flambeau ops new gale --kind pointwise", tmp_path, shell)
    commands = printed(
        run("flambeau ops new fresh --kind pointwise --file ./x.yaml", tmp_path, shell)
    )
    for command in commands:
        run(command, tmp_path, shell)
    assert [words.split()[2] for words in commands] == ["check", "try"]


def test_a_package_has_its_kernels_in_one_folder(tmp_path: Path, shell: dict[str, str]) -> None:
    folder = tmp_path / "gates"
    folder.mkdir()
    run("flambeau ops new flipped --kind structured", folder, shell)
    (folder / "kernels" / "flipped.cpp").rename(folder / "kernels" / "flopped.cpp")
    said = run("flambeau ops check", folder, shell, code=1)
    assert "there is no kernel file 'flipped.cpp'" in said and "did you mean 'flopped.cpp'?" in said
    assert "no mistakes" in run("flambeau ops check --no-kernels", folder, shell)
    refused = run("flambeau ops new flop --kind structured --native elsewhere", folder, shell, 2)
    assert f"kernels of gates lie in {folder}/kernels" in refused


def test_what_cannot_be_a_package(tmp_path: Path, shell: dict[str, str]) -> None:
    folder = tmp_path / "2fast"
    folder.mkdir()
    said = run("flambeau ops new fresh --kind pointwise", folder, shell, code=2)
    assert "'2fast' is no name of a Python module" in said
    assert not list(folder.iterdir())

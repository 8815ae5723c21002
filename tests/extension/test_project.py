"""What a folder asks for is read, and mistakes in it are said in one sentence."""

from __future__ import annotations

from pathlib import Path

import pytest
from example_packages import EXAMPLES

from flambeau import extension
from flambeau._build.compiler import BuildError
from flambeau.codegen.text.source import DeclarationError
from flambeau.codegen.tools.cli import main
from flambeau.extension.building import Built
from flambeau.extension.generating import check_formulas, load_checked
from flambeau.extension.project import read_project

ENTRY = """
- op: "softclip(Tensor self, float limit=1) -> Tensor result"
  kind: pointwise
  dtypes: {self: float}
  expr: "limit * tanh(self / limit)"
  derivative: auto
  summary: "Squeezed."
  args: {limit: "largest magnitude"}
  reference: "limit * np.tanh(self / limit)"
  samples:
    - randn(3)
"""


def folder(path: Path, entry: str = ENTRY, configuration: str = "") -> Path:
    (path / "declarations").mkdir()
    (path / "declarations" / "own.yaml").write_text(entry)
    if configuration:
        (path / "pyproject.toml").write_text(configuration)
    return path


@pytest.mark.parametrize("hook", ["build_wheel", "build_editable", "build_sdist"])
def test_hatchling_is_asked_for(hook: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """pip installs nothing to build with under --no-build-isolation."""
    found = extension.find_spec
    monkeypatch.setattr(
        extension, "find_spec", lambda name: None if name == "hatchling" else found(name)
    )
    with pytest.raises(SystemExit, match="run `pip install hatchling` first"):
        getattr(extension, hook)(str(tmp_path))
    assert not list(tmp_path.iterdir())


def test_defaults(tmp_path: Path) -> None:
    project = read_project(folder(tmp_path, configuration='[project]\nname = "my-own.thing"\n'))
    assert project.module == "my_own_thing"
    assert [path.name for path in project.declarations] == ["own.yaml"]
    assert project.sources == ()


def test_rooms(tmp_path: Path) -> None:
    """Declarations in folders of their folder, references beside them, keep their places."""
    project = folder(tmp_path)
    rooms = tmp_path / "declarations" / "curves"
    (rooms / "references").mkdir(parents=True)
    (rooms / "hat.yaml").write_text("[]\n")
    (rooms / "references" / "hat.py").write_text("")
    built = Built(read_project(project), tmp_path / "build", ())
    places = {place for _, place in built.files() if "/declarations/" in place}
    below = ("own.yaml", "curves/hat.yaml", "curves/references/hat.py")
    assert places == {f"{built.project.module}/declarations/{name}" for name in below}


def test_configuration(tmp_path: Path) -> None:
    table = '[tool.flambeau]\nmodule = "other"\nlibraries = ["m"]\ncompile-flags = ["-DX=1"]\n'
    project = read_project(folder(tmp_path, configuration=table))
    assert (project.module, project.libraries, project.compile_flags) == (
        "other",
        ("m",),
        ("-DX=1",),
    )


@pytest.mark.parametrize(
    ("table", "message"),
    [
        ("module = 3", "'module' of [tool.flambeau] must be a string"),
        ("libraries = 'm'", "'libraries' of [tool.flambeau] must be a list of strings"),
        ("libraries = [3]", "'libraries' of [tool.flambeau] must list strings"),
        ("librarys = ['m']", "[tool.flambeau] has no key 'librarys'"),
        ("module = 'a b'", "'a b' is no name of a Python module"),
    ],
)
def test_wrong_configuration(tmp_path: Path, table: str, message: str) -> None:
    with pytest.raises(BuildError) as error:
        read_project(folder(tmp_path, configuration=f"[tool.flambeau]\n{table}\n"))
    assert message in str(error.value)
    assert str(tmp_path / "pyproject.toml") in str(error.value)


def test_nothing_to_build(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(BuildError, match="There is nothing to build"):
        read_project(tmp_path)
    assert main(["build", str(tmp_path / "missing")]) == 1
    message = f"There is no folder {tmp_path / 'missing'}."
    assert capsys.readouterr().err == f"flambeau ops build: {message}\n"


def diagnostics(path: Path) -> list[str]:
    project = read_project(path)
    with pytest.raises(DeclarationError) as error:
        check_formulas(load_checked(project))
    return [str(d).splitlines()[0].rpartition("/")[2] for d in error.value.diagnostics]


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("softclip(", "exp(", "own.yaml:2:8: error: 'exp' is declared already"),
        ("  kind", "  operator: '+'\n  kind", "own.yaml:3:14: error: softclip: Python's operators"),
        ("tanh(", "tahn(", "own.yaml:5:18: error: softclip: "),
        (
            "derivative: auto",
            "derivative: {self: '2 * grad'}",
            "own.yaml:6:23: error: softclip: the",
        ),
        ("pointwise\n", "structured\n  kernel: {cpu: a.cpp}\n", "own.yaml"),
    ],
    ids=["name", "operator", "function", "derivative", "kernel"],
)
def test_wrong_declarations(tmp_path: Path, old: str, new: str, message: str) -> None:
    """Entries of packages are checked as the library's are."""
    found = diagnostics(folder(tmp_path, ENTRY.replace(old, new, 1)))
    assert any(line.startswith(message) for line in found), found


def test_only_the_own_operators_are_checked() -> None:
    declarations = load_checked(read_project(EXAMPLES / "operators_package"))
    names = {o.name for o in declarations.own}
    assert {"softclip", "sum_of_squares", "relative_error", "tridiagonal_mv"} == names
    assert len(declarations.operators) > 100 + len(names)

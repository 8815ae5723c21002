"""What a release says of itself agrees, and what it is made of is complete."""

from __future__ import annotations

import os
import subprocess
import sys
import tarfile
import tomllib
from pathlib import Path

import pytest
import yaml

ROOT = Path(__file__).resolve().parents[2]
sys.path.append(str(ROOT))

from build_tools.interpreters import SUPPORTED, find_interpreters  # noqa: E402

PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
# A compiler that says when it is called.
FORBIDDEN = "#!/bin/sh\necho called >> {}\nexit 1\n"


def test_one_version() -> None:
    version = PROJECT["version"]
    citation = yaml.safe_load((ROOT / "CITATION.cff").read_text(encoding="utf-8"))
    assert citation["version"] == version
    assert citation["license"] == PROJECT["license"]
    changes = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    sections = [line.split()[1].rstrip(",") for line in changes.splitlines() if line[:3] == "## "]
    assert sections[0] == version, "the newest section is of this version"
    assert sections == sorted(sections, key=lambda text: text.split("."), reverse=True)


def test_metadata_needs_no_compiler(tmp_path: Path) -> None:
    """As pip asks for it, which hatchling answers with a whole build."""
    programs = tmp_path / "bin"
    programs.mkdir()
    calls = tmp_path / "calls"
    for name in ("g++", "ninja", "ccache"):
        (programs / name).write_text(FORBIDDEN.format(calls))
        (programs / name).chmod(0o755)
    code = (
        "import sys; from build_tools import backend;"
        "print(backend.prepare_metadata_for_build_wheel(sys.argv[1]));"
        "print(backend.prepare_metadata_for_build_editable(sys.argv[1]))"
    )
    environment = {**os.environ, "PATH": str(programs), "PIP_BUILD_TRACKER": str(tmp_path)}
    process = subprocess.run(
        [sys.executable, "-c", code, str(tmp_path)],
        cwd=ROOT,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert process.returncode == 0, process.stderr
    folder = f"flambeau-{PROJECT['version']}.dist-info"
    assert process.stdout.split() == [folder, folder]
    assert not calls.exists(), "a compiler was called"
    metadata = (tmp_path / folder / "METADATA").read_text(encoding="utf-8")
    for requirement in PROJECT["dependencies"]:
        assert f"Requires-Dist: {requirement}\n".lower() in metadata.lower()
    assert "Provides-Extra: demo" in metadata


def test_the_core_needs_no_plots() -> None:
    """What only pictures and the demo's data need is in an extra."""
    needed = {requirement.partition(">=")[0].lower() for requirement in PROJECT["dependencies"]}
    assert not needed & {"matplotlib", "scikit-learn"}
    code = "import sys, flambeau; print(sorted({'matplotlib', 'sklearn', 'PIL'} & {*sys.modules}))"
    said = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert said.stdout.strip() == "[]"


def test_the_sdist_has_what_a_build_reads(tmp_path: Path) -> None:
    code = "import sys; from build_tools import backend; backend.build_sdist(sys.argv[1])"
    subprocess.run([sys.executable, "-c", code, str(tmp_path)], cwd=ROOT, check=True)
    (archive,) = tmp_path.glob("*.tar.gz")
    with tarfile.open(archive) as file:
        names = {name.partition("/")[2] for name in file.getnames()}
    wanted = ["pyproject.toml", "README.md", "LICENSE", "CITATION.cff", "CHANGELOG.md"]
    for room in ("native", "codegen", "declarations", "build_tools", "python", "tests"):
        files = (path for path in (ROOT / room).rglob("*") if path.is_file())
        wanted += [str(path.relative_to(ROOT)) for path in files if not ignored(path)]
    assert not [name for name in wanted if name not in names]


def ignored(path: Path) -> bool:
    return path.suffix == ".so" or any(
        part.endswith((".egg-info", "_cache")) or part in ("__pycache__", "build", ".venv")
        for part in path.parts[len(ROOT.parts) :]
    )


def test_interpreters(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """This one is found where it is given; versions that are not there are named."""
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setenv("PYENV_ROOT", str(tmp_path))
    found, missing = find_interpreters()
    assert not found
    assert len(missing) == len(SUPPORTED)
    assert "CPython 3.14: no wheel: no interpreter" in missing[-1]
    broken = tmp_path / "python3.12"
    broken.write_text("#!/bin/sh\nexit 127\n")
    broken.chmod(0o755)
    found, missing = find_interpreters([Path(sys.executable)])
    if sys.version_info[:2] in SUPPORTED:
        assert [one.version for one in found] == [sys.version_info[:2]]
        assert len(missing) == len(SUPPORTED) - 1

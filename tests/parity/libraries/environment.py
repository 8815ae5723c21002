"""Environments that have one library and all that it requires, but for PyTorch."""

from __future__ import annotations

import re
import subprocess
import tempfile
import tomllib
import venv
import zipfile
from pathlib import Path

HERE = Path(__file__).parent
# Installed as names without content, so that pip finds them there. Libraries import what PyTorch
# requires without asking for it themselves.
NAMES = {"torch": "2.13.0", "torchvision": "0.28.0"}
OF_PYTORCH = ("filelock", "fsspec", "jinja2", "networkx", "sympy", "typing-extensions")


def requirement(library: str) -> str:
    """The line of requirements.txt on a library.

    Raises:
        ValueError: there is none.
    """
    lines = (HERE / "requirements.txt").read_text(encoding="utf-8").splitlines()
    for line in lines:
        if line.partition("==")[0].replace("-", "_") == library.replace("-", "_"):
            return line
    raise ValueError(f"requirements.txt has no line on {library}")


def name_alone(name: str, version: str, folder: Path) -> Path:
    """Writes a wheel that has a name and a version, and no module."""
    wheel = folder / f"{name}-{version}-py3-none-any.whl"
    info = f"{name}-{version}.dist-info"
    needs = "".join(f"Requires-Dist: {other}\n" for other in OF_PYTORCH)
    files = {
        "METADATA": f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n{needs}",
        "WHEEL": "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
        "RECORD": "".join(f"{info}/{file},,\n" for file in ("METADATA", "WHEEL", "RECORD")),
    }
    with zipfile.ZipFile(wheel, "w") as archive:
        for file, text in files.items():
            archive.writestr(f"{info}/{file}", text)
    return wheel


def make(library: str, folder: Path) -> str:
    """Makes an environment in a new folder; returns its Python.

    It has the library as pip installs it, and what Flambeau needs; Flambeau is found by PYTHONPATH.
    """
    venv.create(folder, with_pip=True)
    python = str(folder / "bin" / "python")
    pip = [python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
    with tempfile.TemporaryDirectory() as wheels:
        names = [str(name_alone(*pair, Path(wheels))) for pair in NAMES.items()]
        project = tomllib.loads((HERE.parents[2] / "pyproject.toml").read_text(encoding="utf-8"))
        needed = [*project["project"]["dependencies"], requirement(library)]
        subprocess.run([*pip, *names, *needed], check=True)
    left = [name for name in NAMES if name not in required(python)]
    if left:
        remove = [python, "-m", "pip", "uninstall", "--quiet", "--yes", *left]
        subprocess.run(remove, check=True)
    return python


def required(python: str) -> set[str]:
    """The names that something in an environment requires."""
    text = (
        "import importlib.metadata as m\n"
        "for d in m.distributions():\n"
        "    print(*(r for r in d.requires or () if 'extra ==' not in r), sep='\\n')"
    )
    done = subprocess.run([python, "-c", text], capture_output=True, text=True, check=True)
    return {match[0].lower() for match in re.finditer(r"^[\w.-]+", done.stdout, re.MULTILINE)}


def distributions(python: str) -> dict[str, str]:
    """What an environment has, and in which version; names in their usual form."""
    command = [python, "-m", "pip", "list", "--format=freeze", "--disable-pip-version-check"]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    listed = done.stdout.lower().replace("_", "-").splitlines()
    return dict(line.split("==", 1) for line in listed)

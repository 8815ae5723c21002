"""Makes wheels for other machines, one per Python of this one, and tries each as its users will.

`python -m build_tools.wheels` writes an sdist and the wheels of CPython 3.11 to 3.14 into `dist`;
versions that this machine has no interpreter of are named. Each wheel is measured, shown to
auditwheel where that is installed, installed into an empty environment without a compiler, and
tried there: see wheel_trial.py.
"""

from __future__ import annotations

import argparse
import os
import re
import shutil
import subprocess
import sys
import tarfile
import time
import tomllib
import zipfile
from collections.abc import Sequence
from pathlib import Path

from build_tools.build import WHEEL_VARIABLE
from build_tools.interpreters import Interpreter, find_interpreters
from build_tools.shared.compiler import BuildError

ROOT = Path(__file__).resolve().parent.parent
SOURCES = ROOT / "build" / "wheel" / "sources"
ENVIRONMENTS = ROOT / "build" / "wheel" / "environments"
MAXIMUM_MEGABYTES = 14.0
MAXIMUM_SECONDS = 10.0
TRIAL = Path(__file__).parent / "wheel_trial.py"
# Some kinds of operators, in every dtype and layout: a minute, not an hour.
TRIED = "silu or erfinv or cumsum or matmul or layer_norm or linalg_solve"


def run(command: Sequence[str | Path], environment: dict[str, str] | None = None) -> None:
    """A command, which must succeed."""
    process = subprocess.run([str(word) for word in command], env=environment, check=False)
    if process.returncode != 0:
        raise BuildError(f"`{' '.join(map(str, command))}` failed (above).")


def make_environment(interpreter: Interpreter, name: str, packages: Sequence[str]) -> Path:
    """An environment of an interpreter with packages; returns its Python."""
    folder = ENVIRONMENTS / f"{interpreter.tag}-{name}"
    shutil.rmtree(folder, ignore_errors=True)
    run([interpreter.path, "-m", "venv", folder])
    python = folder / "bin" / "python"
    if packages:
        run([python, "-m", "pip", "install", "-q", "--disable-pip-version-check", *packages])
    return python


def build_requirements() -> list[str]:
    """What pyproject.toml says that building needs."""
    text = (ROOT / "pyproject.toml").read_text(encoding="utf-8")
    return list(tomllib.loads(text)["build-system"]["requires"])


def make_sdist(python: Path, output: Path) -> Path:
    """The sources that wheels are made of."""
    code = "import sys; from build_tools import backend; backend.build_sdist(sys.argv[1])"
    process = subprocess.run([python, "-c", code, output], cwd=ROOT, check=False)
    if process.returncode != 0:
        raise BuildError("The sdist could not be made (above).")
    return _newest(output, "flambeau-*.tar.gz")


def unpacked(sdist: Path) -> Path:
    """The folder of an sdist's files. What an older one compiled there stays: interpreters share
    what does not know Python.
    """
    SOURCES.mkdir(parents=True, exist_ok=True)
    with tarfile.open(sdist) as archive:
        archive.extractall(SOURCES, filter="data")
    return SOURCES / sdist.name.removesuffix(".tar.gz")


def make_wheel(python: Path, source: Path, output: Path) -> Path:
    """The wheel of an interpreter, from the tree or another folder of sources."""
    environment = {**os.environ, WHEEL_VARIABLE: "1"}
    environment["PATH"] = f"{python.parent}{os.pathsep}{environment['PATH']}"
    command: list[str | Path] = [
        python,
        "-m",
        "pip",
        "wheel",
        "--no-build-isolation",
        "--no-deps",
        "-w",
        output,
    ]
    run([*command, source], environment)
    return _newest(output, f"flambeau-*-{_tag(python)}-*.whl")


def _tag(python: Path) -> str:
    code = "import sys; print('cp%d%d' % sys.version_info[:2])"
    return subprocess.run([python, "-c", code], capture_output=True, text=True).stdout.strip()


def _newest(folder: Path, pattern: str) -> Path:
    return max(folder.glob(pattern), key=lambda file: file.stat().st_mtime_ns)


def measure(wheel: Path) -> None:
    """Refuses a wheel that is too large, or that tells debuggers what users do not need."""
    megabytes = wheel.stat().st_size / 1e6
    with zipfile.ZipFile(wheel) as archive:
        unpacked = sum(entry.file_size for entry in archive.infolist()) / 1e6
    print(f"{wheel.name}: {megabytes:.1f} MB, {unpacked:.1f} MB unpacked")
    if megabytes > MAXIMUM_MEGABYTES:
        raise BuildError(f"{wheel.name} has {megabytes:.1f} MB, at most {MAXIMUM_MEGABYTES:.0f}.")


def audit(wheel: Path) -> None:
    """auditwheel's word on the tag."""
    program = shutil.which("auditwheel")
    if program is None:
        print("auditwheel is not installed: it was not asked about the tag")
        return
    process = subprocess.run([program, "show", wheel], capture_output=True, text=True, check=False)
    said = " ".join(process.stdout.split())
    wanted = wheel.stem.split("-")[-1]
    # Its file may have compressed tags; it names the best that the wheel's libraries allow.
    if process.returncode != 0 or not re.search(rf'"{wanted}"', said):
        raise BuildError(f"auditwheel does not agree with {wanted}: {said or process.stderr}")
    print(f"auditwheel: consistent with {wanted}")


def try_wheel(interpreter: Interpreter, wheel: Path, tested: str) -> None:
    """Installs a wheel where nothing else is, and no compiler, and uses it."""
    python = make_environment(interpreter, "trial", [])
    install: list[str | Path] = [
        python,
        "-m",
        "pip",
        "install",
        "-q",
        "--disable-pip-version-check",
    ]
    start = time.perf_counter()
    run([*install, "--no-deps", wheel])
    own = time.perf_counter() - start
    run([*install, wheel])
    print(f"installed in {own:.1f} s, with what it needs in {time.perf_counter() - start:.1f} s")
    if own > MAXIMUM_SECONDS:
        raise BuildError(
            f"Installing {wheel.name} took {own:.1f} s, at most {MAXIMUM_SECONDS:.0f}."
        )
    alone = {"PATH": str(python.parent), "HOME": str(python.parent.parent)}
    run([python, "-I", TRIAL], alone)
    run([*install, "pytest"])
    tests: list[str | Path] = [
        python,
        "-I",
        "-m",
        "pytest",
        "-q",
        "-p",
        "no:cacheprovider",
        "-k",
        tested,
    ]
    folder = subprocess.run(
        [python, "-I", "-c", "import flambeau; print(flambeau.__path__[0])"],
        capture_output=True,
        text=True,
        check=True,
    ).stdout.strip()
    run([*tests, Path(folder) / "_operator_tests"], alone)


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m build_tools.wheels", description=__doc__)
    parser.add_argument("--python", type=Path, action="append", default=[], help="an interpreter")
    parser.add_argument("--only", action="append", help="a version, as 3.12: no others")
    parser.add_argument("--output", type=Path, default=ROOT / "dist", help="the folder of wheels")
    parser.add_argument("--sdist", action="store_true", help="make the wheels of the sdist")
    parser.add_argument("--tests", default=TRIED, help="which operator tests to run (pytest -k)")
    parser.add_argument("--no-trial", action="store_true", help="make wheels, and install none")
    options = parser.parse_args()
    interpreters, missing = find_interpreters(options.python)
    wanted = [one for one in interpreters if not options.only or one.name[8:] in options.only]
    for sentence in missing:
        print(sentence)
    if not wanted:
        print("flambeau: there is no interpreter to make a wheel for", file=sys.stderr)
        return 1
    try:
        make_all(wanted, options)
    except BuildError as error:
        print(f"flambeau: {error}", file=sys.stderr)
        return 1
    return 0


def make_all(interpreters: Sequence[Interpreter], options: argparse.Namespace) -> None:
    """The sdist, and of each interpreter a wheel."""
    options.output.mkdir(parents=True, exist_ok=True)
    output = options.output.resolve()
    source = None
    for interpreter in interpreters:
        print(f"== {interpreter.name}, {interpreter.path}")
        python = make_environment(interpreter, "build", build_requirements())
        if source is None:
            source = ROOT
            sdist = make_sdist(python, output)
            if options.sdist:
                source = unpacked(sdist)
        wheel = make_wheel(python, source, output)
        measure(wheel)
        audit(wheel)
        if not options.no_trial:
            try_wheel(interpreter, wheel, options.tests)


if __name__ == "__main__":
    sys.exit(main())

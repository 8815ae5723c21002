"""Builds Flambeau: generate, write the ninja file, compile, lay out the package.

`python -m build_tools.build` builds for work in the tree and prints the folder to put on
PYTHONPATH.
"""

from __future__ import annotations

import argparse
import os
import platform
import re
import subprocess
import sys
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path

from build_tools.ninja_file import abi_header, write_ninja
from build_tools.object_cache import compile_environment
from build_tools.shared.compiler import BuildError, compiler_name
from build_tools.shared.ending import ending
from build_tools.shared.instruction_sets import flags_of
from build_tools.shared.lock import exclusive
from build_tools.shared.ninja_writer import write_if_changed
from build_tools.stage import stage_links
from build_tools.toolchain import Toolchain, find_toolchain

# In the environment of pip: "1" makes a wheel for other machines.
WHEEL_VARIABLE = "FLAMBEAU_WHEEL"
ROOT = Path(__file__).resolve().parent.parent


@dataclass(frozen=True)
class Build:
    """Where a finished build lies."""

    folder: Path
    generated: Path
    toolchain: Toolchain


def generate(generated: Path) -> None:
    """Runs the generator from this tree (never an installed one)."""
    bridge = ROOT / "build" / "generator" / "flambeau"
    bridge.mkdir(parents=True, exist_ok=True)
    (bridge / "__init__.py").touch()  # a package proper: an installed flambeau must not win
    for name, folder in (("codegen", "codegen"), ("_build", "build_tools/shared")):
        link = bridge / name
        # One of a tree that this is a copy of leads there.
        if link.is_symlink() and link.readlink() != ROOT / folder:
            link.unlink()
        if not link.exists():
            link.symlink_to(ROOT / folder)
    paths = [str(bridge.parent), *filter(None, [os.environ.get("PYTHONPATH")])]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(paths)}
    command = [sys.executable, "-m", "flambeau.codegen", "emit", str(generated)]
    command += ["--declarations", str(ROOT / "declarations")]
    if subprocess.run(command, env=environment, check=False).returncode != 0:
        raise BuildError("The generator reported errors (above): nothing was compiled.")


def write_abi_header(generated: Path) -> None:
    """Names the state of the headers: packages that were compiled against others do not load."""
    made = [generated / name for name in ("dtypes.h", "instruction_sets.h")]
    made += sorted((generated / "functions").glob("*.h"))
    headers = [*sorted((ROOT / "native").rglob("*.h")), *made]
    digest = sha256(b"".join(header.read_bytes() for header in headers)).hexdigest()[:12]
    version = (ROOT / "python" / "flambeau" / "_version.py").read_text(encoding="utf-8")
    number = re.sub(r"\W", "_", version.split('"')[-2])
    symbol = f"rebuild_this_package_for_flambeau_{number}_abi_{digest}"
    write_if_changed(abi_header(ROOT), f"#pragma once\n\n#define FLAMBEAU_ABI {symbol}\n")


def prepare(sanitize: str | None = None, fuzzing: str = "", wheel: bool = False) -> Build:
    """Generates and writes build.ninja; nothing is compiled. `fuzzing`: the instruction set whose
    loops are fuzzed. `wheel`: for other machines, too, and for this Python alone.
    """
    name = f"sanitize-{sanitize}" if sanitize else "release"
    if wheel:
        name = f"wheel/{sys.implementation.cache_tag}{sys.abiflags}"
    toolchain = find_toolchain(compiler_name())
    if toolchain.machine != platform.machine():
        name += f"-{toolchain.machine}"
    if fuzzing:
        name += "-fuzzing" if fuzzing == "baseline" else f"-fuzzing-{fuzzing}"
    folder = ROOT / "build" / name
    generated = ROOT / "build" / "generated"
    # The generated files are shared by all builds, the rest is of this one.
    with exclusive(ROOT / "build"):
        generate(generated)
        write_abi_header(generated)
    with exclusive(folder):
        write_ninja(ROOT, folder, generated, toolchain, sanitize, fuzzing, wheel)
    return Build(folder, generated, toolchain)


def build(
    sanitize: str | None = None,
    jobs: int | None = None,
    fuzzing: str = "",
    wheel: bool = False,
) -> Build:
    """Brings the build folder up to date."""
    prepared = prepare(sanitize, fuzzing, wheel)
    command = [prepared.toolchain.ninja, "-f", str(prepared.folder / "build.ninja"), "-k", "20"]
    if jobs:
        command += ["-j", str(jobs)]
    with exclusive(prepared.folder):
        ninja = subprocess.Popen(command, env=compile_environment(ROOT))
        with ending(ninja):
            ninja.wait()
        if ninja.returncode != 0:
            raise BuildError("The compiler reported errors (above).")
        # A library with a sanitizer needs its runtime to be imported; its stubs nobody reads.
        if sanitize is None:
            complete_stubs(prepared)
    return prepared


def complete_stubs(build: Build) -> None:
    """Brings build/release/stubs up to date, which needs a library that can be imported."""
    sources = [
        build.generated / "stubs",
        build.generated / "package",
        build.folder / "lib",
        ROOT / "python" / "flambeau",
        Path(__file__).parent,
    ]
    stubs = build.folder / "stubs"
    if stubs.exists() and _newest(sources) < stubs.stat().st_mtime_ns:
        return
    package = stage_links(ROOT, build.folder, build.generated)
    paths = [str(package), *filter(None, [os.environ.get("PYTHONPATH")])]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(paths)}
    script = str(Path(__file__).parent / "stub_docstrings.py")
    command = [sys.executable, script, str(build.generated / "stubs"), str(stubs)]
    if subprocess.run(command, env=environment, check=False).returncode != 0:
        raise BuildError("The library that was built cannot be imported (above).")
    stubs.touch()


def _newest(folders: list[Path]) -> int:
    """When the last change to a file in some folders was."""
    files = (path for folder in folders for path in folder.rglob("*") if path.is_file())
    return max((path.stat().st_mtime_ns for path in files), default=0)


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m build_tools.build", description=__doc__)
    parser.add_argument("--sanitize", help="address,undefined or thread: an instrumented build")
    text = "assertions, exact blocks of memory, and the loops of this instruction set"
    parser.add_argument("--fuzzing", choices=list(flags_of()), default="", help=text)
    parser.add_argument("--wheel", action="store_true", help="what wheels for other machines carry")
    parser.add_argument("-j", "--jobs", type=int, help="compilers at a time")
    options = parser.parse_args()
    try:
        result = build(options.sanitize, options.jobs, options.fuzzing, options.wheel)
    except BuildError as error:
        print(f"flambeau: {error}", file=sys.stderr)
        return 1
    print(stage_links(ROOT, result.folder, result.generated))
    return 0


if __name__ == "__main__":
    sys.exit(main())

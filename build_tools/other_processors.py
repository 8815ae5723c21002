"""Checks the loops of instruction sets that this machine's build leaves out, without making code.

`python -m build_tools.other_processors` has the compiler read every *.simd.cpp, those of the C++
tests too, for each such set: templates are made and types checked, which takes a tenth of what
optimizing them would. Exit status: 0, 1 after an error.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

from build_tools.build import ROOT, prepare
from build_tools.ninja_file import collect_sources, given_headers, precompiled_headers
from build_tools.object_cache import compile_environment
from build_tools.processor import built_instruction_sets
from build_tools.shared.compiler import BuildError
from build_tools.shared.compiling import Compiling, include_flags, write_rules
from build_tools.shared.instruction_sets import flags_of
from build_tools.shared.lock import exclusive
from build_tools.shared.ninja_writer import NinjaWriter
from build_tools.toolchain import Toolchain

FOLDER = ROOT / "build" / "other-processors"


def left_out() -> dict[str, str]:
    """The flags of the sets that a build on this machine has no loops of."""
    built = built_instruction_sets()
    return {name: flags for name, flags in flags_of().items() if name not in built}


def write_ninja(generated: Path, toolchain: Toolchain, sets: Mapping[str, str]) -> Path:
    """Writes build.ninja, whose objects are empty: stamps of what was read without an error."""
    writer = NinjaWriter()
    writer.variable("builddir", str(FOLDER))
    includes = include_flags((ROOT / "native", generated), toolchain.includes)
    write_rules(writer, toolchain.compiler, includes)
    writer.rule(
        "read",
        command=("$linker $flags $extra -fsyntax-only -MMD -MF $out.d -MT $out $in && touch $out"),
        depfile="$out.d",
        deps="gcc",
        description="read $in",
    )
    sources = collect_sources(ROOT, generated)
    tests = sorted((ROOT / "tests" / "native").glob("*.cpp"))
    units = [*sources.library, *sources.generated, *tests]
    Compiling(
        writer,
        FOLDER / "read",
        generated,
        (ROOT,),
        instruction_sets=sets,
        precompiled=precompiled_headers(ROOT / "native"),
        given=given_headers(ROOT / "native"),
        rule="read",
    ).objects(unit for unit in units if unit.name.endswith(".simd.cpp"))
    return writer.write(FOLDER / "build.ninja")


def check(jobs: int | None) -> list[str]:
    """The sets whose loops were read.

    Raises:
        BuildError: something does not compile.
    """
    sets = left_out()
    if not sets:
        return []
    prepared = prepare()
    with exclusive(FOLDER):
        ninja_file = write_ninja(prepared.generated, prepared.toolchain, sets)
        command = [prepared.toolchain.ninja, "-f", str(ninja_file), "-k", "20"]
        command += ["-j", str(jobs)] if jobs else []
        if subprocess.run(command, env=compile_environment(ROOT), check=False).returncode != 0:
            raise BuildError("The compiler reported errors (above).")
    return list(sets)


def main() -> int:
    parser = argparse.ArgumentParser(
        prog="python -m build_tools.other_processors", description=__doc__
    )
    parser.add_argument("-j", "--jobs", type=int, help="compilers at a time")
    options = parser.parse_args()
    try:
        sets = check(options.jobs)
    except BuildError as error:
        print(f"flambeau: {error}", file=sys.stderr)
        return 1
    print(f"loops that were read: {', '.join(sets) or 'none: a build has those of all sets'}")
    return 0


if __name__ == "__main__":
    sys.exit(main())

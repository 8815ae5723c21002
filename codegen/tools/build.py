"""Build the package of operators, or the backend, in a folder.

Declarations are found in declarations/*.yaml, C++ in kernels/, Python sources in the folder of the
package's name. The table [tool.flambeau] of pyproject.toml, where there is one, changes that.
Prints the folder to put on PYTHONPATH, or the wheel.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from flambeau.codegen.tools.common import FINDINGS, OK

NAME = "build"
HELP = "build a package of operators of your own"


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("folder", type=Path, nargs="?", default=Path(), metavar="FOLDER")
    parser.add_argument("-j", "--jobs", type=int, metavar="N", help="compilers at a time")
    parser.add_argument("--wheel", type=Path, metavar="DIR", help="write a wheel into DIR instead")


def run(options: argparse.Namespace) -> int:
    # Needs an installed library, to compile and link against.
    from flambeau._build.compiler import BuildError
    from flambeau.extension.building import build
    from flambeau.extension.project import read_project
    from flambeau.extension.stage import stage_links

    try:
        if options.wheel is None:
            print(stage_links(build(read_project(options.folder), options.jobs)))
        else:
            from flambeau.extension.wheel import write_wheel

            name = write_wheel(options.folder.resolve(), str(options.wheel), "standard")
            print(options.wheel / name)
    except BuildError as error:
        print(f"flambeau ops build: {error}", file=sys.stderr)
        return FINDINGS
    return OK

"""`flambeau docs`."""

from __future__ import annotations

import argparse
import sys
import time
from pathlib import Path


def configure(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Adds the command and its options."""
    docs = commands.add_parser("docs", help="build the reference site")
    actions = docs.add_subparsers(required=True, metavar="ACTION")
    build = actions.add_parser(
        "build",
        help="write the site into a folder",
        description="Writes the guide and the reference, a page per operator, as a site that "
        "needs no server: open its index.html. Needs: pip install 'flambeau[docs]'.",
        formatter_class=argparse.ArgumentDefaultsHelpFormatter,
    )
    build.add_argument(
        "folder", nargs="?", type=Path, default=Path("site"), metavar="FOLDER", help="the site"
    )
    build.add_argument(
        "--work", type=Path, metavar="DIR", help="keep intermediate files here: builds are quicker"
    )
    build.add_argument("--jobs", default="1", metavar="N", help="processes; two are not quicker")
    actions.add_parser(
        "check",
        help="list what docstrings leave out",
        description="Lists the public classes and functions whose docstrings have no summary, do "
        "not name all arguments, give no shapes or show no example.",
    )
    for name, parser in actions.choices.items():
        parser.set_defaults(action=name)


def main(options: argparse.Namespace) -> int:
    """Does what is asked for; returns the exit code."""
    return _check() if options.action == "check" else _build(options)


def _check() -> int:
    # Imported late: it imports every module of the library.
    from flambeau.docs.completeness import report, rows

    print(report(rows()))
    return 0


def _build(options: argparse.Namespace) -> int:
    from flambeau.docs.build import DocsError, build_site

    started = time.perf_counter()
    try:
        build_site(options.folder, options.work, options.jobs)
    except (DocsError, OSError) as error:
        print(f"flambeau docs: {error}", file=sys.stderr)
        return 1
    seconds = time.perf_counter() - started
    print(f"{options.folder / 'index.html'}: built in {seconds:.0f} s")
    return 0

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


def main(options: argparse.Namespace) -> int:
    """Builds the site; returns the exit code."""
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

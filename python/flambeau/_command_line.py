"""The command `flambeau` and its subcommands."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence

from flambeau._version import __version__
from flambeau.demo import command as demo
from flambeau.docs import command as docs


def parser() -> argparse.ArgumentParser:
    """The options of every subcommand."""
    result = argparse.ArgumentParser(
        prog="flambeau", description="Flambeau: a deep-learning library for Python."
    )
    result.add_argument("--version", action="version", version=f"flambeau {__version__}")
    commands = result.add_subparsers(dest="command", metavar="COMMAND")
    demo.configure(commands)
    docs.configure(commands)
    commands.add_parser("ops", help="declare, check, look at and generate operators")
    return result


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs the command; returns the exit code."""
    given = sys.argv[1:] if arguments is None else list(arguments)
    if given[:1] == ["ops"]:
        # The generator has a command line of its own; nothing else needs it.
        from flambeau.codegen.tools.cli import main as ops

        return ops(given[1:], program="flambeau ops")
    options = parser().parse_args(given)
    if options.command is None:
        parser().print_help()
        return 0
    return docs.main(options) if options.command == "docs" else demo.main(options)

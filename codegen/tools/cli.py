"""The command line of the generator: `flambeau ops` and `python -m flambeau.codegen`.

Exit codes: 0, nothing is wrong; 1, something was found; 2, the command was not understood.
"""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Sequence
from typing import Protocol

from flambeau.codegen.read.no_collection import no_collection
from flambeau.codegen.text.source import DeclarationError
from flambeau.codegen.tools import (
    build,
    check,
    coverage,
    diff,
    emit,
    new,
    schema,
    show,
    test_,
    try_,
)
from flambeau.codegen.tools.common import FINDINGS, USAGE
from flambeau.codegen.tools.place import UsageError, placed
from flambeau.codegen.tools.terminal import Style

INTERRUPTED = 130  # what a shell reports for a program ended by Ctrl-C


class Command(Protocol):
    """A module of commands/. Its docstring is the description that --help prints."""

    NAME: str
    HELP: str
    __doc__: str | None

    def configure(self, parser: argparse.ArgumentParser) -> None: ...
    def run(self, options: argparse.Namespace) -> int: ...


COMMANDS: tuple[Command, ...] = (
    new,
    check,
    show,
    try_,
    diff,
    coverage,
    build,
    test_,
    emit,
    schema,
)


def main(
    arguments: Sequence[str] | None = None, program: str = "python -m flambeau.codegen"
) -> int:
    """Runs a command; its exit code."""
    options = parser(program).parse_args(arguments)
    command: Command = options.command
    try:
        with no_collection(), placed(options):
            code = command.run(options)
        sys.stdout.flush()
        return code
    except UsageError as error:
        print(f"{program} {command.NAME}: error: {error}", file=sys.stderr)
        return USAGE
    except DeclarationError as error:
        style = Style()
        for diagnostic in error.diagnostics:
            print(style.diagnostic(diagnostic.render()), end="\n\n")
        return FINDINGS
    except BrokenPipeError:
        # The reader, `head` for example, has seen enough. Python flushes once more at its end.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return FINDINGS
    except OSError as error:
        # Of a folder or file that was named: declarations that cannot be read are diagnostics.
        named = f"{error.filename}: " if error.filename is not None else ""
        print(f"{program} {command.NAME}: error: {named}{error.strerror}", file=sys.stderr)
        return USAGE
    except KeyboardInterrupt:
        return INTERRUPTED


def parser(program: str) -> argparse.ArgumentParser:
    """The options of every command."""
    result = argparse.ArgumentParser(
        prog=program,
        description="Flambeau's operators: declare, check, look at and generate them.",
        epilog="Exit codes: 0, nothing is wrong; 1, something was found; 2, wrong usage.",
    )
    commands = result.add_subparsers(required=True, metavar="COMMAND")
    for command in COMMANDS:
        own = commands.add_parser(
            command.NAME,
            help=command.HELP,
            description=command.__doc__,
            formatter_class=argparse.RawDescriptionHelpFormatter,
        )
        command.configure(own)
        own.set_defaults(command=command)
    return result

"""`python -m flambeau.codegen`: check the declarations and print what is wrong with them."""

from __future__ import annotations

import argparse
import time
from collections.abc import Sequence
from pathlib import Path

from flambeau.codegen.check.registry import computing_checks, run_checks
from flambeau.codegen.check.report import Context
from flambeau.codegen.emit.everything import emit_everything
from flambeau.codegen.loader import declaration_files, default_folder, load, load_declarations
from flambeau.codegen.source import DeclarationError, Diagnostic, Diagnostics


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a command; 0 when nothing is wrong."""
    options = _parser().parse_args(arguments)
    run: int = options.run(options)
    return run


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m flambeau.codegen", description="Flambeau's generator of operators."
    )
    commands = parser.add_subparsers(required=True, metavar="COMMAND")
    check = commands.add_parser(
        "check",
        help="check declarations",
        description="Check declarations and print every mistake with its place. Exits with 1 "
        "when there is one.",
    )
    check.add_argument(
        "files",
        nargs="*",
        type=Path,
        metavar="FILE",
        help="report on these files only; they may lie outside the folder (default: all of it)",
    )
    check.add_argument(
        "--declarations",
        type=Path,
        default=default_folder(),
        metavar="DIR",
        help="the folder whose declarations the files may refer to (default: %(default)s)",
    )
    check.add_argument(
        "--native",
        type=Path,
        default=None,
        metavar="DIR",
        help="the folder of the kernels (default: native/ beside the declarations)",
    )
    check.add_argument(
        "--no-kernels", action="store_true", help="do not ask for the files of kernels"
    )
    check.add_argument(
        "--structure", action="store_true", help="do not evaluate formulas, check structure only"
    )
    check.set_defaults(run=_check)
    emit = commands.add_parser(
        "emit",
        help="write the generated files",
        description="Write everything that is derived from the declarations; files that do not "
        "change are left alone.",
    )
    emit.add_argument("folder", type=Path, metavar="DIR", help="where to write")
    emit.add_argument(
        "--declarations",
        type=Path,
        default=default_folder(),
        metavar="DIR",
        help="the folder to read (default: %(default)s)",
    )
    emit.set_defaults(run=_emit)
    return parser


def _emit(options: argparse.Namespace) -> int:
    started = time.perf_counter()
    try:
        declarations = load_declarations(_relative(options.declarations))
        output = emit_everything(declarations, options.folder)
    except DeclarationError as error:
        print(error)
        return 1
    seconds = time.perf_counter() - started
    count = len(declarations.operators)
    print(f"{count} operators emitted in {seconds:.2f} s: {len(output.changed)} files changed")
    return 0


def _check(options: argparse.Namespace) -> int:
    started = time.perf_counter()
    diagnostics = Diagnostics()
    loaded = load(declaration_files(_relative(options.declarations), options.files), diagnostics)
    context = Context.of(loaded, _native(options))
    computing = not options.structure and bool(computing_checks())
    diagnostics.extend(run_checks(context, computing=computing))
    found = _of_files(diagnostics.sorted(), options.files)
    for diagnostic in found:
        print(diagnostic.render(), end="\n\n")
    seconds = time.perf_counter() - started
    print(_summary(len(loaded.declarations.operators), len(found), seconds, computing))
    return 1 if found else 0


def _relative(folder: Path) -> Path:
    """Shorter to read in messages, where the folder lies below the current one."""
    try:
        return folder.resolve().relative_to(Path.cwd())
    except ValueError:
        return folder


def _native(options: argparse.Namespace) -> Path | None:
    """The folder to look for kernels in; None: an installed package has none, or nobody asks."""
    if options.no_kernels:
        return None
    beside: Path = options.declarations.parent / "native"
    given: Path | None = options.native
    return given or (beside if beside.is_dir() else None)


def _of_files(found: Sequence[Diagnostic], files: Sequence[Path]) -> list[Diagnostic]:
    """Those in some files; all of them where no file is given."""
    wanted = {path.resolve() for path in files}
    return [d for d in found if not wanted or Path(d.span.file).resolve() in wanted]


def _summary(operators: int, mistakes: int, seconds: float, computing: bool) -> str:
    verdict = "no mistakes" if mistakes == 0 else f"{mistakes} mistake{'s' * (mistakes != 1)}"
    extent = "checked" if computing else "checked (formulas not evaluated)"
    return f"{operators} operators {extent} in {seconds:.2f} s: {verdict}"

"""Check declarations without a compiler, and print every mistake with its place.

Structure first; then formulas are evaluated: they are compared with the references, derivatives
with finite differences.

With FILE, the operators in it are checked, among all others that they may call or clash with.
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from flambeau.codegen.check.registry import computing_checks, run_checks
from flambeau.codegen.check.report import Context
from flambeau.codegen.read.loader import declaration_files, load
from flambeau.codegen.text.source import Diagnostic, Diagnostics
from flambeau.codegen.tools.common import FINDINGS, OK, add_folder, folder_of
from flambeau.codegen.tools.terminal import Style

NAME = "check"
HELP = "check declarations, without a compiler"


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "files",
        nargs="*",
        type=Path,
        metavar="FILE",
        help="check these only, which may lie outside the folder (default: all of it)",
    )
    add_folder(parser)
    parser.add_argument(
        "--native",
        type=Path,
        default=None,
        metavar="DIR",
        help="the folder of the kernels (default: native/ beside the declarations)",
    )
    parser.add_argument(
        "--no-kernels", action="store_true", help="do not ask for the files of kernels"
    )
    parser.add_argument(
        "--structure", action="store_true", help="do not evaluate formulas, check structure only"
    )
    parser.add_argument(
        "--json", action="store_true", help="print the mistakes as JSON, for editors"
    )


def run(options: argparse.Namespace) -> int:
    started = time.perf_counter()
    diagnostics = Diagnostics()
    files = declaration_files(folder_of(options), options.files)
    context = Context.of(load(files, diagnostics), _native(options))
    if options.files:
        context = replace(context, files=_named(files, options.files))
    computing = not options.structure and bool(computing_checks())
    diagnostics.extend(run_checks(context, computing=computing))
    found = [d for d in diagnostics.sorted() if _concerns(d, context.files)]
    seconds = time.perf_counter() - started
    operators = len(context.checked)
    if options.json:
        print(json.dumps(_as_json(found, operators, computing), indent=2))
    else:
        style = Style()
        for diagnostic in found:
            print(style.diagnostic(diagnostic.render()), end="\n\n")
        print(_summary(operators, len(found), seconds, computing))
    return FINDINGS if found else OK


def _native(options: argparse.Namespace) -> Path | None:
    """The folder to look for kernels in; None: an installed package has none, or nobody asks."""
    if options.no_kernels:
        return None
    beside: Path = options.declarations.parent / "native"
    given: Path | None = options.native
    return given or (beside if beside.is_dir() else None)


def _named(files: Sequence[Path], wanted: Sequence[Path]) -> frozenset[str]:
    """Those of `files` that are wanted, by the names that diagnostics give them."""
    places = {path.resolve() for path in wanted}
    return frozenset(str(path) for path in files if path.resolve() in places)


def _concerns(found: Diagnostic, files: frozenset[str] | None) -> bool:
    """Whether a mistake stands in one of the files, or clashes with what stands there."""
    spans = [found.span, *(note.span for note in found.all_notes)]
    return files is None or any(span.file in files for span in spans)


def _as_json(found: Sequence[Diagnostic], operators: int, computing: bool) -> dict[str, Any]:
    """Lines and columns count from 1; `end_column` is the first column behind the mistake."""
    return {
        "operators": operators,
        "formulas_evaluated": computing,
        "diagnostics": [
            {
                "file": str(Path(d.span.file).resolve()),
                "line": d.span.line,
                "column": d.span.column,
                "end_column": d.span.column + d.span.length,
                "severity": "error",
                "message": d.message,
                "hint": d.hint,
            }
            for d in found
        ],
    }


def _summary(operators: int, mistakes: int, seconds: float, computing: bool) -> str:
    verdict = "no mistakes" if mistakes == 0 else f"{mistakes} mistake{'s' * (mistakes != 1)}"
    extent = "checked" if computing else "checked (formulas not evaluated)"
    return f"{operators} operators {extent} in {seconds:.2f} s: {verdict}"

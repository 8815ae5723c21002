"""Check declarations without a compiler, and print every mistake with its place.

Structure first; then formulas are evaluated: they are compared with the references, derivatives
with finite differences.

With FILE, the operators in it are checked, among all others that they may call or clash with.
In a package of operators, those of the package are, beside the library's.
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from flambeau.codegen.check.registry import computing_checks, run_checks
from flambeau.codegen.check.report import Context
from flambeau.codegen.read.loader import declaration_files
from flambeau.codegen.text.source import Diagnostic, Diagnostics
from flambeau.codegen.tools.common import (
    FINDINGS,
    OK,
    add_folder,
    files_of,
    folder_of,
    load_place,
)
from flambeau.codegen.tools.place import Place
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
    add_folder(parser, lambda options: options.files[0].parent if options.files else Path())
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
    loaded = load_place(options, options.files, diagnostics)
    context = replace(Context.of(loaded, _native(options)), kernels=_kernels(options))
    if options.files:
        context = replace(context, files=_named(options))
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
        for line in _not_compared(context) if computing else ():
            print(line)
    return FINDINGS if found else OK


def _kernels(options: argparse.Namespace) -> frozenset[str] | None:
    """The kernel files of a package of operators."""
    place: Place = options.place
    asked = place.project is not None and not options.no_kernels and options.native is None
    return place.project.kernel_files if asked and place.project is not None else None


def _native(options: argparse.Namespace) -> Path | None:
    """The folder to look for kernels in; None: an installed package has none,
    nor have files elsewhere, or nobody asks.
    """
    folder = folder_of(options).resolve()
    outside = options.files and all(f.resolve().parent != folder for f in options.files)
    if options.no_kernels or (outside and options.native is None):
        return None
    beside: Path = options.declarations.parent / "native"
    given: Path | None = options.native
    return given or (beside if beside.is_dir() else None)


def _named(options: argparse.Namespace) -> frozenset[str]:
    """The files that are wanted, by the names that diagnostics give them."""
    places = {path.resolve() for path in options.files}
    known = (*declaration_files(folder_of(options), options.files), *files_of(options))
    return frozenset(str(path) for path in known if path.resolve() in places)


def _concerns(found: Diagnostic, files: frozenset[str] | None) -> bool:
    """Whether a mistake stands in one of the files, or clashes with what stands there."""
    spans = [found.span, *(note.span for note in found.all_notes)]
    return files is None or any(span.file in files for span in spans)


def _not_compared(context: Context) -> Iterator[str]:
    """Entries of which nothing can tell whether they are right, which is no mistake."""
    tests = [(o.full_name, o.test) for o in context.checked if not o.internal]
    lacking = {
        "neither a `reference` nor `properties`": [
            n for n, t in tests if not (t.reference or t.properties or t.arbitrary)
        ],
        "no `samples` to call it with": [n for n, t in tests if not t.samples],
    }
    for what, names in lacking.items():
        if names:
            few = ", ".join(names[:5]) + (f" and {len(names) - 5} more" if names[5:] else "")
            verb = "has" if len(names) == 1 else "have"
            yield f"not compared with anything: {few} {verb} {what}"


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

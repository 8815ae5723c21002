"""Show what operators have and lack: kernels, dtypes, derivatives, documentation, tests.

Each letter of the column `tested` stands for: d documentation, e example, r reference, s samples,
x extremes. What is missing is a dot, and is counted below the table.

With --backend NAME, what a backend of that name brings and must bring still; the name may be that
of a backend of your own.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from flambeau.codegen.model.entries import Declarations, Kind
from flambeau.codegen.tools.common import (
    OK,
    add_sources,
    find_operators,
    read_sources,
)
from flambeau.codegen.tools.place import UsageError
from flambeau.codegen.tools.terminal import Style

if TYPE_CHECKING:
    from flambeau.codegen.plan.coverage import Coverage, Gap, Row
    from flambeau.codegen.tools.primitives import Primitive

NAME = "coverage"
HELP = "show what operators have and lack"
_SHOWN = 8  # names of a gap; --gaps shows all


def configure(parser: argparse.ArgumentParser) -> None:
    output = parser.add_mutually_exclusive_group()
    output.add_argument("--html", type=Path, metavar="FILE", help="write a page with the table")
    output.add_argument("--json", action="store_true", help="print everything as JSON")
    output.add_argument("--gaps", action="store_true", help="only what is missing, by full lists")
    output.add_argument("--backend", metavar="NAME", help="what this backend has and must bring")
    parser.add_argument(
        "--for",
        dest="operators",
        nargs="+",
        default=[],
        metavar="OP",
        help="with --backend: only for these operators and their gradients",
    )
    add_sources(parser)


def run(options: argparse.Namespace) -> int:
    from flambeau.codegen.plan.coverage import as_json, coverage_of, gaps

    declarations = read_sources(options)
    if options.operators and not options.backend:
        raise UsageError("--for needs --backend NAME")
    if options.backend:
        return _backend(declarations, options)
    coverage = coverage_of(declarations)
    found = gaps(coverage)
    if options.html:
        _write_page(coverage, options.html)
        print(f"{options.html}: {len(coverage.rows)} operators")
    elif options.json:
        print(json.dumps(as_json(coverage), indent=1))
    else:
        if not options.gaps:
            _print_table(coverage)
        _print_gaps(found, everything=options.gaps)
    return OK


def _print_table(coverage: Coverage) -> None:
    style = Style()
    names = [b.name for b in coverage.backends]
    heads = ["operator", "kind", *names, "dtypes", "reverse", "forward", "tested"]
    table = [[row.name, row.kind, *_cells(row, coverage)] for row in coverage.rows]
    widths = [max(len(line[i]) for line in [heads, *table]) for i in range(len(heads))]
    print(style("  ".join(h.ljust(w) for h, w in zip(heads, widths, strict=True)).rstrip(), "bold"))
    family = ""
    for row, line in zip(coverage.rows, table, strict=True):
        if row.family != family:
            family = row.family
            print(style(f"-- {family}", "dim"))
        cells = [c.ljust(w) for c, w in zip(line, widths, strict=True)]
        print("  ".join(style(c, "red") if "missing" in c else c for c in cells).rstrip())
    print()


def _cells(row: Row, coverage: Coverage) -> list[str]:
    marks = [
        "d" if row.summary else ".",
        "e" if row.has_example else ".",
        "r" if row.has_reference or row.properties else ".",
        "s" if row.samples else ".",
        "x" if row.extremes else ".",
    ]
    return [
        *(row.backends[b.name].how for b in coverage.backends),
        f"{'of its parts' if row.dtypes_follow_body else len(row.dtypes)}",
        row.reverse,
        row.forward,
        "".join(marks),
    ]


def _print_gaps(found: Sequence[Gap], everything: bool) -> None:
    style = Style()
    for gap in found:
        count = f"{len(gap.operators):4} of {gap.among}"
        print(f"{style(count, 'yellow' if gap.operators else 'green')}  {gap.what}")
        shown = gap.operators if everything else gap.operators[:_SHOWN]
        if shown:
            more = len(gap.operators) - len(shown)
            print(f"             {', '.join(shown)}{f' and {more} more' if more else ''}")


def _write_page(coverage: Coverage, path: Path) -> None:
    from flambeau.codegen.plan.coverage import gaps
    from flambeau.codegen.write.files import Texts

    texts = Texts()
    texts.render("coverage.html.jinja", "page", coverage=coverage, gaps=gaps(coverage))
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(texts.files["page"], encoding="utf-8")


def _backend(declarations: Declarations, options: argparse.Namespace) -> int:
    """What a backend brings and must bring."""
    from flambeau.codegen.tools.primitives import needs_of

    wanted = [o for name in options.operators for o in find_operators(declarations, name)]
    needs = needs_of(declarations, options.backend, wanted)
    if not needs.declared:
        names = ", ".join(b.name for b in declarations.backends)
        print(f"'{needs.backend}' is not among the declared backends ({names}):")
        print("the counts below are what it has to register for every operator to run there.")
    extent = f"{len(wanted)} operators and what they are made of" if wanted else "all"
    primitives = needs.primitives
    print(
        f"{needs.backend}, {extent}: {needs.operators} operators, "
        f"{needs.operators - len(primitives)} views or composed, {len(primitives)} primitive"
    )
    for kind in dict.fromkeys(p.kind for p in primitives):
        print(_kind_line(kind, needs.of(kind)))
    if not needs.declared:
        print(
            f"optional, for speed: {len(needs.composed)} kernels of operators that are composed, "
            f"{needs.gradients} of gradients"
        )
    missing = [p.name for p in primitives if not p.exists]
    print(f"missing: {len(missing)} primitive operators")
    if missing:
        print("  " + ", ".join(missing))
    if missing and needs.real_only:
        print(f"for complex numbers also: {len(needs.real_only)}, composed of real ones alone")
        print("  " + ", ".join(needs.real_only))
    return OK


def _kind_line(kind: Kind, primitives: Sequence[Primitive]) -> str:
    there = sum(p.exists for p in primitives)
    how = "by hand" if kind is Kind.STRUCTURED else "from formulas"
    return f"  {kind.value:<11} {len(primitives):4} operators, kernels {how}: {there} exist"

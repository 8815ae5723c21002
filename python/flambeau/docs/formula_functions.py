"""What formulas may call, as tables of the guide: from the files of functions and the entries."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator, Sequence
from pathlib import Path

from flambeau.codegen.formula.functions import (
    CATEGORIES,
    Function,
    load_functions,
)
from flambeau.codegen.formula.nodes import Expression, calls
from flambeau.codegen.model.entries import Declarations, Operator
from flambeau.codegen.plan.markdown import code, escaped
from flambeau.codegen.text.folders import default_folder, function_files

_HEADING = re.compile(r"^# --- (.+?) -+$")
_COMMON = 3  # entries that call an operator which the table of helpers has


def function_tables() -> str:
    """Markdown: a section and a table for each group of functions, as the files have them."""
    table = load_functions()
    functions = [*table.values(), *table.shape.values()]
    sections = []
    for file in function_files(default_folder()):
        lines = file.read_text(encoding="utf-8").splitlines()
        starts = [(n, m[1]) for n, line in enumerate(lines, 1) if (m := _HEADING.match(line))]
        ends = [start for start, _ in starts[1:]] + [len(lines) + 1]
        for (start, heading), end in zip(starts, ends, strict=True):
            group = [f for f in functions if _stands(f, file, start, end)]
            sections.append(f"### {heading[0].upper()}{heading[1:]}\n\n{_table(group)}\n")
    return "\n".join(sections)


def _stands(function: Function, file: Path, start: int, end: int) -> bool:
    return Path(function.span.file) == file and start < function.span.line < end


def _table(functions: Sequence[Function]) -> str:
    if all(f.level == "shape" for f in functions):
        rows = [(_code(_typed(f)), escaped(f.doc), _example(f)) for f in functions]
        return _markdown(("function", "gives", "example"), sorted(rows))
    rows4 = [(_code(_written(f)), _accepted(f), escaped(f.doc), _example(f)) for f in functions]
    return _markdown(("function", "types", "gives", "example"), rows4)


def _markdown(heads: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    lines = [heads, [":--"] * len(heads), *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def _code(expression: object) -> str:
    """A code span in a table."""
    return code(str(expression)).replace("|", r"\|")


def _written(function: Function) -> str:
    roles = ("" if p.type == "element" else f": {p.type}" for p in function.parameters)
    names = (p.name for p in function.parameters)
    parameters = (f"{name}{role}" for name, role in zip(names, roles, strict=True))
    return f"{function.name}({', '.join(parameters)})"


def _typed(function: Function) -> str:
    parameters = (f"{p.type}{'?' * p.optional} {p.name}" for p in function.parameters)
    return f"{function.name}({', '.join(parameters)}) -> {function.result}"


def _accepted(function: Function) -> str:
    """The types of elements, and that of the result where it is another one."""
    if function.level == "random":
        return "float"
    accepted = ", ".join(c for c in CATEGORIES if c in function.accepts)
    return accepted if function.result == "same" else f"{accepted} → {function.result}"


def _example(function: Function) -> str:
    if function.example is None:
        return ""
    formula, value = function.example
    return f"{_code(formula)} is {_code(value)}"


def helper_table(declarations: Declarations) -> str:
    """Markdown: the operators that formulas of several families call and Python does not have."""
    callers: dict[str, list[Operator]] = defaultdict(list)
    for operator in declarations.operators:
        for name in frozenset[str]().union(*map(calls, _formulas(operator))):
            callers[name].append(operator)
    rows = [
        (
            _code(_signature(o)),
            f"[{o.family}](../declarations/{o.family}.md)",
            escaped(o.doc.summary),
        )
        for o in sorted(declarations.operators, key=lambda o: o.full_name)
        if o.internal and not o.layouts and _is_common(o, callers[o.name])
    ]
    return _markdown(("operator", "declared in", "gives"), rows)


def _is_common(operator: Operator, callers: Sequence[Operator]) -> bool:
    return len(callers) >= _COMMON and any(c.family != operator.family for c in callers)


def _formulas(operator: Operator) -> Iterator[Expression]:
    """What an operator is composed of, and its derivatives."""
    yield from filter(None, (operator.body, *(value for _, value in operator.body_lets)))
    yield from operator.forward.values()
    if operator.derivative is not None:
        yield from operator.derivative.formulas.values()


def _signature(operator: Operator) -> str:
    return f"{operator.name}({', '.join(a.name for a in operator.signature.arguments)})"

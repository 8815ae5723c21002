"""Show what is derived from an entry: signatures, dtypes, shapes, derivatives, what is saved, where
it runs; with options, the code and the text that are generated for it.

OP is a name, with all its overloads (max), one overload (max.dim) or an alias.
"""

from __future__ import annotations

import argparse
import textwrap
from collections.abc import Callable, Iterator, Sequence

from flambeau.codegen.model.entries import Declarations, Operator
from flambeau.codegen.tools.common import OK, add_sources, find_operators, read_sources
from flambeau.codegen.tools.terminal import Style

NAME = "show"
HELP = "show everything that is derived from an entry"
_INDENT = 16


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("operator", metavar="OP", help="a name, or one overload: max.dim")
    for option, (text, _) in _PARTS.items():
        parser.add_argument(f"--{option}", action="store_true", help=text)
    add_sources(parser)


def run(options: argparse.Namespace) -> int:
    declarations = read_sources(options)
    operators = find_operators(declarations, options.operator)
    chosen = [option for option in _PARTS if getattr(options, option)]
    if not chosen:
        for operator in operators:
            _explain(operator, declarations)
    for option in chosen:
        _, part = _PARTS[option]
        for title, text in part(operators, declarations):
            print(Style()(f"==> {title} <==", "bold"))
            print(text.rstrip() + "\n")
    return OK


def _explain(operator: Operator, declarations: Declarations) -> None:
    from flambeau.codegen.plan.cpp_types import location
    from flambeau.codegen.tools.explain import Explanation

    style = Style()
    print(f"{style(operator.full_name, 'bold')}  {operator.kind.value}, {location(operator)}")
    if operator.doc.summary:
        print(textwrap.fill(operator.doc.summary, 100, initial_indent="  ", subsequent_indent="  "))
    print()
    for section in Explanation(operator, declarations).sections():
        title = f"{section.title:<{_INDENT}}"
        for index, line in enumerate(section.lines):
            lead = style(title, "cyan") if index == 0 else " " * _INDENT
            wrapped = textwrap.wrap(line, 100, break_long_words=False, break_on_hyphens=False)
            print(lead + f"\n{' ' * (_INDENT + 4)}".join(wrapped))
    print()


Parts = Iterator[tuple[str, str]]


def _cpp(operators: Sequence[Operator], declarations: Declarations) -> Parts:
    """Of each unit of the family, the part that belongs to the operators."""
    from flambeau.codegen.model.operators import OperatorIndex
    from flambeau.codegen.write.files import Texts
    from flambeau.codegen.write.native import emit_family, emit_registers

    for family, members in _by_family(operators).items():
        texts = Texts(declarations.package)
        index = OperatorIndex(declarations.operators)
        emit_registers([emit_family(family, members, declarations, index, texts)], texts)
        yield from texts.files.items()


def _cuda(operators: Sequence[Operator], declarations: Declarations) -> Parts:
    from flambeau.codegen.write.cuda import emit_family
    from flambeau.codegen.write.files import Texts
    from flambeau.codegen.write.native import emit_formulas, kernel_units

    for family, members in _by_family(operators).items():
        texts = Texts(declarations.package)
        emit_family(family, members, declarations, texts)
        for unit in kernel_units(members, declarations):
            emit_formulas(family, unit, texts)
        yield from texts.files.items()
        if not texts.files:
            yield family, "// nothing is generated for CUDA"


def _binding(operators: Sequence[Operator], declarations: Declarations) -> Parts:
    from flambeau.codegen.plan.binding import plan_bindings
    from flambeau.codegen.write.bindings import emit_families
    from flambeau.codegen.write.files import Texts

    # A Python name has all its overloads in one function.
    names = {n for o in operators for n in (o.name, f"{o.name}_")}
    texts = Texts(declarations.package)
    emit_families([b for b in plan_bindings(declarations) if b.name in names], declarations, texts)
    yield from texts.files.items()


def _docs(operators: Sequence[Operator], declarations: Declarations) -> Parts:
    from flambeau.codegen.write.docs import emit_pages, pages
    from flambeau.codegen.write.files import Texts

    names = {o.name for o in operators}
    texts = Texts(declarations.package)
    emit_pages([p for p in pages(declarations) if p.name in names], declarations, texts)
    yield from texts.files.items()
    if not texts.files:
        yield operators[0].full_name, "an internal operator has no page"


def _tests(operators: Sequence[Operator], declarations: Declarations) -> Parts:
    """What tests/operators runs over."""
    for operator in operators:
        yield operator.full_name, "\n".join(_test_lines(operator))


def _test_lines(operator: Operator) -> Iterator[str]:
    test = operator.test
    yield f"reference: {test.reference or 'none'}"
    for text in test.properties:
        yield f"property: {text}"
    for index, sample in enumerate(test.samples):
        yield f"sample {index}: {_arguments(sample)}"
    for name, points in test.extremes.items():
        yield f"extremes of {name}: {', '.join(f'{p:g}' for p in points)}"
    for constraint in operator.constraints:
        rejected = test.rejects.get(constraint.name)
        what = "no test" if rejected is None else _arguments(rejected)
        yield f"{constraint.exception} '{constraint.name}': {what}"
    if test.tolerance is not None:
        yield f"tolerance: {test.tolerance:g}"
    if not test.gradient:
        yield "derivatives are not compared"
    if test.arbitrary:
        yield "elements may be anything"
    yield f"run: pytest tests/operators -k '{operator.full_name}'"


def _arguments(sample: dict[str, str]) -> str:
    return ", ".join(f"{name}={value}" for name, value in sample.items())


def _by_family(operators: Sequence[Operator]) -> dict[str, list[Operator]]:
    found: dict[str, list[Operator]] = {}
    for operator in operators:
        found.setdefault(operator.family, []).append(operator)
    return found


_PARTS: dict[str, tuple[str, Callable[[Sequence[Operator], Declarations], Parts]]] = {
    "cpp": ("the generated C++: operator, node, kernels", _cpp),
    "cuda": ("the generated CUDA", _cuda),
    "binding": ("the generated Python binding", _binding),
    "tests": ("what its tests run over", _tests),
    "docs": ("the reference page", _docs),
}

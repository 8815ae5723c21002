"""Functions of formulas that no C++ library has, in C++: written from their definitions."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from flambeau.codegen.formula import nodes
from flambeau.codegen.formula.dialect import CPP
from flambeau.codegen.formula.functions import Function, load_functions
from flambeau.codegen.formula.nodes import Expression
from flambeau.codegen.formula.to_cpp import Symbol, emit_scalar
from flambeau.codegen.write.files import Sink

_INLINED = replace(CPP, prefix=f"{CPP.prefix}{CPP.inlined}")  # definitions call few others


@dataclass(frozen=True, slots=True)
class FunctionText:
    """A function of some numbers of one type."""

    name: str
    doc: str
    type: str
    parameters: tuple[str, ...]
    lines: tuple[str, ...]
    single: tuple[str, ...]  # the lines of its form in float; without any, that of `type` is called
    branches: tuple[tuple[str, ...], ...]  # the lines of each, where lanes choose
    chosen: tuple[str, ...]  # the lines that say which


def emit_functions(sink: Sink) -> None:
    """functions.h, which the headers of mathematics of the CPU and of CUDA include, and the vector
    forms of those whose lanes choose a branch."""
    written = [_text(f) for f in load_functions().values() if f.written_in is not None]
    sink.render("functions.h.jinja", "functions.h", functions=written)
    choosing = [function for function in written if function.branches]
    sink.render("functions.simd.cpp.jinja", "cpu/functions.simd.cpp", functions=choosing)


def _text(function: Function) -> FunctionText:
    assert function.definition is not None
    assert function.written_in is not None
    names = tuple(p.name for p in function.parameters)
    branches, chosen = _branches(function.definition) if function.branches_apart else ((), None)
    return FunctionText(
        function.cpp,
        function.doc,
        function.written_in,
        names,
        _lines(function.definition, names, inlined=True),
        _lines(function.single, names, inlined=True) if function.single is not None else (),
        tuple(_lines(branch, names) for branch in branches),
        _lines(chosen, names) if chosen is not None else (),
    )


def _lines(formula: Expression, names: Sequence[str], *, inlined: bool = False) -> tuple[str, ...]:
    """The body of a C++ function."""
    symbols = {name: Symbol(name) for name in names}
    code = emit_scalar((formula,), symbols, dialect=_INLINED if inlined else CPP)
    return (*code.hoisted, *code.statements, f"return {code.results[0].code};")


def _branches(definition: Expression) -> tuple[tuple[Expression, ...], Expression]:
    """What a definition chooses from, and the number of what it chooses."""
    if not isinstance(definition, nodes.Conditional):
        return (definition,), nodes.Number(0.0)
    others, _ = _branches(definition.otherwise)
    return (definition.then, *others), _number(definition, 0)


def _number(formula: Expression, number: int) -> Expression:
    if not isinstance(formula, nodes.Conditional):
        return nodes.Number(float(number))
    return replace(
        formula, then=nodes.Number(float(number)), otherwise=_number(formula.otherwise, number + 1)
    )

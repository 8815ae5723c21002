"""Functions of formulas in C++: those that no library has, written from their definitions, and the
name that loops call for those that have vectors of their own."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from flambeau.codegen.formula import nodes
from flambeau.codegen.formula.dialect import CPP, Dialect
from flambeau.codegen.formula.functions import Function, headers_of, load_functions
from flambeau.codegen.formula.nodes import Expression
from flambeau.codegen.formula.to_cpp import ScalarCode, Symbol, emit_scalar
from flambeau.codegen.write.files import Sink

# Definitions call few others.
_INLINED = replace(CPP, prefix=f"{CPP.prefix}{CPP.inlined}", alone="")


@dataclass(frozen=True, slots=True)
class FunctionText:
    """A function of some numbers of one type."""

    name: str
    family: str
    headers: tuple[str, ...]  # of what it calls
    doc: str
    type: str
    parameters: tuple[str, ...]
    lines: tuple[str, ...]
    single: tuple[str, ...]  # the lines of its form in float; without any, that of `type` is called
    branches: tuple[tuple[str, ...], ...]  # the lines of each, where lanes choose
    chosen: tuple[str, ...]  # the lines that say which
    has_vectors: bool


def emit_functions(sink: Sink) -> None:
    """A header of each function, which units for the CPU and for CUDA include that call it, and
    the vector forms of those whose lanes choose a branch."""
    for function in load_functions().values():
        if function.written_in is None and function.has_vectors:
            names = [p.name for p in function.parameters]
            sink.render("function_alone.h.jinja", function.header, f=function, parameters=names)
        if function.written_in is not None:
            text = _text(function)
            sink.render("function.h.jinja", function.header, f=text)
            if text.branches:
                name = f"cpu/functions/{function.name}.simd.cpp"
                sink.render("function.simd.cpp.jinja", name, f=text)


def _text(function: Function) -> FunctionText:
    assert function.definition is not None
    assert function.written_in is not None
    names = tuple(p.name for p in function.parameters)
    branches, chosen = _branches(function.definition) if function.branches_apart else ((), None)
    whole = [_code(f, names) for f in (function.definition, function.single) if f is not None]
    return FunctionText(
        function.cpp,
        function.family,
        _headers(function, whole),
        function.doc,
        function.written_in,
        names,
        _body(whole[0]),
        _body(whole[1]) if function.single is not None else (),
        tuple(_body(_code(branch, names, CPP)) for branch in branches),
        _body(_code(chosen, names, CPP)) if chosen is not None else (),
        function.has_vectors,
    )


def _headers(function: Function, code: Iterable[ScalarCode]) -> tuple[str, ...]:
    called = headers_of(frozenset[str]().union(*(c.calls for c in code)))
    own = {function.family_header} if function.has_own_float else set[str]()
    return tuple(sorted(own.union(called)))


def _code(formula: Expression, names: Sequence[str], dialect: Dialect = _INLINED) -> ScalarCode:
    return emit_scalar((formula,), {name: Symbol(name) for name in names}, dialect=dialect)


def _body(code: ScalarCode) -> tuple[str, ...]:
    """Of a C++ function."""
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

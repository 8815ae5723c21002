"""Functions of formulas that no C++ library has, in C++: written from their definitions."""

from __future__ import annotations

from dataclasses import dataclass, replace

from flambeau.codegen.formula.dialect import CPP
from flambeau.codegen.formula.functions import Function, load_functions
from flambeau.codegen.formula.to_cpp import Symbol, emit_scalar
from flambeau.codegen.write.files import Sink

_INLINED = replace(CPP, prefix=f"{CPP.prefix}{CPP.inlined}")  # definitions do not call each other


@dataclass(frozen=True, slots=True)
class FunctionText:
    """A function of some numbers of one type."""

    name: str
    doc: str
    type: str
    parameters: tuple[str, ...]
    lines: tuple[str, ...]


def emit_functions(sink: Sink) -> None:
    """functions.h, which the headers of mathematics of the CPU and of CUDA include."""
    written = [f for f in load_functions().values() if f.written_in is not None]
    sink.render("functions.h.jinja", "functions.h", functions=[_text(f) for f in written])


def _text(function: Function) -> FunctionText:
    assert function.definition is not None
    assert function.written_in is not None
    names = tuple(p.name for p in function.parameters)
    symbols = {name: Symbol(name) for name in names}
    code = emit_scalar((function.definition,), symbols, dialect=_INLINED)
    lines = (*code.hoisted, *code.statements, f"return {code.results[0].code};")
    return FunctionText(function.cpp, function.doc, function.written_in, names, lines)

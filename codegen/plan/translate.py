"""Formulas of one file's operators as C++ over tensors: the expression emitter, bound to the
declarations."""

from __future__ import annotations

from collections.abc import Iterable

from flambeau.codegen.formula.nodes import Expression, Name
from flambeau.codegen.formula.parse import parse_source
from flambeau.codegen.model.entries import Declarations, Operator, Result
from flambeau.codegen.model.facts import LIST_METADATA, METADATA
from flambeau.codegen.model.operators import OperatorIndex
from flambeau.codegen.model.types import (
    BOOL,
    DTYPE,
    TENSOR,
    TENSORS,
    K,
    ValueType,
    results_type,
    value_type,
)
from flambeau.codegen.plan.cpp_types import cpp_dtype, cpp_name, result_type
from flambeau.codegen.plan.derivation import Derivations
from flambeau.codegen.plan.in_place import in_place
from flambeau.codegen.tensor.later import later_lets, let_names
from flambeau.codegen.tensor.to_cpp import Let, TensorCode, emit_condition, emit_tensor
from flambeau.codegen.tensor.values import Symbol
from flambeau.codegen.tensor.written import written_values

Names = dict[str, Symbol]

METADATA_TYPES = {name: known.type for name, known in {**METADATA, **LIST_METADATA}.items()}


def argument_names(operator: Operator) -> Names:
    """The arguments as they are called inside the operator's own functions."""
    return {
        a.name: Symbol(cpp_name(a.name), value_type(a.type)) for a in operator.signature.arguments
    }


class Translator:
    """Emits formulas and remembers which families' headers they need."""

    def __init__(
        self,
        declarations: Declarations,
        index: OperatorIndex,
        derivations: Derivations | None = None,
    ) -> None:
        self.derivations = derivations or Derivations(declarations, index)
        self.dtype_names = frozenset(d.name for d in declarations.dtypes)
        self.families: set[str] = set()
        self.calls: set[str] = set()  # operators that bodies call
        self.has_later = False  # whether a let is computed where it is read
        self.operator = "formula"  # whose formulas are translated: errors at run time name it
        self._dtypes = {d.name: f"DType::{cpp_dtype(d.name)}" for d in declarations.dtypes}
        self._index = index

    def written_values(self, formulas: Iterable[Expression]) -> frozenset[Expression]:
        """What calls in the formulas write into: no two of them may share it."""
        return written_values(formulas, self._index)

    def in_place(self, value: Expression, first: str) -> Expression | None:
        """The formula that writes the value over the argument `first`, if there is one."""
        return in_place(value, first, self._index)

    def code(
        self,
        expression: Expression,
        names: Names,
        wanted: ValueType | None = None,
        prefix: str = "t",
        zero: str | None = None,
        differentiated: bool = False,
    ) -> TensorCode:
        """Statements and an expression."""
        code = emit_tensor(
            expression,
            names,
            self._index,
            wanted=wanted,
            dtypes=self._dtypes,
            temporaries=prefix,
            operator=self.operator,
            zero=zero,
            differentiated=differentiated,
        )
        self.families |= code.families
        return code

    def value(self, expression: Expression, names: Names, wanted: ValueType | None = None) -> str:
        """A value that needs no statements: sizes, numbers, dtypes."""
        code = self.code(expression, names, wanted)
        assert not code.statements, f"{expression} needs statements"
        return code.code

    def condition(self, expression: Expression, names: Names) -> str:
        """A bool that is known before any element is read."""
        code = emit_condition(
            expression, names, self._index, dtypes=self._dtypes, operator=self.operator
        )
        self.families |= code.families
        return code.code

    def printed(self, expression: Expression, names: Names) -> str:
        """A value inside a message."""
        symbol = names.get(expression.identifier) if isinstance(expression, Name) else None
        if symbol is not None and symbol.type.kind is K.OPERAND:
            return f"printable({symbol.code})"  # the number itself, not the tensor made of it
        return f"printable({self.code(expression, names).code})"

    def dtype(self, rule: str, names: Names) -> str:
        """A dtype rule that is an expression."""
        return self.value(parse_source(rule), names, DTYPE)

    def assignments(
        self,
        expression: Expression,
        names: Names,
        target: str,
        is_list: bool,
        zero: str | None = None,
    ) -> list[str]:
        """`target = value;`, after the statements that the value needs; of a derivative, which may
        be recorded.
        """
        wanted = TENSORS if is_list else TENSOR
        code = self.code(expression, names, wanted, zero=zero, differentiated=True)
        return [*code.statements, f"{target} = {code.code};"]

    def returned(
        self, expression: Expression, names: Names, is_list: bool, zero: str | None = None
    ) -> list[str]:
        """The same as the body of a function."""
        wanted = TENSORS if is_list else TENSOR
        code = self.code(expression, names, wanted, zero=zero, differentiated=True)
        return [*code.statements, f"return {code.code};"]

    def evaluated(
        self,
        body: Expression,
        names: Names,
        results: tuple[Result, ...],
        *,
        lets_of: Operator | None = None,
        differentiated: bool = False,
    ) -> tuple[tuple[str, ...], str]:
        """A body that gives these results: statements, and the expression of its value.

        `lets_of`: whose lets it reads. `differentiated`: its operators are recorded, and their
        gradients are those of the body.
        """
        code = emit_tensor(
            body,
            names,
            self._index,
            wanted=results_type(results),
            dtypes=self._dtypes,
            operator=self.operator,
            lets=[] if lets_of is None else self._lets(lets_of),
            differentiated=differentiated,
        )
        self.families |= code.families
        self.has_later |= code.has_later
        self.calls |= code.calls
        return code.statements, code.code

    def _lets(self, operator: Operator) -> list[Let]:
        later = later_lets(operator, self._index)
        return [Let(let_names(n), value, n in later) for n, value in operator.body_lets]


__all__ = [
    "BOOL",
    "METADATA_TYPES",
    "Names",
    "Symbol",
    "Translator",
    "argument_names",
    "result_type",
]

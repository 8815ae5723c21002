"""Pointwise operators made of others: their formulas over tensors, where a backend has no kernel.

An operator whose formula comes back to itself (`exp` is `exp(self)`), also by an operator that is
made of it, is primitive, unless the function has a definition, as `tan(x)` has in
`sin(x) / cos(x)`. Random numbers come from the operator that fills with them, and are those that a
kernel would draw.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from flambeau.codegen.formula import nodes
from flambeau.codegen.formula.cpp import fail
from flambeau.codegen.formula.functions import OPERATOR_FUNCTIONS, load_functions
from flambeau.codegen.formula.nodes import Expression
from flambeau.codegen.model.entries import Declarations, Kind, Operator
from flambeau.codegen.model.operators import OperatorIndex
from flambeau.codegen.model.types import TENSOR, ValueKind, ValueType, value_type
from flambeau.codegen.plan.cpp_types import cpp_name
from flambeau.codegen.plan.kernels import COMMON, PointwiseKernel, forward_kernel
from flambeau.codegen.plan.reach import Reach
from flambeau.codegen.tensor.to_cpp import emit_tensor
from flambeau.codegen.tensor.values import Symbol
from flambeau.codegen.text.source import DeclarationError

_DRAWS = "draws"  # what stands for a draw in a formula over tensors
_GENERATOR = Symbol("&generator", ValueType(ValueKind.GENERATOR))


@dataclass(frozen=True, slots=True)
class Derivation:
    """A kernel of any backend: the lines of its body, and the operators that they call."""

    parameters: str
    lines: tuple[str, ...]
    calls: tuple[Operator, ...]
    families: frozenset[str]  # whose headers the lines need
    real_only: bool  # complex numbers need a kernel: definitions of functions are of real ones


class Derivations:
    """Derives pointwise operators, each once."""

    def __init__(self, declarations: Declarations, index: OperatorIndex) -> None:
        self._declarations = declarations
        self._index = index
        self._reach = Reach(declarations)
        self._written: dict[str, Derivation | None] = {}
        self._derived: dict[str, Derivation | None] = {}

    def of(self, operator: Operator) -> Derivation | None:
        """None where the operator is primitive, or is not pointwise."""
        name = operator.full_name
        if name not in self._derived:
            found = self._write(operator)
            if found is not None and self._reaches(found.calls, operator):
                found = None
            self._derived[name] = found
        return self._derived[name]

    def _reaches(self, calls: Iterable[Operator], target: Operator) -> bool:
        pending = list(calls)
        seen: set[str] = set()
        while pending:
            operator = pending.pop()
            if operator is target:
                return True
            if operator.full_name in seen:
                continue
            seen.add(operator.full_name)
            written = self._write(operator)
            pending += written.calls if written is not None else self._reach.called(operator)
        return False

    def _write(self, operator: Operator) -> Derivation | None:
        """The formulas over tensors, wherever they lead."""
        if operator.kind is not Kind.POINTWISE:
            return None
        name = operator.full_name
        if name not in self._written:
            try:
                self._written[name] = self._written_once(operator)
            except DeclarationError:  # it has no form over tensors
                self._written[name] = None
        return self._written[name]

    def _written_once(self, operator: Operator) -> Derivation | None:
        kernel = forward_kernel(operator, self._declarations)
        found = _Writer(self._declarations, self._index, kernel).write(operator.expressions)
        back = [c for c in found.calls if c is operator or operator in self._reach.called(c)]
        if not back:
            return found
        defined = dict(operator.expressions)
        for call in back:
            defined = {name: _defined(f, call.name) for name, f in defined.items()}
        if defined == dict(operator.expressions):
            return None
        category = {d.name: d.category for d in self._declarations.dtypes}
        real_only = any(category[name] == "complex" for name in kernel.dtypes)
        return _Writer(self._declarations, self._index, kernel).write(defined, real_only)


class _Writer:
    """Writes the kernel of one operator."""

    def __init__(
        self, declarations: Declarations, index: OperatorIndex, kernel: PointwiseKernel
    ) -> None:
        self._index = index
        self._dtypes = {d.name: f"DType::{d.name}" for d in declarations.dtypes}
        self._kernel = kernel
        self._lines = ["const GradMode no_grad(false);"]
        self._calls: dict[str, Operator] = {}
        self._families: set[str] = set()

    def write(self, formulas: Mapping[str, Expression], real_only: bool = False) -> Derivation:
        """`formulas`: of the outputs, by name; DeclarationError where one has no tensor form."""
        kernel = self._kernel
        if real_only:
            self._lines.append(f'check_composed_dtype(iter, "{kernel.name}");')
        scope = self._operands()
        draws = {
            node
            for formula in formulas.values()
            for node in nodes.walk(formula)
            if isinstance(node, nodes.Call) and _is_random(node)
        }
        if draws:
            scope[_DRAWS] = self._drawn(draws)
        for place in kernel.formula_order:
            output = kernel.outputs[place].name
            formula = nodes.transform(formulas[output], _without_draws)
            # Later formulas see the new value.
            scope[output] = self._value(formula, scope, f"{output}_value")
        self._lines += [
            f"write_output(iter, {i}, std::move({o.name}_value));"
            for i, o in enumerate(kernel.outputs)
        ]
        struct = kernel.parameter_struct
        return Derivation(
            parameters=f"Iterator& iter, const {struct}& parameters",
            lines=tuple(self._lines),
            calls=tuple(self._calls.values()),
            families=frozenset(self._families),
            real_only=real_only,
        )

    def _operands(self) -> dict[str, Symbol]:
        """Parameters and tensors as local variables."""
        kernel = self._kernel
        scope: dict[str, Symbol] = {}
        for argument in kernel.parameters:
            name = cpp_name(argument.name)
            self._lines.append(f"[[maybe_unused]] const auto& {name} = parameters.{name};")
            scope[argument.name] = Symbol(name, value_type(argument.type))
        for place, operand in enumerate((*kernel.outputs, *kernel.inputs)):
            if place < len(kernel.outputs) and operand.name not in kernel.in_out:
                continue
            name = cpp_name(operand.name)
            read = "read_number" if operand.dtype == COMMON else "read_operand"
            self._lines.append(f"[[maybe_unused]] const Tensor {name} = {read}(iter, {place});")
            scope[operand.name] = Symbol(name, TENSOR)
        return scope

    def _drawn(self, draws: set[nodes.Call]) -> Symbol:
        """One draw per element. Several would be told apart by numbers that operators give none."""
        draw, *others = draws
        fill = load_functions()[draw.function].tensors
        if others or fill is None:
            raise fail(draw, f"'{draw.function}()' is not all that is drawn")
        self._lines.append("Generator generator(parameters.stream.seed);")
        self._lines.append("generator.reserve(parameters.stream.offset);")
        self._lines.append("const Tensor unfilled = room_for_draws(iter);")
        scope = {"self": Symbol("unfilled", TENSOR), "generator": _GENERATOR}
        return self._value(fill, scope, f"{_DRAWS}_value")

    def _value(self, formula: Expression, scope: Mapping[str, Symbol], name: str) -> Symbol:
        """A local variable with the value of a formula."""
        code = emit_tensor(
            formula,
            scope,
            self._index,
            wanted=TENSOR,
            dtypes=self._dtypes,
            spell=self._spell,
            temporaries=f"{name}_t",
            operator=self._kernel.name,
        )
        self._families |= code.families
        self._lines += [*code.statements, f"Tensor {name} = {code.code};"]
        return Symbol(name, TENSOR)

    def _spell(self, called: Operator) -> str:
        self._calls[called.full_name] = called
        return f"ops::{called.identifier}"


def _is_random(call: nodes.Call) -> bool:
    function = load_functions().get(call.function)
    return function is not None and function.level == "random"


def _without_draws(node: Expression) -> Expression:
    return nodes.name(_DRAWS) if isinstance(node, nodes.Call) and _is_random(node) else node


def _defined(formula: Expression, name: str) -> Expression:
    """The formula with calls of the function `name` written by its definition."""
    function = load_functions().get(name)
    if function is None or function.definition is None:
        return formula

    def visit(node: Expression) -> Expression:
        if isinstance(node, nodes.Call) and node.function == name:
            return function.define(node.arguments)
        if isinstance(node, nodes.Binary) and OPERATOR_FUNCTIONS.get(node.operator) == name:
            return function.define((node.left, node.right))
        return node

    return nodes.transform(formula, visit)

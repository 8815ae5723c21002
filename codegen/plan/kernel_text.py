"""Scalar C++ of kernels, for the CPU and the CUDA templates."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from flambeau.codegen.formula import nodes
from flambeau.codegen.formula.nodes import Expression
from flambeau.codegen.formula.signs import ignores_sign
from flambeau.codegen.formula.to_cpp import (
    ScalarCode,
    ScalarType,
    Symbol,
    emit_constant,
    emit_scalar,
)
from flambeau.codegen.model.entries import Argument, Base, Declarations, Dtype, Operator
from flambeau.codegen.plan.compute import reduction_parameters, reduction_struct
from flambeau.codegen.plan.cpp_types import class_name, cpp_name, dtype_set, origin
from flambeau.codegen.plan.kernels import COMMON, REAL, KernelOperand, PointwiseKernel
from flambeau.codegen.plan.skipped import skipped

_ELEMENTS = {COMMON: ScalarType.ELEMENT, REAL: ScalarType.REAL, "bool": ScalarType.BOOL}
_PARAMETER_TYPES = {
    Base.SCALAR: ("Scalar", ScalarType.NUMBER),
    Base.INT: ("int64_t", ScalarType.INT),
    Base.FLOAT: ("double", ScalarType.FLOAT),
    Base.BOOL: ("bool", ScalarType.FLAG),
    Base.STR: ("std::string_view", ScalarType.STRING),
    Base.DTYPE: ("DType", ScalarType.INT),
}
_DRAWS = {"uniform": "Uniform<Real>", "normal": "Normal<Real>"}


@dataclass(frozen=True, slots=True)
class FormulaText:
    """One branch: what is computed once, and the function of an element."""

    condition: str | None  # over `parameters`
    hoisted: tuple[str, ...]
    parameters: str  # of the element function
    statements: tuple[str, ...]
    calls: frozenset[str]  # functions
    # Where some elements skip what is dear: whether one needs it, and what it is without.
    needs: tuple[str, ...] = ()
    rest: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class KernelText:
    """A pointwise kernel, ready to print."""

    name: str
    class_name: str
    struct: str
    fields: tuple[str, ...]
    origin: str
    dtypes: str  # a set in C++
    operands: tuple[str, ...]  # lists of types, as core/types/kernel_types.h names them
    numbers: tuple[str, ...]  # parameters as local constants
    formulas: tuple[FormulaText, ...]
    cost: int
    ignores_sign: bool  # of integers, which share loops then
    moves: bool  # elements as they are

    @property
    def calls(self) -> frozenset[str]:
        """The functions that its formulas call."""
        return frozenset[str]().union(*(formula.calls for formula in self.formulas))


def struct_fields(parameters: tuple[Argument, ...]) -> tuple[str, ...]:
    """Members of a parameter struct."""
    fields = []
    for argument in parameters:
        spelled = _PARAMETER_TYPES[argument.type.base][0]
        if argument.type.optional:
            spelled = f"std::optional<{spelled}>"
        fields.append(f"{spelled} {cpp_name(argument.name)};")
    return tuple(fields)


def kernel_text(
    operator: Operator, kernel: PointwiseKernel, declarations: Declarations
) -> KernelText:
    """Translates a kernel's formulas and spells the types of its operands."""
    draws = _draws(kernel)
    dtypes = {d.name: d for d in declarations.dtypes}
    fields = struct_fields(kernel.parameters)
    outputs = (
        f"InOut<{_operand(o, dtypes)}>" if o.name in kernel.in_out else _operand(o, dtypes)
        for o in kernel.outputs
    )
    operands = [
        f"Outs<{', '.join(outputs)}>",
        f"Ins<{', '.join(_operand(i, dtypes) for i in kernel.inputs)}>",
    ]
    if draws:
        operands.append(f"Draws<{', '.join(_DRAWS[name] for name in draws)}>")
    return KernelText(
        name=kernel.name,
        class_name=f"{class_name(kernel.name)}Kernel",
        struct=kernel.parameter_struct,
        fields=fields + (("RandomStream stream;",) if kernel.random else ()),
        origin=origin(operator),
        dtypes=dtype_set(kernel.dtypes, declarations),
        operands=tuple(operands),
        numbers=_number_lines(kernel.parameters),
        formulas=tuple(
            _formula(kernel, branch.condition, branch.formulas, draws) for branch in kernel.branches
        ),
        cost=kernel.cost,
        ignores_sign=_has_unsigned(kernel.dtypes, dtypes) and _ignores_sign(kernel),
        moves=_moves(kernel),
    )


def _has_unsigned(names: Iterable[str], dtypes: Mapping[str, Dtype]) -> bool:
    return any(dtypes[name].category in ("unsigned", "limited") for name in names)


def _ignores_sign(kernel: PointwiseKernel) -> bool:
    symbols = {name: symbol.type for name, symbol in kernel_symbols(kernel).items()}
    results = [element_type(o) for o in kernel.outputs]
    return not kernel.random and all(
        ignores_sign(formula, symbols, result)
        for branch in kernel.branches
        for formula, result in zip(branch.formulas, results, strict=True)
    )


def _moves(kernel: PointwiseKernel) -> bool:
    """Whether results are elements as they are, or one of two that a condition chooses."""
    symbols = {name: symbol.type for name, symbol in kernel_symbols(kernel).items()}
    are_elements = all(element_type(o) is ScalarType.ELEMENT for o in kernel.outputs)
    return are_elements and all(
        _is_moved(formula, symbols) for branch in kernel.branches for formula in branch.formulas
    )


def _is_moved(formula: Expression, symbols: Mapping[str, ScalarType]) -> bool:
    match formula:
        case nodes.Name(identifier=name):
            return symbols.get(name) is ScalarType.ELEMENT
        case nodes.Conditional(condition=nodes.Name(identifier=name), then=then, otherwise=other):
            is_known = symbols.get(name) is ScalarType.BOOL
            return is_known and _is_moved(then, symbols) and _is_moved(other, symbols)
    return False


def _operand(operand: KernelOperand, dtypes: Mapping[str, Dtype]) -> str:
    """An operand's type, as descriptions of kernels name it."""
    return {COMMON: "Element", REAL: "Real"}.get(operand.dtype) or dtypes[operand.dtype].cpp


def kernel_symbols(kernel: PointwiseKernel) -> dict[str, Symbol]:
    """Names of operands and parameters inside the formulas of a kernel."""
    symbols = parameter_symbols(kernel.parameters)
    for operand in (*kernel.outputs, *kernel.inputs):
        symbols[operand.name] = Symbol(cpp_name(operand.name), element_type(operand))
    return symbols


def element_type(operand: KernelOperand) -> ScalarType:
    """What an operand's elements are computed in."""
    return _ELEMENTS.get(operand.dtype, ScalarType.INDEX)


def parameter_symbols(parameters: tuple[Argument, ...]) -> dict[str, Symbol]:
    """Names of parameters inside formulas."""
    symbols = {}
    for argument in parameters:
        name = cpp_name(argument.name)
        presence = f"has_{argument.name}" if argument.type.optional else None
        symbols[argument.name] = Symbol(name, _PARAMETER_TYPES[argument.type.base][1], presence)
    return symbols


def _condition_symbols(parameters: tuple[Argument, ...]) -> dict[str, Symbol]:
    """Names of parameters inside the conditions of branches: what the call gave, numbers as
    doubles.
    """
    symbols = {}
    for argument in parameters:
        kind = _PARAMETER_TYPES[argument.type.base][1]
        given = f"parameters.{cpp_name(argument.name)}"
        value = f"(*{given})" if argument.type.optional else given
        code = f"{value}.to<double>()" if kind is ScalarType.NUMBER else value
        presence = f"{given}.has_value()" if argument.type.optional else None
        symbols[argument.name] = Symbol(code, kind, presence)
    return symbols


def _number_lines(parameters: tuple[Argument, ...]) -> tuple[str, ...]:
    """Parameters as local constants."""
    lines = []
    for argument in parameters:
        name = cpp_name(argument.name)
        spelled, kind = _PARAMETER_TYPES[argument.type.base]
        field = f"parameters.{name}"
        target = "N" if kind is ScalarType.NUMBER else spelled
        if argument.type.optional:
            lines.append(f"[[maybe_unused]] const bool has_{argument.name} = {field}.has_value();")
            inner = f"{field}->to<N>()" if kind is ScalarType.NUMBER else f"*{field}"
            value = f"{field} ? {inner} : {target}{{}}"
        else:
            value = f"{field}.to<N>()" if kind is ScalarType.NUMBER else field
        lines.append(f"[[maybe_unused]] const {target} {name} = {value};")
    return tuple(lines)


def _formula(
    kernel: PointwiseKernel,
    condition: Expression | None,
    formulas: tuple[Expression, ...],
    all_draws: Sequence[str],
) -> FormulaText:
    code = _code(kernel, formulas)
    by_reference = _writes_by_reference(kernel)
    names = [kernel.outputs[i].name for i in kernel.formula_order] if by_reference else []
    inputs = [f"{element_type(o).value} {cpp_name(o.name)}" for o in kernel.inputs]
    draws = [f"R {name}".rstrip() for name in _drawn(code.draws, all_draws)]
    outputs = []
    statements = list(code.statements)
    if by_reference:
        outputs = [f"{element_type(o).value}& {cpp_name(o.name)}" for o in kernel.outputs]
        statements += [
            f"{cpp_name(name)} = {value.code};"
            for name, value in zip(names, code.results, strict=True)
        ]
    else:
        statements.append(f"return {code.results[0].code};")
    symbols = _condition_symbols(kernel.parameters)
    decided = None if condition is None else emit_constant(condition, symbols)
    parts = [] if by_reference or draws else _skipped(kernel, formulas[0])
    calls = [c.calls for c in (code, decided, *parts) if c is not None]
    return FormulaText(
        condition=None if decided is None else decided.results[0].code,
        hoisted=(*code.hoisted, *(line for part in parts for line in part.hoisted)),
        parameters=", ".join((*outputs, *draws, *inputs)),
        statements=tuple(statements),
        calls=frozenset[str]().union(*calls),
        needs=_returned(parts[0]) if parts else (),
        rest=_returned(parts[1]) if parts else (),
    )


def _skipped(kernel: PointwiseKernel, formula: Expression) -> list[ScalarCode]:
    """Whether an element needs what is dear of a formula, and what the formula is without."""
    found = skipped(formula, {operand.name for operand in kernel.inputs})
    symbols = kernel_symbols(kernel)
    parts = (("n", found.needs), ("r", found.rest)) if found is not None else ()
    return [emit_scalar((part,), symbols, constants=name) for name, part in parts]


def _returned(code: ScalarCode) -> tuple[str, ...]:
    return (*code.statements, f"return {code.results[0].code};")


def _writes_by_reference(kernel: PointwiseKernel) -> bool:
    return bool(kernel.in_out) or len(kernel.outputs) > 1


def _code(kernel: PointwiseKernel, formulas: tuple[Expression, ...]) -> ScalarCode:
    """The formulas of a branch; later ones read earlier results where these have references."""
    symbols = kernel_symbols(kernel)
    if not _writes_by_reference(kernel):
        return emit_scalar(formulas, symbols)
    order = kernel.formula_order
    names = [kernel.outputs[i].name for i in order]
    return emit_scalar([formulas[i] for i in order], symbols, bind_results=names)


def _draws(kernel: PointwiseKernel) -> tuple[str, ...]:
    """The kinds of random numbers that every element has: those of all branches, each of which
    reads some of them, in order.
    """
    merged: list[str] = []
    for branch in kernel.branches if kernel.random else ():
        position = 0
        for kind in _code(kernel, branch.formulas).draws:
            if kind in merged[position:]:
                position = merged.index(kind, position)
            else:
                merged.insert(position, kind)
            position += 1
    return tuple(merged)


def _drawn(own: Sequence[str], merged: Sequence[str]) -> Iterator[str]:
    """What a branch calls the numbers; nothing where it does not read one."""
    count = 0
    for kind in merged:
        reads = count < len(own) and own[count] == kind
        yield f"{kind}_{count}" if reads else ""
        count += reads


@dataclass(frozen=True, slots=True)
class FoldPart:
    """A function of a fold."""

    name: str
    parameters: str
    lines: tuple[str, ...]
    calls: frozenset[str] = frozenset()  # functions


@dataclass(frozen=True, slots=True)
class FoldText:
    """A reduction's fold, ready to print."""

    name: str
    class_name: str
    struct: str
    fields: tuple[str, ...]
    origin: str
    dtypes: str  # a set in C++
    output: str  # as core/types/kernel_types.h names its type
    parts: tuple[FoldPart, ...]
    ignores_sign: bool = False  # of integers, which share loops then
    same_as: str = ""  # the class of one before it in its file that has the same parts

    @property
    def calls(self) -> frozenset[str]:
        """The functions that its parts call."""
        return frozenset[str]().union(*(part.calls for part in self.parts))


def fold_text(operator: Operator, declarations: Declarations) -> FoldText:
    """Translates init, step, combine and finish."""
    assert operator.reduce is not None
    fold = operator.reduce
    parameters = reduction_parameters(operator)
    dtypes = {d.name: d for d in declarations.dtypes}
    result = operator.signature.results[0]
    kind = result.dtype or operator.dtypes.results.get(result.name)
    accumulated = accumulated_type(operator, declarations)
    symbols = fold_symbols(operator, accumulated)
    types = {name: symbol.type for name, symbol in symbols.items()}
    numbers = _number_lines(parameters)
    return FoldText(
        name=operator.identifier,
        class_name=f"{class_name(operator.identifier)}Kernel",
        struct=reduction_struct(operator),
        fields=struct_fields(parameters),
        origin=origin(operator),
        dtypes=dtype_set(fold_dtypes(operator, declarations), declarations),
        output=dtypes[kind].cpp if kind in dtypes else "Real" if kind == REAL else "Element",
        parts=(
            start
            if (start := _start(fold.init, numbers))
            else _part("init", "", numbers, fold.init, symbols),
            _part("step", "A acc, T x", numbers, fold.step, symbols),
            _part("combine", "A a, A b", numbers, fold.combine, symbols),
            _part("finish", "A acc, int64_t n", numbers, fold.finish, symbols),
        ),
        ignores_sign=_has_unsigned(operator.dtypes.kernels, dtypes)
        and all(
            ignores_sign(part, types, accumulated)
            for part in (fold.init, fold.step, fold.combine, fold.finish)
        ),
    )


def with_shared_parts(folds: Iterable[FoldText]) -> Iterator[FoldText]:
    """Folds of one file, those with the parts of another one marked: its loops serve both."""
    known: dict[tuple[FoldPart, ...], str] = {}
    for fold in folds:
        same = "" if fold.fields else known.setdefault(fold.parts, fold.class_name)
        yield replace(fold, same_as=same if same != fold.class_name else "")


def fold_dtypes(operator: Operator, declarations: Declarations) -> tuple[str, ...]:
    """The dtypes that a reduction has kernels for, in their order."""
    return tuple(d.name for d in declarations.dtypes if d.name in operator.dtypes.kernels)


def fold_symbols(operator: Operator, accumulated: ScalarType) -> dict[str, Symbol]:
    """Names inside the parts of a fold."""
    return {
        **parameter_symbols(reduction_parameters(operator)),
        "x": Symbol("x", ScalarType.ELEMENT),
        "n": Symbol("n", ScalarType.INDEX),
        **{name: Symbol(name, accumulated) for name in ("acc", "a", "b")},
    }


def accumulated_type(operator: Operator, declarations: Declarations) -> ScalarType:
    """What accumulators hold, beside elements of the common dtype."""
    result = operator.signature.results[0]
    kind = result.dtype or operator.dtypes.results.get(result.name)
    dtypes = {d.name for d in declarations.dtypes}
    if kind == "real":
        return ScalarType.REAL
    if kind == "bool":
        return ScalarType.BOOL
    return ScalarType.INDEX if kind in dtypes else ScalarType.ELEMENT


def _start(expression: Expression, numbers: Sequence[str]) -> FoldPart | None:
    """A literal that starts a fold. An infinity is the extreme value of integers."""
    if isinstance(expression, nodes.Number):
        value = f"A({str(expression.value).lower()})"
    elif expression == nodes.name("inf"):
        value = "highest<A>()"
    elif expression == nodes.Unary("-", nodes.name("inf")):
        value = "lowest<A>()"
    else:
        return None
    return FoldPart("init", "", (*numbers, f"return {value};"))


def _part(
    name: str,
    parameters: str,
    numbers: Sequence[str],
    expression: Expression,
    symbols: dict[str, Symbol],
) -> FoldPart:
    code = emit_scalar((expression,), symbols)
    returned = f"return A({code.results[0].code});"
    return FoldPart(
        name, parameters, (*numbers, *code.hoisted, *code.statements, returned), code.calls
    )

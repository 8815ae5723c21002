"""The body that computes an operator's results, without autograd: checks, allocation, the kernel
call."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from flambeau.codegen.formula import nodes
from flambeau.codegen.model.entries import (
    Argument,
    Base,
    Constraint,
    Declarations,
    Kind,
    Operator,
    ShapeRule,
)
from flambeau.codegen.model.types import INT, INTS, TENSOR, ValueKind
from flambeau.codegen.plan.allocation import allocation, goes_to_a_tensor
from flambeau.codegen.plan.arguments import check_arguments
from flambeau.codegen.plan.cpp_types import (
    as_one,
    class_name,
    cpp_dtype,
    cpp_literal,
    cpp_name,
    cpp_type,
    dtype_set,
    kernel_type,
)
from flambeau.codegen.plan.kernels import (
    COMMON,
    REAL,
    PointwiseKernel,
    forward_kernel,
    result_dtype_kind,
)
from flambeau.codegen.plan.translate import (
    METADATA_TYPES,
    Names,
    Symbol,
    Translator,
    argument_names,
)

ERROR_KINDS = {
    "RuntimeError": "runtime",
    "ValueError": "value",
    "TypeError": "type",
    "IndexError": "index",
    "NotImplementedError": "not_implemented",
}


@dataclass(frozen=True, slots=True)
class Table:
    """A kernel table: its kernel's name and the function type that it holds."""

    kernel: str
    function: str
    optional: bool = False  # whoever calls has formulas where a backend has no kernel

    @property
    def name(self) -> str:
        return f"{self.kernel}_table"


@dataclass(frozen=True, slots=True)
class Compute:
    """What a description computes: what it takes, what it returns, its lines, the tables that it
    calls.
    """

    returns: str
    parameters: str
    lines: tuple[str, ...]
    tables: tuple[Table, ...]
    takes_out: bool  # begins with `const Destination& to`


def plan_compute(operator: Operator, declarations: Declarations, translator: Translator) -> Compute:
    """The computation of any operator but a composite."""
    match operator.kind:
        case Kind.POINTWISE:
            return _pointwise(operator, declarations, translator)
        case Kind.REDUCTION:
            return _reduction(operator, declarations, translator)
        case Kind.VIEW:
            return _view(operator, declarations, translator)
        case _:
            return _structured(operator, declarations, translator)


def plain_parameters(operator: Operator) -> str:
    """The operator's arguments as C++ parameters, without defaults."""
    return ", ".join(
        f"{cpp_type(a.type).parameter} {cpp_name(a.name)}" for a in operator.signature.arguments
    )


def argument_list(operator: Operator) -> str:
    """The arguments of a call that passes them on."""
    return ", ".join(cpp_name(a.name) for a in operator.signature.arguments)


def _checked_list(operator: Operator, names: Names) -> str:
    """The same after their checks."""
    return ", ".join(names[a.name].code for a in operator.signature.arguments)


def dtype_checks(operator: Operator, declarations: Declarations) -> list[str]:
    """Checks that tensors are defined, of accepted and of equal dtypes. What a composite takes of
    any dtype, the operators that it is made of check."""
    lines = []
    everything = frozenset(d.name for d in declarations.dtypes)
    for argument in operator.tensor_arguments:
        accepted = operator.dtypes.accepts.get(argument.name, everything)
        if operator.kind is Kind.COMPOSITE and accepted == everything:
            continue
        name = cpp_name(argument.name)
        mask = dtype_set(accepted, declarations)
        if argument.type.is_tensor_list:
            if argument.type.optional or accepted == everything:
                continue
            lines.append(f'check_tensors({name}, {mask}, "{operator.name}", "{argument.name}");')
            continue
        check = f'check_tensor({name}, {mask}, "{operator.name}", "{argument.name}");'
        lines.append(f"if ({name}.defined()) {check}" if argument.type.optional else check)
    for name, other in operator.dtypes.same_as.items():
        if operator.argument(name).type.is_list or operator.argument(other).type.is_list:
            continue
        lines.append(
            f'check_same_dtype({cpp_name(name)}, {cpp_name(other)}, "{operator.name}", '
            f'"{name}", "{other}");'
        )
    return lines


def constraint_checks(
    operator: Operator, translator: Translator, names: Names, reads_result: bool | None = None
) -> list[str]:
    """`FLAMBEAU_REQUIRE(require, ...)`. `reads_result`: only those that do (or do not) look at the
    result.
    """
    lines = []
    results = {r.name for r in operator.signature.results}
    for constraint in operator.constraints:
        about_result = bool(nodes.free_names(constraint.require) & results)
        if reads_result is not None and about_result is not reads_result:
            continue
        lines += _constraint(operator, constraint, translator, names)
    return lines


def _constraint(
    operator: Operator, constraint: Constraint, translator: Translator, names: Names
) -> list[str]:
    condition = translator.condition(constraint.require, names)
    parts = [
        cpp_literal(part) if isinstance(part, str) else translator.printed(part, names)
        for part in constraint.parts
    ]
    text = ", ".join([f'"{operator.name}(): "', *parts])
    if constraint.once:
        return [
            "static OnceWarning once;",
            f"if (once.is_due() && FLAMBEAU_UNLIKELY(!({condition}))) once.warn({text});",
        ]
    if constraint.only_warns:
        return [f"if (FLAMBEAU_UNLIKELY(!({condition}))) warn({text});"]
    kind = ERROR_KINDS[constraint.exception]
    return [f"FLAMBEAU_REQUIRE({as_one(condition)}, ErrorKind::{kind}, {text});"]


def _let_lines(operator: Operator, translator: Translator, names: Names) -> list[str]:
    """Lets of the shape rule as local variables; they extend `names`."""
    lines: list[str] = []
    for index, (targets, value) in enumerate(operator.shape.lets if operator.shape else ()):
        code = translator.code(value, names, prefix=f"let{index}_")
        if code.type.kind is ValueKind.LIST:  # which has no code unless it is known what of
            code = translator.code(value, names, INTS, prefix=f"let{index}_")
        lines += code.statements
        if len(targets) == 1:
            spelled = "const Shape" if code.type == INTS else "const auto"
            lines.append(f"[[maybe_unused]] {spelled} {cpp_name(targets[0])} = {code.code};")
            names[targets[0]] = Symbol(cpp_name(targets[0]), code.type)
            continue
        lines.append(f"const Shape let{index} = {code.code};")
        lines.append(f'check_rank(let{index}, {len(targets)}, "{operator.name}", "{value}");')
        for position, target in enumerate(targets):
            lines.append(
                f"[[maybe_unused]] const int64_t {cpp_name(target)} = let{index}[{position}];"
            )
            names[target] = Symbol(cpp_name(target), METADATA_TYPES["numel"])
    return lines


def table_for(kernel: PointwiseKernel, optional: bool = False) -> Table:
    return Table(kernel.name, f"void(Iterator&, const {kernel.parameter_struct}&)", optional)


def parameter_values(kernel: PointwiseKernel, names: dict[str, str] | None = None) -> str:
    """The parameter struct of a kernel call."""
    values = [(names or {}).get(a.name, cpp_name(a.name)) for a in kernel.parameters]
    if kernel.random:
        values.append("stream")
    return f"{kernel.parameter_struct}{{{', '.join(values)}}}"


def promotion(operator: Operator, kernel: PointwiseKernel) -> str:
    """A PromotionRule: what differs from the usual one, by which every input is promoted."""
    rule = []
    if kernel.promoted_mask != (1 << len(kernel.inputs)) - 1:
        rule.append(f".promoted = {kernel.promoted_mask:#x}u")
    if operator.dtypes.integers_to_float:
        rule.append(".integers_to_float = true")
    return f"{{{', '.join(rule)}}}"


def _pointwise(operator: Operator, declarations: Declarations, translator: Translator) -> Compute:
    kernel = forward_kernel(operator, declarations)
    takes_out = len(kernel.outputs) == 1 and not kernel.in_out
    lines = dtype_checks(operator, declarations)
    names = argument_names(operator)
    lines += check_arguments(operator, names)
    lines += constraint_checks(operator, translator, names, reads_result=False)
    lines.append("Iterator iter(name);")
    lines += _decided_dtype(operator, kernel)
    inputs = [cpp_name(i.name) for i in kernel.inputs]
    rule = promotion(operator, kernel)
    if takes_out:
        dtype = _declared_dtype(operator, kernel, kernel.outputs[0].dtype) or "std::nullopt"
        lines.append(f"forms::start({', '.join(['iter', 'to', dtype, rule, *inputs])});")
    else:
        for output in kernel.outputs:
            if output.name in kernel.in_out:
                lines.append(f"iter.add_in_out({cpp_name(output.name)});")
            else:
                dtype = _declared_dtype(operator, kernel, output.dtype)
                lines.append(f"iter.add_output({', '.join(filter(None, ['forms::kNew', dtype]))});")
        lines += [f"iter.add_input({name});" for name in inputs]
        if kernel.in_out:
            lines.append(f"iter.set_shape({cpp_name(kernel.outputs[0].name)}.sizes());")
        lines.append(f"iter.build({rule});")
    result_names = dict(names)
    for index, output in enumerate(kernel.outputs):
        result_names |= {
            output.name: Symbol(f"iter.output({index})", TENSOR),
            f"{output.name}.dtype": Symbol(f"iter.dtype({index})", METADATA_TYPES["dtype"]),
            f"{output.name}.shape": Symbol("iter.shape()", METADATA_TYPES["shape"]),
        }
    lines += constraint_checks(operator, translator, result_names, reads_result=True)
    if kernel.random:
        lines.append(
            f"const RandomStream stream = generator_or_default({_generator(operator)})"
            ".reserve(counters_for(iter.numel()));"
        )
    table = table_for(kernel)
    lines.append(f"forms::run({table.name}, iter, {parameter_values(kernel)});")
    if kernel.in_out:
        returns = "void"
    elif takes_out:
        returns = "Tensor"
        lines.append("return iter.take_output(0);")
    else:
        returns = f"std::tuple<{', '.join('Tensor' for _ in kernel.outputs)}>"
        values = ", ".join(f"iter.take_output({i})" for i in range(len(kernel.outputs)))
        lines.append(f"return {{{values}}};")
    return Compute(returns, _parameters(operator, takes_out), tuple(lines), (table,), takes_out)


def _destination(takes_out: bool) -> list[str]:
    return ["const Destination& to"] if takes_out else []


def _parameters(operator: Operator, takes_out: bool) -> str:
    return ", ".join(filter(None, [*_destination(takes_out), plain_parameters(operator)]))


def _decided_dtype(operator: Operator, kernel: PointwiseKernel) -> list[str]:
    """Where some operands have no say in the common dtype, they are converted to it."""
    converted = [i.name for i in kernel.inputs if i.dtype == COMMON]
    if kernel.in_out or set(converted) <= set(operator.dtypes.promote):
        return []
    decided = _common_dtype(operator, operator.dtypes.promote)
    return [
        f"if (FLAMBEAU_UNLIKELY({_common_dtype(operator, converted)} != {decided})) {{",
        f"  iter.set_common_dtype({decided});",
        "}",
    ]


def _generator(operator: Operator) -> str:
    found = [a for a in operator.signature.arguments if a.type.base is Base.GENERATOR]
    return cpp_name(found[0].name) if found else "nullptr"


def _declared_dtype(operator: Operator, kernel: PointwiseKernel, dtype: str) -> str:
    if dtype == COMMON:
        return ""
    if dtype == REAL:
        inputs = [i.name for i in kernel.inputs if i.dtype == COMMON]
        return f"real_dtype({_common_dtype(operator, inputs)})"
    return f"DType::{cpp_dtype(dtype)}"


def _common_dtype(operator: Operator, names: Iterable[str]) -> str:
    """The dtype that arguments are computed in together."""
    operands = ", ".join(f"Operand({cpp_name(name)})" for name in names)
    flag = "true" if operator.dtypes.integers_to_float else "false"
    return f"common_dtype({{{operands}}}, {flag})"


def _reduction(operator: Operator, declarations: Declarations, translator: Translator) -> Compute:
    arguments = {a.name: a for a in operator.signature.arguments}
    source = cpp_name(operator.tensor_arguments[0].name)
    names = argument_names(operator)
    result = operator.signature.results[0]
    lines = dtype_checks(operator, declarations)
    lines += check_arguments(operator, names)
    lines += constraint_checks(operator, translator, names)
    lines += _promotion_lines(operator)
    kind = result_dtype_kind(operator, result.name)
    lines.append(
        f"const DType result_dtype = {result_dtype(operator, result.name, translator, names)};"
    )
    fixed = kind in {d.name for d in declarations.dtypes}
    converted = f"cast_data({source}, result_dtype)"
    if fixed or kind == REAL:
        (converted,) = _converted(operator, [operator.tensor_arguments[0]], names)
    struct = reduction_struct(operator)
    table = Table(operator.identifier, f"void(const Reduction&, const {struct}&)")
    values = ", ".join(cpp_name(a.name) for a in _reduction_parameters(operator))
    given = [
        table.name,
        "name",
        "to",
        "result_dtype",
        converted,
        _reduced_dims(arguments, names),
        _keepdim(arguments),
        f"{struct}{{{values}}}",
    ]
    lines.append(f"return forms::reduce({', '.join(given)});")
    return Compute("Tensor", _parameters(operator, True), tuple(lines), (table,), True)


def reduction_struct(operator: Operator) -> str:
    return f"{class_name(operator.identifier)}Parameters"


def _reduction_parameters(operator: Operator) -> tuple[Argument, ...]:
    """Numbers that the fold itself reads."""
    assert operator.reduce is not None
    fold = operator.reduce
    read = frozenset[str]().union(
        *(nodes.free_names(e) for e in (fold.init, fold.step, fold.combine, fold.finish))
    )
    return tuple(
        a for a in operator.signature.arguments if a.type.base is not Base.TENSOR and a.name in read
    )


reduction_parameters = _reduction_parameters


def _reduced_dims(arguments: dict[str, Argument], names: Names) -> str:
    dim = arguments.get("dim")
    if dim is None:
        return "std::nullopt"
    code = names["dim"].code
    if dim.type.is_list:
        return code
    if dim.type.optional:
        return f"{code} ? std::optional<IntList>({code}->list()) : std::nullopt"
    return f"{code}.list()"


def _keepdim(arguments: dict[str, Argument]) -> str:
    return "keepdim" if "keepdim" in arguments else "false"


def result_dtype(operator: Operator, result: str, translator: Translator, names: Names) -> str:
    """The dtype of a result as a C++ expression."""
    declared = next((r.dtype for r in operator.signature.results if r.name == result), None)
    rule = declared or operator.dtypes.results.get(result)
    tensors = [a for a in operator.tensor_arguments if not a.type.optional]
    if rule is None or rule in ("common", COMMON):
        if not tensors:
            return "dtype.value_or(default_dtype())"
        first = cpp_name(tensors[0].name)
        if tensors[0].type.is_tensor_list:
            return f'common_dtype_of({first}, "{operator.name}")'
        return _dtype_of_first(operator, first)
    if rule in ("real", "complex"):
        return f"{rule}_dtype({_dtype_of_first(operator, cpp_name(tensors[0].name))})"
    if rule.isidentifier() and rule in translator.dtype_names:
        return f"DType::{cpp_dtype(rule)}"
    return translator.dtype(rule, names)


def _dtype_of_first(operator: Operator, first: str) -> str:
    return "common_" if operator.dtypes.integers_to_float else f"{first}.dtype()"


def _promotion_lines(operator: Operator) -> list[str]:
    """`common_`: what an operator that promotes integers computes in."""
    if not operator.dtypes.integers_to_float:
        return []
    return [f"const DType common_ = {_common_dtype(operator, operator.dtypes.promote)};"]


def _view(operator: Operator, declarations: Declarations, translator: Translator) -> Compute:
    assert operator.shape is not None
    base = cpp_name(operator.tensor_arguments[0].name)
    names = argument_names(operator)
    lines = dtype_checks(operator, declarations)
    lines += check_arguments(operator, names)
    result = operator.signature.results[0]
    has_dtype = bool(operator.dtypes.results.get(result.name))
    dtype = f", {result_dtype(operator, result.name, translator, names)}" if has_dtype else ""
    if operator.shape.geometry is not None:
        lines += constraint_checks(operator, translator, names)
        call = f"views::{operator.shape.geometry}({_checked_list(operator, names)})"
        if result.is_list:
            lines.append("std::vector<Tensor> results;")
            lines.append(
                f"for (const View& view : {call}) "
                f"results.push_back(make_view({base}, view{dtype}));"
            )
            lines.append("return results;")
            return Compute(
                "std::vector<Tensor>", plain_parameters(operator), tuple(lines), (), False
            )
        lines.append(f"return make_view({base}, {call}{dtype});")
        return Compute("Tensor", plain_parameters(operator), tuple(lines), (), False)
    lines += _let_lines(operator, translator, names)
    lines += constraint_checks(operator, translator, names)
    sizes = translator.value(operator.shape.shapes[result.name], names, INTS)
    strides = f"{base}.strides()"
    if operator.shape.strides is not None:
        strides = translator.value(operator.shape.strides, names, INTS)
    offset = f"{base}.offset()"
    if operator.shape.offset is not None:
        offset = translator.value(operator.shape.offset, names, INT)
    lines.append(f"return make_view({base}, View{{{sizes}, {strides}, {offset}}}{dtype});")
    return Compute("Tensor", plain_parameters(operator), tuple(lines), (), False)


def _by_lets(operator: Operator, rule: ShapeRule) -> tuple[list[Constraint], list[Constraint]]:
    """The constraints that do not read the shape rule's lets, and those that do."""
    lets = {name for names, _ in rule.lets for name in names}
    early: list[Constraint] = []
    late: list[Constraint] = []
    for constraint in operator.constraints:
        parts = [constraint.require, *(p for p in constraint.parts if not isinstance(p, str))]
        reads = frozenset[str]().union(*(nodes.free_names(part) for part in parts))
        (late if reads & lets else early).append(constraint)
    return early, late


def _only_counts(constraint: Constraint) -> bool:
    """Whether it asks for nothing but the lengths of lists."""
    counted = nodes.transform(constraint.require, _without_lengths)
    return all(isinstance(p, str) for p in constraint.parts) and not nodes.free_names(counted)


def _without_lengths(expression: nodes.Expression) -> nodes.Expression:
    is_length = isinstance(expression, nodes.Call) and expression.function == "len"
    return nodes.number(0) if is_length else expression


def _structured(operator: Operator, declarations: Declarations, translator: Translator) -> Compute:
    rule = operator.shape or ShapeRule(lets=(), shapes={})  # operators that only write in place
    names = argument_names(operator)
    # Where a list is empty, there is no tensor that lies on a device.
    counts = [c for c in operator.constraints if _only_counts(c)]
    lines = [line for c in counts for line in _constraint(operator, c, translator, names)]
    lines += dtype_checks(operator, declarations)
    lines += _device_lines(operator)
    lines += _promotion_lines(operator)
    lines += check_arguments(operator, names)
    # What reads no let is checked first: the lets compute shapes that may not exist.
    early, late = _by_lets(operator, rule)
    for constraint in [c for c in early if c not in counts]:
        lines += _constraint(operator, constraint, translator, names)
    lines += _let_lines(operator, translator, names)
    for constraint in late:
        lines += _constraint(operator, constraint, translator, names)
    results = operator.signature.results
    arguments = _converted(operator, operator.signature.arguments, names)
    types = [kernel_type(a.type) for a in operator.signature.arguments]
    if rule.dynamic:
        returns = compute_type(operator)
        table = Table(operator.identifier, f"{returns}({', '.join(types)})")
        lines.append(f"return {table.name}[device_.backend]({', '.join(arguments)});")
        return Compute(returns, plain_parameters(operator), tuple(lines), (table,), False)
    takes_out = goes_to_a_tensor(operator)
    for result in results:
        shape = translator.value(rule.shapes[result.name], names, INTS)
        dtype = result_dtype(operator, result.name, translator, names)
        made = allocation(operator, result, shape, dtype, translator, names)
        if result.spare:
            made = f"keeps ? {made} : Tensor()"
        lines.append(f"Tensor {cpp_name(result.name)} = {made};")
        names[result.name] = Symbol(cpp_name(result.name), TENSOR)
    outputs = [cpp_name(r.name) for r in results]
    function = f"void({', '.join(['const Tensor&'] * len(outputs) + types)})"
    table = Table(operator.identifier, function)
    lines.append(f"forms::run_on({', '.join(['device_', table.name, *outputs, *arguments])});")
    if takes_out:
        lines.append(f"return placed(to, std::move({outputs[0]}), name);")
    elif len(outputs) == 1:
        lines.append(f"return {outputs[0]};")
    elif outputs:
        lines.append(f"return {{{', '.join(outputs)}}};")
    first = ["bool keeps"] if operator.signature.spares_results else _destination(takes_out)
    parameters = ", ".join(filter(None, [*first, plain_parameters(operator)]))
    return Compute(compute_type(operator), parameters, tuple(lines), (table,), takes_out)


def _converted(operator: Operator, arguments: Iterable[Argument], names: Names) -> list[str]:
    """Arguments as a kernel gets them: checked, integers as floats where the operator promotes
    them, and apart from the only thing that it writes."""
    promoted = operator.dtypes.promote if operator.dtypes.integers_to_float else ()
    written = [a for a in operator.signature.arguments if a.type.mutable]
    is_alone = len(written) == 1 and not operator.signature.results
    given = []
    for argument in arguments:
        code = names[argument.name].code
        if argument.name in promoted:
            code = f"cast_data({code}, common_)"
        elif is_alone and argument not in written and _is_one_tensor(operator, argument):
            code = f"forms::Apart({names[written[0].name].code}, {code})"
        given.append(code)
    return given


def _is_one_tensor(operator: Operator, argument: Argument) -> bool:
    kind = argument.type
    is_tensor = kind.base is Base.TENSOR and not kind.is_tensor_list
    return (
        is_tensor
        and not kind.optional
        and not kind.or_scalar
        and (argument.name not in operator.layouts)
    )


def compute_type(operator: Operator) -> str:
    """What a description computes: hidden results too."""
    spelled = ["std::vector<Tensor>" if r.is_list else "Tensor" for r in operator.signature.results]
    if not spelled:
        return "void"
    return spelled[0] if len(spelled) == 1 else f"std::tuple<{', '.join(spelled)}>"


def _may_be_elsewhere(operator: Operator, argument: Argument) -> bool:
    """Whether an argument may lie on another device: its gradient is brought back there."""
    formulas = operator.derivative.formulas if operator.derivative else {}
    place = nodes.Attribute(nodes.name(argument.name), "device")
    return argument.name in formulas and place in nodes.walk(formulas[argument.name])


def _device_lines(operator: Operator) -> list[str]:
    """Where the operator runs, and the check that every tensor is there: every strided one, since
    where another is, its kernel asks.
    """
    found = [a for a in operator.tensor_arguments if not a.type.or_scalar]
    tensors = [a for a in found if a.name not in operator.layouts] or found[:1]
    required = [a for a in tensors if not a.type.optional]
    if not required:
        device = next((a for a in operator.signature.arguments if a.type.base is Base.DEVICE), None)
        if device is None:
            return ["const Device device_{};"]
        value = (
            f"{cpp_name(device.name)}.value_or(default_device())"
            if device.type.optional
            else cpp_name(device.name)
        )
        return [f"const Device device_ = {value};"]
    first = required[0]
    name = cpp_name(first.name)
    if first.type.is_tensor_list:
        lines = [f'const Device device_ = device_of({name}, "{operator.name}", "{first.name}");']
    else:
        moved = next((a for a in operator.signature.arguments if a.type.base is Base.DEVICE), None)
        place = f"{name}.device()"
        if moved is not None:
            place = f"{cpp_name(moved.name)}.value_or({place})"
        lines = [f"const Device device_ = {place};"]
    for other in tensors:
        if other is first or _may_be_elsewhere(operator, other):
            continue
        lines.append(
            f'check_same_device({cpp_name(other.name)}, device_, "{operator.name}", '
            f'"{other.name}");'
        )
    return lines

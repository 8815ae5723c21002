"""The C++ of an operator's autograd node: members, recording, gradients."""

from __future__ import annotations

from dataclasses import dataclass, replace

from flambeau.codegen.formula import nodes
from flambeau.codegen.model.entries import Argument, Declarations, Kind, Operator
from flambeau.codegen.model.facts import shown_name
from flambeau.codegen.model.types import TENSOR, TENSORS, K, ValueType, value_type
from flambeau.codegen.plan.backward import BackwardPlan, FusedKernel, GradientPlan, SavedField
from flambeau.codegen.plan.compute import parameter_values, promotion, table_for
from flambeau.codegen.plan.cpp_types import cpp_name
from flambeau.codegen.plan.kernels import KernelOperand
from flambeau.codegen.plan.node_name import node_name
from flambeau.codegen.plan.shared_parts import shared_parts
from flambeau.codegen.plan.translate import METADATA_TYPES, Names, Symbol, Translator


@dataclass(frozen=True, slots=True)
class NodeText:
    """Lines for the template."""

    name: str
    shown: str  # the value of `name()`
    members: tuple[str, ...]
    results: str  # that have gradients: their number, or kResultList
    fields: tuple[str, ...]  # the members that hold tensors
    gradients: tuple[str, ...]  # the body that computes them
    save: tuple[str, ...]  # what is kept of the arguments
    save_results: tuple[str, ...]


def node_text(
    operator: Operator, plan: BackwardPlan, translator: Translator, declarations: Declarations
) -> NodeText:
    """Everything that the template prints of a node."""
    return NodeText(
        name=plan.node,
        shown=node_name(
            operator, plan, _places(plan), _names(operator, plan), translator, declarations
        ),
        members=tuple(_members(plan)),
        results=_results(operator, plan),
        fields=tuple(
            f'{{"{field.name}", &{plan.node}::{field.member}}}'
            for field in plan.saved
            if field.is_tensor
        ),
        gradients=tuple(_gradients(operator, plan, translator)),
        save=tuple(_save(plan)),
        save_results=tuple(_store(plan, field) for field in plan.saved if field.is_result),
    )


def _results(operator: Operator, plan: BackwardPlan) -> str:
    if _is_list(operator):
        return "kResultList"
    return f"{len(plan.results)}{' | kMayLack' if _may_lack(plan) else ''}"


def _may_lack(plan: BackwardPlan) -> frozenset[str]:
    """The gradients of results of which formulas ask whether they came."""
    asked = (
        node.left.identifier
        for gradient in plan.gradients
        for node in nodes.walk(gradient.formula)
        if isinstance(node, nodes.Compare)
        and node.operator in ("is", "is not")
        and isinstance(node.left, nodes.Name)
    )
    return frozenset(asked) & frozenset(plan.gradient_names)


def _is_list(operator: Operator) -> bool:
    return any(r.is_list for r in operator.signature.results)


def _has_list(plan: BackwardPlan) -> bool:
    return any(a.type.is_tensor_list for a in plan.inputs)


def _members(plan: BackwardPlan) -> list[str]:
    lines = [f"{field.cpp} {field.member}{{}};" for field in plan.saved]
    return lines + [f"size_t {a.name}_count_ = 0;" for a in plan.inputs if a.type.is_tensor_list]


def _save(plan: BackwardPlan) -> list[str]:
    lines = [
        f"node.{a.name}_count_ = {cpp_name(a.name)}.size();"
        for a in plan.inputs
        if a.type.is_tensor_list
    ]
    return lines + [_store(plan, field) for field in plan.saved if not field.is_result]


def _store(plan: BackwardPlan, field: SavedField) -> str:
    """Keeps something. Tensors are kept only for the gradients that read them."""
    store = field.store
    if field.name == "self" and field.is_tensor and not field.is_list and not field.is_operand:
        store = 'overwrites ? save_overwritten(self, "self") : SavedTensor(self, "self")'
    statement = f"node.{field.member} = {store};"
    if field.only_if is not None:
        return f"if ({field.only_if}.defined()) {statement}"
    wanted = _readers(plan, field, "node.") if field.is_tensor else None
    return statement if wanted is None else f"if ({wanted}) {statement}"


def _readers(plan: BackwardPlan, field: SavedField, node: str = "") -> str | None:
    """C++: whether a gradient is wanted that reads a saved tensor; None where any does."""
    if _has_list(plan) or len(field.needed_by) == len(plan.inputs):
        return None
    return " || ".join(f"{node}wants({index})" for index in field.needed_by)


def _gradients(operator: Operator, plan: BackwardPlan, translator: Translator) -> list[str]:
    lines = _refusals(operator, plan)
    if _is_list(operator):
        (name,) = plan.gradient_names
        lines.append(
            f"[[maybe_unused]] const TensorList {name}(gradients.data(), gradients.size());"
        )
    else:
        lacking = _may_lack(plan)
        for index, name in enumerate(plan.gradient_names):
            if lacking and name not in lacking:
                value = f"const Tensor {name} = gradient_or_zeros(gradients, {index}, *this);"
            else:
                value = f"const Tensor& {name} = gradients[{index}];"
            lines.append(f"[[maybe_unused]] {value}")
    lines += _unpack_lines(plan)
    if plan.kernels:
        tables = (f"{fused.kernel.name}_table" for fused in plan.kernels)
        known = ", ".join([plan.gradient_names[0], *tables])
        lines.append(f"if (forms::by_kernels({known})) {{")
        lines += [f"  {line}" for line in _fused(operator, plan)]
        lines += ["  return;", "}"]
    return lines + _tensor_gradients(operator, plan, translator)


def _refusals(operator: Operator, plan: BackwardPlan) -> list[str]:
    """Errors where a gradient is wanted that is declared not to be known."""
    shown = operator.called_as or operator.name
    return [
        f'if ({wanted}) forms::refuse_gradient("{shown}", "{shown_name(argument.name)}");'
        for argument, wanted in _wanted(plan).items()
        if argument in plan.refused
    ]


def _wanted(plan: BackwardPlan) -> dict[Argument, str]:
    """C++: whether the gradient of an input, or of one item of a list, is wanted."""
    found = {}
    for argument, first in _places(plan).items():
        count = f"{argument.name}_count_"
        is_list = argument.type.is_tensor_list
        found[argument] = f"wants_any({first}, {first} + {count})" if is_list else f"wants({first})"
    return found


def _places(plan: BackwardPlan) -> dict[Argument, str]:
    """C++: the number of an input among the tensors of all, of a list that of its first item."""
    places = {}
    before, lists = 0, ""
    for argument in plan.inputs:
        places[argument] = f"{before}{lists}"
        if argument.type.is_tensor_list:
            lists += f" + {argument.name}_count_"
        else:
            before += 1
    return places


def _unpack_lines(plan: BackwardPlan) -> list[str]:
    lines = []
    for field in plan.saved:
        if not field.is_tensor:
            continue
        name = cpp_name(field.name)
        if field.is_list:
            lines.append(f"const std::vector<Tensor> {name} = unpack_list({field.member}, *this);")
            continue
        given = [field.member]
        if field.is_operand:
            lines.append(f"Tensor {field.name}_holder;")
            given.append(f"{field.name}_holder")
        given += filter(None, [_readers(plan, field)])
        kind = "Operand" if field.is_operand else "Tensor"
        lines.append(f"const {kind} {name} = unpack({', '.join(given)});")
    return lines


def _names(operator: Operator, plan: BackwardPlan) -> Names:
    """How formulas' names are spelled inside the body."""
    kind = TENSORS if _is_list(operator) else TENSOR
    lacking = _may_lack(plan)
    names = {n: Symbol(n, replace(kind, optional=n in lacking)) for n in plan.gradient_names}
    arguments = {a.name: a for a in operator.signature.arguments}
    for field in plan.saved:
        base, _, attribute = field.name.partition(".")
        code = cpp_name(field.name) if field.is_tensor else field.member
        if attribute:
            kind = METADATA_TYPES[attribute]
        elif base in arguments:
            kind = value_type(arguments[base].type)
        else:
            kind = TENSOR
        names[field.name] = Symbol(code, kind)
    return names


def _spelling(operator: Operator, plan: BackwardPlan) -> dict[str, str]:
    return {name: symbol.code for name, symbol in _names(operator, plan).items()}


def _tensor_gradients(operator: Operator, plan: BackwardPlan, translator: Translator) -> list[str]:
    names = _names(operator, plan)
    places, wanted = _places(plan), _wanted(plan)
    lines, shared = _shared_lines(plan, names, wanted, translator)
    for gradient in plan.gradients:
        formula = nodes.replace_subtrees(gradient.formula, shared)
        place, condition = places[gradient.argument], wanted[gradient.argument]
        if gradient.argument.type.is_tensor_list:
            lines += [
                f"if ({condition}) {{",
                "  std::vector<Tensor> values;",
                *(f"  {line}" for line in translator.assignments(formula, names, "values", True)),
                f"  for (size_t i = 0; i < {gradient.argument.name}_count_; ++i) {{",
                f"    if (wants({place} + i)) computed[{place} + i] = std::move(values[i]);",
                "  }",
                "}",
            ]
            continue
        if not nodes.free_names(gradient.formula):
            lines += _zero_lines(operator, plan, gradient)
            continue
        # What is flat has the gradient 0, with or without a kernel.
        zero = f"zeros_of({plan.gradient_names[0]})" if operator.kind is Kind.POINTWISE else None
        target = f"computed[{place}]"
        assigned = translator.assignments(formula, names, target, False, zero)
        lines += _if(condition, assigned)
    return lines


def _shared_lines(
    plan: BackwardPlan, names: Names, wanted: dict[Argument, str], translator: Translator
) -> tuple[list[str], dict[nodes.Expression, nodes.Expression]]:
    """Tensors that different gradients read, the results of a call among them, are computed once,
    where a gradient that reads them is wanted: statements, and the names (added to `names`) that
    stand for what is computed.
    """
    lines: list[str] = []
    shared: dict[nodes.Expression, nodes.Expression] = {}
    formulas = [gradient.formula for gradient in plan.gradients]
    for part in shared_parts(formulas, translator.written_values(formulas)):
        known = part.with_children(
            tuple(nodes.replace_subtrees(child, shared) for child in part.children)
        )
        code = translator.code(known, names, differentiated=True)
        kind = _shared_type(code.type)
        if kind is None:
            continue
        name = f"shared{len(shared)}"
        shared[part] = nodes.Name(name)
        names[name] = Symbol(name, code.type)
        lines.append(f"{kind} {name};")
        readers = [g.argument for g in plan.gradients if part in nodes.walk(g.formula)]
        condition = " || ".join(wanted[argument] for argument in readers)
        lines += _if(condition, [*code.statements, f"{name} = {code.code};"])
    return lines, shared


def _shared_type(type_: ValueType) -> str | None:
    """The C++ type of a tensor or of several; None for other values."""
    if type_ == TENSOR:
        return "Tensor"
    if type_.results and all(r.kind is K.TENSOR for r in type_.results):
        return f"std::tuple<{', '.join(['Tensor'] * len(type_.results))}>"
    return None


def _if(condition: str, lines: list[str]) -> list[str]:
    """Some statements under a condition."""
    if len(lines) == 1:
        return [f"if ({condition}) {lines[0]}"]
    return [f"if ({condition}) {{", *(f"  {line}" for line in lines), "}"]


def _zero_lines(operator: Operator, plan: BackwardPlan, gradient: GradientPlan) -> list[str]:
    """A constant zero: zeros for a function that is flat, nothing for what was overwritten."""
    if operator.kind is not Kind.POINTWISE or gradient.argument.type.mutable:
        return []
    return [
        f"if (wants({gradient.index})) "
        f"computed[{gradient.index}] = flat_gradient(*this, {gradient.index}, "
        f"{plan.gradient_names[0]});"
    ]


def _fused(operator: Operator, plan: BackwardPlan) -> list[str]:
    """Pass-through gradients, then one kernel for what is left, or one each."""
    lines = [
        f"if (wants({g.index})) computed[{g.index}] = {plan.gradient_names[0]};"
        for g in plan.gradients
        if g.passes_through
    ]
    for gradient in plan.gradients:
        if not nodes.free_names(gradient.formula):
            lines += _zero_lines(operator, plan, gradient)
    together = [k for k in plan.kernels if len(k.gradients) > 1]
    for fused in together:
        wanted = " && ".join(f"wants({index})" for index in fused.gradients)
        lines += [f"if ({wanted}) {{", f"  return {_run(operator, plan, fused)};", "}"]
    for fused in plan.kernels:
        if fused in together:
            continue
        index = fused.gradients[0]
        value = _run(operator, plan, fused)
        (scale,) = (g.scaled_by for g in plan.gradients if g.index == index)
        if scale is not None:
            value = f"{scale}_.equals(1) ? {plan.gradient_names[0]} : {value}"
        lines.append(f"if (wants({index})) computed[{index}] = {value};")
    return lines


def _run(operator: Operator, plan: BackwardPlan, fused: FusedKernel) -> str:
    """A call of a kernel: of one gradient its value, of several a statement."""
    kernel = fused.kernel
    names = _spelling(operator, plan)
    inputs = ", ".join(_operand(operand, names) for operand in kernel.inputs)
    given = [
        table_for(kernel).name,
        promotion(operator, kernel),
        f"{{{inputs}}}",
        parameter_values(kernel, names),
    ]
    if len(fused.gradients) == 1:
        return f"forms::gradient({', '.join([*given, f'edges[{fused.gradients[0]}]'])})"
    given.append(f"{{{', '.join(f'{{edges[{g}], computed[{g}]}}' for g in fused.gradients)}}}")
    return f"forms::gradients({', '.join(given)})"


def _operand(operand: KernelOperand, names: dict[str, str]) -> str:
    return names.get(operand.name, cpp_name(operand.name))

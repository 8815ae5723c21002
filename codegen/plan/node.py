"""The C++ of an operator's autograd node: members, recording, gradients."""

from __future__ import annotations

from dataclasses import dataclass

from flambeau.codegen.formula import nodes
from flambeau.codegen.model.entries import Kind, Operator
from flambeau.codegen.model.types import TENSOR, TENSORS, value_type
from flambeau.codegen.plan.backward import BackwardPlan, FusedKernel, GradientPlan, SavedField
from flambeau.codegen.plan.compute import parameter_values
from flambeau.codegen.plan.cpp_types import cpp_name
from flambeau.codegen.plan.kernels import KernelOperand
from flambeau.codegen.plan.translate import METADATA_TYPES, Names, Symbol, Translator


@dataclass(frozen=True, slots=True)
class NodeText:
    """Lines for the template."""

    name: str
    members: tuple[str, ...]
    release: tuple[str, ...]
    held: tuple[str, ...]
    saved_pairs: tuple[str, ...]
    apply: tuple[str, ...]
    record: tuple[str, ...]
    finish: tuple[str, ...]


def node_text(operator: Operator, plan: BackwardPlan, translator: Translator) -> NodeText:
    """Everything that the template prints of a node."""
    return NodeText(
        name=plan.node,
        members=tuple(_members(plan)),
        release=tuple(_release(plan)),
        held=tuple(field.member for field in plan.saved if field.is_tensor),
        saved_pairs=tuple(_saved_pairs(plan)),
        apply=tuple(_apply(operator, plan, translator)),
        record=tuple(_record(operator, plan)),
        finish=tuple(_finish(operator, plan)),
    )


def _has_list(plan: BackwardPlan) -> bool:
    return any(a.type.is_tensor_list for a in plan.inputs)


def _members(plan: BackwardPlan) -> list[str]:
    lines = [
        f"{field.cpp} {field.member};"
        if field.cpp in _CLASSES
        else f"{field.cpp} {field.member}{{}};"
        for field in plan.saved
    ]
    lines += [f"size_t {a.name}_count_ = 0;" for a in plan.inputs if a.type.is_tensor_list]
    return lines


_CLASSES = {"SavedTensor", "SavedOperand", "Shape", "std::string", "Scalar"}


def _release(plan: BackwardPlan) -> list[str]:
    lines = []
    for field in plan.saved:
        if not field.is_tensor:
            continue
        lines.append(f"{field.member}.clear();" if field.is_list else f"{field.member}.reset();")
    return lines


def _saved_pairs(plan: BackwardPlan) -> list[str]:
    return [
        f'{{"{field.name}", {field.member}.defined() '
        f"? {field.member}.unpack(*this, false) : Tensor()}}"
        for field in plan.saved
        if field.is_tensor and not field.is_list
    ]


def _record(operator: Operator, plan: BackwardPlan) -> list[str]:
    lines = []
    for argument in plan.inputs:
        name = cpp_name(argument.name)
        if argument.type.is_tensor_list:
            lines.append(f"node->{argument.name}_count_ = {name}.size();")
            lines.append(f"node->add_input({name});")
        else:
            lines.append(f"node->add_input({name});")
    for field in plan.saved:
        if field.is_result:
            continue
        store = field.store
        if field.name == "self" and field.is_tensor and not field.is_list and not field.is_operand:
            store = 'overwrites ? save_overwritten(self, "self") : SavedTensor(self, "self")'
        statement = f"node->{field.member} = {store};"
        lines.append(_when_wanted(plan, field, statement, "node->"))
    return lines


def _when_wanted(plan: BackwardPlan, field: SavedField, statement: str, prefix: str) -> str:
    """Tensors are kept only for the gradients that read them."""
    if field.only_if is not None:
        return f"if ({field.only_if}.defined()) {statement}"
    if not field.is_tensor or _has_list(plan) or len(field.needed_by) == len(plan.inputs) == 1:
        return statement
    wanted = " || ".join(f"{prefix}wants({index})" for index in field.needed_by)
    return f"if ({wanted}) {statement}"


def _finish(operator: Operator, plan: BackwardPlan) -> list[str]:
    """Saves the results that gradients read; they are linked to the node already."""
    lines = []
    for field in plan.saved:
        if field.is_result:
            lines.append(
                _when_wanted(plan, field, f"node->{field.member} = {field.store};", "node->")
            )
    return lines


def _apply(operator: Operator, plan: BackwardPlan, translator: Translator) -> list[str]:
    lines = ["Gradients computed(edges.size());"]
    if len(plan.results) == 1:
        name = plan.gradient_names[0]
        if any(r.is_list for r in operator.signature.results):
            lines.append(
                "for (size_t i = 0; i < gradients.size(); ++i) "
                "gradients[i] = gradient_or_zeros(gradients, i, *this);"
            )
            lines.append(
                f"[[maybe_unused]] const TensorList {name}(gradients.data(), gradients.size());"
            )
        else:
            lines.append("if (!gradients[0].defined()) return computed;")
            lines.append(f"[[maybe_unused]] const Tensor {name} = gradients[0];")
    else:
        for index, name in enumerate(plan.gradient_names):
            lines.append(
                f"[[maybe_unused]] const Tensor {name} = "
                f"gradient_or_zeros(gradients, {index}, *this);"
            )
    lines += _unpack_lines(plan)
    if plan.kernels:
        tables = ", ".join(f"{fused.kernel.name}_table" for fused in plan.kernels)
        backend = f"{plan.gradient_names[0]}.device().backend"
        lines.append(f"if (!is_tracking() && has_kernels({backend}, {tables})) {{")
        lines += [f"  {line}" for line in _fused(operator, plan)]
        lines.append("  return computed;")
        lines.append("}")
    lines += _tensor_gradients(operator, plan, translator)
    lines.append("return computed;")
    return lines


def _unpack_lines(plan: BackwardPlan) -> list[str]:
    lines = []
    for field in plan.saved:
        if not field.is_tensor:
            continue
        name = cpp_name(field.name)
        if field.is_list:
            lines.append(f"const std::vector<Tensor> {name} = unpack_list({field.member}, *this);")
        elif field.is_operand:
            lines.append(f"Tensor {field.name}_holder;")
            wanted = _if_wanted(plan, field, "true")
            lines.append(
                f"[[maybe_unused]] const Operand {name} = {wanted} "
                f"? {field.member}.unpack(*this, {field.name}_holder) "
                f": Operand({field.name}_holder);"
            )
        else:
            wanted = _if_wanted(plan, field, f"{field.member}.defined()")
            lines.append(
                f"[[maybe_unused]] const Tensor {name} = {wanted} "
                f"? {field.member}.unpack(*this) : Tensor();"
            )
    return lines


def _if_wanted(plan: BackwardPlan, field: SavedField, condition: str) -> str:
    """Whether a saved tensor is read by this backward."""
    if _has_list(plan) or len(field.needed_by) == len(plan.inputs) == 1:
        return condition
    wanted = " || ".join(f"wants({index})" for index in field.needed_by)
    return f"({wanted})" if condition == "true" else f"({wanted}) && {condition}"


def _names(operator: Operator, plan: BackwardPlan) -> Names:
    """How formulas' names are spelled inside apply()."""
    is_list = any(r.is_list for r in operator.signature.results)
    names = {name: Symbol(name, TENSORS if is_list else TENSOR) for name in plan.gradient_names}
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
    lines = []
    offset = "0"
    for gradient in plan.gradients:
        if gradient.argument.type.is_tensor_list:
            count = f"{gradient.argument.name}_count_"
            lines += [
                f"if (wants_any({offset}, {offset} + {count})) {{",
                "  std::vector<Tensor> values;",
                *(
                    f"  {line}"
                    for line in translator.assignments(gradient.formula, names, "values", True)
                ),
                f"  for (size_t i = 0; i < {count}; ++i) {{",
                f"    if (wants({offset} + i)) computed[{offset} + i] = std::move(values[i]);",
                "  }",
                "}",
            ]
            offset = f"{offset} + {count}"
            continue
        index = str(gradient.index) if offset == "0" else f"{offset} + {gradient.index}"
        if not nodes.free_names(gradient.formula):
            lines += _zero_lines(operator, plan, gradient)
            continue
        # What is flat has the gradient 0, with or without a kernel.
        zero = f"zeros_of({plan.gradient_names[0]})" if operator.kind is Kind.POINTWISE else None
        target = f"computed[{index}]"
        assigned = translator.assignments(gradient.formula, names, target, False, zero)
        lines.append(f"if (wants({index})) {{")
        lines += [f"  {line}" for line in assigned]
        lines.append("}")
    return lines


def _zero_lines(operator: Operator, plan: BackwardPlan, gradient: GradientPlan) -> list[str]:
    """A constant zero: zeros for a function that is flat, nothing for what was overwritten."""
    if operator.kind is not Kind.POINTWISE or gradient.argument.type.mutable:
        return []
    return [
        f"if (wants({gradient.index})) "
        f"computed[{gradient.index}] = zeros_of({plan.gradient_names[0]});"
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
        lines.append(f"if ({wanted}) {{")
        lines += [f"  {line}" for line in _run(operator, plan, fused)]
        lines.append("  return computed;")
        lines.append("}")
    for fused in plan.kernels:
        if fused in together:
            continue
        index = fused.gradients[0]
        scale = plan.gradients[index].scaled_by
        if scale is not None:
            lines.append(f"if (wants({index}) && {scale}_.equals(1)) {{")
            lines.append(f"  computed[{index}] = {plan.gradient_names[0]};")
            lines.append(f"}} else if (wants({index})) {{")
        else:
            lines.append(f"if (wants({index})) {{")
        lines += [f"  {line}" for line in _run(operator, plan, fused)]
        lines.append("}")
    return lines


def _run(operator: Operator, plan: BackwardPlan, fused: FusedKernel) -> list[str]:
    kernel = fused.kernel
    names = _spelling(operator, plan)
    lines = ["const Tensor fresh;", f'Iterator iter("{kernel.name}");']
    lines += ["iter.add_output(fresh);" for _ in kernel.outputs]
    lines += [f"iter.add_input({_operand(operand, names)});" for operand in kernel.inputs]
    flag = "true" if operator.dtypes.integers_to_float else "false"
    lines.append(
        f"iter.build({{.promoted = {kernel.promoted_mask:#x}u, .integers_to_float = {flag}}});"
    )
    lines.append("if (iter.numel() != 0 && iter.backend() != Backend::meta) {")
    lines.append(f"  {kernel.name}_table[iter.backend()](iter, {parameter_values(kernel, names)});")
    lines.append("}")
    lines += [f"computed[{g}] = iter.take_output({i});" for i, g in enumerate(fused.gradients)]
    return lines


def _operand(operand: KernelOperand, names: dict[str, str]) -> str:
    return names.get(operand.name, cpp_name(operand.name))

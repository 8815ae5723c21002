"""What an operator's node saves, and how it turns gradients of results into gradients of
arguments."""

from __future__ import annotations

from dataclasses import dataclass

from flambeau.codegen.formula import nodes
from flambeau.codegen.formula.nodes import Expression
from flambeau.codegen.formula.saved import reads_of
from flambeau.codegen.model.entries import Argument, Base, Declarations, Kind, Operator
from flambeau.codegen.model.facts import (
    LIST_METADATA,
    METADATA,
    WRITTEN,
    gradient_names,
    written_argument,
)
from flambeau.codegen.plan.cpp_types import class_name, cpp_name, cpp_type
from flambeau.codegen.plan.kernels import (
    PointwiseKernel,
    backward_kernel,
    forward_kernel,
)


@dataclass(frozen=True, slots=True)
class SavedField:
    """One member of a node."""

    name: str  # as formulas spell it: "self", "result", "self.shape", "dim"
    member: str  # "self_", "self_shape_"
    cpp: str  # its C++ type
    store: str  # how it is made from the operator's arguments
    needed_by: tuple[int, ...]  # gradients that read it; plain values are kept whatever is wanted
    is_tensor: bool
    is_result: bool = False
    is_operand: bool = False
    is_list: bool = False
    only_if: str | None = None  # an optional tensor whose metadata this is


@dataclass(frozen=True, slots=True)
class GradientPlan:
    """The gradient of one argument."""

    argument: Argument
    index: int  # among the node's inputs
    formula: Expression
    passes_through: bool  # the formula is `grad` itself
    scaled_by: str | None  # the number that multiplies `grad`: nothing is to be done when it is 1
    reads: frozenset[str]


@dataclass(frozen=True, slots=True)
class FusedKernel:
    """One backward kernel and the gradients that it computes."""

    kernel: PointwiseKernel
    gradients: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class BackwardPlan:
    """Everything that the node of an operator is made from."""

    node: str
    inputs: tuple[Argument, ...]
    gradients: tuple[GradientPlan, ...]
    saved: tuple[SavedField, ...]
    kernels: tuple[FusedKernel, ...]
    results: tuple[str, ...]  # results that carry gradients, in order
    gradient_names: tuple[str, ...]

    @property
    def refused(self) -> tuple[Argument, ...]:
        """Inputs whose gradient is declared not to be known: to ask for it is an error."""
        known = [g.argument for g in self.gradients]
        return tuple(a for a in self.inputs if a not in known)


def has_node(operator: Operator) -> bool:
    """Whether its calls are recorded as nodes of their own."""
    derivative = operator.derivative
    if operator.kind is Kind.COMPOSITE or derivative is None or derivative.none:
        return False
    return bool(derivative.formulas or derivative.excluded)


def plan_backward(operator: Operator, declarations: Declarations) -> BackwardPlan | None:
    """The plan, or None where nothing is differentiable or the derivative comes from a body."""
    derivative = operator.derivative
    if derivative is None or not has_node(operator):
        return None
    tracked = derivative.formulas.keys() | derivative.excluded
    names = gradient_names(operator.signature, operator.dtypes)
    if not names:
        return None
    results = tuple(names)
    inputs = tuple(a for a in operator.tensor_arguments if a.name in tracked)
    gradients = tuple(
        GradientPlan(
            argument=a,
            index=i,
            formula=derivative.formulas[a.name],
            passes_through=derivative.formulas[a.name] == nodes.name(names[results[0]]),
            scaled_by=_scale(operator, derivative.formulas[a.name], names[results[0]]),
            reads=reads_of(derivative.formulas[a.name]).spelled,
        )
        for i, a in enumerate(inputs)
        if a.name in derivative.formulas
    )
    return BackwardPlan(
        node=f"{class_name(operator.identifier)}Backward",
        inputs=inputs,
        gradients=gradients,
        saved=_saved_fields(operator, gradients, results),
        kernels=_fused_kernels(operator, gradients, declarations),
        results=results,
        gradient_names=tuple(names.values()),
    )


def _scale(operator: Operator, formula: Expression, gradient: str) -> str | None:
    """`alpha` for `alpha * grad` and `conj(alpha) * grad`, in either order."""
    if not isinstance(formula, nodes.Binary) or formula.operator != "*":
        return None
    factors = [formula.left, formula.right]
    if nodes.name(gradient) not in factors:
        return None
    factors.remove(nodes.name(gradient))
    factor = factors[0]
    if isinstance(factor, nodes.Call) and factor.function == "conj":
        factor = factor.arguments[0]
    numbers = {
        a.name
        for a in operator.signature.arguments
        if a.type.base is Base.SCALAR and not a.type.optional
    }
    return (
        factor.identifier
        if isinstance(factor, nodes.Name) and factor.identifier in numbers
        else None
    )


def _saved_fields(
    operator: Operator, gradients: tuple[GradientPlan, ...], outputs: tuple[str, ...]
) -> tuple[SavedField, ...]:
    names = gradient_names(operator.signature, operator.dtypes)
    incoming = frozenset(names[result] for result in outputs)
    arguments = {a.name: a for a in operator.signature.arguments}
    results = {r.name: r for r in operator.signature.results}
    readers: dict[str, list[int]] = {}
    for gradient in gradients:
        for read in sorted(gradient.reads):
            readers.setdefault(read, []).append(gradient.index)
    for condition in operator.grad_fn.conditions if operator.grad_fn else ():
        for read in sorted(reads_of(condition).spelled):
            readers.setdefault(read, [])
    fields = []
    for read, needed_by in readers.items():
        base, _, attribute = read.partition(".")
        if base in incoming:  # also where an argument has that name: the gradient hides it
            continue
        if attribute and (base in arguments or base in results):
            fields.append(_metadata_field(base, attribute, arguments.get(base), tuple(needed_by)))
        elif base == WRITTEN and (target := written_argument(operator.signature)) is not None:
            fields.append(_result_field(base, target.name, tuple(needed_by), is_output=True))
        elif base in arguments:
            fields.append(_argument_field(arguments[base], tuple(needed_by)))
        elif base in results:
            # Indices and hidden results are no outputs of the node: they have no history.
            fields.append(_result_field(base, base, tuple(needed_by), base in outputs))
    return tuple(fields)


def _result_field(
    name: str, tensor: str, needed_by: tuple[int, ...], is_output: bool
) -> SavedField:
    output = ", true" if is_output else ""
    return SavedField(
        name=name,
        member=f"{name}_",
        cpp="SavedTensor",
        store=f'SavedTensor({cpp_name(tensor)}, "{name}"{output})',
        needed_by=needed_by,
        is_tensor=True,
        is_result=True,
    )


def _metadata_field(
    base: str, attribute: str, argument: Argument | None, needed_by: tuple[int, ...]
) -> SavedField:
    is_list = argument is not None and argument.type.is_tensor_list
    known = (LIST_METADATA if is_list else METADATA)[attribute]
    is_operand = argument is not None and argument.type.or_scalar
    read = known.operand if is_operand and known.operand is not None else known.tensor
    owner = cpp_name(base)
    return SavedField(
        name=f"{base}.{attribute}",
        member=f"{base}_{attribute}_",
        cpp=known.stored,
        store=read.format(owner),
        needed_by=needed_by,
        is_tensor=False,
        is_result=argument is None,
        only_if=owner if argument is not None and argument.type.optional else None,
    )


def _argument_field(argument: Argument, needed_by: tuple[int, ...]) -> SavedField:
    spelled = cpp_type(argument.type)
    owner = cpp_name(argument.name)
    store = owner
    if argument.type.is_tensor:
        store = f'{spelled.stored}({owner}, "{argument.name}")'
    elif argument.type.is_tensor_list:
        store = f'save_list({owner}, "{argument.name}")'
    elif argument.type.is_list and argument.type.optional:
        store = f"{owner} ? {spelled.stored}({spelled.kept}(*{owner})) : std::nullopt"
    elif argument.type.is_list and argument.type.base is not Base.INT:
        store = f"{spelled.stored}({owner}.begin(), {owner}.end())"
    return SavedField(
        name=argument.name,
        member=f"{argument.name}_",
        cpp=spelled.stored,
        store=store,
        needed_by=needed_by,
        is_tensor=argument.type.base is Base.TENSOR,
        is_operand=argument.type.or_scalar,
        is_list=argument.type.is_tensor_list,
    )


def _fused_kernels(
    operator: Operator, gradients: tuple[GradientPlan, ...], declarations: Declarations
) -> tuple[FusedKernel, ...]:
    """One kernel per gradient, and one for all of them together where there are several."""
    if operator.kind is not Kind.POINTWISE:
        return ()
    forward = forward_kernel(operator, declarations)
    category = {d.name: d.category for d in declarations.dtypes}
    dtypes = tuple(d for d in forward.dtypes if category[d] in ("float", "complex"))
    computed = [g for g in gradients if not g.passes_through and nodes.free_names(g.formula)]
    kernels = [_fuse(operator, forward, f"_{g.argument.name}", (g,), dtypes) for g in computed]
    if len(computed) > 1:
        kernels.append(_fuse(operator, forward, "", tuple(computed), dtypes))
    return tuple(kernels)


def _fuse(
    operator: Operator,
    forward: PointwiseKernel,
    suffix: str,
    gradients: tuple[GradientPlan, ...],
    dtypes: tuple[str, ...],
) -> FusedKernel:
    formulas = {g.argument.name: g.formula for g in gradients}
    kernel = backward_kernel(operator, forward, suffix, formulas, dtypes)
    return FusedKernel(kernel, tuple(g.index for g in gradients))

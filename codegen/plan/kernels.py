"""Which pointwise kernels an operator needs: the forward one and the fused backward ones."""

from __future__ import annotations

from dataclasses import dataclass

from flambeau.codegen.formula import nodes
from flambeau.codegen.formula.functions import OPERATOR_FUNCTIONS, UNKNOWN_COST, load_functions
from flambeau.codegen.formula.nodes import Expression
from flambeau.codegen.model.entries import Argument, Base, Declarations, Operator
from flambeau.codegen.model.facts import gradient_names
from flambeau.codegen.plan.cpp_types import class_name

# How an operand's elements relate to the common dtype T of the kernel.
COMMON = "T"
REAL = "real"
_DIVISION = 4  # in instructions


@dataclass(frozen=True, slots=True)
class KernelOperand:
    """A tensor of a kernel. `dtype`: COMMON, REAL (of the common one), or a dtype's name."""

    name: str
    dtype: str


@dataclass(frozen=True, slots=True)
class Branch:
    """Formulas that hold when every condition (over non-tensor parameters) does."""

    condition: Expression | None
    formulas: tuple[Expression, ...]


@dataclass(frozen=True, slots=True)
class PointwiseKernel:
    """A loop over elements: outputs first, inputs after them, numbers in a parameter struct."""

    name: str
    outputs: tuple[KernelOperand, ...]
    in_out: frozenset[str]  # outputs that are also read
    inputs: tuple[KernelOperand, ...]
    parameters: tuple[Argument, ...]
    branches: tuple[Branch, ...]
    dtypes: tuple[str, ...]
    random: bool = False
    cost: int = 1
    evaluation: tuple[int, ...] = ()  # order of the formulas where it is not that of the outputs

    @property
    def formula_order(self) -> tuple[int, ...]:
        """Positions of the outputs, as their formulas are computed: a formula sees the new values
        of those before it."""
        return self.evaluation or tuple(range(len(self.outputs)))

    @property
    def parameter_struct(self) -> str:
        return f"{class_name(self.name)}Parameters"

    @property
    def promoted_mask(self) -> int:
        """Bit i: input i is converted to the common dtype."""
        return sum(1 << i for i, operand in enumerate(self.inputs) if operand.dtype == COMMON)


def forward_kernel(operator: Operator, declarations: Declarations) -> PointwiseKernel:
    """The kernel of a pointwise operator's own expression."""
    mutable = tuple(a for a in operator.tensor_arguments if a.type.mutable)
    order = {d.name: i for i, d in enumerate(declarations.dtypes)}
    outputs = [KernelOperand(a.name, COMMON) for a in mutable if a.name in operator.expressions]
    outputs += [
        KernelOperand(r.name, result_dtype_kind(operator, r.name))
        for r in operator.signature.results
    ]
    outputs = [o for o in outputs if o.name in operator.expressions]
    in_out = frozenset(a.name for a in mutable)
    inputs = [
        KernelOperand(a.name, operand_dtype(operator, a))
        for a in operator.tensor_arguments
        if a.name not in in_out
    ]
    formulas = tuple(operator.expressions[o.name] for o in outputs)
    names = frozenset(a.name for a in operator.tensor_arguments) | {o.name for o in outputs}
    written = list(operator.expressions)
    evaluation = sorted(range(len(outputs)), key=lambda i: written.index(outputs[i].name))
    return PointwiseKernel(
        name=operator.identifier,
        outputs=tuple(outputs),
        in_out=in_out,
        inputs=tuple(inputs),
        parameters=_parameters_read(operator, formulas),
        branches=split_uniform(formulas, names),
        dtypes=tuple(sorted(operator.dtypes.kernels, key=order.__getitem__)),
        random=operator.random is not None,
        cost=cost(formulas, names),
        evaluation=tuple(evaluation),
    )


def operand_dtype(operator: Operator, argument: Argument) -> str:
    """COMMON for arguments that take part in promotion, the one accepted dtype otherwise."""
    rule = operator.dtypes
    if argument.name in rule.promote:
        return COMMON
    accepted = rule.accepts.get(argument.name, frozenset())
    return next(iter(accepted)) if len(accepted) == 1 else COMMON


def result_dtype_kind(operator: Operator, result: str) -> str:
    """COMMON, REAL or a fixed dtype."""
    declared = next((r.dtype for r in operator.signature.results if r.name == result), None)
    kind = declared or operator.dtypes.results.get(result, COMMON)
    return {"common": COMMON, "real": REAL}.get(kind, kind)


def backward_kernel(
    operator: Operator,
    forward: PointwiseKernel,
    suffix: str,
    formulas: dict[str, Expression],
    dtypes: tuple[str, ...],
) -> PointwiseKernel:
    """The fused kernel of some gradients: argument -> formula over grad, arguments and results."""
    read = frozenset[str]().union(*(nodes.free_names(f) for f in formulas.values()))
    operands = {o.name: o for o in (*forward.outputs, *forward.inputs)}
    inputs = [
        KernelOperand(gradient, result_dtype_kind(operator, result))
        for result, gradient in gradient_names(operator.signature, operator.dtypes).items()
        if gradient in read
    ]
    inputs += [operand for name, operand in operands.items() if name in read]
    names = frozenset(o.name for o in inputs)
    outputs = tuple(KernelOperand(f"grad_of_{a}", COMMON) for a in formulas)
    values = tuple(formulas.values())
    return PointwiseKernel(
        name=f"{operator.identifier.rstrip('_')}_backward{suffix}",
        outputs=outputs,
        in_out=frozenset(),
        inputs=tuple(inputs),
        parameters=_parameters_read(operator, values),
        branches=split_uniform(values, names),
        dtypes=dtypes,
        cost=cost(values, names),
    )


def split_uniform(formulas: tuple[Expression, ...], tensors: frozenset[str]) -> tuple[Branch, ...]:
    """Lifts `a if condition else b` out of the loop where the condition reads no element."""
    condition = _first_uniform_condition(formulas, tensors)
    if condition is None:
        return (Branch(None, formulas),)
    then = split_uniform(tuple(_assume(f, condition, True) for f in formulas), tensors)
    otherwise = split_uniform(tuple(_assume(f, condition, False) for f in formulas), tensors)
    return (
        *(Branch(_both(condition, b.condition), b.formulas) for b in then),
        *otherwise,
    )


def _both(first: Expression, second: Expression | None) -> Expression:
    return first if second is None else nodes.Boolean("and", (first, second))


def _first_uniform_condition(
    formulas: tuple[Expression, ...], tensors: frozenset[str]
) -> Expression | None:
    for formula in formulas:
        for node in nodes.walk(formula):
            if isinstance(node, nodes.Conditional):
                read = nodes.free_names(node.condition)
                calls = nodes.calls(node.condition)
                if read and not read & tensors and not calls & load_functions().random:
                    return node.condition
    return None


def _assume(formula: Expression, condition: Expression, value: bool) -> Expression:
    def visit(node: Expression) -> Expression:
        if isinstance(node, nodes.Conditional) and node.condition == condition:
            return node.then if value else node.otherwise
        return node

    return nodes.transform(formula, visit)


def _parameters_read(operator: Operator, formulas: tuple[Expression, ...]) -> tuple[Argument, ...]:
    read = frozenset[str]().union(*(nodes.free_names(f) for f in formulas))
    return tuple(
        a
        for a in operator.signature.arguments
        if a.type.base not in (Base.TENSOR, Base.GENERATOR) and a.name in read
    )


def cost(formulas: tuple[Expression, ...], tensors: frozenset[str]) -> int:
    """Roughly how many instructions of vectors one element takes: threads start earlier for dear
    formulas. What reads no element is computed once.
    """
    return max(1, sum(_cost_of_element(formula, tensors) for formula in formulas))


def _cost_of_element(formula: Expression, tensors: frozenset[str]) -> int:
    table = load_functions()
    if not nodes.free_names(formula) & tensors and not nodes.calls(formula) & table.random:
        return 0
    own = 0
    if isinstance(formula, nodes.Call):
        function = table.get(formula.function)
        own = UNKNOWN_COST if function is None else function.cost
    elif isinstance(formula, nodes.Binary):
        called = OPERATOR_FUNCTIONS.get(formula.operator)
        own = table[called].cost if called else (_DIVISION if formula.operator == "/" else 1)
    return own + sum(_cost_of_element(child, tensors) for child in formula.children)

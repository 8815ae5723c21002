"""Symbolic gradients of pointwise formulas.

Gradients follow the convention that the gradient of a real loss points where the loss grows: for
holomorphic f the gradient of the argument is grad * conj(df/dz). `conj` is written only around
factors that may be complex, and emission for real types drops it. Functions of a complex argument
that are not holomorphic (abs, real, conj) declare their gradient; the chain rule runs backwards
through them.
"""

from __future__ import annotations

from flambeau.codegen.formula import nodes
from flambeau.codegen.formula.functions import (
    OPERATOR_FUNCTIONS,
    Function,
    FunctionTable,
    load_functions,
)
from flambeau.codegen.formula.nodes import (
    Binary,
    Call,
    Conditional,
    Expression,
    Name,
    Number,
    Unary,
)
from flambeau.codegen.formula.simplify import (
    ONE,
    ZERO,
    add,
    conditional,
    divide,
    drop_conjugates,
    is_number,
    literal,
    multiply,
    negate,
    simplify,
    subtract,
)
from flambeau.codegen.text.source import DeclarationError, Span

_CONSTANT_OPERATORS = frozenset(["&", "|", "^"])


def gradient(
    expression: Expression,
    argument: str,
    *,
    grad: str = "grad",
    is_complex: bool = False,
    functions: FunctionTable | None = None,
) -> Expression:
    """The gradient formula of `argument`, over `grad` and the names that the expression reads.

    `is_complex`: whether elements may be complex; otherwise no `conj` is emitted. ZERO where the
    argument has no influence. DeclarationError where a function on the way has no derivative.
    """
    differentiator = _Differentiator(argument, is_complex, functions or load_functions())
    expression = differentiator.expand(expression)
    result = differentiator.pull_back(Name(grad), expression)
    return simplify(result if is_complex else drop_conjugates(result))


def derivative(
    expression: Expression, argument: str, functions: FunctionTable | None = None
) -> Expression:
    """d expression / d argument, for real elements or holomorphic functions."""
    differentiator = _Differentiator(argument, False, functions or load_functions())
    return simplify(differentiator.derive(differentiator.expand(expression)))


class _Differentiator:
    def __init__(self, argument: str, is_complex: bool, functions: FunctionTable) -> None:
        self.argument = argument
        self.is_complex = is_complex
        self.functions = functions

    def expand(self, expression: Expression) -> Expression:
        """Replace functions that stand for a formula, and operators that stand for a function."""

        def visit(node: Expression) -> Expression:
            if isinstance(node, Call) and self._fits(node):
                function = self.functions[node.function]
                if function.expands is not None:
                    return function.expand(node.arguments)
            return node

        return nodes.transform(expression, visit)

    def depends(self, node: Expression) -> bool:
        """Whether the value follows the argument, as far as functions are called as declared."""
        if isinstance(node, Call) and not self._fits(node):
            return False
        return nodes.reads(node, {self.argument})

    def _fits(self, node: Call) -> bool:
        """Whether the call is of a function that there is; else the check of names reports it."""
        function = self.functions.get(node.function)
        return function is not None and len(node.arguments) == function.arity and not node.keywords

    def conjugate(self, node: Expression) -> Expression:
        value = literal(node)
        if not self.is_complex or (value is not None and not isinstance(value, complex)):
            return node
        if isinstance(node, Unary) and node.operator == "-":
            return negate(self.conjugate(node.operand))
        if (
            isinstance(node, Binary)
            and node.operator in ("*", "/")
            and literal(node.left) is not None
        ):
            return Binary(self.conjugate(node.left), node.operator, self.conjugate(node.right))
        return Call("conj", (node,))

    # --- backwards, through anything ---

    def pull_back(self, grad: Expression, node: Expression) -> Expression:
        """The gradient of the argument, given the gradient of the node's value."""
        if not self.depends(node):
            return ZERO
        if isinstance(node, Name):
            return grad
        if isinstance(node, Conditional):
            # Only the taken branch counts, so that a nan of the other one stays out.
            then = self.pull_back(grad, node.then)
            return conditional(node.condition, then, self.pull_back(grad, node.otherwise))
        if not self._needs_steps(node):
            return self._attach(grad, self.derive(node))
        total: Expression = ZERO
        for index, child in enumerate(node.children):
            if self.depends(child):
                total = add(total, self.pull_back(self._step(grad, node, index), child))
        return total

    def _needs_steps(self, node: Expression) -> bool:
        """Whether some function on the way is not holomorphic, and elements are complex."""
        if not self.is_complex:
            return False
        return any(
            isinstance(inner, Call)
            and (function := self.functions.get(inner.function)) is not None
            and function.gradients
            and self.depends(inner)
            for inner in nodes.walk(node)
        )

    def _attach(self, grad: Expression, factor: Expression) -> Expression:
        """grad * conj(factor); branches of a conditional factor are chosen before multiplying. A
        quotient of two large numbers stays together: `grad * (x / r)` does not overflow.
        """
        if isinstance(factor, Conditional):
            then = self._attach(grad, factor.then)
            return conditional(factor.condition, then, self._attach(grad, factor.otherwise))
        if isinstance(factor, Unary) and factor.operator == "-":
            return negate(self._attach(grad, factor.operand))
        if (
            isinstance(factor, Binary)
            and factor.operator == "/"
            and literal(factor.left) is not None
        ):
            return divide(self._attach(grad, factor.left), self.conjugate(factor.right))
        return multiply(grad, self.conjugate(factor))

    def _step(self, grad: Expression, node: Expression, index: int) -> Expression:
        """The gradient of operand `index` of the node."""
        if isinstance(node, Call):
            function = self.functions[node.function]
            parameter = function.parameters[index].name
            formula = function.gradients.get(parameter)
            if formula is not None:
                return nodes.substitute(formula, {**function.bind(node.arguments), "grad": grad})
        return self._attach(grad, self._partial(node, index))

    # --- symbolic derivative ---

    def derive(self, node: Expression) -> Expression:
        """d node / d argument."""
        if not self.depends(node):
            return ZERO
        match node:
            case Name():
                return ONE
            case Unary(operator="-", operand=operand):
                return negate(self.derive(operand))
            case Unary(operator="+", operand=operand):
                return self.derive(operand)
            case Unary() | nodes.Compare() | nodes.Boolean():
                return ZERO
            case Conditional(condition=condition, then=then, otherwise=otherwise):
                return conditional(condition, self.derive(then), self.derive(otherwise))
            case Binary(operator=operator) if operator in _CONSTANT_OPERATORS:
                return ZERO
            case Binary(left=left, operator="+", right=right):
                return add(self.derive(left), self.derive(right))
            case Binary(left=left, operator="-", right=right):
                return subtract(self.derive(left), self.derive(right))
            case Binary(left=left, operator="*", right=right):
                return add(
                    self._chain(self.derive(left), right), self._chain(self.derive(right), left)
                )
            case Binary(left=left, operator="/", right=right) if not self.depends(right):
                return self._divide(self.derive(left), right)
            case Binary() | Call():
                total: Expression = ZERO
                for index, child in enumerate(node.children):
                    inner = self.derive(child)
                    if not is_number(inner, 0):
                        total = add(total, self._chain(inner, self._partial(node, index)))
                return total
        raise _error(node, f"'{node}' has no derivative element by element")

    def _chain(self, inner: Expression, outer: Expression) -> Expression:
        """outer * inner; conditionals stay outside, so that 0 * inf never meets."""
        if is_number(inner, 0):
            return ZERO
        if isinstance(inner, Conditional):
            then = self._chain(inner.then, outer)
            return conditional(inner.condition, then, self._chain(inner.otherwise, outer))
        if isinstance(outer, Conditional):
            then = self._chain(inner, outer.then)
            return conditional(outer.condition, then, self._chain(inner, outer.otherwise))
        return multiply(outer, inner)

    def _divide(self, inner: Expression, divisor: Expression) -> Expression:
        if isinstance(inner, Conditional):
            then = self._divide(inner.then, divisor)
            return conditional(inner.condition, then, self._divide(inner.otherwise, divisor))
        return divide(inner, divisor)

    def _partial(self, node: Expression, index: int) -> Expression:
        """The partial derivative of an operator or function by its operand `index`."""
        if isinstance(node, Unary):
            return Number(-1) if node.operator == "-" else ONE if node.operator == "+" else ZERO
        if isinstance(node, Call):
            function = self.functions[node.function]
            return self._partial_of_function(function, node, node.arguments, index)
        if not isinstance(node, Binary):
            return ZERO
        left, operator, right = node.left, node.operator, node.right
        match operator:
            case "+":
                return ONE
            case "-":
                return ONE if index == 0 else Number(-1)
            case "*":
                return right if index == 0 else left
            case "/":
                if index == 0:
                    return divide(ONE, right)
                return negate(Binary(node, "/", right))
            case "**" if index == 0 and literal(right) is not None:
                return _power_rule(left, right)
        name = OPERATOR_FUNCTIONS.get(operator)
        if name is None or name not in self.functions:
            return ZERO
        return self._partial_of_function(self.functions[name], node, (left, right), index)

    def _partial_of_function(
        self, function: Function, node: Expression, arguments: tuple[Expression, ...], index: int
    ) -> Expression:
        parameter = function.parameters[index]
        if parameter.type == "condition" or function.result == "bool":
            return ZERO
        if (
            function.name == OPERATOR_FUNCTIONS["**"]
            and index == 0
            and literal(arguments[1]) is not None
        ):
            return _power_rule(*arguments)
        formula = function.derivatives.get(parameter.name)
        if formula is None:
            if function.accepts == {"integral"}:
                return ZERO
            hint = "write the gradient formula by hand"
            raise _error(node, f"'{function.name}' has no derivative by '{parameter.name}'", hint)
        return simplify(self.expand(nodes.substitute(formula, function.bind(arguments))))


def _power_rule(base: Expression, exponent: Expression) -> Expression:
    value = literal(exponent)
    assert value is not None
    if value == 0:
        return ZERO
    if value == 2:
        return multiply(Number(2), base)
    lower = simplify(Binary(base, "**", Number(value - 1)))
    return multiply(Number(value), lower)


def _error(node: Expression, message: str, hint: str | None = None) -> DeclarationError:
    return DeclarationError.at(nodes.first_span(node) or Span("<formula>", 1, 1), message, hint)

"""What an operator's node of autograd is called, `grad_fn.name()`: as in PyTorch, by its own habit
where there is one, otherwise as an entry's key `grad_fn` says.
"""

from __future__ import annotations

from dataclasses import dataclass

from flambeau.codegen.model.entries import Argument, Declarations, NodeName, Operator
from flambeau.codegen.plan.backward import BackwardPlan, has_node
from flambeau.codegen.plan.overload_names import base_name
from flambeau.codegen.text.source import DeclarationError


@dataclass(frozen=True, slots=True)
class NameText:
    """C++: a condition over the node's members, "" for none, and what it is called then."""

    name: str
    condition: str = ""
    then: str = ""

    @property
    def code(self) -> str:
        """The value of `name()`."""
        chosen = f'{self.condition} ? "{self.then}" : ' if self.condition else ""
        return f'{chosen}"{self.name}"'


def name_text(
    operator: Operator, plan: BackwardPlan, places: dict[Argument, str], declarations: Declarations
) -> NameText:
    """How the node says what it is called. `places`: of the inputs among its edges."""
    declared = operator.grad_fn
    name = declared or _derived(operator, declarations)
    if not name.argument:
        return NameText(name.name)
    condition = _condition(name.argument, plan, places)
    if condition is not None:
        return NameText(name.name, condition, name.given)
    if declared:
        message = f"'grad_fn' asks for '{name.argument}', which the gradients do not read"
        raise DeclarationError.at(operator.span, message)
    return NameText(name.name)


def _condition(argument: str, plan: BackwardPlan, places: dict[Argument, str]) -> str | None:
    """C++: whether an argument was given, or was a tensor and no number, as far as a node knows."""
    for field in plan.saved:
        if field.name == argument:
            return f"{field.member}.{'is_tensor' if field.is_operand else 'has_value'}()"
    for input, place in places.items():
        if input.name == argument:
            return f"edges[{place}].node"
    return None


def _derived(operator: Operator, declarations: Declarations) -> NodeName:
    """`MulBackward0`. PyTorch numbers overloads that have gradients of their own."""
    words = base_name(operator.namespace, operator.name).removesuffix("_inplace").split("_")
    # As `str.title` does, so that letters behind digits are capitals too: `MaxPool2D`.
    stem = f"{''.join(map(str.title, words))}Backward"
    before = sum(2 if _chosen_by(o) else 1 for o in _declared_before(operator, declarations))
    return NodeName(f"{stem}{before}", _chosen_by(operator), f"{stem}{before + 1}")


def _declared_before(operator: Operator, declarations: Declarations) -> list[Operator]:
    """Operators with nodes that are called the same in Python."""
    same = [o for o in declarations.by_name[operator.name] if o.namespace == operator.namespace]
    return [o for o in same[: same.index(operator)] if has_node(o)]


def _chosen_by(operator: Operator) -> str:
    """The argument that chooses between two overloads; "" where there is but one."""
    return next((n.argument for n in operator.overload if n.when == "given"), "")

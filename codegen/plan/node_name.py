"""What an operator's node of autograd is called, `grad_fn.name()`: as in PyTorch, by its own habit
where there is one, otherwise as an entry's key `grad_fn` says.
"""

from __future__ import annotations

from collections.abc import Callable

from flambeau.codegen.model.entries import Argument, Declarations, NodeName, Operator
from flambeau.codegen.plan.backward import BackwardPlan, has_node
from flambeau.codegen.plan.cpp_types import cpp_name
from flambeau.codegen.plan.overload_names import base_name
from flambeau.codegen.plan.translate import Names, Translator
from flambeau.codegen.text.source import DeclarationError


def node_name(
    operator: Operator,
    plan: BackwardPlan,
    places: dict[Argument, str],
    names: Names,
    translator: Translator,
    declarations: Declarations,
) -> str:
    """C++: what a node calls itself. `places`: of the inputs among its edges; `names`: of its
    members.
    """
    declared = operator.grad_fn
    name = declared or _derived(operator, declarations)

    def given(argument: str) -> str | None:
        found = _known_of(argument, plan, places)
        if found is None and declared:
            message = f"'grad_fn' asks for '{argument}', which the gradients do not read"
            raise DeclarationError.at(operator.span, message)
        return found

    return _first_that_holds(name, f'"{name.name}"', given, names, translator)


def label(name: NodeName, operator: Operator, names: Names, translator: Translator) -> str:
    """C++: what a composite calls its last node, null where that keeps its name."""
    types = {a.name: a.type for a in operator.signature.arguments}

    def given(argument: str) -> str:
        type = types[argument]
        asked = "is_tensor" if type.or_scalar else "defined" if type.is_tensor else "has_value"
        return f"{cpp_name(argument)}.{asked}()"

    otherwise = f'"{name.name}"' if name.name else "nullptr"
    return _first_that_holds(name, otherwise, given, names, translator)


def _first_that_holds(
    name: NodeName,
    otherwise: str,
    given: Callable[[str], str | None],
    names: Names,
    translator: Translator,
) -> str:
    """C++: the name that the first case gives which holds. `given`: whether an argument was; None:
    it is not known, and the case never holds.
    """
    code = otherwise
    for case, then in reversed(name.cases):
        condition = given(case) if isinstance(case, str) else translator.condition(case, names)
        if condition is not None:
            code = f'{condition} ? "{then}" : {code}'
    return code


def _known_of(argument: str, plan: BackwardPlan, places: dict[Argument, str]) -> str | None:
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
    chosen = _chosen_by(operator)
    return NodeName(f"{stem}{before}", ((chosen, f"{stem}{before + 1}"),) if chosen else ())


def _declared_before(operator: Operator, declarations: Declarations) -> list[Operator]:
    """Operators with nodes that are called the same in Python."""
    same = [o for o in declarations.by_name[operator.name] if o.namespace == operator.namespace]
    return [o for o in same[: same.index(operator)] if has_node(o)]


def _chosen_by(operator: Operator) -> str:
    """The argument that chooses between two overloads; "" where there is but one."""
    return next((n.argument for n in operator.overload if n.when == "given"), "")

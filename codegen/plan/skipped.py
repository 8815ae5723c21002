"""Formulas that choose between what is dear and what is cheap: loops skip what is dear where no
element of some needs it.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

from flambeau.codegen.formula import nodes
from flambeau.codegen.formula.functions import DEAR, load_functions
from flambeau.codegen.formula.nodes import Expression

# What lies on one side of a limit may do so for many elements in a row; what equals it is rare.
_SIDES = ("<", "<=", ">", ">=")


@dataclass(frozen=True, slots=True)
class Skipped:
    """`needs`: whether an element needs the dear part; `rest`: the formula of one that does not."""

    needs: Expression
    rest: Expression


def skipped(formula: Expression, elements: Collection[str]) -> Skipped | None:
    """What a formula is where its dear part is not needed; None: it has no such part, or others
    beside it.
    """
    for node in nodes.walk(formula):
        if not isinstance(node, nodes.Conditional) or not _is_side(node.condition, elements):
            continue
        is_then = _is_dear(node.then)
        if is_then == _is_dear(node.otherwise):
            continue
        rest = nodes.replace_subtrees(formula, {node: node.otherwise if is_then else node.then})
        if not _is_dear(rest) and not _is_dear(node.condition):
            needs = node.condition if is_then else nodes.Unary("not", node.condition)
            return Skipped(needs, rest)
    return None


def _is_dear(formula: Expression) -> bool:
    table = load_functions()
    called = (table[name] for name in nodes.calls(formula) if name in table)
    return any(f.cost >= DEAR and f.level == "element" for f in called)


def _is_side(condition: Expression, elements: Collection[str]) -> bool:
    return (
        isinstance(condition, nodes.Compare)
        and condition.operator in _SIDES
        and not nodes.free_names(condition).isdisjoint(elements)
    )

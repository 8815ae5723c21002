"""What the gradients of several arguments read alike, a `let` of theirs above all."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from flambeau.codegen.formula import nodes
from flambeau.codegen.formula.nodes import Expression

Reader = int | Expression  # a formula, by its number, or a part that is shared


def shared_parts(
    formulas: Sequence[Expression], alone: Collection[Expression] = ()
) -> list[Expression]:
    """The parts that several formulas, or several such parts, compute whichever branch is taken,
    each behind those that it reads itself. `alone`: what no part may share.
    """
    found: set[Expression] = set()
    while True:
        readers: dict[Expression, set[Reader]] = {}
        for number, formula in enumerate(formulas):
            _read(formula, number, found, readers)
        for part in found:
            _read_children(part, part, found, readers)
        new = {part for part, by in readers.items() if len(by) > 1} - found - set(alone)
        if not new:
            in_order = dict.fromkeys(p for f in formulas for p in nodes.walk(f))
            return sorted((p for p in in_order if p in found), key=lambda part: part.size)
        found |= new


def _read(
    node: Expression, reader: Reader, found: set[Expression], readers: dict[Expression, set[Reader]]
) -> None:
    """Notes who reads a part, and once what it is made of."""
    if _is_computed(node):
        known = node in readers or node in found
        readers.setdefault(node, set()).add(reader)
        if known:
            return
    _read_children(node, reader, found, readers)


def _read_children(
    node: Expression, reader: Reader, found: set[Expression], readers: dict[Expression, set[Reader]]
) -> None:
    if isinstance(node, nodes.Conditional | nodes.Boolean | nodes.Comprehension):
        return
    for child in node.children:
        _read(child, reader, found, readers)


def _is_computed(node: Expression) -> bool:
    """Not a name or a number, a list of these, nor what is read of a value."""
    return isinstance(node, nodes.Call | nodes.Unary | nodes.Binary | nodes.Conditional)

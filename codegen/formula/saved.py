"""What a formula reads: elements of tensors, numbers, metadata. From it follows what an operator
saves.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from flambeau.codegen.formula import nodes
from flambeau.codegen.formula.nodes import Expression


@dataclass(frozen=True, slots=True)
class Reads:
    """`names` are read themselves; of `metadata`, (name, attribute), only the attribute is."""

    names: frozenset[str]
    metadata: frozenset[tuple[str, str]]

    @property
    def spelled(self) -> frozenset[str]:
        """Both, as formulas spell them: `self`, `self.shape`."""
        return self.names | {f"{name}.{attribute}" for name, attribute in self.metadata}

    def __or__(self, other: Reads) -> Reads:
        return Reads(self.names | other.names, self.metadata | other.metadata)


NOTHING = Reads(frozenset(), frozenset())


def reads_of(expression: Expression) -> Reads:
    """What a formula reads.

    A name that is only asked for metadata, or whether it is None, is not read itself.
    """
    match expression:
        case nodes.Attribute(value=nodes.Name(identifier=identifier), name=attribute):
            return Reads(frozenset(), frozenset({(identifier, attribute)}))
        case nodes.Name(identifier=identifier):
            return (
                NOTHING
                if identifier in nodes.CONSTANTS
                else Reads(frozenset({identifier}), frozenset())
            )
        case nodes.Comprehension(names=bound, iterable=iterable):
            inner = all_reads(c for c in expression.children if c is not iterable)
            own = Reads(
                inner.names - set(bound), frozenset(m for m in inner.metadata if m[0] not in bound)
            )
            return own | reads_of(iterable)
    return all_reads(expression.children)


def all_reads(expressions: Iterable[Expression]) -> Reads:
    """What several formulas read together."""
    total = NOTHING
    for expression in expressions:
        total = total | reads_of(expression)
    return total

"""Entries that a rule makes: `each: RULE` stands for one of every operator that the rule holds of.

- each: keeps_zero                       # pointwise operators of one tensor that give 0 at 0
  op: "$name.sparse(Tensor self) -> Tensor result"
  body: "sparse_like(self, $name(sparse_values(self)))"

What is declared by hand for other layouts is left alone. Where an operator is found, its names and
what it is compared with hold of what is made, too.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from flambeau.codegen.formula.functions import load_functions
from flambeau.codegen.formula.zeros import is_zero_at_zero
from flambeau.codegen.model.entries import Kind, Operator
from flambeau.codegen.read import schema
from flambeau.codegen.read.expand.examples import Added
from flambeau.codegen.read.expand.families import Head, content
from flambeau.codegen.read.expand.substitution import check_parameters, substituted
from flambeau.codegen.text.tree import Mapping, Node
from flambeau.codegen.text.tree import Sequence as NodeList

EACH = "each"
_NAME = "name"  # the parameter of such entries
_SHARED = ("reference", "tolerance")
_FORMS = ("function", "method")


def keeps_zero(operator: Operator) -> bool:
    """Whether it is a function of the elements of one tensor, `self`, that gives 0 at 0."""
    signature = operator.signature
    if operator.kind is not Kind.POINTWISE or operator.internal or operator.random:
        return False
    if not _shared_places(operator):
        return False
    if [a.name for a in signature.given] != ["self"] or len(signature.results) != 1:
        return False
    formula = operator.expressions.get(signature.results[0].name)
    return formula is not None and is_zero_at_zero(formula, ("self",), load_functions())


RULES: dict[str, Callable[[Operator], bool]] = {"keeps_zero": keeps_zero}


def made_for_each(entry: Mapping, operators: Sequence[Operator], head: Head) -> list[Mapping]:
    """The entries that an entry stands for, in the order of the operators.

    Raises:
        DeclarationError: there is no such rule, or the entry has a parameter but `$name`.
    """
    rule = entry.entries[0][1]
    holds = RULES[schema.choice(rule, "a rule", list(RULES)).value]
    check_parameters(entry, (_NAME,), "an entry that a rule makes")
    by_hand = {o.name for o in operators if o.is_for_layouts}
    chosen = [o for o in operators if o.name not in by_hand and not o.package and holds(o)]
    return [_made(entry.without(EACH), operator, head) for operator in chosen]


def _made(entry: Mapping, operator: Operator, head: Head) -> Mapping:
    """The entry for one operator."""

    def add(text: str) -> Added:
        return Added(text, entry.span, (), False)

    filled = substituted(entry, {_NAME: add(operator.name)}, entry.span)
    assert isinstance(filled, Mapping) and operator.entry is not None
    own: dict[str, Node] = {
        "variants": NodeList(
            tuple(add(form) for form in _FORMS if form in operator.variants), entry.span
        )
    }
    keys = (*_shared_places(operator), *_SHARED)
    own |= {key: value for key in keys if (value := _given(operator.entry, key)) is not None}
    defaults = {key.value: content(value) for key, value in head.defaults}
    for key, value in own.items():
        if filled.get(key) is None and content(value) != defaults.get(key):
            filled = filled.having(key, value)
    return filled


def _shared_places(operator: Operator) -> tuple[str, ...]:
    """The keys that say where it is found. A function that writes in place where it is asked to is
    no home for what cannot: then the name in the main namespace, or nothing.
    """
    if operator.inplace is None:
        return ("namespace", "also_in", "aliases")
    is_in_main = any(not place.namespace for place in operator.also_in)
    return ("aliases",) if is_in_main else ()


def _given(entry: Mapping, key: str) -> Node | None:
    """What the whole entry of an operator says, in which tests stand together."""
    test = entry.get("test")
    inside = test.get(key) if isinstance(test, Mapping) else None
    return entry.get(key) if inside is None else inside

"""Operators among each other: names are unique, tokens have one owner."""

from __future__ import annotations

from flambeau.codegen.check.report import Context, Report
from flambeau.codegen.model import Declarations, Operator
from flambeau.codegen.source import Diagnostics, Note


def check_graph(context: Context, diagnostics: Diagnostics) -> None:
    """Report clashes of names."""
    _check_unique(context.declarations, diagnostics)
    _check_aliases(context.declarations, diagnostics)
    _check_tokens(context.declarations, diagnostics)


def _check_unique(declarations: Declarations, diagnostics: Diagnostics) -> None:
    """Identifiers become C++ functions of one namespace: `max.dim` and `max_dim` are the same."""
    first: dict[str, Operator] = {}
    for operator in declarations.operators:
        earlier = first.setdefault(operator.identifier, operator)
        if earlier is not operator:
            hint = "give one of them another overload name: `name.overload(...)`"
            note = Note(earlier.span, f"'{earlier.full_name}' is declared here")
            message = f"'{operator.full_name}' is declared already"
            diagnostics.error(operator.span, message, hint, note)


def _check_aliases(declarations: Declarations, diagnostics: Diagnostics) -> None:
    owner = {(o.namespace, o.name): o.name for o in declarations.operators}
    for operator in declarations.operators:
        for index, alias in enumerate(operator.aliases):
            key = (operator.namespace, alias)
            if owner.setdefault(key, operator.name) != operator.name:
                message = f"the alias '{alias}' is a name of '{owner[key]}'"
                Report(operator, diagnostics).error(message, "aliases", str(index))
            elif alias == operator.name:
                message = f"the alias '{alias}' is the operator's own name"
                Report(operator, diagnostics).error(message, "aliases", str(index))
    for operator in declarations.operators:
        for index, place in enumerate(operator.also_in):
            key = (place.namespace, place.name)
            if owner.setdefault(key, operator.name) != operator.name:
                message = f"'{place}' is a name of '{owner[key]}'"
                Report(operator, diagnostics).error(message, "also_in", str(index))
            elif place.namespace == operator.namespace:
                message = f"'{place}' lies in the operator's own namespace"
                hint = "write it in 'aliases'"
                Report(operator, diagnostics).error(message, "also_in", str(index), hint=hint)
        if operator.inplace is not None and "inplace" not in operator.variants:
            message = "`inplace: keyword` chooses the in-place form, which it lacks"
            hint = "add inplace to 'variants'"
            Report(operator, diagnostics).error(message, "inplace", hint=hint)


def _check_tokens(declarations: Declarations, diagnostics: Diagnostics) -> None:
    owner: dict[str, str] = {}
    for operator in declarations.operators:
        token = operator.operator
        if token is not None and owner.setdefault(token, operator.name) != operator.name:
            message = f"the operator {token} belongs to '{owner[token]}'"
            Report(operator, diagnostics).error(message, "operator")

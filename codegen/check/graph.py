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


def _check_tokens(declarations: Declarations, diagnostics: Diagnostics) -> None:
    owner: dict[str, str] = {}
    for operator in declarations.operators:
        token = operator.operator
        if token is not None and owner.setdefault(token, operator.name) != operator.name:
            message = f"the operator {token} belongs to '{owner[token]}'"
            Report(operator, diagnostics).error(message, "operator")

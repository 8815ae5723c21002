"""Operators among each other: names are unique, tokens have one owner."""

from __future__ import annotations

from itertools import chain, combinations

from flambeau.codegen.check.report import Context, Report
from flambeau.codegen.model.entries import Argument, Base, Declarations, Operator
from flambeau.codegen.text.source import Diagnostics, Note


def check_graph(context: Context, diagnostics: Diagnostics) -> None:
    """Report clashes of names."""
    _check_unique(context, diagnostics)
    _check_aliases(context.declarations, diagnostics)
    _check_tokens(context.declarations, diagnostics)
    _check_order(context.declarations, diagnostics)


def _check_unique(context: Context, diagnostics: Diagnostics) -> None:
    """Identifiers become C++ functions of one namespace: `max.dim` and `max_dim` are the same. Of
    two entries, the one is shown that is checked, and the other beside it.
    """
    first: dict[str, Operator] = {}
    checked = {id(operator) for operator in context.checked}
    others = [o for o in context.declarations.operators if id(o) not in checked]
    for operator in (*others, *context.checked):
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


def _found_at(operator: Operator) -> set[str]:
    """The namespaces where an operator is called by its name, and `Tensor` where it is a method."""
    places = {place.namespace for place in operator.also_in if place.name == operator.name}
    as_function = {operator.namespace} if "function" in operator.variants else set()
    as_method = {"Tensor"} if "method" in operator.variants else set()
    return places | as_function | as_method


def _check_order(declarations: Declarations, diagnostics: Diagnostics) -> None:
    """One int may stand for a list of it and a 0-d tensor for a number, so overloads that take the
    one come before those that take the other."""
    overloads: dict[str, list[Operator]] = {}
    for operator in declarations.operators:
        overloads.setdefault(operator.name, []).append(operator)
    for earlier, later in chain.from_iterable(combinations(o, 2) for o in overloads.values()):
        pairs = zip(earlier.signature.given, later.signature.given, strict=False)
        differing = [(a, b) for a, b in pairs if a.type != b.type]
        # A tensor of another layout is no number.
        if earlier.layouts != later.layouts:
            continue
        if not differing or not _found_at(earlier) & _found_at(later):
            continue
        mistaken = differing[0][1]
        if _lists_an_int(*differing[0]):
            message = f"an int of '{later.full_name}' would be a list of '{earlier.full_name}'"
        elif _same_calls(earlier, later) and all(_takes_a_number(*pair) for pair in differing):
            message = f"a 0-d tensor of '{later.full_name}' would be a number there"
        else:
            continue
        note = Note(earlier.span, f"'{earlier.full_name}' is declared here")
        diagnostics.error(mistaken.span, message, "declare it before that one", note)


def _lists_an_int(earlier: Argument, later: Argument) -> bool:
    listed, single = earlier.type, later.type
    return listed.is_list and not single.is_list and listed.base is single.base is Base.INT


def _takes_a_number(earlier: Argument, later: Argument) -> bool:
    return earlier.type.base is Base.SCALAR and later.type.is_tensor


def _same_calls(earlier: Operator, later: Operator) -> bool:
    """Whether both take as many arguments by position, and the same keywords."""
    first, second = (
        [a.name if a.keyword_only else "" for a in operator.signature.given]
        for operator in (earlier, later)
    )
    return first == second

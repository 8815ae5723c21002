"""Operators among each other: names are unique, composites end somewhere, tokens have one owner."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from flambeau.codegen.check.calls import Overloads
from flambeau.codegen.check.report import Context, Report
from flambeau.codegen.expression.nodes import Call, Expression, walk
from flambeau.codegen.model import Declarations, Operator
from flambeau.codegen.source import Diagnostics, Note


def check_graph(context: Context, overloads: Overloads, diagnostics: Diagnostics) -> None:
    """Report clashes of names and composites that never end."""
    _check_unique(context.declarations, diagnostics)
    _check_aliases(context.declarations, diagnostics)
    _check_tokens(context.declarations, diagnostics)
    _check_cycles(context, overloads, diagnostics)


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


def _check_cycles(context: Context, overloads: Overloads, diagnostics: Diagnostics) -> None:
    """Bodies call operators with bodies; a way back to the start would never end."""
    operators = context.declarations.operators
    composites = {o.full_name: o for o in operators if o.body is not None}

    def callees(name: str) -> Iterator[str]:
        if name in composites:
            yield from (c.full_name for c in _callees(composites[name], overloads))

    done: set[str] = set()
    for operator in context.checked:
        cycle = _find_cycle(operator.full_name, callees, done)
        if cycle:
            message = f"the body never ends: {' -> '.join(cycle)}"
            Report(operator, diagnostics).error(message, "body")


def _callees(operator: Operator, overloads: Overloads) -> Iterator[Operator]:
    for formula in _body_formulas(operator):
        for node in walk(formula):
            found = overloads.resolve(node) if isinstance(node, Call) else None
            if found is not None:
                yield found


def _body_formulas(operator: Operator) -> Iterator[Expression]:
    yield from (value for _, value in operator.body_lets)
    if operator.body is not None:
        yield operator.body


def _find_cycle(start: str, callees: Callable[[str], Iterator[str]], done: set[str]) -> list[str]:
    """A cycle that is reached from `start`; what was searched is added to `done`."""
    path: list[str] = []
    pending = [(start, callees(start))]
    if start in done:
        return []
    path.append(start)
    while pending:
        name, rest = pending[-1]
        following = next(rest, None)
        if following is None:
            pending.pop()
            path.pop()
            done.add(name)
        elif following in path:
            done.update(path)
            return [*path[path.index(following) :], following]
        elif following not in done:
            path.append(following)
            pending.append((following, callees(following)))
    return []

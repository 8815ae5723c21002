"""Bodies call operators with bodies: a way back to the start would never end."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping

from flambeau.codegen.check.report import Report
from flambeau.codegen.model.entries import Operator
from flambeau.codegen.text.source import Diagnostics


def check_cycles(
    operators: Iterable[Operator],
    calls: Mapping[str, Collection[str]],
    diagnostics: Diagnostics,
) -> None:
    """`calls`: the overloads that the bodies of operators call, by their full names."""
    done: set[str] = set()
    for operator in operators:
        cycle = _find_cycle(operator.full_name, lambda name: iter(calls.get(name, ())), done)
        if cycle:
            message = f"the body never ends: {' -> '.join(cycle)}"
            Report(operator, diagnostics).error(message, "body")


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

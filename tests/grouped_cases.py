"""One test for each operator, where a test is parametrized with operators or their samples: it runs
all of the operator's cases and tells of each that fails. Pytest takes some milliseconds for a test
of its own, longer than most cases. `--each-case` makes a test of each.
"""

from __future__ import annotations

import inspect
import itertools
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pytest

from flambeau.codegen.model.entries import Operator


@dataclass(frozen=True)
class _Case:
    """A call of a test."""

    label: str
    arguments: Mapping[str, Any]


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--each-case",
        action="store_true",
        help="a test for each case of an operator, not one that runs all of its cases",
    )


def pytest_pycollect_makeitem(
    collector: pytest.Module | pytest.Class, name: str, obj: object
) -> object:
    """The tests of a function that is called with operators; None for any other."""
    is_test = inspect.isfunction(obj) and collector.funcnamefilter(name)
    if collector.config.getoption("each_case") or not is_test:
        return None
    assert inspect.isfunction(obj)
    marks = [mark for mark in getattr(obj, "pytestmark", []) if mark.name == "parametrize"]
    if not marks or not all(map(_is_plain, marks)):
        return None
    groups: dict[str, list[_Case]] = {}
    for case in _cases(marks):
        operator = _operator(case.arguments)
        if operator is None:
            return None
        groups.setdefault(operator, []).append(case)
    grouped = _grouped(obj, groups, {argument for mark in marks for argument in _names(mark)})
    setattr(collector.obj, name, grouped)  # where pytest looks for what it calls
    return collector.ihook.pytest_pycollect_makeitem(collector=collector, name=name, obj=grouped)


def _is_plain(mark: pytest.Mark) -> bool:
    """Whether values are passed as they are, and none has marks of its own."""
    values = mark.args[1]
    if not isinstance(values, Collection) or set(mark.kwargs) - {"ids"}:
        return False
    return not any(hasattr(value, "marks") for value in values)


def _names(mark: pytest.Mark) -> list[str]:
    names = mark.args[0]
    return [n.strip() for n in names.split(",")] if isinstance(names, str) else list(names)


def _cases(marks: Sequence[pytest.Mark]) -> Iterator[_Case]:
    """Each value of each mark with each of the others."""
    for chosen in itertools.product(*map(_values, marks)):
        arguments = {name: value for case in chosen for name, value in case.arguments.items()}
        yield _Case("-".join(case.label for case in chosen), arguments)


def _values(mark: pytest.Mark) -> list[_Case]:
    names, ids = _names(mark), mark.kwargs.get("ids") or str
    rows = [(value,) if len(names) == 1 else tuple(value) for value in mark.args[1]]
    labels = [map(ids, row) for row in rows] if callable(ids) else [[label] for label in ids]
    found = []
    for row, shown in zip(rows, labels, strict=True):
        label = "-".join(map(str, shown))
        found.append(_Case(label, dict(zip(names, row, strict=True))))
    return found


def _operator(arguments: Mapping[str, Any]) -> str | None:
    """The name of the operator among the arguments of a test, or of which a sample is."""
    for value in arguments.values():
        operator = value if isinstance(value, Operator) else getattr(value, "operator", None)
        if isinstance(operator, Operator):
            return operator.full_name
    return None


def _grouped(
    test: Callable[..., None], groups: Mapping[str, Sequence[_Case]], parameters: set[str]
) -> Callable[..., None]:
    """The test of a group of cases; its fixtures are those of the test of one."""

    def run(cases_: Sequence[_Case], **fixtures: object) -> None:
        failures: list[BaseException] = []
        skipped: list[BaseException] = []
        for case in cases_:
            try:
                test(**case.arguments, **fixtures)
            except pytest.skip.Exception as reason:
                skipped.append(reason)
            except (Exception, pytest.fail.Exception) as failure:
                failure.add_note(f"case {case.label}")
                failures.append(failure)
        if len(failures) == 1:
            raise failures[0]
        if failures:
            raise BaseExceptionGroup(f"{len(failures)} of {len(cases_)} cases fail", failures)
        if skipped:
            raise skipped[0]

    signature = inspect.signature(test)
    fixtures = [p for name, p in signature.parameters.items() if name not in parameters]
    group = inspect.Parameter("cases_", inspect.Parameter.POSITIONAL_OR_KEYWORD)
    taken = signature.replace(parameters=[group, *fixtures])
    run.__signature__ = taken  # type: ignore[attr-defined]
    run.__doc__ = test.__doc__
    others = [mark for mark in getattr(test, "pytestmark", []) if mark.name != "parametrize"]
    run.pytestmark = others  # type: ignore[attr-defined]
    return pytest.mark.parametrize("cases_", groups.values(), ids=list(groups))(run)

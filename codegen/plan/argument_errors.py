"""What the types of integer arguments refuse, in words: for docstrings, pages and tests."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from flambeau.codegen.model.entries import Argument, Operator, Role
from flambeau.codegen.model.facts import shown_name


@dataclass(frozen=True, slots=True)
class ArgumentError:
    """One mistake that an argument's type refuses."""

    argument: Argument
    exception: str
    text: str


def argument_errors(operator: Operator) -> tuple[ArgumentError, ...]:
    """The errors of all arguments, in order."""
    return tuple(
        ArgumentError(argument, exception, text)
        for argument in operator.signature.arguments
        for exception, text in _errors(operator, argument)
    )


def _errors(operator: Operator, argument: Argument) -> Iterator[tuple[str, str]]:
    declared, name = argument.type, argument.name
    if declared.list_length is not None and declared.meaning is None:
        yield "RuntimeError", f"{name} is neither one integer nor a list of {declared.list_length}"
    if declared.meaning is None:
        return
    match declared.meaning.role:
        case Role.DIM:
            yield (
                "IndexError",
                f"{name} is not from -d to d - 1 for d dims of {_of(operator, argument)}",
            )
            if declared.is_list:
                yield "RuntimeError", f"{name} lists a dim twice"
        case Role.INDEX:
            yield (
                "IndexError",
                f"{name} is not from -n to n - 1 for size n of {declared.meaning.of}",
            )
        case Role.SIZE:
            yield "RuntimeError", f"{name} is negative"


def _of(operator: Operator, argument: Argument) -> str:
    meaning = argument.type.meaning
    assert meaning is not None
    of = meaning.of or operator.tensor_arguments[0].name
    return "the result" if meaning.beyond else shown_name(of)

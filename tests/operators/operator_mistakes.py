"""Values of integer arguments that their declared types refuse."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from operator_cases import Values

from flambeau.codegen.model.entries import Argument, Operator, Role

LARGEST, LOWEST = 2**63 - 1, -(2**63)


def refused_values(
    operator: Operator, argument: Argument, values: Values
) -> Iterator[tuple[Any, type[Exception]]]:
    """Values that the argument's type refuses in a call with these others, and their errors."""
    declared = argument.type
    length = declared.list_length
    if length is not None and declared.meaning is None:
        yield [1] * (length + 1), RuntimeError
        if not declared.optional:
            yield [], RuntimeError
    if declared.meaning is None:
        return
    match declared.meaning.role:
        case Role.DIM:
            limit = max(_rank(operator, argument, values), 1)
            for value in (limit, -limit - 1, LARGEST, LOWEST):
                yield [value] if declared.is_list else value, IndexError
            if declared.is_list:
                yield [0, 0], RuntimeError
        case Role.INDEX:
            dim = operator.argument(declared.meaning.of or "")
            owner = _owner(operator, dim, values)
            sizes = np.shape(owner) if isinstance(owner, np.ndarray) else owner
            size = sizes[values[dim.name]]
            for value in (size, -size - 1, LARGEST, LOWEST):
                yield value, IndexError
        case Role.SIZE:
            yield [2, -1] if declared.is_list else -1, RuntimeError
            if declared.is_list:
                yield [LARGEST, LARGEST], RuntimeError


def _owner(operator: Operator, dim: Argument, values: Values) -> Any:
    """What a dim is of: an array, a list of arrays or a list of ints."""
    meaning = dim.type.meaning
    assert meaning is not None
    return values[meaning.of or operator.tensor_arguments[0].name]


def _rank(operator: Operator, dim: Argument, values: Values) -> int:
    owner = _owner(operator, dim, values)
    assert dim.type.meaning is not None
    if isinstance(owner, np.ndarray):
        return owner.ndim + dim.type.meaning.beyond
    if operator.argument(_owner_name(operator, dim)).type.is_tensor_list:
        return np.ndim(owner[0]) + dim.type.meaning.beyond
    return len(owner) + dim.type.meaning.beyond


def _owner_name(operator: Operator, dim: Argument) -> str:
    assert dim.type.meaning is not None
    return dim.type.meaning.of or operator.tensor_arguments[0].name

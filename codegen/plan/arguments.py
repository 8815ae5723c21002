"""The checks that the types of integer arguments ask for, as the first lines of a computation."""

from __future__ import annotations

from flambeau.codegen.model.entries import Argument, Meaning, Operator, Role
from flambeau.codegen.plan.cpp_types import checked_class, cpp_name
from flambeau.codegen.plan.translate import Names, Symbol


def check_arguments(operator: Operator, names: Names) -> list[str]:
    """Lines that check; `names` then leads to the checked values."""
    lines = []
    for argument in operator.signature.arguments:
        lines += _check(operator, argument, names)
    return lines


def _check(operator: Operator, argument: Argument, names: Names) -> list[str]:
    declared, name = argument.type, cpp_name(argument.name)
    where = f'{{"{operator.name}", "{argument.name}"}}'
    made = checked_class(declared)
    if made is not None:
        given = [name, *_context(operator, declared.meaning), f"ArgumentName{where}"]
        return [_bind(argument, names, _made(made, declared.optional, ", ".join(given)))]
    meaning = declared.meaning
    if meaning is None or meaning.role is Role.ANY:
        return []
    if meaning.role is Role.SIZE:
        return [f"check_size{'s' if declared.is_list else ''}({name}, {where});"]
    assert meaning.of is not None
    extent = f"shape_rules::at({_sizes(operator, meaning.of)}, {names[meaning.of].code})"
    return [_bind(argument, names, f"index_from_front({name}, {extent}, {where})")]


def _made(made: str, optional: bool, given: str) -> str:
    if not optional:
        return f"{made}({given})"
    if made.startswith("Ints"):
        return f"ints_if_given{made.removeprefix('Ints')}({given})"
    return f"if_given<{made}>({given})"


def _bind(argument: Argument, names: Names, value: str) -> str:
    checked = f"checked_{argument.name}"
    names[argument.name] = Symbol(checked, names[argument.name].type)
    return f"[[maybe_unused]] const auto {checked} = {value};"


def _context(operator: Operator, meaning: Meaning | None) -> list[str]:
    """The rank that a dim is checked against."""
    if meaning is None:
        return []
    rank = _rank(operator, _owner(operator, meaning))
    return [f"{rank} + {meaning.beyond}" if meaning.beyond else rank]


def _owner(operator: Operator, meaning: Meaning) -> Argument:
    """The argument that a dim is of."""
    return operator.argument(meaning.of) if meaning.of else operator.tensor_arguments[0]


def _rank(operator: Operator, owner: Argument) -> str:
    name = cpp_name(owner.name)
    if owner.type.is_tensor_list:
        return f"joined_rank({name})"
    if owner.type.is_tensor and not owner.type.or_scalar:
        return f"{name}.dim()"
    sizes = f"{name}.sizes()" if owner.type.is_tensor else name
    return f"static_cast<int64_t>({sizes}.size())"


def _sizes(operator: Operator, dim: str) -> str:
    """The sizes that a dim counts in."""
    meaning = operator.argument(dim).type.meaning
    assert meaning is not None
    owner = _owner(operator, meaning)
    name = cpp_name(owner.name)
    return f"{name}.sizes()" if owner.type.is_tensor else name

"""What PyTorch calls operators and their overloads, `ops.aten.NAME.OVERLOAD`: by its own habit
where there is one, otherwise as an entry's key `overload` says.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import NamedTuple

from flambeau.codegen.model.entries import DEFAULT_OVERLOAD, Base, Operator, OverloadName, Type

Names = tuple[OverloadName, ...]
_TENSOR, _NUMBER = "Tensor", "Scalar"
_UNSEEN = (Base.DTYPE, Base.DEVICE, Base.GENERATOR, Base.MEMORY_FORMAT)  # they make no overload


class Function(NamedTuple):
    """A function of C++, what it computes, and what Python calls it: "Tensor.add", "linalg.det"."""

    name: str
    operator: Operator
    path: str


class AtenName(NamedTuple):
    """An operator's name, and those of its overloads: the first that fits a call is meant."""

    operator: str
    overloads: Names


def aten_names(functions: Iterable[Function]) -> dict[str, AtenName]:
    """Function of C++ -> what PyTorch calls it."""
    listed = list(functions)
    known: dict[tuple[str, tuple[str, ...]], Names] = {}
    names: dict[str, Names] = {}
    for function in sorted(listed, key=_place):
        base = _base(function)
        if function.operator.full_name not in names:
            names[function.operator.full_name] = _overloads(function.operator, base, known)
    called = {f.name: AtenName(_base(f), names[f.operator.full_name]) for f in listed}
    by_both = {name.operator for name in called.values() if _has(name, f"{_TENSOR}_{_TENSOR}")}
    return {f.name: _of_form(f, called[f.name], by_both) for f in listed}


def _has(name: AtenName, overload: str) -> bool:
    return any(each.name == overload for each in name.overloads)


def _place(function: Function) -> tuple[bool, bool, bool]:
    """Entries that say what they are called come first; those of other layouts are what those of
    strided tensors are.
    """
    operator = function.operator
    return bool(operator.layouts), not operator.overload, bool(operator.signature.overload)


def _base(function: Function) -> str:
    """The name of a function's operator."""
    return base_name(function.path.rpartition(".")[0], function.operator.name)


def base_name(space: str, name: str) -> str:
    """What PyTorch calls an operator: spaces but those of layers are a prefix."""
    is_plain = space in ("", "Tensor", "_internal") or space.startswith("nn")
    return f"{'' if is_plain else space.replace('.', '_') + '_'}{name}"


def _of_form(function: Function, name: AtenName, by_both: set[str]) -> AtenName:
    """The same of the function's form; what one in place writes into is a tensor anyway."""
    own = tuple(n for n in name.overloads if n.when == "inplace")
    names = tuple(n for n in name.overloads if n not in own)
    if not function.name.endswith("_") or name.operator.endswith("_"):
        return AtenName(name.operator, names)
    if own:
        names = tuple(OverloadName(n.name) for n in own)
    elif name.operator in by_both:
        names = tuple(replace(n, name=n.name.removeprefix(f"{_TENSOR}_")) for n in names)
    return AtenName(f"{name.operator}_", names)


def _overloads(
    operator: Operator, base: str, known: dict[tuple[str, tuple[str, ...]], Names]
) -> Names:
    """The names of an entry: its own, or those of an earlier one that takes arguments of the same
    types, which are noted for later ones.
    """
    base = base.removesuffix("_")
    found = operator.overload or _by_signature(operator)
    by_operand = any(n.when == "tensor" for n in found)
    taken = [kinds(operator, is_number) for is_number in (False, True)]
    if not by_operand:
        if not operator.overload:
            found = known.get((base, taken[0]), found)
        others = tuple(OverloadName(n.name) for n in found if n.when == "also")
        usual = tuple(n for n in found if n.when != "also")
        known.setdefault((base, taken[0]), usual)
        known.setdefault((base, taken[1]), others or usual)
        return found
    named = []
    for name, each in zip(found, taken, strict=True):
        alone: Names = (OverloadName(name.name),)
        if not operator.overload:
            alone = known.get((base, each), alone)[-1:]
        known.setdefault((base, each), alone)
        named.append(OverloadName(alone[0].name, name.argument, name.when))
    return tuple(named)


def _by_signature(operator: Operator) -> Names:
    """By the habit of PyTorch: the types of operands, or what tells overloads apart."""
    arguments = operator.signature.arguments
    operands = [a.name for a in arguments if a.type.or_scalar]
    declared = operator.signature.overload
    is_special = operator.namespace == "special"
    if operands:
        suffix = f"_{declared}" if declared else ""
        tensor, number = f"{_TENSOR}{suffix}", f"{_NUMBER}{suffix}"
        if is_special:
            tensor, number = DEFAULT_OVERLOAD, f"{operands[-1]}_scalar"
        return OverloadName(tensor, operands[-1], "tensor"), OverloadName(number)
    if declared == _NUMBER:  # in place of the first tensor
        name = f"{arguments[0].name}_scalar" if is_special else f"{_NUMBER}_{_TENSOR}"
        return (OverloadName(name),)
    return (OverloadName(declared or DEFAULT_OVERLOAD),)


def names_with_out(operator: Operator, overloads: Names) -> dict[str, list[str]]:
    """What overloads are called whose results are written into tensors of the caller's, and what
    these tensors are.
    """
    results = operator.signature.visible_results
    tensors = ["out"] if len(results) == 1 else [r.name for r in results]
    first = tensors[0] if tensors[0] == "values" else "out"
    is_first = {DEFAULT_OVERLOAD}
    if any(n.when == "also" for n in overloads):
        is_first |= {n.name for n in overloads if n.when != "also"}
    names = (first if n.name in is_first else f"{n.name}_{first}" for n in overloads)
    return {n.with_out or name: tensors for n, name in zip(overloads, names, strict=True)}


def kinds(operator: Operator, is_number: bool) -> tuple[str, ...]:
    """The types of the arguments by which overloads differ; the last operand is a tensor or a
    number.
    """
    arguments = operator.signature.arguments
    seen = [a for a in arguments if a.type.base not in _UNSEEN and a.type.only is None]
    last = next((a for a in reversed(seen) if a.type.or_scalar), None)
    return tuple(_kind(a.type, is_number and a is last) for a in seen)


def _kind(type: Type, is_number: bool) -> str:
    base = Base.SCALAR if is_number else type.base
    return f"{base.value}[]" if type.is_list else base.value

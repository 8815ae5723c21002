"""A quick path of an overload takes no call that an earlier overload of the name would get.

Overloads are tried in their order where arguments are parsed; the quick paths of all of them come
before. So where a quick path fits, each earlier overload must refuse the call or have a quick path
that takes it. Tensors of one element count as numbers in the parser alone: no path is for them.
"""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from flambeau.codegen.facts import is_factory
from flambeau.codegen.loader import default_folder, load_declarations
from flambeau.codegen.model import Argument, Base, Operator, Type
from flambeau.codegen.plan.binding import QuickPath, plan_bindings
from flambeau.codegen.plan.python_signature import (
    Form,
    forms,
    is_method,
    python_arguments,
    receiver_index,
)

BINDINGS = [b for b in plan_bindings(load_declarations(default_folder())) if len(b.overloads) > 1]

INTEGERS = frozenset({"small int", "large int", "int of NumPy"})
BOOLS = frozenset({"True", "False"})
REAL = INTEGERS | {"float"}
LISTS = frozenset({"list of small ints", "empty list"})
# What the parser takes for a declared type, by example.
TAKEN = {
    Base.TENSOR: frozenset({"tensor"}),
    Base.SCALAR: REAL | BOOLS,
    Base.INT: INTEGERS,
    Base.FLOAT: REAL | BOOLS,
    Base.BOOL: BOOLS,
    Base.STR: frozenset({"str"}),
    Base.DTYPE: frozenset({"dtype"}),
    Base.DEVICE: frozenset({"device", "str"}),
    Base.GENERATOR: frozenset({"generator"}),
}
TAKEN_LISTS = {
    Base.TENSOR: frozenset({"list of tensors", "empty list"}),
    Base.INT: INTEGERS | LISTS,
    Base.FLOAT: LISTS | {"list of floats"},
    Base.BOOL: frozenset({"list of bools", "empty list"}),
}
# What a quick path takes.
QUICK = {
    Base.TENSOR: frozenset({"tensor"}),
    Base.SCALAR: BOOLS | {"small int", "float"},
    Base.INT: frozenset({"small int"}),
    Base.FLOAT: frozenset({"float"}),
    Base.BOOL: BOOLS,
}


def taken(declared: Type) -> frozenset[str]:
    if declared.only is not None:
        return frozenset({str(declared.only)})
    found = (TAKEN_LISTS if declared.is_list else TAKEN)[declared.base]
    if declared.or_scalar:
        found |= TAKEN[Base.SCALAR]
    return found | {"None"} if declared.optional else found


def quickly(declared: Type) -> frozenset[str]:
    if declared.only is not None:
        return frozenset({str(declared.only)})
    if declared.is_list:
        return LISTS | {"small int"}
    found = QUICK[declared.base]
    if declared.or_scalar:
        found |= QUICK[Base.SCALAR]
    optional = declared.optional and declared.base is Base.TENSOR
    return found | {"None"} if optional else found


def positional(operator: Operator, form: Form, method: bool) -> list[Argument]:
    own = receiver_index(operator) if method else -1
    found = python_arguments(operator, form)
    return [a for i, a in enumerate(found) if i != own and not a.keyword_only]


def hides(
    path: QuickPath, own: Sequence[Argument], paths: Sequence[QuickPath], other: Sequence[Argument]
) -> bool:
    """Whether a path takes a call of another overload, which that one's paths do not take."""
    required = sum(a.default is None for a in other)
    rest = other[path.count :]
    chosen = any(a.type.only is not None and a.default != str(a.type.only) for a in rest)
    if not required <= path.count <= len(other) or chosen:
        return False
    pairs = list(zip(own[: path.count], other, strict=False))
    common = [quickly(a.type) & taken(b.type) for a, b in pairs]
    if not all(common):
        return False
    if not any(p.count == path.count for p in paths):
        return True
    return any(c - quickly(b.type) for c, (_, b) in zip(common, pairs, strict=True))


@pytest.mark.parametrize("binding", BINDINGS, ids=lambda b: b.shown)
@pytest.mark.parametrize("method", [False, True], ids=["function", "method"])
def test_no_path_hides_an_earlier_overload(binding, method: bool) -> None:
    found = []
    for (operator, form, _), overload in zip(binding.documented, binding.overloads, strict=True):
        has_form = is_method(operator, form.is_inplace) if method else form in forms(operator)
        if has_form and not is_factory(operator) and not (method and form is Form.KEYWORD):
            paths = overload.quick_method if method else overload.quick_function
            found.append((positional(operator, form, method), paths))
    for i, (own, paths) in enumerate(found):
        for other, earlier in found[:i]:
            hiding = [p for p in paths if hides(p, own, earlier, other)]
            assert not hiding, (
                f"the path of {[a.name for a in own]} hides {[a.name for a in other]}"
            )


def test_a_hidden_overload_is_seen() -> None:
    """An int before a list: tensor_split(x, 3) must not be tensor_split(x, [3])."""
    operators = {o.full_name: o for o in load_declarations(default_folder()).operators}
    single = positional(operators["tensor_split"], Form.FUNCTION, True)
    listed = positional(operators["tensor_split.indices"], Form.FUNCTION, True)
    path = QuickPath(1, False, (), (), "")
    assert hides(path, listed, [], single)
    assert not hides(path, listed, [path], single)

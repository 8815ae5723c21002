"""The types of tensor-level formulas: what a C++ value is, and what may be passed where."""

from __future__ import annotations

from dataclasses import dataclass, replace
from enum import Enum

from flambeau.codegen.model.entries import Base, Result, Type


class ValueKind(Enum):
    """Kinds of values, named as messages name them."""

    TENSOR = "Tensor"
    OPERAND = "Tensor|Scalar"
    SCALAR = "Scalar"
    FLOAT = "float"
    INT = "int"
    BOOL = "bool"
    STR = "str"
    DTYPE = "dtype"
    DEVICE = "device"
    GENERATOR = "Generator"
    TENSORS = "Tensor[]"
    INTS = "int[]"
    FLOATS = "float[]"
    BOOLS = "bool[]"
    SCALARS = "Scalar[]"
    LIST = "list"  # a literal whose items are still to be converted
    SHAPES = "shape[]"  # `tensors.shapes`
    DTYPES = "dtype[]"
    RESULTS = "several results"
    NONE = "None"


K = ValueKind
NUMBERS = frozenset({K.SCALAR, K.FLOAT, K.INT, K.BOOL})
TENSOR_LIKE = frozenset({K.TENSOR, K.OPERAND})


@dataclass(frozen=True, slots=True)
class ValueType:
    """A kind; `optional` values may be None. `results`: those of a call with several."""

    kind: ValueKind
    optional: bool = False
    results: tuple[ValueType, ...] = ()

    def __str__(self) -> str:
        return self.kind.value + ("?" if self.optional else "")

    @property
    def required(self) -> ValueType:
        return replace(self, optional=False)


_PLAIN = {
    Base.TENSOR: K.TENSOR,
    Base.SCALAR: K.SCALAR,
    Base.INT: K.INT,
    Base.FLOAT: K.FLOAT,
    Base.BOOL: K.BOOL,
    Base.STR: K.STR,
    Base.MEMORY_FORMAT: K.STR,
    Base.DTYPE: K.DTYPE,
    Base.DEVICE: K.DEVICE,
    Base.GENERATOR: K.GENERATOR,
}
_LISTS = {
    Base.TENSOR: K.TENSORS,
    Base.INT: K.INTS,
    Base.FLOAT: K.FLOATS,
    Base.BOOL: K.BOOLS,
    Base.SCALAR: K.SCALARS,
}

TENSOR = ValueType(K.TENSOR)
SCALAR = ValueType(K.SCALAR)
INT = ValueType(K.INT)
FLOAT = ValueType(K.FLOAT)
BOOL = ValueType(K.BOOL)
STR = ValueType(K.STR)
INTS = ValueType(K.INTS)
FLOATS = ValueType(K.FLOATS)
TENSORS = ValueType(K.TENSORS)
DTYPE = ValueType(K.DTYPE)
NONE = ValueType(K.NONE)

# The types that shape-level signatures of functions/shapes.yaml name.
SHAPE_TYPES = {
    "int": INT,
    "float": FLOAT,
    "bool": BOOL,
    "str": STR,
    "int[]": INTS,
    "float[]": FLOATS,
    "float?": ValueType(K.FLOAT, optional=True),
    "dtype": DTYPE,
    "number": SCALAR,
    "tensor": TENSOR,
    "shape[]": ValueType(K.SHAPES),
    "dtype[]": ValueType(K.DTYPES),
}


def value_type(declared: Type) -> ValueType:
    """The type of an argument inside a formula."""
    if declared.is_list:
        return ValueType(_LISTS[declared.base], declared.optional)
    if declared.or_scalar:
        return ValueType(K.OPERAND, declared.optional)
    return ValueType(_PLAIN[declared.base], declared.optional)


def results_type(results: tuple[Result, ...]) -> ValueType:
    """What a call of an operator with these visible results is."""
    visible = [ValueType(K.TENSORS if r.is_list else K.TENSOR) for r in results]
    if not visible:
        return NONE
    return visible[0] if len(visible) == 1 else ValueType(K.RESULTS, results=tuple(visible))


# What may stand for what, with the price of the conversion: overloads with the lowest total win.
_CONVERSIONS: dict[tuple[ValueKind, ValueKind], int] = {
    (K.TENSOR, K.OPERAND): 1,
    (K.SCALAR, K.OPERAND): 1,
    (K.FLOAT, K.OPERAND): 2,
    (K.INT, K.OPERAND): 2,
    (K.BOOL, K.OPERAND): 2,
    (K.FLOAT, K.SCALAR): 1,
    (K.INT, K.SCALAR): 1,
    (K.BOOL, K.SCALAR): 1,
    (K.INT, K.FLOAT): 1,
    (K.SCALAR, K.FLOAT): 3,
    (K.SCALAR, K.INT): 4,
    (K.INT, K.INTS): 2,
    (K.OPERAND, K.TENSOR): 5,
    (K.SCALAR, K.TENSOR): 8,
    (K.FLOAT, K.TENSOR): 9,
    (K.INT, K.TENSOR): 9,
    (K.BOOL, K.TENSOR): 9,
}

_MADE_OPTIONAL = 2  # a parameter that takes None as well fits worse


def conversion_cost(
    given: ValueType, wanted: ValueType, items: tuple[ValueType, ...] = ()
) -> int | None:
    """0 for the same type, None where the types do not fit.

    `items`: the types of a list literal's items.
    """
    if given.kind is K.NONE:
        return 0 if wanted.optional else None
    if given.kind is K.LIST:
        return _list_cost(items, wanted)
    # An optional value only fits an optional parameter; a tensor that may be undefined is still a
    # tensor.
    if given.optional and not wanted.optional and given.kind not in (K.TENSOR, K.GENERATOR):
        return None
    cost = 0 if given.kind is wanted.kind else _CONVERSIONS.get((given.kind, wanted.kind))
    if cost is not None and wanted.optional and not given.optional:
        cost += _MADE_OPTIONAL
    return cost


_ITEMS = {
    K.SHAPES: INTS,
    K.DTYPES: DTYPE,
    K.INTS: INT,
    K.FLOATS: FLOAT,
    K.TENSORS: TENSOR,
    K.BOOLS: BOOL,
    K.SCALARS: SCALAR,
}


def item_type(list_kind: ValueKind) -> ValueType | None:
    """What a list holds."""
    return _ITEMS.get(list_kind)


def _list_cost(items: tuple[ValueType, ...], wanted: ValueType) -> int | None:
    item = _ITEMS.get(wanted.kind)
    if item is None:
        return None
    costs = [conversion_cost(i, item) for i in items]
    known = [c for c in costs if c is not None]
    return sum(known) if len(known) == len(costs) else None

"""Python's operators on tensors: the slots of the number protocol, and comparisons."""

from __future__ import annotations

from dataclasses import dataclass

from flambeau.codegen.model.entries import Declarations, Operator

# Python's operators: the slots of the forward and the in-place form, and the method that is called
# where the tensor is on the right.
BINARY_SLOTS = {
    "+": ("nb_add", "nb_inplace_add", "__radd__"),
    "-": ("nb_subtract", "nb_inplace_subtract", "__rsub__"),
    "*": ("nb_multiply", "nb_inplace_multiply", "__rmul__"),
    "/": ("nb_true_divide", "nb_inplace_true_divide", "__rtruediv__"),
    "//": ("nb_floor_divide", "nb_inplace_floor_divide", "__rfloordiv__"),
    "%": ("nb_remainder", "nb_inplace_remainder", "__rmod__"),
    "**": ("nb_power", "nb_inplace_power", "__rpow__"),
    "@": ("nb_matrix_multiply", "nb_inplace_matrix_multiply", "__rmatmul__"),
    "&": ("nb_and", "nb_inplace_and", "__rand__"),
    "|": ("nb_or", "nb_inplace_or", "__ror__"),
    "^": ("nb_xor", "nb_inplace_xor", "__rxor__"),
    "<<": ("nb_lshift", "nb_inplace_lshift", "__rlshift__"),
    ">>": ("nb_rshift", "nb_inplace_rshift", "__rrshift__"),
}
# Tokens whose operands may change places, so that `1 + x` needs no operator of its own.
COMMUTATIVE = frozenset("+*&|^")
UNARY_SLOTS = {
    "neg": "nb_negative",
    "pos": "nb_positive",
    "abs": "nb_absolute",
    "invert": "nb_invert",
}
COMPARISONS = ("<", "<=", "==", "!=", ">", ">=")


@dataclass(frozen=True, slots=True)
class SlotBinding:
    """One slot of the number protocol."""

    slot: str
    symbol: str
    lines: tuple[str, ...]  # the body
    parameters: str


def plan_slots(declarations: Declarations) -> tuple[list[SlotBinding], dict[str, str]]:
    """Number slots, and comparison functions by operator."""
    by_token: dict[str, Operator] = {}
    for operator in declarations.operators:
        if operator.operator is not None:
            by_token.setdefault(operator.operator, operator)
    slots = []
    for token, (forward, inplace, mirrored) in BINARY_SLOTS.items():
        if token not in by_token:
            continue
        operator = by_token[token]
        reflected = operator if token in COMMUTATIVE else by_token.get(f"reflected {token}")
        if token in COMMUTATIVE:
            mirrored = operator.name
        body = _binary_body(operator, reflected, mirrored)
        ternary = ", PyObject*" if token == "**" else ""
        slots.append(
            SlotBinding(forward, f"slot_{forward}", body, f"PyObject* a, PyObject* b{ternary}")
        )
        if "inplace" in operator.variants:
            second = _second_type(operator)
            lines = (
                f'return inplace_slot("{operator.name}_", a, b, [](const Tensor& x, {second} y) '
                f"{{ ops::{operator.identifier}_(x, y); }});",
            )
            slots.append(
                SlotBinding(inplace, f"slot_{inplace}", lines, f"PyObject* a, PyObject* b{ternary}")
            )
    for token, slot in UNARY_SLOTS.items():
        if token in by_token:
            lines = (
                f'return unary_slot("{by_token[token].name}", a, [](const Tensor& x) '
                f"{{ return ops::{by_token[token].identifier}(x); }});",
            )
            slots.append(SlotBinding(slot, f"slot_{slot}", lines, "PyObject* a"))
    comparisons = {}
    for token in COMPARISONS:
        if token in by_token:
            operator = by_token[token]
            name = f"compare_{operator.identifier}"
            reflected = by_token.get({"<": ">", "<=": ">=", ">": "<", ">=": "<="}.get(token, token))
            slots.append(
                SlotBinding(
                    "",
                    name,
                    _binary_body(operator, reflected, operator.name),
                    "PyObject* a, PyObject* b",
                )
            )
            comparisons[token] = name
    return slots, comparisons


def _second_type(operator: Operator) -> str:
    return "const Operand&" if operator.signature.arguments[1].type.or_scalar else "const Tensor&"


def _binary_body(operator: Operator, reflected: Operator | None, mirrored: str) -> tuple[str, ...]:
    second = _second_type(operator)
    forward = f"[](const Tensor& x, {second} y) {{ return ops::{operator.identifier}(x, y); }}"
    if reflected is None:
        return (f'return binary_slot("{operator.name}", "{mirrored}", a, b, {forward});',)
    other = (
        f"[](const Tensor& x, {_second_type(reflected)} y) "
        f"{{ return ops::{reflected.identifier}(x, y); }}"
    )
    return (f'return binary_slot("{operator.name}", "{mirrored}", a, b, {forward}, {other});',)

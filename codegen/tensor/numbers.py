"""The part of the tensor-level emitter that holds no tensor: numbers, lists, conversions between
C++ types.
"""

from __future__ import annotations

from flambeau.codegen.formula.cpp import ATOM, LESS, PRODUCT, SIGN, SUM, at_least, fail
from flambeau.codegen.formula.functions import Function
from flambeau.codegen.formula.nodes import Expression
from flambeau.codegen.model.types import (
    BOOL,
    FLOAT,
    INT,
    INTS,
    NUMBERS,
    SCALAR,
    TENSOR,
    TENSOR_LIKE,
    TENSORS,
    ValueKind,
    ValueType,
    conversion_cost,
    item_type,
)
from flambeau.codegen.tensor.values import Value, literal_value

K = ValueKind
_RANK = {K.BOOL: 0, K.INT: 1, K.FLOAT: 2, K.SCALAR: 3}
OWNING = {K.INTS: "Shape", K.FLOATS: "std::vector<double>", K.TENSORS: "std::vector<Tensor>"}


class NumberRules:
    """Arithmetic and conversions of everything but tensors."""

    def __init__(self, operator: str) -> None:
        self.includes: set[str] = set()
        self.named = f'"{operator}"'  # the operator, for errors at run time

    # --- conversions ---

    def convert(
        self, value: Value, wanted: ValueType, node: Expression, length: int | None = None
    ) -> Value:
        """The value as an argument of type `wanted`; `length`: of a fixed-length list."""
        cost = conversion_cost(value.type, wanted, tuple(i.type for i in value.items))
        if cost is None:
            raise fail(node, f"a {value.type} where a {wanted} is needed")
        kind = value.type.kind
        if kind is K.NONE:
            code = {K.TENSOR: "Tensor()", K.TENSORS: "TensorList()", K.GENERATOR: "nullptr"}.get(
                wanted.kind
            )
            return Value(code or "std::nullopt", wanted, ATOM)
        if kind is K.LIST:
            code = self._list(value, wanted, node)
            return Value(
                f"IntList({code})" if wanted.optional and wanted.kind is K.INTS else code,
                wanted,
                ATOM,
            )
        if wanted.kind is K.INTS and kind is K.INT:
            repeated = ", ".join([value.code] * (length or 1))
            code = f"Shape{{{repeated}}}"
            return Value(f"IntList({code})" if wanted.optional else code, wanted, ATOM)
        if wanted.kind is K.TENSOR and kind is not K.TENSOR:
            return Value(f"as_tensor({value.code})", wanted, ATOM)
        if wanted.kind is K.FLOAT and kind is K.SCALAR:
            return Value(f"{at_least(value, ATOM)}.to<double>()", wanted, ATOM)
        if wanted.kind is K.INT and kind is K.SCALAR:
            return Value(f"{at_least(value, ATOM)}.to<int64_t>()", wanted, ATOM)
        if wanted.kind is K.FLOAT and kind is K.INT and not wanted.optional:
            return self._double(value)
        return value

    def floating_tensor(self, value: Value) -> Value:
        """A number as a tensor for an operator of floating numbers alone: an integer becomes one,
        as beside elements it takes their type.
        """
        if value.type.optional or value.type.kind not in NUMBERS | {K.OPERAND}:
            return value
        if value.literal is not None and not isinstance(value.literal, complex):
            return Value(f"as_tensor({self._double(value).code})", TENSOR, ATOM)
        return Value(f"as_floating_tensor({value.code})", TENSOR, ATOM)

    def _list(self, value: Value, wanted: ValueType, node: Expression) -> str:
        item = item_type(wanted.kind)
        owning = OWNING.get(wanted.kind)
        if item is None or owning is None:
            raise fail(node, f"a list where a {wanted} is needed")
        items = f"{{{', '.join(self.convert(i, item, node).code for i in value.items)}}}"
        return f"TensorItems{items}.list" if wanted.kind is K.TENSORS else f"{owning}{items}"

    def integer(self, value: Value, node: Expression) -> str:
        """Code of type int64_t."""
        if value.type.kind is not K.INT or value.type.optional:
            raise fail(node, f"an int is needed, this is a {value.type}")
        return value.code

    def truth(self, value: Value, node: Expression) -> Value:
        """Code of type bool."""
        kind = value.type.kind
        if kind is K.BOOL and not value.type.optional:
            return value
        if value.type.optional:
            raise fail(node, f"a {value.type} as a condition", "compare it with None")
        if kind in (K.INT, K.FLOAT):
            return Value(f"{at_least(value, SUM)} != 0", BOOL, LESS)
        if kind is K.SCALAR:
            return Value(f"!{at_least(value, ATOM)}.equals(0)", BOOL, SIGN)
        if kind in (K.STR, K.INTS, K.FLOATS, K.TENSORS):
            return Value(f"!{at_least(value, ATOM)}.empty()", BOOL, SIGN)
        raise fail(node, f"a {value.type} is no condition before the call")

    def unify(self, then: Value, otherwise: Value, node: Expression) -> tuple[Value, Value]:
        """Both branches of a conditional in one C++ type."""
        kinds = (then.type.kind, otherwise.type.kind)
        if K.NONE in kinds:
            return self._unify_with_none(then, otherwise, node)
        if set(kinds) & TENSOR_LIKE and set(kinds) <= TENSOR_LIKE | NUMBERS:
            return self.convert(then, TENSOR, node), self.convert(otherwise, TENSOR, node)
        if set(kinds) <= NUMBERS:
            wanted = {0: BOOL, 1: INT, 2: FLOAT, 3: SCALAR}[max(_RANK[k] for k in kinds)]
            return self.as_number(then, wanted), self.as_number(otherwise, wanted)
        if set(kinds) <= {K.INTS, K.LIST, K.FLOATS} and set(kinds) != {K.FLOATS}:
            return self.owned(then, INTS, node), self.owned(otherwise, INTS, node)
        if set(kinds) <= {K.TENSORS, K.LIST}:
            return self.owned(then, TENSORS, node), self.owned(otherwise, TENSORS, node)
        if then.type == otherwise.type:
            return then, otherwise
        raise fail(node, f"the branches are a {then.type} and a {otherwise.type}")

    def _unify_with_none(
        self, then: Value, otherwise: Value, node: Expression
    ) -> tuple[Value, Value]:
        kind = otherwise.type.kind if then.type.kind is K.NONE else then.type.kind
        if kind is K.NONE:
            raise fail(node, "both branches are None")
        wanted = ValueType(kind, optional=True)
        spelled = {
            K.INT: "int64_t",
            K.FLOAT: "double",
            K.BOOL: "bool",
            K.SCALAR: "Scalar",
            K.INTS: "Shape",
            K.DTYPE: "DType",
            K.STR: "std::string_view",
        }.get(kind)

        def wrap(value: Value) -> Value:
            if spelled is None:
                return self.convert(value, wanted, node)
            inner = "std::nullopt" if value.type.kind is K.NONE else value.code
            return Value(f"std::optional<{spelled}>({inner})", wanted, ATOM)

        return wrap(then), wrap(otherwise)

    def owned(self, value: Value, wanted: ValueType, node: Expression) -> Value:
        """A list that owns its items, so that both branches have one type."""
        value = self.convert(value, wanted, node)
        owning = OWNING[wanted.kind]
        if value.code.startswith((owning, "TensorItems{")):
            return value
        if wanted.kind is K.TENSORS:
            return Value(f"to_vector({value.code})", wanted, ATOM)
        return Value(f"{owning}({value.code})", wanted, ATOM)

    def as_number(self, value: Value, wanted: ValueType) -> Value:
        """A number in exactly this C++ type."""
        if value.type.kind is wanted.kind and value.literal is None:
            return value
        spelled = {K.BOOL: "bool", K.INT: "int64_t", K.FLOAT: "double", K.SCALAR: "Scalar"}[
            wanted.kind
        ]
        return Value(f"{spelled}({value.code})", wanted, ATOM, value.literal)

    def _double(self, value: Value) -> Value:
        if value.literal is not None and not isinstance(value.literal, complex):
            return Value(
                literal_value(float(value.literal)).code, FLOAT, ATOM, float(value.literal)
            )
        return Value(f"static_cast<double>({value.code})", FLOAT, ATOM)

    # --- arithmetic ---

    def number_unary(self, node: Expression, operator: str, operand: Value) -> Value:
        kind = operand.type.kind
        if kind not in NUMBERS or operand.type.optional or operator == "~":
            raise fail(node, f"'{operator}' does not apply to a {operand.type}")
        if operator == "+":
            return operand
        if operand.literal is not None:
            return literal_value(-operand.literal)
        if kind is K.SCALAR:
            self.includes.add("core/types/scalar_math.h")
        type_ = INT if kind is K.BOOL else operand.type
        if type_ == INT:
            return Value(f"checked_sub(0, {operand.code}, {self.named})", INT, ATOM)
        return Value(f"-{at_least(operand, ATOM)}", type_, SIGN)

    def number_binary(self, node: Expression, operator: str, left: Value, right: Value) -> Value:
        kinds = (left.type.kind, right.type.kind)
        lists = {K.INTS, K.LIST}
        if operator == "+" and set(kinds) <= lists:
            return self._concatenate(node, left, right)
        if operator == "*" and kinds[0] in lists and kinds[1] is K.INT:
            items = self.convert(left, INTS, node)
            return Value(f"shape_rules::repeated({items.code}, {right.code})", INTS, ATOM)
        for value in (left, right):
            if value.type.kind not in NUMBERS or value.type.optional:
                raise fail(node, f"'{operator}' does not apply to {left.type} and {right.type}")
        if K.SCALAR in kinds:
            return self._scalar_binary(node, operator, left, right)
        result = FLOAT if K.FLOAT in kinds or operator == "/" else INT
        match operator:
            case "+" | "-" | "*" if result == INT:
                return self._checked(operator, left, right)
            case "+" | "-" | "*":
                own = PRODUCT if operator == "*" else SUM
                code = f"{at_least(left, own)} {operator} {at_least(right, own + 1)}"
                return Value(code, result, own)
            case "/":
                left, right = self._double(left), self._double(right)
                return Value(f"{left.code} / {right.code}", FLOAT, PRODUCT)
            case "//" | "%" if result == INT:
                name = "floor_div" if operator == "//" else "floor_mod"
                code = f"shape_rules::{name}({left.code}, {right.code}, {self.named})"
                return Value(code, INT, ATOM)
            case "//":
                return Value(
                    f"std::floor({at_least(left, PRODUCT)} / {at_least(right, SIGN)})", FLOAT, ATOM
                )
            case "**":
                left, right = self._double(left), self._double(right)
                return Value(f"std::pow({left.code}, {right.code})", FLOAT, ATOM)
        raise fail(node, f"'{operator}' does not apply to {left.type} and {right.type}")

    def _checked(self, operator: str, left: Value, right: Value) -> Value:
        """Arithmetic on sizes: what does not fit 64 bits is an error."""
        name = {"+": "checked_add", "-": "checked_sub", "*": "checked_mul"}[operator]
        return Value(f"{name}({left.code}, {right.code}, {self.named})", INT, ATOM)

    def _concatenate(self, node: Expression, left: Value, right: Value) -> Value:
        if left.type.kind is K.LIST and right.type.kind is K.LIST:
            return Value("", ValueType(K.LIST), ATOM, items=left.items + right.items)
        a, b = self.convert(left, INTS, node), self.convert(right, INTS, node)
        return Value(f"shape_rules::concatenated({a.code}, {b.code})", INTS, ATOM)

    def _scalar_binary(self, node: Expression, operator: str, left: Value, right: Value) -> Value:
        """Numbers whose kind is known at run time only; complex ones stay complex."""
        self.includes.add("core/types/scalar_math.h")
        left, right = self.as_number(left, SCALAR), self.as_number(right, SCALAR)
        if operator in ("+", "-", "*", "/"):
            own = PRODUCT if operator in "*/" else SUM
            return Value(
                f"{at_least(left, own)} {operator} {at_least(right, own + 1)}", SCALAR, own
            )
        if operator == "**":
            return Value(f"scalar_math::pow({left.code}, {right.code})", SCALAR, ATOM)
        raise fail(node, f"'{operator}' does not apply to numbers of unknown kind")

    def number_compare(self, node: Expression, operator: str, left: Value, right: Value) -> Value:
        kinds = {left.type.kind, right.type.kind}
        if kinds <= {K.INTS, K.LIST}:
            if operator not in ("==", "!="):
                raise fail(node, f"lists are compared with == and !=, not {operator}")
            a, b = self.convert(left, INTS, node), self.convert(right, INTS, node)
            return Value(f"{'!' if operator == '!=' else ''}equal({a.code}, {b.code})", BOOL, SIGN)
        if kinds == {K.STR}:
            a, b = (
                v if v.type.optional or not v.code.startswith('"') else self._view(v)
                for v in (left, right)
            )
            return Value(f"{a.code} {operator} {b.code}", BOOL, LESS)
        if K.SCALAR in kinds and kinds <= NUMBERS:
            return self._scalar_compare(node, operator, left, right)
        same = len(kinds) == 1 and next(iter(kinds)) in (K.DTYPE, K.DEVICE, K.BOOL)
        if not same and not kinds <= NUMBERS:
            raise fail(node, f"a {left.type} is compared with a {right.type}")
        if same and kinds != {K.BOOL} and operator not in ("==", "!="):
            raise fail(node, f"a {left.type} has no order")
        return Value(f"{at_least(left, SUM)} {operator} {at_least(right, SUM)}", BOOL, LESS)

    def _view(self, value: Value) -> Value:
        return Value(f"std::string_view({value.code})", value.type, ATOM)

    def _scalar_compare(self, node: Expression, operator: str, left: Value, right: Value) -> Value:
        if left.type.optional or right.type.optional:
            raise fail(
                node, f"a {left.type} is compared with a {right.type}", "compare it with None first"
            )
        if operator in ("==", "!="):
            scalar, number = (left, right) if left.type.kind is K.SCALAR else (right, left)
            if number.type.kind is not K.SCALAR:
                negation = "!" if operator == "!=" else ""
                code = f"{negation}{at_least(scalar, ATOM)}.equals({number.code})"
                return Value(code, BOOL, SIGN)
            self.includes.add("core/types/scalar_math.h")
            return Value(f"{at_least(left, SUM)} {operator} {at_least(right, SUM)}", BOOL, LESS)
        a, b = (
            f"{at_least(v, ATOM)}.to<double>()" if v.type.kind is K.SCALAR else v.code
            for v in (left, right)
        )
        return Value(f"{a} {operator} {b}", BOOL, LESS)

    def number_call(self, node: Expression, function: Function, values: tuple[Value, ...]) -> Value:
        """A scalar function of numbers."""
        if any(v.type.optional for v in values):
            raise fail(
                node, f"'{function.name}' of a value that may be None", "compare it with None first"
            )
        if any(v.type.kind is K.SCALAR for v in values):
            self.includes.add("core/types/scalar_math.h")
            if function.name in ("conj", "real", "imag"):
                return Value(f"scalar_math::{function.name}({values[0].code})", SCALAR, ATOM)
        elif function.name in ("conj", "real"):
            return values[0]
        if function.cpp not in _STANDARD:
            raise fail(node, f"'{function.name}' of a number outside a tensor is not supported")
        self.includes.add("cmath")
        result = BOOL if function.result == "bool" else FLOAT
        if result is FLOAT and any(v.type.kind is K.SCALAR for v in values):
            if len(values) != 1:
                raise fail(node, f"'{function.name}' of a number of unknown kind is not supported")
            lambda_ = f"[](double x) {{ return std::{function.cpp}(x); }}"
            return Value(
                f'scalar_math::apply("{function.name}", {values[0].code}, {lambda_})', SCALAR, ATOM
            )
        arguments = ", ".join(self.convert(v, FLOAT, node).code for v in values)
        return Value(f"std::{function.cpp}({arguments})", result, ATOM)


# Functions of flambeau::math that <cmath> has under the same name.
_STANDARD = frozenset(
    [
        "exp",
        "exp2",
        "expm1",
        "log",
        "log2",
        "log10",
        "log1p",
        "sqrt",
        "hypot",
        "pow",
        "sin",
        "cos",
        "tan",
        "asin",
        "acos",
        "atan",
        "atan2",
        "sinh",
        "cosh",
        "tanh",
        "asinh",
        "acosh",
        "atanh",
        "erf",
        "erfc",
        "lgamma",
        "floor",
        "ceil",
        "trunc",
        "fmod",
        "fmax",
        "fmin",
        "abs",
        "copysign",
        "nextafter",
        "isnan",
        "isinf",
        "isfinite",
        "signbit",
    ]
)

__all__ = ["OWNING", "NumberRules"]

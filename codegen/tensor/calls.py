"""The part of the tensor-level emitter that calls: operators, the shape language, metadata,
indexing.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Mapping
from dataclasses import replace

from flambeau.codegen.formula import nodes
from flambeau.codegen.formula.cpp import ATOM, at_least, fail, quote
from flambeau.codegen.formula.functions import OPERATOR_FUNCTIONS, Function, FunctionTable
from flambeau.codegen.formula.nodes import Expression
from flambeau.codegen.formula.parse import parse_source
from flambeau.codegen.model.entries import Argument, Operator
from flambeau.codegen.model.facts import LIST_METADATA, METADATA
from flambeau.codegen.model.operators import Given, OperatorIndex
from flambeau.codegen.model.types import (
    BOOL,
    DTYPE,
    INT,
    INTS,
    NUMBERS,
    SHAPE_TYPES,
    TENSOR,
    TENSOR_LIKE,
    TENSORS,
    ValueKind,
    ValueType,
    item_type,
    value_type,
)
from flambeau.codegen.tensor.numbers import NumberRules
from flambeau.codegen.tensor.values import Scope, Value, literal_value, none_value
from flambeau.codegen.text.source import did_you_mean

K = ValueKind


class CallRules(NumberRules):
    """Calls and what is read off values. The emitter below it supplies `emit` and arithmetic."""

    def __init__(
        self,
        scope: Scope,
        operators: OperatorIndex,
        dtypes: Mapping[str, str],
        spell: Callable[[Operator], str],
        functions: FunctionTable,
        operator: str,
    ) -> None:
        super().__init__(operator)
        self.scope = scope
        self.operators = operators
        self.dtypes = dtypes
        self.spell = spell
        self.functions = functions
        self.families: set[str] = set()
        self.calls: set[str] = set()

    def emit(self, node: Expression) -> Value:
        """The value of a node."""
        raise NotImplementedError

    def count_shared(self, expression: Expression) -> None:
        """Note which parts of a formula occur twice."""
        raise NotImplementedError

    def _written_out(self, node: Expression) -> Value:
        """The value of what a function stands for, which may read its arguments several times."""
        self.count_shared(node)
        return self.emit(node)

    def tensor_binary(self, node: Expression, operator: str, left: Value, right: Value) -> Value:
        """An arithmetic operator on tensors."""
        raise NotImplementedError

    def settle(self, value: Value, node: Expression) -> Value:
        """A value that may be stored: list literals and borrowed lists become lists that own their
        items.
        """
        if value.type.kind is K.LIST:
            item_kinds = {i.type.kind for i in value.items}
            wanted = (
                K.TENSORS
                if item_kinds & TENSOR_LIKE
                else K.FLOATS
                if K.FLOAT in item_kinds
                else K.INTS
            )
            return self.convert(value, ValueType(wanted), node)
        if value.type.kind is K.INTS and not value.type.optional:
            return Value(f"Shape({value.code})", value.type, ATOM)
        if value.type.kind in NUMBERS and value.literal is not None:
            spelled = {K.INT: "int64_t", K.FLOAT: "double", K.BOOL: "bool"}.get(
                value.type.kind, "Scalar"
            )
            return Value(f"{spelled}({value.code})", value.type, ATOM, value.literal)
        return value

    def sequence(self, node: nodes.Sequence) -> Value:
        items = tuple(self.emit(item) for item in node.items)
        if node.is_tuple:
            parts = [
                self.owned(v, TENSORS, n)
                if v.type.kind in (K.TENSORS, K.LIST)
                else self.convert(v, TENSOR, n)
                for v, n in zip(items, node.items, strict=True)
            ]
            code = f"std::make_tuple({', '.join(p.code for p in parts)})"
            types = tuple(p.type for p in parts)
            return Value(code, ValueType(K.RESULTS, results=types), ATOM)
        return Value("", ValueType(K.LIST), ATOM, items=items)

    def attribute(self, node: nodes.Attribute) -> Value:
        if isinstance(node.value, nodes.Name):
            saved = self.scope.get(f"{node.value.identifier}.{node.name}")
            if saved is not None:
                return Value(saved.code, saved.type, ATOM)
        owner = self.emit(node.value)
        if owner.type.kind is K.TENSORS and node.name in LIST_METADATA:
            known = LIST_METADATA[node.name]
            return Value(known.tensor.format(owner.code), known.type, ATOM)
        if owner.type.kind in TENSOR_LIKE and node.name in METADATA:
            known = METADATA[node.name]
            template = known.operand if owner.type.kind is K.OPERAND else known.tensor
            if template is None:
                raise fail(node, f"a number has no {node.name}")
            return Value(template.format(at_least(owner, ATOM)), known.type, ATOM)
        attributes = LIST_METADATA if owner.type.kind is K.TENSORS else METADATA
        raise fail(
            node,
            f"a {owner.type} has no attribute '{node.name}'",
            did_you_mean(node.name, attributes),
        )

    def index(self, node: nodes.Index) -> Value:
        owner = self.emit(node.value)
        if isinstance(node.index, nodes.Slice):
            if (
                owner.type.kind is not K.INTS and owner.type.kind is not K.LIST
            ) or node.index.step is not None:
                raise fail(node, f"a {owner.type} cannot be sliced here", "use narrow() or slice()")
            bounds = [
                "std::nullopt" if part is None else self.integer(self.emit(part), part)
                for part in (node.index.lower, node.index.upper)
            ]
            items = self.convert(owner, INTS, node.value)
            return Value(f"shape_rules::slice({items.code}, {', '.join(bounds)})", INTS, ATOM)
        if owner.type.kind is K.RESULTS:
            position = node.index.value if isinstance(node.index, nodes.Number) else None
            if not isinstance(position, int) or not 0 <= position < len(owner.type.results):
                raise fail(
                    node.index, f"one of {len(owner.type.results)} results is chosen by a number"
                )
            return Value(f"std::get<{position}>({owner.code})", owner.type.results[position], ATOM)
        position_code = self.integer(self.emit(node.index), node.index)
        if owner.type.kind is K.INTS:
            code = f"shape_rules::at({owner.code}, {position_code}, {self.named})"
            return Value(code, INT, ATOM)
        item = item_type(owner.type.kind)
        if item is None:
            raise fail(node, f"a {owner.type} cannot be indexed here", "use select() or narrow()")
        arguments = f"{owner.code}, {position_code}, {quote(str(node.value))}, {self.named}"
        return Value(f"shape_rules::item({arguments})", item, ATOM)

    # --- calls ---

    def call(self, node: nodes.Call) -> Value:
        name = node.function
        values = tuple(self.emit(a) for a in node.arguments)
        keywords = {key: self.emit(value) for key, value in node.keywords}
        shape = self.functions.shape.get(name)
        has_tensor = any(
            v.type.kind in TENSOR_LIKE | {K.TENSORS} for v in (*values, *keywords.values())
        )
        takes_tensor = shape is not None and any(
            p.type in ("value", "operand", "tensor", "list") for p in shape.parameters
        )
        if shape is not None and (not has_tensor or takes_tensor):
            return self.shape_call(node, shape, values, keywords)
        function = self.functions.get(name)
        if (
            function is not None
            and values
            and all(v.type.kind in NUMBERS for v in values)
            and not keywords
        ):
            return self.number_call(node, function, values)
        if name in self.operators:
            return self.operator_call(node, name, values, keywords)
        if name.removesuffix("_") in self.operators:
            return self.operator_call(node, name.removesuffix("_"), values, keywords, in_place=True)
        if function is None or function.level == "random":
            known = {*self.operators.names, *self.functions, *self.functions.shape}
            raise fail(node, f"unknown function '{name}'", did_you_mean(name, known))
        if keywords or len(values) != function.arity:
            raise fail(node, f"'{name}' takes {function.arity} arguments by position")
        if function.expands is not None:
            return self._written_out(function.expand(node.arguments))
        token = next((t for t, f in OPERATOR_FUNCTIONS.items() if f == name), None)
        if token is not None and len(values) == 2:
            return self.tensor_binary(node, token, values[0], values[1])
        if function.definition is not None:
            return self._written_out(function.define(node.arguments))
        raise fail(node, f"no operator '{name}' is declared for tensors")

    def operator_call(
        self,
        node: Expression,
        name: str,
        values: tuple[Value, ...],
        keywords: Mapping[str, Value],
        in_place: bool = False,
    ) -> Value:
        match = self.operators.resolve(
            name, tuple(_given(v) for v in values), {k: _given(v) for k, v in keywords.items()}
        )
        if match is None:
            seen = [str(v.type) for v in values] + [f"{k}: {v.type}" for k, v in keywords.items()]
            declared = "; ".join(_signature_text(o) for o in self.operators.overloads(name))
            raise fail(node, f"'{name}' does not take ({', '.join(seen)})", f"declared: {declared}")
        if in_place and "inplace" not in match.operator.variants:
            raise fail(node, f"'{match.operator.full_name}' has no form in place")
        self.families.add(match.operator.family)
        self.calls.add(match.operator.full_name)
        arguments: list[str] = []
        last = max(
            (i for i, (_, place) in enumerate(match.places) if place is not None), default=-1
        )
        for argument, place in match.places[: last + 1]:
            if place is None:
                value = self.default(argument)
            else:
                value = values[place] if isinstance(place, int) else keywords[place]
            wanted = value_type(argument.type)
            if wanted.kind is K.TENSOR and not _accepts_integers(match.operator, argument):
                value = self.floating_tensor(value)
            arguments.append(self.convert(value, wanted, node, argument.type.list_length).code)
        called = f"{self.spell(match.operator)}{'_' if in_place else ''}"
        return Value(f"{called}({', '.join(arguments)})", match.result, ATOM)

    def default(self, argument: Argument) -> Value:
        """A declared default, as a value."""
        if argument.default is None or argument.default == "None":
            return none_value()
        value = ast.literal_eval(argument.default) if argument.default not in self.dtypes else None
        if value is None:
            return Value(self.dtypes[argument.default], DTYPE, ATOM)
        if isinstance(value, list | tuple):
            return Value("", ValueType(K.LIST), ATOM, items=tuple(literal_value(v) for v in value))
        return self.emit(parse_source(argument.default))

    def shape_call(
        self,
        node: nodes.Call,
        function: Function,
        values: tuple[Value, ...],
        keywords: Mapping[str, Value],
    ) -> Value:
        """A function of the shape language."""
        if keywords or len(values) != function.arity:
            raise fail(node, f"'{function.name}' takes {function.arity} arguments by position")
        if function.expands is not None:
            return self.emit(function.expand(node.arguments))
        arguments = []
        name = function.cpp if "::" in function.cpp else f"shape_rules::{function.cpp}"
        for value, parameter, source in zip(
            values, function.parameters, node.arguments, strict=True
        ):
            if parameter.type == "value":
                return self.kind_of_number(function, value, source)
            if parameter.type == "operand":
                arguments.append(value.code)  # C++ makes one of a tensor or a number
                continue
            if parameter.type == "list":
                if value.type.kind is K.LIST:
                    value = self.settle(value, source)
                if item_type(value.type.kind) is None:
                    raise fail(source, f"'{function.name}' takes a list, not a {value.type}")
                if value.type.kind is not K.INTS:
                    return Value(f"static_cast<int64_t>({value.code}.size())", INT, ATOM)
                arguments.append(value.code)
                continue
            wanted = replace(SHAPE_TYPES[parameter.type], optional=parameter.optional)
            if wanted.kind is K.INTS and value.type.kind is K.INT:
                arguments.append(value.code)  # overloaded for one dim
            elif wanted.kind is K.INTS and value.type.kind is K.NONE:
                arguments.append("std::nullopt")
            elif wanted.optional and value.type.optional and value.type.kind is K.INT:
                arguments.append(value.code)
            else:
                arguments.append(self.convert(value, wanted, source).code)
        if function.names_operator:
            arguments.append(self.named)
        if not name.startswith("shape_rules") and function.name not in ("max", "min"):
            self.includes.add("core/types/dtype.h")
        return Value(f"{name}({', '.join(arguments)})", SHAPE_TYPES[function.result], ATOM)

    def kind_of_number(self, function: Function, value: Value, node: Expression) -> Value:
        """`is_integral(x)` of a dtype, a number or a tensor."""
        kind = value.type.kind
        if kind is K.DTYPE and not value.type.optional:
            return Value(f"{function.cpp}({value.code})", BOOL, ATOM)
        if kind is K.TENSOR:
            return Value(f"{function.cpp}({value.code}.dtype())", BOOL, ATOM)
        if kind is K.OPERAND:
            return Value(f"{function.cpp}(dtype_of_operand({value.code}))", BOOL, ATOM)
        if kind is K.SCALAR:
            owner = f"{at_least(value, ATOM)}{'->' if value.type.optional else '.'}"
            return Value(f"{owner}{function.name}()", BOOL, ATOM)
        if kind in NUMBERS:
            return Value(f"Scalar({value.code}).{function.name}()", BOOL, ATOM)
        raise fail(
            node, f"'{function.name}' takes a dtype, a number or a tensor, not a {value.type}"
        )


def _accepts_integers(operator: Operator, argument: Argument) -> bool:
    """Whether an integer may stand for the tensor as it is."""
    accepted = operator.dtypes.accepts.get(argument.name)
    return not accepted or not accepted.isdisjoint(("bool", "uint8", "int64"))


def _given(value: Value) -> Given:
    return Given(value.type, tuple(i.type for i in value.items))


def _signature_text(operator: Operator) -> str:
    arguments = ", ".join(f"{a.type} {a.name}" for a in operator.signature.arguments)
    return f"{operator.full_name}({arguments})"

"""Formulas over tensors, evaluated in NumPy: every operator that a formula calls stands for its own
reference.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Collection, Mapping
from functools import lru_cache
from typing import Any

import numpy as np

from flambeau.codegen.check.samples import DTYPES, parse_sample
from flambeau.codegen.check.shape_rules import FUNCTIONS
from flambeau.codegen.expression import nodes
from flambeau.codegen.expression.evaluate import EvaluationError, Evaluator, MissingError
from flambeau.codegen.expression.functions import FunctionTable
from flambeau.codegen.expression.nodes import Expression
from flambeau.codegen.expression.operators import OperatorIndex
from flambeau.codegen.expression.to_numpy import ElementEvaluator
from flambeau.codegen.model import Argument, Base, Operator

_METADATA: dict[str, Callable[[Any], Any]] = {
    "shape": lambda x: list(np.shape(x)),
    "numel": lambda x: int(np.size(x)),
    "dim": np.ndim,
    "dtype": lambda x: np.asarray(x).dtype.name,
}
_LIST_METADATA: dict[str, Callable[[Any], Any]] = {
    "shapes": lambda xs: [list(np.shape(x)) for x in xs],
    "count": len,
}


class FormulaEvaluator(ElementEvaluator):
    """Element formulas, metadata, the shape language, and calls of operators."""

    def __init__(
        self,
        names: Mapping[str, Any],
        table: FunctionTable,
        operators: OperatorIndex,
        unknown: Collection[str] = (),
    ) -> None:
        super().__init__(names, table)
        self.operators = operators
        self.unknown = frozenset(unknown)  # names whose values cannot be told

    def name(self, node: nodes.Name) -> Any:
        if node.identifier in self.unknown and node.identifier not in self.names:
            raise MissingError(node, f"'{node.identifier}' has no NumPy equivalent")
        return super().name(node)

    def attribute(self, node: nodes.Attribute) -> Any:
        value = self(node.value)
        found = (_LIST_METADATA if isinstance(value, list) else _METADATA).get(node.name)
        if found is None:
            raise MissingError(node, f"'{node.name}' has no NumPy equivalent")
        return found(value)

    def function(self, node: Expression, name: str) -> Callable[..., Any]:
        element = self.table.get(name)
        if element is not None and (element.numpy is not None or element.expands is not None):
            return self._numpy(element)
        if name in self.operators:
            return lambda *args, **keywords: self._call(node, name, args, keywords)
        if name in FUNCTIONS:
            return FUNCTIONS[name]
        raise MissingError(node, f"'{name}' has no NumPy equivalent")

    def _numpy(self, function: Any) -> Callable[..., Any]:
        if function.expands is None:
            return super()._numpy(function)
        names = [p.name for p in function.parameters]

        def evaluate(*arguments: Any) -> Any:
            inner = dict(zip(names, arguments, strict=True))
            return FormulaEvaluator(inner, self.table, self.operators)(function.expands)

        return evaluate

    def _call(
        self, node: Expression, name: str, args: tuple[Any, ...], keywords: dict[str, Any]
    ) -> Any:
        for operator in self.operators.overloads(name):
            bound = bind(operator, args, keywords)
            if bound is not None:
                return called_value(operator, bound, self.table, self.operators, node)
        if name in FUNCTIONS:
            return FUNCTIONS[name](*args, **keywords)
        raise MissingError(node, f"no overload of '{name}' has a reference for these arguments")


def bind(
    operator: Operator, args: tuple[Any, ...], keywords: Mapping[str, Any]
) -> dict[str, Any] | None:
    """Argument values by name, with defaults; None where the call does not fit the signature."""
    arguments = operator.signature.arguments
    positional = [a for a in arguments if not a.keyword_only]
    if len(args) > len(positional) or not keywords.keys() <= {a.name for a in arguments}:
        return None
    values = {a.name: v for a, v in zip(positional, args, strict=False)}
    if values.keys() & keywords.keys():
        return None
    values.update(keywords)
    for argument in arguments:
        if argument.name not in values:
            if argument.default is None and not argument.type.optional:
                return None
            values[argument.name] = default_value(argument)
        if not plausible(argument, values[argument.name]):
            return None
        if argument.type.is_list and isinstance(values[argument.name], int):
            values[argument.name] = [values[argument.name]] * (argument.type.list_length or 1)
    return values


def default_value(argument: Argument) -> Any:
    """The declared default as a Python value; dtypes and the like, which NumPy does not need, are
    None.
    """
    if argument.default is None:
        return None
    try:
        return ast.literal_eval(argument.default)
    except (ValueError, SyntaxError):
        return {"inf": np.inf, "-inf": -np.inf}.get(argument.default)


def plausible(argument: Argument, value: Any) -> bool:
    """Whether a value can be of the declared type: enough to tell overloads apart."""
    declared = argument.type
    if value is None:
        return declared.optional or declared.base.value in ("dtype", "device", "Generator")
    if declared.is_list:
        return isinstance(value, list | tuple | int) and not isinstance(value, bool)
    if isinstance(value, np.ndarray | np.generic):
        return declared.base.value == "Tensor"
    if declared.base.value == "Tensor":
        return declared.or_scalar and isinstance(value, int | float | complex)
    if isinstance(value, str):
        return declared.base.value in ("str", "dtype", "device")
    return not isinstance(value, list | tuple)


def called_value(
    operator: Operator,
    values: Mapping[str, Any],
    table: FunctionTable,
    operators: OperatorIndex,
    node: Expression,
) -> Any:
    """The value of a call within a formula. References hold for the samples of their entries: one
    that fails here, or does not read a number that is given here, is missing.
    """
    reference = operator.test.reference
    read = _names_read(reference) if reference is not None else values.keys()
    for argument in operator.signature.arguments:
        value = values[argument.name]
        ignored = argument.name not in read and argument.type.base is not Base.TENSOR
        if ignored and value is not None and value != default_value(argument):
            raise MissingError(node, f"the reference of '{operator.name}' is not for this call")
    try:
        return reference_value(operator, values, table, operators, node)
    except EvaluationError as error:
        raise MissingError(node, f"'{operator.name}' has no reference here: {error}") from None


@lru_cache(maxsize=4096)
def _names_read(source: str) -> frozenset[str]:
    return nodes.free_names(parse_sample(source))


def reference_value(
    operator: Operator,
    values: Mapping[str, Any],
    table: FunctionTable,
    operators: OperatorIndex,
    node: Expression,
) -> Any:
    """What the operator's reference, or else its body or expression, gives for these arguments."""
    if operator.test.reference is not None:
        return Evaluator({**DTYPES, **values})(parse_sample(operator.test.reference))
    if operator.body is not None:
        inner = FormulaEvaluator(values, table, operators)
        for name, formula in operator.body_lets:
            inner.names[name] = inner(formula)
        found = inner(operator.body)
        results = operator.signature.results
        if not any(r.hidden for r in results):
            return found
        shown = [f for f, r in zip(found, results, strict=True) if not r.hidden]
        return shown[0] if len(shown) == 1 else tuple(shown)
    if len(operator.expressions) == 1 and operator.random is None:
        return ElementEvaluator(values, table)(next(iter(operator.expressions.values())))
    raise MissingError(node, f"'{operator.full_name}' has no reference")

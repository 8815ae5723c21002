"""Formulas over tensors, evaluated in NumPy: every operator that a formula calls stands for its own
reference.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Collection, Mapping
from functools import lru_cache
from typing import Any

import numpy as np

from flambeau.codegen.check.samples import DTYPES, parse_sample, sample_value
from flambeau.codegen.formula import nodes
from flambeau.codegen.formula.evaluate import EvaluationError, Evaluator, MissingError
from flambeau.codegen.formula.functions import FunctionTable
from flambeau.codegen.formula.nodes import Expression
from flambeau.codegen.formula.shape_rules import FUNCTIONS
from flambeau.codegen.formula.to_numpy import ElementEvaluator
from flambeau.codegen.model.entries import Argument, Base, Operator
from flambeau.codegen.model.operators import OperatorIndex
from flambeau.codegen.references.files import reference_functions

_METADATA: dict[str, Callable[[Any], Any]] = {
    "shape": lambda x: list(np.shape(x)),
    "numel": lambda x: int(np.size(x)),
    "dim": np.ndim,
    "dtype": lambda x: np.asarray(x).dtype.name,
    "device": lambda x: "cpu",
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
        if node.identifier in DTYPES and node.identifier not in self.names:
            return DTYPES[node.identifier]
        return super().name(node)

    def attribute(self, node: nodes.Attribute) -> Any:
        value = self(node.value)
        found = (_LIST_METADATA if isinstance(value, list) else _METADATA).get(node.name)
        if found is None:
            raise MissingError(node, f"'{node.name}' has no NumPy equivalent")
        return found(value)

    def function(self, node: Expression, name: str) -> Callable[..., Any]:
        for found in (self.table.get(name), self.table.shape.get(name)):
            if found is not None and (found.numpy is not None or found.expands is not None):
                return self._numpy(found)
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
        if argument.type.is_list and isinstance(values[argument.name], int | float):
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
        single = int | float if declared.base.value == "float" else int
        return isinstance(value, list | tuple | single) and not isinstance(value, bool)
    if isinstance(value, np.ndarray | np.generic):
        return declared.base.value == "Tensor"
    if declared.base.value == "Tensor":
        return declared.or_scalar and isinstance(value, int | float | complex)
    if isinstance(value, str):
        return declared.base.value in ("str", "memory_format", "dtype", "device")
    return not isinstance(value, list | tuple)


def called_value(
    operator: Operator,
    values: Mapping[str, Any],
    table: FunctionTable,
    operators: OperatorIndex,
    node: Expression,
) -> Any:
    """The value of a call within a formula. A reference holds for the samples of its entry: where
    it is not for this call, the body is evaluated, and where there is none, the value is missing.
    """
    is_covered = _covers_call(operator, values)
    if not is_covered and operator.body is None:
        raise MissingError(node, f"the reference of '{operator.name}' is not for this call")
    try:
        if is_covered:
            return reference_value(operator, values, table, operators, node)
        return _body_value(operator, values, table, operators)
    except EvaluationError as error:
        raise MissingError(node, f"'{operator.name}' has no reference here: {error}") from None


def _covers_call(operator: Operator, values: Mapping[str, Any]) -> bool:
    """Whether the reference reads every argument, or has the values of the others in samples."""
    reference = operator.test.reference
    if reference is None:
        return True
    read = _names_read(reference)
    for argument in operator.signature.arguments:
        value = values[argument.name]
        # Tensors are told by their shapes; NumPy has one device.
        is_read = argument.name in read or argument.type.base in (Base.TENSOR, Base.DEVICE)
        if not is_read and value is not None and value not in _sampled_values(operator, argument):
            return False
    return True


def _sampled_values(operator: Operator, argument: Argument) -> list[Any]:
    """The default of an argument that is no tensor, and its values in the samples."""
    found = [default_value(argument)]
    if argument.type.base is Base.DTYPE:
        found.append("float64")  # in which references compute
    given = [s[argument.name] for s in operator.test.samples if argument.name in s]
    return found + [sample_value(source, 0) for source in given]


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
        functions = reference_functions(operator.span.file)
        return Evaluator({**DTYPES, **values}, functions)(parse_sample(operator.test.reference))
    if operator.body is not None:
        return _body_value(operator, values, table, operators)
    if len(operator.expressions) == 1 and operator.random is None:
        return ElementEvaluator(values, table)(next(iter(operator.expressions.values())))
    raise MissingError(node, f"'{operator.full_name}' has no reference")


def _body_value(
    operator: Operator, values: Mapping[str, Any], table: FunctionTable, operators: OperatorIndex
) -> Any:
    """What the body gives, without the hidden results."""
    assert operator.body is not None
    inner = FormulaEvaluator(values, table, operators)
    for name, formula in operator.body_lets:
        inner.names[name] = inner(formula)
    found = inner(operator.body)
    results = operator.signature.results
    if not any(r.hidden for r in results):
        return found
    shown = [f for f, r in zip(found, results, strict=True) if not r.hidden]
    return shown[0] if len(shown) == 1 else tuple(shown)

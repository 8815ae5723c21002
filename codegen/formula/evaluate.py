"""Expression trees evaluated over NumPy, by walking them: no Python `eval` sees the text of a
declaration.

`Evaluator` has Python's semantics and serves references and samples; `to_numpy.py` derives the
elementwise semantics of formulas from it.
"""

from __future__ import annotations

import importlib
import math
import operator
from collections.abc import Callable, Mapping
from types import ModuleType
from typing import Any

import numpy as np

from flambeau.codegen.formula import nodes, sandbox
from flambeau.codegen.formula.nodes import Expression
from flambeau.codegen.formula.sandbox import BUILTINS
from flambeau.codegen.text.source import Note, Span, did_you_mean


class EvaluationError(Exception):
    """The expression cannot be evaluated; `node` says where."""

    def __init__(
        self, node: Expression, message: str, hint: str | None = None, *notes: Note
    ) -> None:
        super().__init__(message)
        self.node = node
        self.hint = hint
        self.notes = notes


class MissingError(EvaluationError):
    """NumPy, or the declarations, lack what the expression calls: no mistake of its own."""


class UnavailableError(Exception):
    """A library that the expression needs (SciPy) is not installed."""


_BINARY: dict[str, Callable[[Any, Any], Any]] = {
    "+": operator.add,
    "-": operator.sub,
    "*": operator.mul,
    "/": operator.truediv,
    "//": operator.floordiv,
    "%": operator.mod,
    "**": operator.pow,
    "@": operator.matmul,
    "&": operator.and_,
    "|": operator.or_,
    "^": operator.xor,
    "<<": operator.lshift,
    ">>": operator.rshift,
}
_COMPARE: dict[str, Callable[[Any, Any], Any]] = {
    "==": operator.eq,
    "!=": operator.ne,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
    "is": operator.is_,
    "is not": operator.is_not,
    "in": lambda a, b: a in b,
    "not in": lambda a, b: a not in b,
}
_UNARY: dict[str, Callable[[Any], Any]] = {
    "-": operator.neg,
    "+": operator.pos,
    "~": operator.invert,
    "not": operator.not_,
}
_METHODS = frozenset(
    [
        "all",
        "any",
        "argmax",
        "indices",
        "argmin",
        "argsort",
        "astype",
        "clip",
        "conj",
        "conjugate",
        "copy",
        "cumprod",
        "cumsum",
        "diagonal",
        "dot",
        "fill",
        "flatten",
        "index",
        "count",
        "item",
        "max",
        "mean",
        "min",
        "nonzero",
        "prod",
        "ravel",
        "repeat",
        "reshape",
        "round",
        "squeeze",
        "std",
        "sum",
        "swapaxes",
        "take",
        "tolist",
        "trace",
        "transpose",
        "var",
        "view",
    ]
)
_OWNERS = (np.ndarray, np.generic, list, tuple, range, slice, int, float, complex)
_ATTRIBUTES = frozenset(
    [
        "T",
        "mT",
        "shape",
        "ndim",
        "size",
        "itemsize",
        "strides",
        "dtype",
        "real",
        "imag",
        "eps",
        "max",
        "min",
        "tiny",
    ]
)


class Evaluator:
    """Evaluates with Python's semantics.

    `names` are the variables, `functions` further plain functions.
    """

    def __init__(
        self, names: Mapping[str, Any], functions: Mapping[str, Callable[..., Any]] | None = None
    ) -> None:
        self.names = dict(names)
        self.functions = dict(functions or {})

    def __call__(self, node: Expression) -> Any:
        sandbox.work.enter()
        try:
            sandbox.work.step()
            return self.compute(node)
        except (EvaluationError, UnavailableError):
            raise
        except sandbox.FailedError as error:
            notes = [Note(Span(*error.place, 1), "raised here")] if error.place else []
            raise EvaluationError(node, str(error), None, *notes) from error
        except sandbox.RefusedError as error:
            raise EvaluationError(node, str(error)) from error
        except (ArithmeticError, LookupError, TypeError, ValueError, AttributeError) as error:
            raise EvaluationError(node, f"{type(error).__name__}: {error}") from error
        except (MemoryError, RecursionError) as error:
            raise EvaluationError(node, "the value is too large") from error
        finally:
            sandbox.work.leave()

    def compute(self, node: Expression) -> Any:
        match node:
            case nodes.Name():
                return self.name(node)
            case nodes.Number(value=value) | nodes.String(value=value):
                return value
            case nodes.NoneLiteral():
                return None
            case nodes.Sequence(items=items, is_tuple=is_tuple):
                values = self.spread(items)
                return tuple(values) if is_tuple else values
            case nodes.Unary(operator=symbol, operand=operand):
                return self.unary(symbol, self(operand))
            case nodes.Binary(left=left, operator=symbol, right=right):
                return self.binary(node, symbol, self(left), self(right))
            case nodes.Compare(left=left, operator=symbol, right=right):
                return _COMPARE[symbol](self(left), self(right))
            case nodes.Boolean():
                return self.boolean(node)
            case nodes.Conditional():
                return self.conditional(node)
            case nodes.Attribute():
                return self.attribute(node)
            case nodes.Index(value=value, index=index):
                return self(value)[self.index(index)]
            case nodes.Call(function=function, arguments=arguments, keywords=keywords):
                target = self.function(node, function)
                given = {name: self(value) for name, value in keywords}
                return sandbox.call(target, self.spread(arguments), given)
            case nodes.EllipsisLiteral():
                return ...
            case nodes.Method():
                return self.method(node)
            case nodes.Comprehension():
                return self.comprehension(node)
            case nodes.Let():
                return self.let(node)
        raise EvaluationError(node, f"'{node}' cannot be evaluated")

    def name(self, node: nodes.Name) -> Any:
        if node.identifier in self.names:
            return self.names[node.identifier]
        if node.identifier in nodes.CONSTANTS:
            return nodes.CONSTANTS[node.identifier]
        if node.identifier in BUILTINS:
            return BUILTINS[node.identifier]  # a type, as in astype(bool)
        hint = did_you_mean(node.identifier, self.names)
        raise EvaluationError(node, f"unknown name '{node.identifier}'", hint)

    def unary(self, symbol: str, operand: Any) -> Any:
        return _UNARY[symbol](operand)

    def binary(self, node: Expression, symbol: str, left: Any, right: Any) -> Any:
        sandbox.check_operands(symbol, left, right)
        return sandbox.checked(_BINARY[symbol](left, right))

    def boolean(self, node: nodes.Boolean) -> Any:
        value: Any = None
        for operand in node.operands:
            value = self(operand)
            if bool(value) is (node.operator == "or"):
                break
        return value

    def conditional(self, node: nodes.Conditional) -> Any:
        return self(node.then if self(node.condition) else node.otherwise)

    def index(self, node: Expression) -> Any:
        if isinstance(node, nodes.Slice):
            bounds = (node.lower, node.upper, node.step)
            return slice(*(None if part is None else self(part) for part in bounds))
        if isinstance(node, nodes.Sequence) and node.is_tuple:
            parts: list[Any] = []
            for item in node.items:
                found = self.index(item.value if isinstance(item, nodes.Starred) else item)
                parts.extend(found if isinstance(item, nodes.Starred) else [found])
            return tuple(parts)
        return self(node)

    def spread(self, items: tuple[Expression, ...]) -> list[Any]:
        """Values of items, starred ones in place."""
        values: list[Any] = []
        for item in items:
            if isinstance(item, nodes.Starred):
                values.extend(self(item.value))
            else:
                values.append(self(item))
        return values

    def attribute(self, node: nodes.Attribute) -> Any:
        dotted = _dotted(node)
        if dotted is not None and dotted.split(".")[0] not in self.names:
            return _from_module(node, dotted)
        if node.name not in _ATTRIBUTES:
            raise EvaluationError(node, f"the attribute '{node.name}' is not available here")
        return getattr(self(node.value), node.name)

    def function(self, node: Expression, name: str) -> Callable[..., Any]:
        if name in self.functions:
            return self.functions[name]
        if "." in name:
            found = _from_module(node, name)
            if callable(found):
                return found  # type: ignore[no-any-return]
        elif name in BUILTINS:
            return BUILTINS[name]  # type: ignore[no-any-return]
        hint = did_you_mean(name, [*self.functions, *BUILTINS])
        raise EvaluationError(node, f"unknown function '{name}'", hint)

    def method(self, node: nodes.Method) -> Any:
        if node.name not in _METHODS:
            raise EvaluationError(node, f"the method '{node.name}' is not available here")
        owner = self(node.value)
        if not isinstance(owner, _OWNERS):
            raise EvaluationError(node, f"the method '{node.name}' is not available here")
        arguments = self.spread(node.arguments)
        keywords = {name: self(value) for name, value in node.keywords}
        sandbox.check_arguments(node.name, None, [owner, *arguments, *keywords.values()])
        return sandbox.checked(getattr(owner, node.name)(*arguments, **keywords))

    def let(self, node: nodes.Let) -> Any:
        values = self.spread(node.values)
        outer = dict(self.names)
        self.names.update(zip(node.names, values, strict=True))
        try:
            return self(node.body)
        finally:
            self.names = outer

    def comprehension(self, node: nodes.Comprehension) -> list[Any]:
        values: list[Any] = []
        outer = {name: self.names[name] for name in node.names if name in self.names}
        for item in self(node.iterable):
            items = (item,) if len(node.names) == 1 else tuple(item)
            self.names.update(zip(node.names, items, strict=True))
            if node.condition is None or self(node.condition):
                element = self(node.element)
                values.extend(element if node.joins else [element])
            if len(values) > sandbox.LONGEST_LIST:
                raise EvaluationError(node, "the list is too long")
        for name in node.names:
            self.names.pop(name, None)
        self.names.update(outer)
        return values


def _dotted(node: Expression) -> str | None:
    if isinstance(node, nodes.Name):
        return node.identifier if node.identifier in ("np", "sp", "math") else None
    if isinstance(node, nodes.Attribute):
        start = _dotted(node.value)
        return None if start is None else f"{start}.{node.name}"
    return None


def module(name: str) -> ModuleType:
    """`np`, `sp` (scipy.special), `math` or `own`."""
    if name == "np":
        import numpy

        return numpy
    if name == "own":
        from flambeau.codegen.formula import numpy_functions

        return numpy_functions
    if name == "sp":
        try:
            return importlib.import_module("scipy.special")
        except ImportError:
            raise UnavailableError("SciPy is not installed") from None
    return math


def _from_module(node: Expression, dotted: str) -> Any:
    root, *path = dotted.split(".")
    source = module(root)
    try:
        return sandbox.resolve(source, path)
    except LookupError:
        hint = did_you_mean(dotted, sandbox.offered_names(root, source))
        raise EvaluationError(node, f"'{dotted}' is not available here", hint) from None

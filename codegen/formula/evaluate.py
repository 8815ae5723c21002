"""Expression trees evaluated over NumPy, by walking them: no Python `eval` sees the text of a
declaration.

`Evaluator` has Python's semantics and serves references and samples; `to_numpy.py` derives the
elementwise semantics of formulas from it.
"""

from __future__ import annotations

import importlib
import math
from collections.abc import Callable, Mapping
from types import ModuleType
from typing import Any, NoReturn

import numpy as np

from flambeau.codegen.formula import nodes, sandbox
from flambeau.codegen.formula.nodes import Expression
from flambeau.codegen.formula.sandbox import BUILTINS
from flambeau.codegen.formula.walker import Walker
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


class Evaluator(Walker):
    """Evaluates with Python's semantics.

    `names` are the variables, `functions` further plain functions.
    """

    def __init__(
        self, names: Mapping[str, Any], functions: Mapping[str, Callable[..., Any]] | None = None
    ) -> None:
        super().__init__(names)
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

    def refuse(self, node: Expression) -> NoReturn:
        raise EvaluationError(node, f"'{node}' cannot be evaluated")

    def name(self, node: nodes.Name) -> Any:
        known = node.identifier in self.names or node.identifier in nodes.CONSTANTS
        if not known and node.identifier in BUILTINS:
            return BUILTINS[node.identifier]  # a type, as in astype(bool)
        if not known:
            hint = did_you_mean(node.identifier, self.names)
            raise EvaluationError(node, f"unknown name '{node.identifier}'", hint)
        return super().name(node)

    def call(self, node: nodes.Call) -> Any:
        target = self.function(node, node.function)
        given = {name: self(value) for name, value in node.keywords}
        sandbox.work.step(sandbox.STEPS_OF_A_CALL)
        return sandbox.call(target, self.spread(node.arguments), given)

    def binary(self, node: Expression, symbol: str, left: Any, right: Any) -> Any:
        sandbox.check_operands(symbol, left, right)
        return sandbox.checked(super().binary(node, symbol, left, right))

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
        sandbox.work.step(sandbox.STEPS_OF_A_CALL)
        sandbox.check_arguments(node.name, None, [owner, *arguments, *keywords.values()])
        return sandbox.checked(getattr(owner, node.name)(*arguments, **keywords))

    def check_length(self, node: nodes.Comprehension, length: int) -> None:
        if length > sandbox.LONGEST_LIST:
            raise EvaluationError(node, "the list is too long")


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

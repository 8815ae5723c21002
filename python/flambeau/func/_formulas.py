"""Formulas of declarations, computed over tensors in Python: the bodies of operators, and how they
are computed for a batch.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import flambeau
from flambeau import Tensor
from flambeau._torch_function import DisableTorchFunction
from flambeau.codegen.formula import nodes
from flambeau.codegen.formula.nodes import Expression
from flambeau.codegen.formula.parse import parse_source
from flambeau.codegen.formula.walker import Walker

Caller = Callable[[str, tuple[Any, ...], dict[str, Any]], Any]


@functools.cache
def _shape_functions() -> Mapping[str, Callable[..., Any]]:
    from flambeau.codegen.formula.shape_rules import FUNCTIONS

    return FUNCTIONS


@functools.cache
def _element_functions() -> Any:
    from flambeau.codegen.formula.functions import load_functions

    return load_functions()


@functools.cache
def _number_function(name: str) -> Callable[..., Any]:
    """A function of elements, of numbers."""
    from flambeau.codegen.formula.evaluate import module

    root, _, path = _element_functions()[name].numpy.partition(".")
    found: Any = module(root)
    for part in path.split("."):
        found = getattr(found, part)
    return found


@functools.cache
def _parsed(text: str) -> Expression:
    return parse_source(text)


@functools.cache
def _dtypes() -> dict[str, Any]:
    return {n: v for n, v in vars(flambeau).items() if isinstance(v, flambeau.dtype)}


class _Later(NamedTuple):
    """A let that nobody has read."""

    formula: Expression


class Evaluator(Walker):
    """Computes formulas over the values of some names; `caller` calls operators."""

    def __init__(self, names: Mapping[str, Any], caller: Caller, is_operator: Any) -> None:
        super().__init__(names)
        self._caller = caller
        self._is_operator = is_operator

    def formula(self, lets: Sequence[tuple[str, str, bool]], text: str) -> Any:
        """The value of a formula, over those of lets, each of which sees the ones before it. Of a
        let is known whether it is computed only where it is read.
        """
        for name, value, is_later in lets:
            self.names[name] = _Later(_parsed(value)) if is_later else self(_parsed(value))
        return self(_parsed(text))

    def name(self, node: nodes.Name) -> Any:
        name = node.identifier
        if name not in self.names and name in _dtypes():
            return _dtypes()[name]
        found = super().name(node)
        if isinstance(found, _Later):
            found = self.names[name] = self(found.formula)
        return found

    def conditional(self, node: nodes.Conditional) -> Any:
        condition = self(node.condition)
        if isinstance(condition, Tensor):
            return self._caller("where", (condition, self(node.then), self(node.otherwise)), {})
        return self(node.then if condition else node.otherwise)

    def boolean(self, node: nodes.Boolean) -> Any:
        """`and`, `or`: elementwise of tensors."""
        is_or = node.operator == "or"
        found = self(node.operands[0])
        for operand in node.operands[1:]:
            if isinstance(found, Tensor):
                found = self.binary(node, "|" if is_or else "&", found, self(operand))
            elif bool(found) is is_or:
                return found
            else:
                found = self(operand)
        return found

    def attribute(self, node: nodes.Attribute) -> Any:
        return _attribute(self(node.value), node.name)

    def call(self, node: nodes.Call) -> Any:
        kwargs = {name: self(value) for name, value in node.keywords}
        return self._called(node.function, tuple(self.spread(node.arguments)), kwargs)

    def _called(self, name: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        functions = _element_functions()
        has_tensor = any(map(_holds_tensor, args)) or any(map(_holds_tensor, kwargs.values()))
        shape = functions.shape.get(name)
        if shape is not None and not (has_tensor and _TENSORS.isdisjoint(_types(shape))):
            if shape.expands is not None:
                return self._defined(shape.parameters, shape.expands, args)
            return _shape_call(name, shape, args)
        function = functions.get(name)
        if function is not None and args and not has_tensor and not kwargs:
            return self._of_numbers(function, args)
        if self._is_operator(name):
            if isinstance(kwargs.get("memory_format"), str):  # as formulas spell it
                kwargs["memory_format"] = getattr(flambeau, kwargs["memory_format"])
            return self._caller(name, args, kwargs)
        if function is not None and function.expands is not None:
            return self._defined(function.parameters, function.expands, args)
        if function is not None and function.definition is not None:
            return self._defined(function.parameters, function.definition, args)
        raise NotImplementedError(f"the formula calls '{name}', which is no operator of tensors")

    def _of_numbers(self, function: Any, args: tuple[Any, ...]) -> Any:
        if function.expands is not None:
            return self._defined(function.parameters, function.expands, args)
        found = _number_function(function.name)(*args)
        return found.item() if hasattr(found, "item") else found

    def _defined(self, parameters: Any, formula: Expression, args: tuple[Any, ...]) -> Any:
        names = {p.name: a for p, a in zip(parameters, args, strict=True)}
        return Evaluator(names, self._caller, self._is_operator)(formula)


# Types of the shape language that a tensor can be given for.
_TENSORS = frozenset(("value", "operand", "tensor", "list"))


def _types(function: Any) -> set[str]:
    return {p.type for p in function.parameters}


def _holds_tensor(value: Any) -> bool:
    if isinstance(value, list | tuple):
        return any(isinstance(item, Tensor) for item in value)
    return isinstance(value, Tensor)


# What a batch, too, knows of itself: nobody else is asked.
_SEEN: dict[str, Callable[[Tensor], Any]] = {
    "shape": lambda x: list(x.shape),
    "dim": Tensor.dim,
    "numel": Tensor.numel,
    "dtype": lambda x: x.dtype,
}
_OF_TENSORS: dict[str, Callable[[Tensor], Any]] = {
    "device": lambda x: x.device,
    "strides": lambda x: list(x.stride()),
    "offset": Tensor.storage_offset,
}


def _attribute(value: Any, name: str) -> Any:
    """What formulas read off a tensor, or a list of them; a number is a tensor of no dims."""
    if isinstance(value, Tensor):
        seen = _SEEN.get(name)
        if seen is None:
            return _OF_TENSORS[name](value)
        with DisableTorchFunction():
            return seen(value)
    if isinstance(value, list | tuple):
        listed: dict[str, Callable[[], Any]] = {
            "shapes": lambda: [list(x.shape) for x in value],
            "dtypes": lambda: [x.dtype for x in value],
            "count": lambda: len(value),
        }
        return listed[name]()
    constant: dict[str, Any] = {"shape": [], "dim": 0, "numel": 1, "dtype": _dtype_of(value)}
    return constant[name]


def _dtype_of(number: Any) -> Any:
    if isinstance(number, bool):
        return flambeau.bool
    if isinstance(number, int):
        return flambeau.int64
    kind = flambeau.get_default_dtype()
    return kind if isinstance(number, float) else kind.to_complex()


def _kind(value: Any) -> Any:
    if isinstance(value, flambeau.dtype):
        return value
    return value.dtype if isinstance(value, Tensor) else _dtype_of(value)


_KINDS: dict[str, Callable[[Any], bool]] = {
    "is_floating": lambda x: x.is_floating_point,
    "is_complex": lambda x: x.is_complex,
    "is_integral": lambda x: not (x.is_floating_point or x.is_complex),
}


def _computed(kind: Any) -> Any:
    is_wide = kind.is_complex or (kind.is_floating_point and kind.itemsize > 2)
    return kind if is_wide else flambeau.float32


def _below(bound: float, kind: Any) -> float:
    """The largest number of a dtype that is smaller."""
    last = flambeau.tensor(float(bound), dtype=kind)
    return float(flambeau.nextafter(last, flambeau.full_like(last, -math.inf)).item())


def _limits(kind: Any) -> Any:
    is_float = kind.is_floating_point or kind.is_complex
    return (flambeau.finfo if is_float else flambeau.iinfo)(kind)


# Those that are about dtypes, which are known by their names elsewhere.
_DTYPE_FUNCTIONS: dict[str, Callable[..., Any]] = {
    "default_dtype": lambda: flambeau.get_default_dtype(),
    "sum_dtype": lambda d: d if d.is_floating_point or d.is_complex else flambeau.int64,
    "real_dtype": lambda d: d.to_real(),
    "complex_dtype": lambda d: d.to_complex(),
    "promote_types": lambda a, b: flambeau.promote_types(a, b),
    "computed_dtype": lambda d: _computed(d),
    "number_dtype": lambda number: _dtype_of(number),
    "largest": lambda d: _limits(d).max,
    "lowest": lambda d: _limits(d).min,
    "epsilon": lambda d: _limits(d).eps,
    "below": _below,
}


def _shape_call(name: str, function: Any, args: tuple[Any, ...]) -> Any:
    """A function of the shape language; dtypes are known there by their names."""
    if name in _KINDS:
        return _KINDS[name](_kind(args[0]))
    if name in _DTYPE_FUNCTIONS:
        return _DTYPE_FUNCTIONS[name](*args)
    given = [_plain(a) for a in args]
    found = _shape_functions()[name](*given)
    return getattr(flambeau, found) if function.result == "dtype" else found


def _plain(value: Any) -> Any:
    if isinstance(value, flambeau.dtype):
        return str(value).rpartition(".")[2]
    if isinstance(value, tuple | list):
        return [_plain(v) for v in value]
    return value


def evaluated(text: str, names: Mapping[str, Any]) -> Any:
    """A formula of shapes, over tensors and numbers."""

    def refused(name: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        raise NotImplementedError(f"'{text}' is no formula of shapes: it calls '{name}'")

    return Evaluator(names, refused, lambda name: False).formula((), text)

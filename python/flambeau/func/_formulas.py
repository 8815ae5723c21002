"""Formulas of declarations, computed over tensors in Python: the bodies of operators, and how they
are computed for a batch.
"""

from __future__ import annotations

import ast
import functools
import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import flambeau
from flambeau import Tensor

Caller = Callable[[str, tuple[Any, ...], dict[str, Any]], Any]


@functools.cache
def _shape_functions() -> Mapping[str, Callable[..., Any]]:
    from flambeau.codegen.check.shape_rules import FUNCTIONS

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


class _Spelled(ast.NodeTransformer):
    """What formulas read and call, as calls of helpers."""

    def visit_Attribute(self, node: ast.Attribute) -> ast.AST:
        return _call("@attribute", self.visit(node.value), ast.Constant(node.attr))

    def visit_Call(self, node: ast.Call) -> ast.AST:
        assert isinstance(node.func, ast.Name)
        call = _call("@call", ast.Constant(node.func.id), *map(self.visit, node.args))
        call.keywords = [ast.keyword(k.arg, self.visit(k.value)) for k in node.keywords]
        return call

    def visit_BoolOp(self, node: ast.BoolOp) -> ast.AST:
        name = "@all" if isinstance(node.op, ast.And) else "@any"
        return _call(name, *(_lazy(self.visit(value)) for value in node.values))

    def visit_IfExp(self, node: ast.IfExp) -> ast.AST:
        parts = (_lazy(self.visit(part)) for part in (node.body, node.orelse))
        return _call("@choose", self.visit(node.test), *parts)


def _call(name: str, *arguments: ast.expr) -> ast.Call:
    return ast.Call(ast.Name(name, ast.Load()), list(arguments), [])


def _lazy(value: ast.expr) -> ast.Lambda:
    return ast.Lambda(ast.arguments([], [], None, [], [], None, []), value)


@functools.cache
def _compiled(text: str) -> Any:
    tree = ast.fix_missing_locations(_Spelled().visit(ast.parse(text, mode="eval")))
    return compile(tree, f"<formula {text}>", "eval")


@functools.cache
def _constants() -> dict[str, Any]:
    dtypes = {n: v for n, v in vars(flambeau).items() if isinstance(v, flambeau.dtype)}
    return {**dtypes, "pi": math.pi, "inf": math.inf, "nan": math.nan}


class Evaluator:
    """Computes formulas over the values of some names; `caller` calls operators."""

    def __init__(self, names: Mapping[str, Any], caller: Caller, is_operator: Any) -> None:
        self._caller = caller
        self._is_operator = is_operator
        helpers = {"@attribute": _attribute, "@call": self._call, "@choose": self._choose}
        helpers |= {"@all": _all, "@any": _any}
        self._names = {**_constants(), **names, **helpers, "__builtins__": {}}

    def __call__(self, lets: Sequence[Sequence[str]], text: str) -> Any:
        for name, value in lets:
            self._names[name] = eval(_compiled(value), self._names)
        return eval(_compiled(text), self._names)

    def _choose(self, condition: Any, then: Any, otherwise: Any) -> Any:
        if isinstance(condition, Tensor):
            return self._caller("where", (condition, then(), otherwise()), {})
        return then() if condition else otherwise()

    def _call(self, name: str, *args: Any, **kwargs: Any) -> Any:
        has_tensor = any(_holds_tensor(a) for a in (*args, *kwargs.values()))
        shape = _element_functions().shape.get(name)
        if shape is not None:
            takes_tensor = {p.type for p in shape.parameters} & {
                "value",
                "operand",
                "tensor",
                "list",
            }
            if not has_tensor or takes_tensor:
                return _shape_call(name, shape, args)
        function = _element_functions().get(name)
        if function is not None and args and not has_tensor and not kwargs:
            found = _number_function(name)(*args)
            return found.item() if hasattr(found, "item") else found
        if self._is_operator(name):
            if isinstance(kwargs.get("memory_format"), str):  # as formulas spell it
                kwargs["memory_format"] = getattr(flambeau, kwargs["memory_format"])
            return self._caller(name, args, kwargs)
        if function is not None and function.expands is not None:
            return self._defined(function.parameters, str(function.expands), args)
        if function is not None and function.definition is not None:
            return self._defined(function.parameters, str(function.definition), args)
        raise NotImplementedError(f"the formula calls '{name}', which is no operator of tensors")

    def _defined(self, parameters: Any, text: str, args: tuple[Any, ...]) -> Any:
        names = {p.name: a for p, a in zip(parameters, args, strict=True)}
        return Evaluator(names, self._caller, self._is_operator)((), text)


def _all(*parts: Callable[[], Any]) -> Any:
    """`a and b`, elementwise of tensors."""
    found = parts[0]()
    for part in parts[1:]:
        if isinstance(found, Tensor):
            found = found & part()
        elif not found:
            return found
        else:
            found = part()
    return found


def _any(*parts: Callable[[], Any]) -> Any:
    """`a or b`, elementwise of tensors."""
    found = parts[0]()
    for part in parts[1:]:
        if isinstance(found, Tensor):
            found = found | part()
        elif found:
            return found
        else:
            found = part()
    return found


def _holds_tensor(value: Any) -> bool:
    if isinstance(value, list | tuple):
        return any(isinstance(item, Tensor) for item in value)
    return isinstance(value, Tensor)


def _attribute(value: Any, name: str) -> Any:
    """What formulas read off a tensor, or a list of them; a number is a tensor of no dims."""
    if isinstance(value, Tensor):
        found = {
            "shape": lambda: list(value.shape),
            "dim": value.dim,
            "numel": value.numel,
            "dtype": lambda: value.dtype,
            "device": lambda: value.device,
            "strides": lambda: list(value.stride()),
            "offset": value.storage_offset,
        }
        return found[name]()
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

"""The functions that formulas may call, read from declarations/functions."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from flambeau.codegen.formula import nodes
from flambeau.codegen.formula.nodes import Expression
from flambeau.codegen.formula.parse import parse_expression
from flambeau.codegen.text.folders import default_folder, function_files
from flambeau.codegen.text.source import (
    DeclarationError,
    Diagnostics,
    Span,
    Text,
    did_you_mean,
    one_of,
)
from flambeau.codegen.text.tree import Mapping as Tree
from flambeau.codegen.text.tree import Node, parse_yaml
from flambeau.codegen.text.tree import Sequence as TreeSequence

CATEGORIES = ("integral", "float", "complex")
_LEVELS = ("element", "random", "shape")
_RESULTS = ("same", "real", "bool", "integer")
_ROLES = ("element", "integer", "condition")
_KEYS = frozenset(
    [
        "function",
        "doc",
        "example",
        "level",
        "accepts",
        "result",
        "numpy",
        "cpp",
        "cost",
        "written_in",
        "branches",
        "vectors",
        "single",
        "latex",
        "expands",
        "definition",
        "tensors",
        "derivative",
        "gradient",
        "at_zero",
    ]
)
SAME_IN_FLOAT = "same"
BY_HAND = "by hand"
# What a call costs in instructions of vectors, roughly: where it is not declared, from where on a
# formula does better without it, and the most that is told apart.
UNKNOWN_COST, DEAR, MOST = 64, 8, 256
# Operators of the language that are functions under another spelling.
OPERATOR_FUNCTIONS = {
    "**": "pow",
    "%": "remainder",
    "//": "floor_divide",
    "<<": "left_shift",
    ">>": "right_shift",
    "~": "bitwise_not",
}


@dataclass(frozen=True, slots=True)
class Parameter:
    """One parameter. `type`: a role (element, integer, condition), or at shape level a type."""

    name: str
    type: str
    optional: bool = False


# Written last in a shape function's signature: it is told which operator its errors are of.
_OPERATOR = Parameter("", "op")


@dataclass(frozen=True, slots=True)
class Function:
    """One entry."""

    name: str
    parameters: tuple[Parameter, ...]
    level: str
    accepts: frozenset[str]
    result: str  # same, real, bool, integer; at shape level a type
    doc: str
    numpy: str | None
    cpp: str
    written_in: str | None  # the C++ type that its own C++ function, made of the definition, has
    branches_apart: bool  # lanes compute only those branches that one of them takes
    has_vectors: bool  # of its own, in C++, which loops call where no choice depends on it
    latex: str
    expands: Expression | None
    definition: Expression | None
    single: Expression | None  # the definition in float
    has_own_float: bool  # in C++, written by hand
    cost: int  # of a call, in instructions of vectors
    tensors: Expression | None
    derivatives: Mapping[str, Expression]
    gradients: Mapping[str, Expression]
    at_zero: Expression | None
    span: Span
    example: tuple[Expression, Expression] | None = None  # a formula, and the value it has
    names_operator: bool = False  # at shape level: the last C++ argument is the operator's name

    @property
    def family(self) -> str:
        """The name of its file."""
        return Path(self.span.file).stem

    @property
    def header(self) -> str:
        """What C++ includes that calls it."""
        is_emitted = self.written_in is not None or self.has_vectors
        return f"functions/{self.name}.h" if is_emitted else self.family_header

    @property
    def family_header(self) -> str:
        """Its C++ by hand."""
        return f"core/math/{self.family}.h"

    @property
    def arity(self) -> int:
        return len(self.parameters)

    def bind(self, arguments: tuple[Expression, ...]) -> dict[str, Expression]:
        """Parameter name -> argument."""
        return dict(zip((p.name for p in self.parameters), arguments, strict=True))

    def expand(self, arguments: tuple[Expression, ...]) -> Expression:
        """The formula that the call stands for."""
        assert self.expands is not None
        return nodes.substitute(self.expands, self.bind(arguments))

    def define(self, arguments: tuple[Expression, ...]) -> Expression:
        """The call, written with other functions."""
        assert self.definition is not None
        return nodes.substitute(self.definition, self.bind(arguments))


class FunctionTable(Mapping[str, Function]):
    """Functions by name. Names of shape level and of element level do not clash: see `shape`."""

    def __init__(self, functions: tuple[Function, ...]) -> None:
        self._element = {f.name: f for f in functions if f.level != "shape"}
        self.shape: dict[str, Function] = {f.name: f for f in functions if f.level == "shape"}

        self.random = frozenset(f.name for f in functions if f.level == "random")

    def __getitem__(self, name: str) -> Function:
        return self._element[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._element)

    def __len__(self) -> int:
        return len(self._element)


def function_keys() -> tuple[str, ...]:
    """The keys of an entry."""
    return tuple(sorted(_KEYS))


def headers_of(calls: Iterable[str]) -> tuple[str, ...]:
    """What C++ includes that calls functions by these names."""
    table = load_functions()
    return tuple(sorted({table[name].header for name in calls}))


def load_functions() -> FunctionTable:
    """Read and check the table; DeclarationError with every mistake."""
    return _functions_of(default_folder())


@cache
def _functions_of(folder: Path) -> FunctionTable:
    diagnostics = Diagnostics()
    functions: list[Function] = []
    for path in function_files(folder):
        tree = parse_yaml(str(path), path.read_text(encoding="utf-8"), diagnostics)
        if isinstance(tree, TreeSequence):
            for item in tree.items:
                with diagnostics.collecting():
                    functions.append(_entry(item))
        elif tree is not None:
            diagnostics.error(tree.span, "a list of functions is expected")
    seen: dict[tuple[str, bool], Function] = {}
    for function in functions:
        key = (function.name, function.level == "shape")
        if key in seen:
            diagnostics.error(function.span, f"function '{function.name}' is declared twice")
        seen[key] = function
    table = FunctionTable(tuple(functions))
    for function in functions:
        _check_formulas(function, table, diagnostics)
    diagnostics.raise_if_any()
    return table


def _entry(node: Node) -> Function:
    if not isinstance(node, Tree):
        raise DeclarationError.at(node.span, "an entry is a mapping that starts with 'function:'")
    for key, _ in node.entries:
        if key.value not in _KEYS:
            raise DeclarationError.at(
                key.span, f"unknown key '{key.value}'", did_you_mean(key.value, _KEYS)
            )
    level = _text(node, "level", "element").value
    if level not in _LEVELS:
        raise DeclarationError.at(
            _text(node, "level").span, f"level is {one_of(_LEVELS)}, not '{level}'"
        )
    signature = _text(node, "function")
    name, parameters, result = (
        _shape_signature(signature) if level == "shape" else _signature(signature)
    )
    names_operator = parameters[-1:] == (_OPERATOR,)
    accepts = _text(node, "accepts", "float")
    categories = frozenset(accepts.value.split("|"))
    if not categories <= set(CATEGORIES):
        raise DeclarationError.at(accepts.span, f"accepts is made of {one_of(CATEGORIES)}")
    if level != "shape":
        result = _text(node, "result", "same").value
        if result not in _RESULTS:
            raise DeclarationError.at(_text(node, "result").span, f"result is {one_of(_RESULTS)}")
    return Function(
        name=name,
        parameters=parameters[:-1] if names_operator else parameters,
        level=level,
        accepts=categories,
        result=result,
        doc=_text(node, "doc").value,
        numpy=_text(node, "numpy").value if node.get("numpy") else None,
        cpp=_text(node, "cpp", name).value,
        written_in=_text(node, "written_in").value if node.get("written_in") else None,
        branches_apart=_branches_apart(node),
        has_vectors=_says(node, "vectors", "own"),
        latex=_text(node, "latex", rf"\operatorname{{{name}}}").value,
        expands=_formula(node, "expands"),
        definition=_definition(node, "definition"),
        single=_single(node),
        has_own_float=_single_text(node) == BY_HAND,
        cost=_cost(node),
        tensors=_formula(node, "tensors"),
        derivatives=_formulas(node, "derivative"),
        gradients=_formulas(node, "gradient"),
        at_zero=_formula(node, "at_zero"),
        span=signature.span,
        example=_example(node),
        names_operator=names_operator,
    )


def _text(node: Tree, key: str, default: str | None = None) -> Text:
    value = node.get(key)
    if value is None and default is not None:
        return Text(default, node.span)
    if not isinstance(value, Text):
        raise DeclarationError.at(
            value.span if value else node.span, f"'{key}' is needed, a string"
        )
    return value


def _formula(node: Tree, key: str) -> Expression | None:
    return parse_expression(_text(node, key)) if node.get(key) is not None else None


def _example(node: Tree) -> tuple[Expression, Expression] | None:
    """`FORMULA -> VALUE`."""
    if node.get("example") is None:
        return None
    text = _text(node, "example")
    formula, arrow, _ = text.value.rpartition(" -> ")
    if not arrow:
        raise DeclarationError.at(text.span, "an example is written FORMULA -> VALUE")
    value = text.slice(len(formula) + len(arrow), len(text.value))
    return parse_expression(text.slice(0, len(formula))), parse_expression(value)


def _definition(node: Tree, key: str) -> Expression | None:
    """A formula, or `let:` with names for its parts, and `result:`."""
    value = node.get(key)
    if not isinstance(value, Tree):
        return _formula(node, key)
    parts: dict[str, Expression] = {}
    let = value.get("let")
    for name, text in let.entries if isinstance(let, Tree) else ():
        if isinstance(text, Text):
            parts[name.value] = nodes.substitute(parse_expression(text), parts)
    return nodes.substitute(parse_expression(_text(value, "result")), parts)


def _single(node: Tree) -> Expression | None:
    """The definition in float, which may be the one in double."""
    text = _single_text(node)
    if text == BY_HAND:
        return None
    if text != SAME_IN_FLOAT:
        return _definition(node, "single")
    if node.get("definition") is None:
        message = "there is no 'definition' that float shares"
        raise DeclarationError.at(_text(node, "single").span, message)
    return _definition(node, "definition")


def _cost(node: Tree) -> int:
    text = _text(node, "cost", str(UNKNOWN_COST))
    if not text.value.isdecimal() or not 0 < int(text.value) <= MOST:
        raise DeclarationError.at(text.span, f"cost is a number from 1 to {MOST}")
    return int(text.value)


def _single_text(node: Tree) -> str:
    value = node.get("single")
    return value.value if isinstance(value, Text) else ""


def _branches_apart(node: Tree) -> bool:
    if not _says(node, "branches", "apart"):
        return False
    if not isinstance(_definition(node, "definition"), nodes.Conditional):
        span = _text(node, "branches").span
        raise DeclarationError.at(span, "the definition chooses nothing at its top")
    return True


def _says(node: Tree, key: str, word: str) -> bool:
    """Whether a key is there that has but one value."""
    if node.get(key) is None:
        return False
    text = _text(node, key)
    if text.value != word:
        raise DeclarationError.at(text.span, f"{key} is '{word}', not '{text.value}'")
    return True


def _formulas(node: Tree, key: str) -> dict[str, Expression]:
    value = node.get(key)
    if value is None:
        return {}
    if not isinstance(value, Tree):
        raise DeclarationError.at(value.span, f"'{key}' maps parameters to formulas")
    return {
        name.value: parse_expression(text) for name, text in value.entries if isinstance(text, Text)
    }


def _signature(text: Text) -> tuple[str, tuple[Parameter, ...], str]:
    match = re.fullmatch(r"(\w+)\((.*)\)", text.value)
    if match is None:
        raise DeclarationError.at(text.span, "a function is written name(parameters)")
    parameters = []
    for part in filter(None, (p.strip() for p in match[2].split(","))):
        name, _, role = (p.strip() for p in part.partition(":"))
        if not name.isidentifier() or (role or "element") not in _ROLES:
            raise DeclarationError.at(
                text.span, f"a parameter is 'name' or 'name: role', not '{part}'"
            )
        parameters.append(Parameter(name, role or "element"))
    return match[1], tuple(parameters), "same"


def _shape_signature(text: Text) -> tuple[str, tuple[Parameter, ...], str]:
    match = re.fullmatch(r"(\w+)\((.*)\) -> ([\w\[\]]+\??)", text.value)
    if match is None:
        raise DeclarationError.at(
            text.span, "a shape function is written name(type name, ...) -> type"
        )
    parameters = []
    for part in filter(None, (p.strip() for p in match[2].split(","))):
        type_, _, name = part.partition(" ")
        parameters.append(Parameter(name.strip(), type_.removesuffix("?"), type_.endswith("?")))
    return match[1], tuple(parameters), match[3]


def _check_formulas(function: Function, table: FunctionTable, diagnostics: Diagnostics) -> None:
    names = {p.name for p in function.parameters}
    for formulas, extra in ((function.derivatives, set[str]()), (function.gradients, {"grad"})):
        for parameter, formula in formulas.items():
            if parameter not in names:
                message = f"'{function.name}' has no parameter '{parameter}'"
                diagnostics.error(function.span, message, did_you_mean(parameter, names))
            _check_names(formula, names | extra, table, diagnostics)
    for whole in (function.expands, function.definition, function.single):
        if whole is not None:
            _check_names(whole, names, table, diagnostics)


def _check_names(
    formula: Expression, names: set[str], table: FunctionTable, diagnostics: Diagnostics
) -> None:
    for node in nodes.walk(formula):
        span = node.span or Span("<formula>", 1, 1)
        if isinstance(node, nodes.Name) and node.identifier not in names | nodes.CONSTANTS.keys():
            message = f"unknown name '{node.identifier}'"
            diagnostics.error(span, message, did_you_mean(node.identifier, names))
        if isinstance(node, nodes.Call):
            function = table.get(node.function)
            if function is None:
                diagnostics.error(
                    span, f"unknown function '{node.function}'", did_you_mean(node.function, table)
                )
            elif function.arity != len(node.arguments):
                message = (
                    f"'{node.function}' takes {function.arity} arguments, not {len(node.arguments)}"
                )
                diagnostics.error(span, message)

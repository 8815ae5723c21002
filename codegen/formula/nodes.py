"""Expression trees: what a formula means, without its spelling.

Trees are immutable and compare by structure; spans take no part in it. Transformations build new
trees and share the parts that they leave alone.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass, field, replace
from operator import is_not

from flambeau.codegen.text.source import DeclarationError, Span

# Formulas are short. The bound keeps a mistake, such as lets that double each other, from hanging
# the build.
MAXIMUM_SIZE = 4000
MAXIMUM_DEPTH = 200  # trees are walked by recursion

CONSTANTS: dict[str, float] = {"inf": math.inf, "nan": math.nan, "pi": math.pi}


@dataclass(frozen=True, slots=True)
class Expression:
    """A node of a tree. `size` counts the nodes of the tree below it, itself included."""

    span: Span | None = field(default=None, compare=False, kw_only=True, repr=False)
    size: int = field(default=1, init=False, compare=False, repr=False)
    depth: int = field(default=1, init=False, compare=False, repr=False)
    kept_hash: int = field(default=0, init=False, compare=False, repr=False)

    def __init_subclass__(cls) -> None:
        """Trees are keys of tables: a node computes its hash, that of a whole tree, once."""
        compute = cls.__dict__.get("__hash__")
        if compute is None:
            return

        def kept(self: Expression) -> int:
            if not self.kept_hash:
                object.__setattr__(self, "kept_hash", compute(self))
            return self.kept_hash

        cls.__hash__ = kept  # type: ignore[method-assign,assignment]

    def __post_init__(self) -> None:
        children = self.children
        if not children:
            return
        size = 1 + sum(child.size for child in children)
        depth = 1 + max(child.depth for child in children)
        if size > MAXIMUM_SIZE or depth > MAXIMUM_DEPTH:
            limit = f"{MAXIMUM_SIZE} terms" if size > MAXIMUM_SIZE else f"{MAXIMUM_DEPTH} levels"
            message = f"the formula grows to more than {limit}"
            raise DeclarationError.at(
                self.span or first_span(self) or Span("<formula>", 1, 1), message
            )
        object.__setattr__(self, "size", size)
        object.__setattr__(self, "depth", depth)

    @property
    def children(self) -> tuple[Expression, ...]:
        """The operands, in source order."""
        return ()

    def with_children(self, children: tuple[Expression, ...]) -> Expression:
        """The same node over other operands."""
        assert not children
        return self

    def at(self, span: Span | None) -> Expression:
        """The same tree, said to stand at `span`."""
        return replace(self, span=span)

    def __str__(self) -> str:
        from flambeau.codegen.formula.to_text import to_text

        return to_text(self)


@dataclass(frozen=True, slots=True)
class Name(Expression):
    """An argument, a result, a let, `grad`, or one of CONSTANTS."""

    identifier: str


@dataclass(frozen=True, slots=True, eq=False)
class Number(Expression):
    """A literal. 1, 1.0 and True differ, so do 0.0 and -0.0; nan equals nan."""

    value: int | float | bool | complex

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Number) and self._key == other._key

    def __hash__(self) -> int:
        return hash(self._key)

    @property
    def _key(self) -> tuple[type, str]:
        return type(self.value), repr(self.value)


@dataclass(frozen=True, slots=True)
class String(Expression):
    """A string literal."""

    value: str


@dataclass(frozen=True, slots=True)
class NoneLiteral(Expression):
    """`None`."""


Keywords = tuple[tuple[str, Expression], ...]


def _with_values(keywords: Keywords, values: tuple[Expression, ...]) -> Keywords:
    return tuple(zip((name for name, _ in keywords), values, strict=True))


@dataclass(frozen=True, slots=True)
class Call(Expression):
    """`function(arguments, keywords)`. Only references may call dotted names (`np.exp`)."""

    function: str
    arguments: tuple[Expression, ...]
    keywords: Keywords = ()

    @property
    def children(self) -> tuple[Expression, ...]:
        return self.arguments + tuple(value for _, value in self.keywords)

    def with_children(self, children: tuple[Expression, ...]) -> Expression:
        count = len(self.arguments)
        keywords = _with_values(self.keywords, children[count:])
        return Call(self.function, children[:count], keywords, span=self.span)


@dataclass(frozen=True, slots=True)
class Method(Expression):
    """`value.name(arguments, keywords)`: only in references and samples."""

    value: Expression
    name: str
    arguments: tuple[Expression, ...]
    keywords: Keywords = ()

    @property
    def children(self) -> tuple[Expression, ...]:
        return (self.value, *self.arguments, *(value for _, value in self.keywords))

    def with_children(self, children: tuple[Expression, ...]) -> Expression:
        count = 1 + len(self.arguments)
        keywords = _with_values(self.keywords, children[count:])
        return replace(self, value=children[0], arguments=children[1:count], keywords=keywords)


@dataclass(frozen=True, slots=True)
class Unary(Expression):
    """`operator` is one of `-`, `+`, `~`, `not`."""

    operator: str
    operand: Expression

    @property
    def children(self) -> tuple[Expression, ...]:
        return (self.operand,)

    def with_children(self, children: tuple[Expression, ...]) -> Expression:
        (operand,) = children
        return Unary(self.operator, operand, span=self.span)


@dataclass(frozen=True, slots=True)
class _TwoOperands(Expression):
    left: Expression
    operator: str
    right: Expression

    @property
    def children(self) -> tuple[Expression, ...]:
        return (self.left, self.right)

    def with_children(self, children: tuple[Expression, ...]) -> Expression:
        left, right = children
        return type(self)(left, self.operator, right, span=self.span)


@dataclass(frozen=True, slots=True)
class Binary(_TwoOperands):
    """`operator` is one of `+ - * / // % ** @ & | ^ << >>`."""


@dataclass(frozen=True, slots=True)
class Compare(_TwoOperands):
    """`operator` is one of `== != < <= > >= is`, `is not`, `in`, `not in`. Chains become `and`."""


@dataclass(frozen=True, slots=True)
class Boolean(Expression):
    """`and` / `or` over two operands or more."""

    operator: str
    operands: tuple[Expression, ...]

    @property
    def children(self) -> tuple[Expression, ...]:
        return self.operands

    def with_children(self, children: tuple[Expression, ...]) -> Expression:
        return replace(self, operands=children)


@dataclass(frozen=True, slots=True)
class Conditional(Expression):
    """`then if condition else otherwise`: only the chosen branch takes part in the value."""

    condition: Expression
    then: Expression
    otherwise: Expression

    @property
    def children(self) -> tuple[Expression, ...]:
        return (self.condition, self.then, self.otherwise)

    def with_children(self, children: tuple[Expression, ...]) -> Expression:
        condition, then, otherwise = children
        return Conditional(condition, then, otherwise, span=self.span)


@dataclass(frozen=True, slots=True)
class Attribute(Expression):
    """Metadata: `self.shape`, `self.dtype`."""

    value: Expression
    name: str

    @property
    def children(self) -> tuple[Expression, ...]:
        return (self.value,)

    def with_children(self, children: tuple[Expression, ...]) -> Expression:
        (value,) = children
        return replace(self, value=value)


@dataclass(frozen=True, slots=True)
class Index(Expression):
    """`value[index]`; the index may be a Slice, or in references a Sequence of them."""

    value: Expression
    index: Expression

    @property
    def children(self) -> tuple[Expression, ...]:
        return (self.value, self.index)

    def with_children(self, children: tuple[Expression, ...]) -> Expression:
        value, index = children
        return replace(self, value=value, index=index)


@dataclass(frozen=True, slots=True)
class Slice(Expression):
    """`lower:upper:step`, any of them absent; only inside an Index."""

    lower: Expression | None
    upper: Expression | None
    step: Expression | None = None

    @property
    def children(self) -> tuple[Expression, ...]:
        return tuple(part for part in (self.lower, self.upper, self.step) if part is not None)

    def with_children(self, children: tuple[Expression, ...]) -> Expression:
        rest = iter(children)
        lower = None if self.lower is None else next(rest)
        upper = None if self.upper is None else next(rest)
        step = None if self.step is None else next(rest)
        return replace(self, lower=lower, upper=upper, step=step)


@dataclass(frozen=True, slots=True)
class Sequence(Expression):
    """`[a, b]`, or `(a, b)` when `is_tuple`."""

    items: tuple[Expression, ...]
    is_tuple: bool = False

    @property
    def children(self) -> tuple[Expression, ...]:
        return self.items

    def with_children(self, children: tuple[Expression, ...]) -> Expression:
        return replace(self, items=children)


@dataclass(frozen=True, slots=True)
class Comprehension(Expression):
    """`[element for names in iterable if condition]`. `joins`: elements are lists to join."""

    element: Expression
    names: tuple[str, ...]
    iterable: Expression
    condition: Expression | None = None
    joins: bool = False

    @property
    def children(self) -> tuple[Expression, ...]:
        tail = () if self.condition is None else (self.condition,)
        return (self.element, self.iterable, *tail)

    def with_children(self, children: tuple[Expression, ...]) -> Expression:
        condition = children[2] if self.condition is not None else None
        return replace(self, element=children[0], iterable=children[1], condition=condition)


@dataclass(frozen=True, slots=True)
class Let(Expression):
    """`(lambda names: body)(values)`: names for parts of a reference."""

    names: tuple[str, ...]
    values: tuple[Expression, ...]
    body: Expression

    @property
    def children(self) -> tuple[Expression, ...]:
        return (*self.values, self.body)

    def with_children(self, children: tuple[Expression, ...]) -> Expression:
        return replace(self, values=children[:-1], body=children[-1])


@dataclass(frozen=True, slots=True)
class Starred(Expression):
    """`*value` in a call, list or index of a reference."""

    value: Expression

    @property
    def children(self) -> tuple[Expression, ...]:
        return (self.value,)

    def with_children(self, children: tuple[Expression, ...]) -> Expression:
        (value,) = children
        return replace(self, value=value)


@dataclass(frozen=True, slots=True)
class EllipsisLiteral(Expression):
    """`...` in an index of a reference."""


def walk(expression: Expression) -> Iterator[Expression]:
    """Every node, parents before children, in source order."""
    stack = [expression]
    while stack:
        node = stack.pop()
        yield node
        stack.extend(reversed(node.children))


def transform(expression: Expression, function: Callable[[Expression], Expression]) -> Expression:
    """Rebuild bottom-up: `function` sees each node after its children were replaced."""
    children = expression.children
    if not children:
        return function(expression)
    replaced = tuple([transform(child, function) for child in children])
    if any(map(is_not, replaced, children)):
        expression = expression.with_children(replaced)
    return function(expression)


def substitute(expression: Expression, values: Mapping[str, Expression]) -> Expression:
    """Replace names by trees. The names of keywords and attributes are no names."""

    def visit(node: Expression) -> Expression:
        return values.get(node.identifier, node) if isinstance(node, Name) else node

    return transform(expression, visit)


def replace_subtrees(expression: Expression, values: Mapping[Expression, Expression]) -> Expression:
    """Replace every largest subtree that is a key of `values`."""
    if expression in values:
        return values[expression]
    old = expression.children
    children = tuple([replace_subtrees(child, values) for child in old])
    return expression.with_children(children) if any(map(is_not, children, old)) else expression


def free_names(expression: Expression, *, constants: bool = False) -> frozenset[str]:
    """The names that are read; `inf`, `nan` and `pi` only with `constants`."""
    if isinstance(expression, Comprehension):
        inner = frozenset[str]().union(
            *(
                free_names(c, constants=constants)
                for c in expression.children
                if c is not expression.iterable
            )
        )
        return (inner - set(expression.names)) | free_names(
            expression.iterable, constants=constants
        )
    if isinstance(expression, Let):
        inner = free_names(expression.body, constants=constants) - set(expression.names)
        return inner.union(*(free_names(v, constants=constants) for v in expression.values))
    if isinstance(expression, Name):
        hidden = expression.identifier in CONSTANTS and not constants
        return frozenset() if hidden else frozenset({expression.identifier})
    return frozenset[str]().union(
        *(free_names(c, constants=constants) for c in expression.children)
    )


def calls(expression: Expression) -> frozenset[str]:
    """The names of the functions that are called."""
    return frozenset(node.function for node in walk(expression) if isinstance(node, Call))


def reads(expression: Expression, names: Collection[str]) -> bool:
    """Whether any of `names` occurs."""
    return any(isinstance(n, Name) and n.identifier in names for n in walk(expression))


def first_span(expression: Expression) -> Span | None:
    """The span of the first node that has one: derived trees have it only in part."""
    return next((node.span for node in walk(expression) if node.span is not None), None)


def name(identifier: str) -> Name:
    """A name without a place."""
    return Name(identifier)


def number(value: int | float | bool | complex) -> Number:
    """A literal without a place."""
    return Number(value)


def call(function: str, *arguments: Expression) -> Call:
    """A call without a place."""
    return Call(function, arguments)

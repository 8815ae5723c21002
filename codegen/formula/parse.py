"""Text of a declaration -> expression tree.

Python's own parser reads the text; only the syntax listed here is let through, and every complaint
points at the characters in the file. Bounds on length and depth keep hostile text from exhausting
the stack.
"""

from __future__ import annotations

import ast
import cmath
import warnings
from enum import Enum

from flambeau.codegen.formula import nodes
from flambeau.codegen.formula.nodes import Expression
from flambeau.codegen.formula.syntax import check_brackets, syntax_error
from flambeau.codegen.text.source import DeclarationError, Span, Text

MAXIMUM_LENGTH = 4000
MAXIMUM_DEPTH = 60
MAXIMUM_INTEGER = 2**64

_BINARY: dict[type[ast.operator], str] = {
    ast.Add: "+",
    ast.Sub: "-",
    ast.Mult: "*",
    ast.Div: "/",
    ast.FloorDiv: "//",
    ast.Mod: "%",
    ast.Pow: "**",
    ast.MatMult: "@",
    ast.BitAnd: "&",
    ast.BitOr: "|",
    ast.BitXor: "^",
    ast.LShift: "<<",
    ast.RShift: ">>",
}
_UNARY: dict[type[ast.unaryop], str] = {
    ast.USub: "-",
    ast.UAdd: "+",
    ast.Invert: "~",
    ast.Not: "not",
}
_COMPARE: dict[type[ast.cmpop], str] = {
    ast.Eq: "==",
    ast.NotEq: "!=",
    ast.Lt: "<",
    ast.LtE: "<=",
    ast.Gt: ">",
    ast.GtE: ">=",
    ast.Is: "is",
    ast.IsNot: "is not",
    ast.In: "in",
    ast.NotIn: "not in",
}
# Modules whose functions a reference may call; the evaluators decide what the names mean.
MODULES = ("np", "sp", "math")


class Language(Enum):
    """What may be written where."""

    FORMULA = "formula"
    REFERENCE = "reference"  # also methods and dotted calls


def parse_expression(text: Text, language: Language = Language.FORMULA) -> Expression:
    """Parse one expression; DeclarationError pointing at the first mistake."""
    value = text.value
    if len(value) > MAXIMUM_LENGTH:
        raise DeclarationError.at(text.span, f"a formula of more than {MAXIMUM_LENGTH} characters")
    if not value.strip():
        raise DeclarationError.at(text.span, "an empty formula")
    if (comment := value.find("#")) >= 0:
        raise DeclarationError.at(text.at(comment), "comments do not belong in formulas")
    # Line breaks mean nothing here, and one space in their place keeps every offset.
    flat = "".join(" " if c in "\n\r\t\f" else c for c in value)
    lead = len(flat) - len(flat.lstrip())
    check_brackets(text)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # Python warns about `1 is x`; typing says it better
            tree = ast.parse(flat[lead:], mode="eval").body
    except SyntaxError as error:
        raise syntax_error(text, flat, lead, error) from None
    except (ValueError, MemoryError, RecursionError, OverflowError):
        raise DeclarationError.at(
            text.span, "the formula does not parse: it is nested too deeply"
        ) from None
    converter = _Converter(text, lead, flat[lead:], language)
    converter.check_letters(tree)
    return converter.convert(tree, 0)


def parse_source(
    source: str, language: Language = Language.FORMULA, file: str = "<formula>"
) -> Expression:
    """Parse a plain string, for formulas that stand in no file."""
    return parse_expression(Text(source, Span(file, 1, 1, max(len(source), 1))), language)


class _Converter:
    def __init__(self, text: Text, lead: int, source: str, language: Language) -> None:
        self.text = text
        self.lead = lead
        self.language = language
        # ast counts bytes of UTF-8; offsets here count characters.
        self.bytes = None if source.isascii() else source.encode()

    def span(self, node: ast.AST) -> Span:
        start = self._offset(getattr(node, "col_offset", 0))
        end = self._offset(getattr(node, "end_col_offset", None) or start + 1)
        return self.text.at(self.lead + start, max(end - start, 1))

    def _offset(self, column: int) -> int:
        return column if self.bytes is None else len(self.bytes[:column].decode(errors="ignore"))

    def check_letters(self, tree: ast.expr) -> None:
        """Only strings may hold other letters than a-z: names become names of C++, and Python takes
        some letters for others.
        """
        if self.bytes is None:
            return
        literals = [n for n in ast.walk(tree) if isinstance(n, ast.Constant | ast.JoinedStr)]
        inside = [(n.col_offset, n.end_col_offset or 0) for n in literals]
        for offset, byte in enumerate(self.bytes):
            if byte >= 128 and not any(start <= offset < end for start, end in inside):
                place = self.lead + self._offset(offset)
                message = f"the letter '{self.text.value[place]}' cannot be part of a name"
                raise DeclarationError.at(self.text.at(place), message)

    def fail(self, node: ast.AST, message: str, hint: str | None = None) -> DeclarationError:
        return DeclarationError.at(self.span(node), message, hint)

    def convert(self, node: ast.expr, depth: int) -> Expression:
        if depth > MAXIMUM_DEPTH:
            raise self.fail(node, f"the formula is nested deeper than {MAXIMUM_DEPTH} levels")
        span = self.span(node)
        deeper = depth + 1
        match node:
            case ast.Name(id=identifier):
                return nodes.Name(identifier, span=span)
            case ast.Constant(value=value) if value is ... and self.language is Language.REFERENCE:
                return nodes.EllipsisLiteral(span=span)
            case ast.Constant(value=value):
                return self.constant(node, value, span)
            case ast.BinOp(left=left, op=operator, right=right):
                symbol = _BINARY[type(operator)]
                return nodes.Binary(
                    self.convert(left, deeper), symbol, self.convert(right, deeper), span=span
                )
            case ast.UnaryOp(op=unary, operand=operand):
                return nodes.Unary(_UNARY[type(unary)], self.convert(operand, deeper), span=span)
            case ast.BoolOp(op=boolean, values=values):
                word = "and" if isinstance(boolean, ast.And) else "or"
                return nodes.Boolean(word, self.convert_all(values, deeper), span=span)
            case ast.Compare():
                return self.compare(node, deeper, span)
            case ast.IfExp(test=test, body=body, orelse=orelse):
                condition, then, otherwise = self.convert_all([test, body, orelse], deeper)
                return nodes.Conditional(condition, then, otherwise, span=span)
            case ast.Attribute(value=value, attr=attribute):
                self.check_attribute(node, attribute)
                return nodes.Attribute(self.convert(value, deeper), attribute, span=span)
            case ast.Subscript(value=value, slice=index):
                return nodes.Index(
                    self.convert(value, deeper), self.index(index, deeper), span=span
                )
            case ast.List(elts=items):
                return nodes.Sequence(self.convert_all(items, deeper), span=span)
            case ast.Tuple(elts=items):
                return nodes.Sequence(self.convert_all(items, deeper), is_tuple=True, span=span)
            case ast.Call():
                return self.call(node, deeper, span)
            case ast.ListComp():
                return self.comprehension(node, deeper, span)
            case ast.GeneratorExp() if self.language is Language.REFERENCE:
                return self.comprehension(node, deeper, span)
            case ast.Starred(value=value) if self.language is Language.REFERENCE:
                return nodes.Starred(self.convert(value, deeper), span=span)
        kind = _KINDS.get(type(node), type(node).__name__)
        hint = _NAMED if isinstance(node, ast.Lambda) else None
        raise self.fail(node, f"{kind} cannot be used in a {self.language.value}", hint)

    def convert_all(self, items: list[ast.expr], depth: int) -> tuple[Expression, ...]:
        return tuple(self.convert(item, depth) for item in items)

    def constant(self, node: ast.Constant, value: object, span: Span) -> Expression:
        if value is None:
            return nodes.NoneLiteral(span=span)
        if isinstance(value, int) and abs(value) > MAXIMUM_INTEGER:
            raise self.fail(node, "an integer of more than 64 bits")
        if isinstance(value, float | complex) and cmath.isinf(value):
            raise self.fail(node, "a number that is too large for float64", "write inf")
        if isinstance(value, bool | int | float | complex):
            return nodes.Number(value, span=span)
        if isinstance(value, str):
            return nodes.String(value, span=span)
        raise self.fail(
            node, f"a literal of type {type(value).__name__} cannot be used in a formula"
        )

    def compare(self, node: ast.Compare, depth: int, span: Span) -> Expression:
        operands = self.convert_all([node.left, *node.comparators], depth)
        pairs = tuple(
            nodes.Compare(operands[i], _COMPARE[type(operator)], operands[i + 1], span=span)
            for i, operator in enumerate(node.ops)
        )
        return pairs[0] if len(pairs) == 1 else nodes.Boolean("and", pairs, span=span)

    def check_attribute(self, node: ast.AST, attribute: str) -> None:
        if attribute.startswith("_"):
            raise self.fail(
                node, f"names that start with an underscore cannot be read: {attribute!r}"
            )

    def index(self, node: ast.expr, depth: int) -> Expression:
        if isinstance(node, ast.Slice):
            lower, upper, step = (
                None if part is None else self.convert(part, depth)
                for part in (node.lower, node.upper, node.step)
            )
            return nodes.Slice(lower, upper, step, span=self.span(node))
        if isinstance(node, ast.Tuple):
            items = tuple(self.index(item, depth + 1) for item in node.elts)
            return nodes.Sequence(items, is_tuple=True, span=self.span(node))
        return self.convert(node, depth)

    def call(self, node: ast.Call, depth: int, span: Span) -> Expression:
        arguments = self.convert_all(node.args, depth)
        keywords: list[tuple[str, Expression]] = []
        for keyword in node.keywords:
            if keyword.arg is None:
                raise self.fail(keyword, "'**' arguments cannot be used in a formula")
            if any(keyword.arg == name for name, _ in keywords):
                raise self.fail(keyword, f"the argument {keyword.arg!r} is given twice")
            keywords.append((keyword.arg, self.convert(keyword.value, depth)))
        named = tuple(keywords)
        if isinstance(node.func, ast.Name):
            return nodes.Call(node.func.id, arguments, named, span=span)
        if self.language is Language.REFERENCE and isinstance(node.func, ast.Attribute):
            self.check_attribute(node.func, node.func.attr)
            dotted = _dotted(node.func)
            if dotted is not None:
                if any(part.startswith("_") for part in dotted.split(".")):
                    raise self.fail(
                        node.func, f"names that start with an underscore cannot be read: {dotted!r}"
                    )
                return nodes.Call(dotted, arguments, named, span=span)
            value = self.convert(node.func.value, depth)
            return nodes.Method(value, node.func.attr, arguments, named, span=span)
        if self.language is Language.REFERENCE and isinstance(node.func, ast.Lambda):
            return self.let(node.func, arguments, named, depth, span)
        hint = _remedy(node, self.language)
        raise self.fail(node.func, "only functions can be called, by their name", hint)

    def let(
        self,
        node: ast.Lambda,
        values: tuple[Expression, ...],
        named: tuple[tuple[str, Expression], ...],
        depth: int,
        span: Span,
    ) -> Expression:
        """`(lambda a, b: body)(x, y)`, the one use of a lambda: to name parts of a reference."""
        given = node.args
        others = (given.posonlyargs, given.kwonlyargs, given.defaults, given.vararg, given.kwarg)
        names = tuple(a.arg for a in given.args)
        spread = any(isinstance(value, nodes.Starred) for value in values)
        if any(others) or named or (len(names) != len(values) and not spread):
            hint = "write (lambda a, b: ...)(x, y), one value for each name"
            raise self.fail(node, "a lambda only names parts of a reference", hint)
        return nodes.Let(names, values, self.convert(node.body, depth), span=span)

    def comprehension(
        self, node: ast.ListComp | ast.GeneratorExp, depth: int, span: Span
    ) -> Expression:
        if len(node.generators) > 1 and self.language is Language.FORMULA:
            raise self.fail(node, "a comprehension in a formula has one 'for'")
        element = self.convert(node.elt, depth)
        for index, generator in reversed(list(enumerate(node.generators))):
            target = generator.target
            targets = target.elts if isinstance(target, ast.Tuple) else [target]
            names = tuple(t.id for t in targets if isinstance(t, ast.Name))
            if len(names) != len(targets):
                raise self.fail(target, "the variables of a comprehension are plain names")
            if len(generator.ifs) > 1:
                raise self.fail(generator.ifs[1], "a comprehension has at most one 'if'")
            condition = self.convert(generator.ifs[0], depth) if generator.ifs else None
            iterable = self.convert(generator.iter, depth)
            joins = index < len(node.generators) - 1
            element = nodes.Comprehension(element, names, iterable, condition, joins, span=span)
        return element


_KINDS: dict[type[ast.expr], str] = {
    ast.Lambda: "a lambda",
    ast.ListComp: "a comprehension",
    ast.SetComp: "a comprehension",
    ast.DictComp: "a comprehension",
    ast.GeneratorExp: "a generator",
    ast.Dict: "a dict",
    ast.Set: "a set",
    ast.JoinedStr: "an f-string",
    ast.Starred: "'*'",
    ast.NamedExpr: "':='",
    ast.Await: "'await'",
    ast.Yield: "'yield'",
}


_NAMED = "write the formula out; a part of one that is read again gets its name in `let`"


def _remedy(node: ast.Call, language: Language) -> str | None:
    """How a call is written that names no function: `np.tanh(x)`, `x.tanh()`, a lambda's."""
    called = node.func
    if isinstance(called, ast.Lambda):
        return _NAMED
    if not isinstance(called, ast.Attribute) or language is Language.REFERENCE:
        return None
    start = called.value
    while isinstance(start, ast.Attribute):
        start = start.value
    is_module = isinstance(start, ast.Name) and start.id in (*MODULES, "numpy", "flambeau", "F")
    arguments = [*([] if is_module else [called.value]), *node.args]
    written = f"{called.attr}({', '.join(ast.unparse(a) for a in arguments)})"
    return f"{'functions have no prefix here: ' if is_module else ''}write `{written}`"


def _dotted(node: ast.expr) -> str | None:
    """`np.linalg.inv` as text, if it starts at a module."""
    if isinstance(node, ast.Name):
        return node.id if node.id in MODULES else None
    if isinstance(node, ast.Attribute):
        start = _dotted(node.value)
        return None if start is None else f"{start}.{node.attr}"
    return None

"""Making a program smaller while what is wrong with it stays: statements, arguments, numbers."""

from __future__ import annotations

import ast
import copy
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace

from fuzz_calls import Program
from fuzz_judge import pattern
from fuzz_supervisor import alone
from fuzz_worker import Finding

ATTEMPTS = 250
SECONDS = 40.0
# What may stand for an argument, the simplest first.
_PLAIN = ("0", "1", "2", "()", "flambeau.ones(())", "flambeau.ones(2)", "flambeau.ones(2, 3)")


class Reducer:
    """Reduces one finding."""

    def __init__(self, finding: Finding, words: Sequence[str]) -> None:
        self._finding = finding
        self._growth = finding.kind == "growth"
        self._base = Program((), finding.entry, tuple(words), goes_on=True)
        self._left = ATTEMPTS if finding.kind != "hang" else 10
        self._until = time.monotonic() + (SECONDS / 4 if self._growth else SECONDS)
        self._tried: set[str] = set()

    def run(self) -> str | None:
        """One line that shows the finding; None where it does not show in a process of its own."""
        statements = list(self._finding.statements)
        if not self._shows(statements):
            return None
        progress = True
        while progress and self._has_time():
            progress = False
            for candidate in smaller(statements):
                if self._shows(candidate):
                    statements = candidate
                    progress = True
                    break
        return "; ".join(inlined(statements, self._shows))

    def _has_time(self) -> bool:
        return self._left > 0 and time.monotonic() < self._until

    def _shows(self, statements: list[str]) -> bool:
        text = "\n".join(statements)
        if text in self._tried or not self._has_time() or not statements:
            return False
        self._tried.add(text)
        self._left -= 1
        program = replace(self._base, statements=tuple(statements), goes_on=True)
        # A machine that stands still makes anything hang once.
        times = 2 if self._finding.kind == "hang" else 1
        return all(
            any(self._is_same(found) for found in alone(program, self._growth))
            for _ in range(times)
        )

    def _is_same(self, found: Finding) -> bool:
        wanted = self._finding
        if found.kind != wanted.kind:
            return False
        if wanted.kind in ("growth", "hang", "unwritten memory"):
            return True
        if wanted.kind in ("signal", "exit"):
            return found.detail.split()[:1] == wanted.detail.split()[:1]
        return pattern(found.detail) == pattern(wanted.detail)


def smaller(statements: list[str], plain: bool = True) -> Iterator[list[str]]:
    """Programs a little smaller, the boldest first."""
    for index in range(len(statements) - 1, -1, -1):
        yield statements[:index] + statements[index + 1 :]
    for index in range(len(statements) - 1, -1, -1):
        try:
            tree = ast.parse(statements[index])
        except SyntaxError:
            continue
        for text in _rewritten(tree, plain):
            if len(text) < len(statements[index]) or _weight(text) < _weight(statements[index]):
                yield [*statements[:index], text, *statements[index + 1 :]]


def _weight(text: str) -> int:
    """Shorter is simpler; of two of a length, the one with smaller digits."""
    return len(text) * 100 + sum(int(c) for c in text if c.isdigit())


def _rewritten(tree: ast.Module, plain: bool) -> Iterator[str]:
    """The statement with one node made simpler."""
    nodes = [node for node in ast.walk(tree) if isinstance(node, ast.expr | ast.Expr)]
    for index in range(len(nodes)):
        for way in range(_ways(nodes[index], plain)):
            copied = copy.deepcopy(tree)
            node = [n for n in ast.walk(copied) if isinstance(n, ast.expr | ast.Expr)][index]
            simpler = _simplified(node, way)
            if simpler is None:
                continue
            yield ast.unparse(_Replace(node, simpler).visit(copied))


class _Replace(ast.NodeTransformer):
    def __init__(self, old: ast.AST, new: ast.AST) -> None:
        self._old = old
        self._new = new

    def visit(self, node: ast.AST) -> ast.AST:
        return self._new if node is self._old else self.generic_visit(node)


def _ways(node: ast.AST, plain: bool) -> int:
    if isinstance(node, ast.Call):
        return 1 + len(node.keywords) + len(node.args) + (len(_PLAIN) if plain else 0)
    if isinstance(node, ast.List | ast.Tuple):
        return len(node.elts) + (len(node.elts) == 1)
    if isinstance(node, ast.BinOp | ast.UnaryOp | ast.Compare | ast.Subscript | ast.Constant):
        return 3
    return 0


def _simplified(node: ast.AST, way: int) -> ast.AST | None:
    """The node, one step simpler; None where that way leads nowhere."""
    if isinstance(node, ast.Call):
        return _simplified_call(node, way)
    if isinstance(node, ast.List | ast.Tuple):
        if way == len(node.elts):
            return node.elts[0]
        del node.elts[way]
        return node
    if isinstance(node, ast.Constant) and isinstance(node.value, int | float):
        smaller = (0, 1, 2)[way]
        return ast.Constant(smaller) if smaller < node.value else None
    if isinstance(node, ast.BinOp):
        return (node.left, node.right, None)[way]
    if isinstance(node, ast.UnaryOp):
        return node.operand if way == 0 else None
    if isinstance(node, ast.Compare):
        return node.left if way == 0 else None
    if isinstance(node, ast.Subscript):
        return (node.value, ast.Constant(0), None)[way] if isinstance(node.ctx, ast.Load) else None
    return None


def _simplified_call(node: ast.Call, way: int) -> ast.AST | None:
    if way == 0:  # x.method(...) -> x
        value = node.func.value if isinstance(node.func, ast.Attribute) else None
        return value if isinstance(value, ast.Call | ast.Subscript) else None
    way -= 1
    if way < len(node.keywords):
        del node.keywords[way]
        return node
    way -= len(node.keywords)
    if way < len(node.args):
        del node.args[len(node.args) - 1 - way]
        return node
    way -= len(node.args)
    plain = ast.parse(_PLAIN[way], mode="eval").body
    return plain if len(_PLAIN[way]) < len(ast.unparse(node)) else None


def inlined(
    statements: list[str], shows: Callable[[list[str]], bool], bare: bool = True
) -> list[str]:
    """Values that are used once stand where they are used."""
    for index in range(len(statements) - 2, -1, -1):
        name, equals, value = statements[index].partition(" = ")
        if not equals or not name.isidentifier():
            continue
        rest = statements[index + 1 :]
        trees = [ast.parse(text) for text in rest]
        uses = [
            (number, node)
            for number, tree in enumerate(trees)
            for node in ast.walk(tree)
            if isinstance(node, ast.Name) and node.id == name
        ]
        if len(uses) != 1:
            continue
        number, node = uses[0]
        replacement = ast.parse(value, mode="eval").body
        rest[number] = ast.unparse(_Replace(node, replacement).visit(trees[number]))
        candidate = statements[:index] + rest
        if shows(candidate):
            statements = candidate
    last = statements[-1]
    if bare and last.startswith(("r = ", "m = ")):
        candidate = [*statements[:-1], last.partition(" = ")[2]]
        return candidate if shows(candidate) else statements
    return statements

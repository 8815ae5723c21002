"""Views with a form that copies: `copied_as: NAME` stands for an entry of its own.

- op: "permute(Tensor self, dim[] dims) -> view(self) result"
  copied_as: permute_copy                # a composite, clone(permute(self, dims)) by rows
"""

from __future__ import annotations

import ast
import doctest

from flambeau.codegen.model.entries import Kind, Operator, Signature
from flambeau.codegen.read import schema
from flambeau.codegen.read.expand.examples import Added, expanded_example
from flambeau.codegen.read.expand.families import Head
from flambeau.codegen.read.expand.substitution import composed
from flambeau.codegen.text.source import DeclarationError, Text
from flambeau.codegen.text.tree import Mapping, Node, Sequence

COPIED_AS = "copied_as"
# What holds of the copy as well.
_SHARED = ("dtypes", "overload", "args", "reference", "properties", "samples")


def copying(entry: Mapping, operator: Operator, head: Head) -> Mapping | None:
    """The entry of the form that copies; None where there is none."""
    given = entry.get(COPIED_AS)
    if given is None:
        return None
    name, signature = schema.text(given, f"'{COPIED_AS}'"), operator.signature
    if operator.kind is not Kind.VIEW:
        raise DeclarationError.at(name.span, f"'{operator.name}' is no view, it copies already")
    declared = schema.text(entry.entries[0][1], "'op'")
    is_list = signature.results[0].is_list

    def add(text: str, plain: bool = False) -> Text:
        return Added(text, name.span, (), plain)

    arguments = declared.slice(declared.value.index("("), declared.value.rindex("->"))
    result = "Tensor[] results" if is_list else "Tensor result"
    variants = ("function",) if is_list else ("function", "out")
    own: dict[str, Node] = {
        "op": composed([name, arguments, add(f"-> {result}")], name.span),
        "kind": add("composite"),
        "variants": Sequence(tuple(map(add, variants)), name.span),
        "body": add(_body(signature, is_list)),
        "summary": add(f"A copy, by rows, of what `{signature.name}` gives."),
    }
    if not is_list and not isinstance(entry.get("derivative"), Text):
        own["grad_fn"] = add(_node_name(entry, signature.name))
    own |= {key: value for key in _SHARED if (value := entry.get(key)) is not None}
    if (example := entry.get("example")) is not None:
        text = expanded_example(example, signature, "flambeau").value
        own["example"] = add(_example(text, signature, name.value.partition(".")[0]))
    derivative = entry.get("derivative")
    if isinstance(derivative, Text):  # `none`, rather than formulas
        own["derivative"] = derivative
    own |= {key.value: add("null", True) for key, _ in head.defaults if key.value not in own}
    if entry.get("samples") is None:
        own.pop("samples", None)
    return Mapping(tuple((add(key), value) for key, value in own.items()), entry.span)


def _node_name(entry: Mapping, name: str) -> str:
    """As the view's, by habit, with `_copy` behind it, as in PyTorch."""
    given = entry.get("grad_fn")
    if isinstance(given, Text):
        return f"{given.value}_copy"
    return f"{''.join(map(str.title, name.split('_')))}Backward0_copy"


def _body(signature: Signature, is_list: bool) -> str:
    given = ", ".join(f"{a.name}={a.name}" if a.keyword_only else a.name for a in signature.given)
    call = f"{signature.name}({given})"
    if is_list:
        return f"[clone(part, memory_format='contiguous_format') for part in {call}]"
    return f"clone({call}, memory_format='contiguous_format')"


def _example(text: str, view: Signature, copy: str) -> str:
    """The view's, in which the operator that copies is called in its place."""
    renamed = _Renamed(view, copy)
    lines = []
    for statement in doctest.DocTestParser().get_examples(text):
        lines += [
            f">>> {ast.unparse(renamed.visit(ast.parse(statement.source)))}\n",
            statement.want,
        ]
    return "".join(lines)


class _Renamed(ast.NodeTransformer):
    """`x.permute(1, 0)` as `flambeau.permute_copy(x, (1, 0))`; a function keeps its arguments."""

    def __init__(self, view: Signature, copy: str) -> None:
        self._view, self._copy = view.name, copy
        self._places = sum(not a.keyword_only for a in view.given)

    def visit_Call(self, node: ast.Call) -> ast.AST:
        self.generic_visit(node)
        called = node.func
        if isinstance(called, ast.Attribute) and called.attr == self._view:
            if not (isinstance(called.value, ast.Name) and called.value.id == "flambeau"):
                node.args.insert(0, called.value)
            if len(node.args) > self._places:
                last = self._places - 1
                node.args[last:] = [ast.Tuple(node.args[last:])]
            node.func = ast.Attribute(ast.Name("flambeau"), self._copy)
        return node

"""Examples: `[1., 2.], dim=0 -> 3.` -> a call in Python and what it prints.

Tensors are written as lists or as calls, `ones(2, 3)`; behind the arrow stands what is printed
inside of `tensor()`. Whatever is more than calls of the operator itself is written as a doctest.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from flambeau.codegen.model.entries import Argument, Signature
from flambeau.codegen.read import schema
from flambeau.codegen.read.expand.calls import parse_arguments
from flambeau.codegen.read.expand.substitution import composed
from flambeau.codegen.text.source import DeclarationError, Span, Text
from flambeau.codegen.text.tree import Node, Sequence

_ARROW = " -> "
_PROMPT = ">>> "
_NEXT_ROW = "], "
_BRACKET = re.compile(r"\], (?=\[)|[\[\]]")
_CALL = re.compile(r"[a-z]\w*\(", re.ASCII)


@dataclass(frozen=True, slots=True)
class Added(Text):
    """Text that stands in no file: its place is that of what it was added to."""

    def at(self, offset: int, length: int = 1) -> Span:
        return self.span


def expanded_example(node: Node, signature: Signature, home: str) -> Text:
    """The value of `example` as a doctest. `home`: where the function is found."""
    items = node.items if isinstance(node, Sequence) else (node,)
    texts = [schema.text(item, "an example") for item in items]
    if len(texts) == 1 and _PROMPT in texts[0].value:
        return texts[0]
    parts = [part for text in texts for part in _statement(text, signature, home)]
    return composed(parts, texts[0].span)


def _statement(text: Text, signature: Signature, home: str) -> list[Text]:
    """One call and its output."""
    arrow = text.value.rfind(_ARROW)
    if arrow < 0:
        hint = "write `ARGUMENTS -> RESULT`, as `[1., 2.], dim=0 -> 3.`, or a doctest"
        raise DeclarationError.at(text.span, "the example does not say what is printed", hint)

    def add(value: str) -> Text:
        return Added(value, text.span)

    parts = [add(f"{_PROMPT}{home}.{signature.name}(")]
    positional = [a for a in signature.given if not a.keyword_only]
    for place, given in enumerate(parse_arguments(text.slice(0, arrow))):
        name = given.name.value if given.name is not None else None
        if name is None and place >= len(positional):
            message = f"'{signature.name}' takes {len(positional)} arguments by position"
            raise DeclarationError.at(given.value.span, message)
        known = positional[place : place + 1] if name is None else signature.given
        argument = next((a for a in known if name in (None, a.name)), None)
        lead = f"{', ' if place else ''}{f'{name}=' if name else ''}"
        parts += [add(lead), *_value(given.value, argument, add("flambeau.tensor("), add(")"))]
    printed = text.slice(arrow + len(_ARROW), len(text.value))
    opened = Added("tensor(", printed.span)
    return [*parts, add(")\n"), opened, *_lines(printed), add(")\n")]


def _lines(printed: Text) -> Iterator[Text]:
    """Numbers in brackets, laid out as tensors are printed: a line for each row."""
    dims = len(printed.value) - len(printed.value.lstrip("["))
    depth = start = 0
    for match in _BRACKET.finditer(printed.value):
        depth += 1 if match[0] == "[" else -1
        if match[0] == _NEXT_ROW:
            yield printed.slice(start, match.start() + 2)
            blank = "<BLANKLINE>\n" * (dims - depth - 1)
            yield Added(f"\n{blank}{' ' * (len('tensor(') + depth)}", printed.span)
            start = match.end()
    yield printed.slice(start, len(printed.value))


def _value(value: Text, argument: Argument | None, opened: Text, closed: Text) -> list[Text]:
    """A value as Python code: lists where a tensor is expected make one."""
    if argument is None or value.value == "None":
        return [value]
    declared, is_list = argument.type, value.value.startswith("[")
    if declared.is_tensor_list and is_list:
        parts: list[Text] = []
        for item in parse_arguments(value.slice(1, len(value.value) - 1)):
            lead = Added(", " if parts else "[", value.span)
            parts += [lead, opened, item.value, closed]
        return [*parts, Added("]" if parts else "[]", value.span)]
    if not declared.is_tensor:
        return [value]
    if _CALL.match(value.value):
        return [Added("flambeau.", value.span), value]
    return [value] if declared.or_scalar and not is_list else [opened, value, closed]

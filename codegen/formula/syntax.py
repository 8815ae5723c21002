"""What is wrong with text that is no expression."""

from __future__ import annotations

import re

from flambeau.codegen.text.source import DeclarationError, Note, Text

_OPENING = {")": "(", "]": "[", "}": "{"}
# What other languages write -> how it is written here.
_FOREIGN = {
    "&&": "write `and`",
    "||": "write `or`",
    "!": "write `not`",
    "?": "write `a if condition else b`",
    "=": "compare with `==`; a value gets its name in `let`",
}


def syntax_error(text: Text, flat: str, lead: int, error: SyntaxError) -> DeclarationError:
    """Python's complaint, placed in the file."""
    end = len(flat.rstrip())
    start = min(lead + error.offset - 1, end) if error.offset else end
    length = max((error.end_offset or 0) - (error.offset or 0), 1)
    if start >= end:
        place = text.at(end - 1)
        return DeclarationError.at(place, "the formula ends too early: something is missing")
    if flat[start - 1 : start + 1] in _FOREIGN:
        start, length = start - 1, 2
    word = flat[start : start + length]
    rest = flat[start:]
    hint = next((h for token, h in _FOREIGN.items() if rest.startswith(token)), None)
    problem = re.sub(r" \(?(detected )?(at|on) line \d+\)?|, perhaps .*|\. Maybe .*", "", error.msg)
    message = f"the formula does not parse: {problem}"
    if problem == "invalid syntax":
        message = f"'{word}' is not expected here"
    if " = " in word:
        hint = _FOREIGN["="]
    return DeclarationError.at(text.at(start, length), message, hint)


def check_brackets(text: Text) -> None:
    """Raise DeclarationError where a bracket or a quote has no partner."""
    opened: list[tuple[str, int]] = []
    position = 0
    while position < len(text.value):
        character = text.value[position]
        if character in "'\"":
            position = _end_of_string(text, position)
        elif character in "([{":
            opened.append((character, position))
        elif character in _OPENING:
            wanted = _OPENING[character]
            if not opened:
                message = f"'{character}' without a '{wanted}'"
                raise DeclarationError.at(text.at(position), message)
            found, place = opened.pop()
            if found != wanted:
                note = Note(text.at(place), f"'{found}' was opened here")
                message = f"'{character}' does not close '{found}'"
                raise DeclarationError.at(text.at(position), message, None, note)
        position += 1
    if opened:
        found, place = opened[-1]
        raise DeclarationError.at(text.at(place), f"'{found}' is not closed")


def _end_of_string(text: Text, start: int) -> int:
    """Where the string that starts at `start` ends."""
    quote = text.value[start]
    position = start + 1
    while position < len(text.value) and text.value[position] != quote:
        position += 2 if text.value[position] == "\\" else 1
    if position >= len(text.value):
        raise DeclarationError.at(text.at(start), "the quote is not closed")
    return position

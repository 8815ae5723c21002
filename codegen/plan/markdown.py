"""Text of declarations and docstrings as Markdown."""

from __future__ import annotations

import re

_CODE = re.compile(r"(`+)(.+?)\1", re.DOTALL)
_SPECIAL = re.compile(r"([\\*_\[\]<>${}|#~^])")


def escaped(text: str) -> str:
    """The text as it stands, for Markdown: code in backticks stays code, nothing else is markup."""
    parts = []
    end = 0
    for match in _CODE.finditer(text):
        parts.append(_plain(text[end : match.start()]))
        parts.append(match[0].replace("|", "\\|"))
        end = match.end()
    parts.append(_plain(text[end:]))
    return "".join(parts)


def _plain(text: str) -> str:
    return _SPECIAL.sub(r"\\\1", text)


def code(text: str) -> str:
    """A code span, whatever backticks the text has."""
    fence = "`" * (max((len(run) for run in re.findall("`+", text)), default=0) + 1)
    space = " " if "`" in text else ""
    return f"{fence}{space}{text}{space}{fence}"

"""Docstrings as Markdown: paragraphs, sections such as `Args:`, examples."""

from __future__ import annotations

import inspect
import re
import textwrap

from flambeau.codegen.plan.markdown import code, escaped
from flambeau.docs.equations import equation_latex

_SECTION = re.compile(r"(Args|Attributes|Returns|Raises|Yields|Equations|Example|Examples):$")
_LABEL = re.compile(r"(Shapes?|Source|Sources|Formula|Note): ")
_TITLES = {"Args": "Arguments"}


def to_markdown(text: str) -> str:
    """The Markdown of a docstring."""
    return "\n\n".join(_block(b) for b in _blocks(inspect.cleandoc(text))) + "\n"


def summary_of(text: str | None) -> str:
    """The first paragraph on one line."""
    return " ".join(inspect.cleandoc(text or "").split("\n\n")[0].split())


def _blocks(text: str) -> list[str]:
    """Paragraphs; a section keeps its indented paragraphs."""
    found: list[str] = []
    for part in re.split(r"\n\s*\n", text):
        continues = found and part.startswith("    ") and _SECTION.match(found[-1].split("\n")[0])
        if continues:
            found[-1] += "\n\n" + part
        else:
            found.append(part)
    return [part for part in found if part.strip()]


def _block(text: str) -> str:
    first, _, rest = text.partition("\n")
    section = _SECTION.match(first)
    if section:
        title = _TITLES.get(section[1], section[1])
        body = textwrap.dedent(rest)
        if section[1] == "Equations":
            return _equations(body)
        shown = _code(body) if section[1].startswith("Example") else _definitions(body)
        return f"{{.section}}\n{title}\n\n{shown}"
    if text.lstrip().startswith(">>>") or first.startswith("    "):
        return _code(textwrap.dedent(text))
    if re.match(r"[*-] ", first):
        return "\n".join(
            f"{line[:2]}{escaped(line[2:])}" if re.match(r"[*-] ", line) else escaped(line)
            for line in text.split("\n")
        )
    label = _LABEL.match(first)
    if label:
        return f"**{label[1]}**: {escaped(text[label.end() :])}"
    return escaped(text)


def _equations(body: str) -> str:
    """One under the other, aligned at what they equal."""
    lines = [equation_latex(line) for line in body.split("\n") if line.strip()]
    aligned = " \\\\\n".join(line.replace(" = ", " &= ", 1) for line in lines)
    return f"$$\n\\begin{{aligned}}\n{aligned}\n\\end{{aligned}}\n$$"


def _code(text: str) -> str:
    language = "pycon" if text.lstrip().startswith(">>>") else "text"
    return f"```{language}\n{text.rstrip()}\n```"


def _definitions(body: str) -> str:
    """`name: what it is`, continued on indented lines; a text without names is a paragraph."""
    entries: list[str] = []
    for line in body.split("\n"):
        if line.startswith(" ") and entries:
            entries[-1] += f" {line.strip()}"
        elif line.strip():
            entries.append(line.strip())
    found = []
    for entry in entries:
        name, colon, text = entry.partition(": ")
        if not colon or not re.fullmatch(r"[\w.*`, ]+", name) or len(name) > 60:
            found.append(escaped(entry))
            continue
        names = ", ".join(code(n.strip("` ")) for n in name.split(","))
        found.append(f"{names}\n: {escaped(text)}")
    return "\n\n".join(found)

"""What the search box looks through: pages, their sections, functions, classes and methods.

Written as a script, not as JSON, because browsers load no JSON from a site that is opened as a
file.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from docutils import nodes
from sphinx import addnodes
from sphinx.application import Sphinx
from sphinx.environment import BuildEnvironment

SCRIPT = "search-index.js"
LONGEST = 600  # characters of a section that are looked through
Entry = tuple[str, str, str, str, str]  # kind, title, where it stands, address, text


def _collect(app: Sphinx, doctree: nodes.document) -> None:
    environment = app.env
    _entries(environment)[environment.docname] = list(_of_page(environment, doctree))


def _of_page(environment: BuildEnvironment, doctree: nodes.document) -> Iterator[Entry]:
    page = environment.docname
    first = next(iter(doctree.findall(nodes.title)), None)
    if first is None or "orphan" in environment.metadata.get(page, {}):
        return
    title, kind = first.astext(), _kind(page)
    details = environment.metadata.get(page, {})
    if kind == "operator":
        names = [title, *json.loads(details.get("aliases", "[]"))]
        summary = str(details.get("summary", "")).replace("`", "")
        yield kind, " ".join(names), str(details.get("family", "")), f"{page}.html", summary
        return
    yield kind, title, "", f"{page}.html", _text_of(first.parent)
    for section in doctree.findall(nodes.section):
        heading = section.next_node(nodes.title)
        if section is not first.parent and heading is not None and kind == "guide":
            address = f"{page}.html#{section['ids'][0]}"
            yield kind, heading.astext(), title, address, _text_of(section)
    for description in doctree.findall(addnodes.desc):
        signature = description.next_node(addnodes.desc_signature)
        if signature is not None and signature["ids"] and not page.endswith(signature["ids"][0]):
            content = description.next_node(addnodes.desc_content)
            text = _text_of(content) if content is not None else ""
            address = f"{page}.html#{signature['ids'][0]}"
            space, _, name = signature["ids"][0].rpartition(".")
            yield description["objtype"], name, space, address, text


def _kind(page: str) -> str:
    folder = page.partition("/")[0]
    if folder == "operators" and page not in ("operators/index", "operators/explorer"):
        return "operator"
    if folder == "library" and page.rpartition(".")[2][:1].isupper():
        return "class"
    return {"library": "module", "families": "family"}.get(folder, "guide")


def _text_of(node: nodes.Element) -> str:
    """The words of a node, without those of nested sections and descriptions."""
    words: list[str] = []
    for child in node.children:
        separate = isinstance(child, nodes.section | nodes.title | addnodes.desc | nodes.raw)
        above = isinstance(child, nodes.Element) and "eyebrow" in child["classes"]
        if not separate and not above:
            words += re.sub(r"\s+", " ", child.astext()).split()
    return " ".join(words)[:LONGEST]


def _entries(environment: BuildEnvironment) -> dict[str, list[Entry]]:
    if not hasattr(environment, "flambeau_search"):
        environment.flambeau_search = {}  # type: ignore[attr-defined]
    found: dict[str, list[Entry]] = environment.flambeau_search  # type: ignore[attr-defined]
    return found


def _forget(app: Sphinx, environment: BuildEnvironment, page: str) -> None:
    _entries(environment).pop(page, None)


def _merge(app: Sphinx, environment: BuildEnvironment, pages: Any, other: BuildEnvironment) -> None:
    _entries(environment).update(_entries(other))


def _write(app: Sphinx, exception: Exception | None) -> None:
    if exception is None:
        entries = [e for page in sorted(_entries(app.env)) for e in _entries(app.env)[page]]
        text = json.dumps(entries, ensure_ascii=False, separators=(",", ":"))
        place = Path(app.outdir) / "_static" / SCRIPT
        place.write_text(f"window.flambeauSearchIndex = {text};\n", encoding="utf-8")


def _without_own_index(app: Sphinx) -> None:
    """Sphinx's index and its page are not used."""
    app.builder.search = False  # type: ignore[attr-defined]


def setup(app: Sphinx) -> dict[str, bool]:
    app.connect("builder-inited", _without_own_index)
    app.connect("doctree-read", _collect)
    app.connect("env-purge-doc", _forget)
    app.connect("env-merge-info", _merge)
    app.connect("build-finished", _write)
    return {"parallel_read_safe": True, "parallel_write_safe": True}

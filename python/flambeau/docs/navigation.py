"""The sidebar: the guide, the families of operators, the modules; the part one reads is unfolded.

Written here because Sphinx resolves a tree of all pages anew for each page, which would take most
of the time that a build takes.
"""

from __future__ import annotations

import html
from collections.abc import Callable
from typing import Any

from sphinx.application import Sphinx
from sphinx.environment import BuildEnvironment

Link = Callable[[str], str]


def _replace_tree(
    app: Sphinx, page: str, template: str, context: dict[str, Any], doctree: Any
) -> None:
    context["toctree"] = lambda **options: ""
    context["flambeau_navigation"] = navigation(app.env, page, context["pathto"])


def navigation(environment: BuildEnvironment, page: str, link: Link) -> str:
    """Nested lists in the markup that Furo styles."""
    trail = _trail(environment, page)
    parts = []
    for section in environment.toctree_includes.get(environment.config.root_doc, []):
        title = html.escape(environment.titles[section].astext())
        parts.append(f'<p class="caption"><a href="{link(section)}">{title}</a></p>')
        parts.append(_list(environment, section, 1, trail, link))
    return "".join(parts)


def _trail(environment: BuildEnvironment, page: str) -> list[str]:
    """The page and those it is below of, up to the first."""
    parents = {
        child: parent
        for parent, children in environment.toctree_includes.items()
        for child in children
    }
    trail = [page]
    while trail[-1] in parents and parents[trail[-1]] not in trail:
        trail.append(parents[trail[-1]])
    return trail


def _list(
    environment: BuildEnvironment, parent: str, level: int, trail: list[str], link: Link
) -> str:
    items = []
    for child in environment.toctree_includes.get(parent, []):
        current = child in trail
        kind = f"toctree-l{level}" + (" current" if current else "")
        kind += " current-page" if child == trail[0] else ""
        title = html.escape(environment.titles[child].astext()).replace(".", ".<wbr>")
        inner = _list(environment, child, level + 1, trail, link) if current else ""
        items.append(
            f'<li class="{kind}"><a class="reference internal" href="{link(child)}">{title}</a>'
            f"{inner}</li>"
        )
    return f"<ul>{''.join(items)}</ul>" if items else ""


def setup(app: Sphinx) -> dict[str, bool]:
    app.connect("html-page-context", _replace_tree, priority=400)  # before Furo looks at it
    return {"parallel_read_safe": True, "parallel_write_safe": True}

"""Templates print what plans have decided: they ask whether something is there, and no more."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import jinja2
import pytest
from jinja2 import nodes

from flambeau.codegen import write

TEMPLATES = Path(write.__file__).parent / "templates"
CPP = [p for suffix in ("h", "cpp", "cu") for p in sorted(TEMPLATES.glob(f"*.{suffix}.jinja"))]
FILTERS = {"join", "length", "list", "string", "upper"}  # which lay out


def decisions(text: str) -> Iterator[str]:
    """What a template computes or compares, rather than prints."""
    tree = jinja2.Environment().parse(text)
    for node in tree.find_all((nodes.Compare, nodes.Filter, nodes.Test)):
        if isinstance(node, nodes.Filter) and node.name in FILTERS:
            continue
        yield f"line {node.lineno}: {type(node).__name__.lower()}"


@pytest.mark.parametrize("path", CPP, ids=lambda path: path.name)
def test_templates_of_code_have_no_logic(path: Path) -> None:
    assert not list(decisions(path.read_text(encoding="utf-8")))


@pytest.mark.parametrize(
    "text",
    [
        '{% if op.kind == "view" %}x{% endif %}',
        "{% for a in op.arguments | selectattr('is_tensor') %}{{ a }}{% endfor %}",
        "{% if op.kernel is defined %}x{% endif %}",
    ],
)
def test_planted_decisions_are_seen(text: str) -> None:
    assert list(decisions(text))

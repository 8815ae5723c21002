"""The guide's drawings of graphs show what its examples compute."""

from __future__ import annotations

import re
from html import unescape
from pathlib import Path

import pytest
from test_guide import ROOT, _run, blocks

GUIDE = ROOT / "python/docs/guide"


def test_drawn_graphs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Boxes and arrows, one for one. The chapter writes the graphs, `dot -Tsvg` drew them."""
    monkeypatch.chdir(tmp_path)
    names: dict[str, object] = {"__name__": "__main__"}
    for block in blocks(GUIDE / "pictures_of_autograd.md"):
        _run(block, names)
    graphs = sorted(tmp_path.glob("*.dot"))
    assert {path.stem for path in graphs} == {p.stem for p in (GUIDE / "figures").glob("*.svg")}
    for path in graphs:
        graph = path.read_text(encoding="utf-8")
        picture = (GUIDE / "figures" / f"{path.stem}.svg").read_text(encoding="utf-8")
        labels = re.findall(r'\[label="(.*?)"', graph)
        texts = [unescape(text) for text in re.findall(r"<text [^>]*>(.*?)</text>", picture)]
        assert sorted(line for label in labels for line in label.split("\\n")) == sorted(texts)
        drawn = re.findall(r"<title>([^<]*&#45;&gt;[^<]*)</title>", picture)
        arrows = re.findall(r'"([^"]+)" -> "([^"]+)"', graph)
        assert sorted(unescape(title) for title in drawn) == sorted("->".join(a) for a in arrows)


def test_every_picture_is_there() -> None:
    shown = set()
    for page in GUIDE.glob("*.md"):
        for link in re.findall(r"!\[[^\]]+\]\(([^)]+)\)", page.read_text(encoding="utf-8")):
            assert (GUIDE / link).is_file(), f"{page.name}: {link}"
            shown.add(Path(link).name)
    assert shown == {path.name for path in (GUIDE / "figures").iterdir()}

"""flambeau.utils.viz: the graph of autograd as text and as a picture."""

from __future__ import annotations

import shutil
import xml.etree.ElementTree as ET
from pathlib import Path

import pytest

import flambeau
from flambeau import nn
from flambeau.utils import viz


def test_text_has_a_line_per_node_and_inputs_first() -> None:
    x = flambeau.ones(3, 4, requires_grad=True)
    w = flambeau.ones(4, requires_grad=True)
    y = ((x * w).exp() + x).sum()
    assert str(viz.graph(y, {"x": x, "w": w})).splitlines() == [
        "x = float32[3, 4]",
        "w = float32[4]",
        "n1 = MulBackward0(x, w)",
        "n2 = ExpBackward0(n1)",
        "n3 = AddBackward0(n2, x)",
        "n4 = SumBackward0(n3)",
    ]


def test_leaves_have_the_names_of_parameters_or_numbers() -> None:
    model = nn.Sequential(nn.Linear(2, 3), nn.Tanh(), nn.Linear(3, 1))
    x = flambeau.ones(5, 2, requires_grad=True)
    drawn = viz.graph(model(x), model)
    leaves = [node.name for node in drawn.nodes if not node.operator]
    assert sorted(leaves) == ["0.bias", "0.weight", "2.bias", "2.weight", "leaf1"]
    unnamed = viz.graph(model(x))
    assert sum(not node.operator for node in unnamed.nodes) == 5


def test_several_roots_share_their_nodes() -> None:
    x = flambeau.ones(2, requires_grad=True)
    shared = x * 2
    drawn = viz.graph([shared.exp(), shared.sin()])
    assert [node.operator for node in drawn.nodes] == [
        "",
        "MulBackward0",
        "ExpBackward0",
        "SinBackward0",
    ]
    assert drawn.nodes[2].inputs == drawn.nodes[3].inputs == ("n1",)


def test_deep_graphs() -> None:
    y = x = flambeau.ones(1, requires_grad=True)
    for _ in range(5000):
        y = y + 1
    assert len(viz.graph(y).nodes) == 5001
    assert x.is_leaf


@pytest.mark.skipif(shutil.which("dot") is None, reason="Graphviz is not installed")
def test_pictures_show_every_node_and_arrow(tmp_path: Path) -> None:
    x = flambeau.ones(3, requires_grad=True)
    drawn = viz.graph((x * x).sum(), {'a "name" \\ ': x})
    drawn.save(tmp_path / "graph.svg")
    root = ET.parse(tmp_path / "graph.svg").getroot()
    classes = [group.get("class") for group in root.iter("{http://www.w3.org/2000/svg}g")]
    assert classes.count("node") == 3
    assert classes.count("edge") == 3  # two from the leaf
    words = {text.text for text in root.iter("{http://www.w3.org/2000/svg}text")}
    assert words == {'a "name" \\ ', "float32[3]", "MulBackward0", "SumBackward0"}
    assert drawn._repr_svg_() == drawn.svg()


def test_without_graphviz(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    drawn = viz.graph(flambeau.ones(1, requires_grad=True) * 2)
    assert drawn._repr_svg_() is None
    with pytest.raises(RuntimeError, match="`dot`, which is not installed"):
        drawn.svg()
    drawn.save(tmp_path / "graph.txt")
    assert (tmp_path / "graph.txt").read_text() == f"{drawn}\n"
    drawn.save(tmp_path / "graph.dot")
    assert (tmp_path / "graph.dot").read_text().startswith("digraph {")
    with pytest.raises(ValueError, match=r"ends in '.png', expected one of .svg, .dot, .txt"):
        drawn.save(tmp_path / "graph.png")


def test_what_has_no_graph() -> None:
    with pytest.raises(ValueError, match=r"of shape \(2,\), was not computed from a tensor"):
        viz.graph(flambeau.ones(2))
    with pytest.raises(TypeError, match="must be a tensor, not int"):
        viz.graph([3])  # type: ignore[list-item]


def test_anomaly_mode_names_the_line() -> None:
    x = flambeau.zeros(2, requires_grad=True)
    flambeau.autograd.set_detect_anomaly(True)
    try:
        y = flambeau.sqrt(x) * 0  # the line
        with pytest.raises(RuntimeError) as caught:
            y.sum().backward()
    finally:
        flambeau.autograd.set_detect_anomaly(False)
    assert "SqrtBackward0 returned NaN in gradient 0" in str(caught.value)
    assert __file__ in str(caught.value)
    assert "y = flambeau.sqrt(x) * 0  # the line" in str(caught.value)

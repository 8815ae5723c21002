"""Drawing what autograd recorded."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from flambeau._C import Tensor
from flambeau.nn import Module

__all__ = ["Graph", "GraphNode", "graph"]


@dataclass(frozen=True, slots=True)
class GraphNode:
    """A node of autograd, or a leaf that gradients flow to.

    Attributes:
        name: the leaf's own, or a number for a node of an operator: "n1".
        operator: what made it, such as "MulBackward0"; "" of a leaf.
        described: dtype and shape of a leaf.
        inputs: the names of those that its gradients flow to.

    Example:
        >>> x = flambeau.ones(2, requires_grad=True)
        >>> graph = flambeau.utils.viz.graph((x * 2).sum())
        >>> graph.nodes[-1].operator
        'SumBackward0'
    """

    name: str
    operator: str
    described: str
    inputs: tuple[str, ...]


@dataclass(frozen=True)
class Graph:
    """What some tensors were computed from, inputs before what is computed from them.

    `str` gives a line per node; notebooks show a picture where Graphviz is installed.

    Example:
        >>> x = flambeau.ones(2, requires_grad=True)
        >>> graph = flambeau.utils.viz.graph((x * 2).sum())
        >>> [node.operator for node in graph.nodes]
        ['', 'MulBackward0', 'SumBackward0']
    """

    nodes: tuple[GraphNode, ...]

    def __str__(self) -> str:
        lines = []
        for node in self.nodes:
            made = f"{node.operator}({', '.join(node.inputs)})" if node.operator else node.described
            lines.append(f"{node.name} = {made}")
        return "\n".join(lines)

    def dot(self) -> str:
        """The graph in the language of Graphviz; arrows point to what is computed."""
        lines = ["digraph {", '  node [shape=box, fontname="sans-serif"]']
        for node in self.nodes:
            if node.operator:
                lines.append(f"  {_quoted(node.name)} [label={_quoted(node.operator)}]")
            else:
                label = f"{node.name}\n{node.described}"
                look = 'style=filled, fillcolor="#dbe9d8"'
                lines.append(f"  {_quoted(node.name)} [label={_quoted(label)}, {look}]")
            lines += [f"  {_quoted(name)} -> {_quoted(node.name)}" for name in node.inputs]
        return "\n".join([*lines, "}", ""])

    def svg(self) -> str:
        """A picture, which Graphviz's `dot` draws.

        Raises:
            RuntimeError: there is no `dot`, or it failed.
        """
        program = shutil.which("dot")
        if program is None:
            raise RuntimeError(
                "graph: pictures need Graphviz's `dot`, which is not installed (Debian: apt "
                "install graphviz); str() of the graph is text"
            )
        drawn = subprocess.run(
            [program, "-Tsvg"], input=self.dot(), capture_output=True, text=True, check=False
        )
        if drawn.returncode != 0:
            raise RuntimeError(f"graph: dot failed: {drawn.stderr.strip()}")
        return drawn.stdout

    def save(self, path: str | os.PathLike[str]) -> None:
        """Writes a file: a picture where the path ends in ".svg", the language of Graphviz in
        ".dot", text in ".txt".

        Raises:
            ValueError: it ends in something else.
        """
        writers: dict[str, Callable[[], str]] = {
            ".svg": self.svg,
            ".dot": self.dot,
            ".txt": lambda: f"{self}\n",
        }
        ending = Path(path).suffix
        if ending not in writers:
            known = ", ".join(writers)
            raise ValueError(f"save(): argument 'path' ends in {ending!r}, expected one of {known}")
        Path(path).write_text(writers[ending](), encoding="utf-8")

    def _repr_svg_(self) -> str | None:
        return self.svg() if shutil.which("dot") else None


def graph(
    y: Tensor | Iterable[Tensor], params: Module | Mapping[str, Tensor] | None = None
) -> Graph:
    """The graph that tensors were computed by, as autograd recorded it.

    Args:
        y: a tensor, or several.
        params: names of leaves: a mapping, or a module, whose parameters have some. Leaves without
            a name are numbered.

    Raises:
        TypeError: something is no tensor.
        ValueError: a tensor has no history, so that there is nothing to draw.

    Example:
        >>> x = flambeau.ones(2, requires_grad=True)
        >>> type(flambeau.utils.viz.graph((x * 2).sum())).__name__
        'Graph'
    """
    roots = [y] if isinstance(y, Tensor) else list(y)
    for root in roots:
        if not isinstance(root, Tensor):
            raise TypeError(f"graph(): argument 'y' must be a tensor, not {type(root).__name__}")
        if root.grad_fn is None:
            raise ValueError(
                f"graph(): argument 'y', of shape {tuple(root.shape)}, was not computed from a "
                "tensor that requires grad"
            )
    named = dict(params.named_parameters()) if isinstance(params, Module) else dict(params or {})
    names = {id(tensor): name for name, tensor in named.items()}
    return Graph(tuple(_described(_inputs_first([root.grad_fn for root in roots]), names)))


def _inputs_first(roots: list[Any]) -> list[Any]:
    """Every node once, after those that its gradients flow to; graphs may be very deep."""
    found: list[Any] = []
    entered: set[Any] = set()
    waiting = [(root, False) for root in reversed(roots)]
    while waiting:
        node, is_done = waiting.pop()
        if is_done:
            found.append(node)
        elif node not in entered:
            entered.add(node)
            waiting.append((node, True))
            waiting += [(before, False) for before, _ in reversed(node.next_functions) if before]
    return found


def _described(nodes: list[Any], names: Mapping[int, str]) -> Iterable[GraphNode]:
    called: dict[Any, str] = {}
    leaves = operators = 0
    for node in nodes:
        leaf = getattr(node, "variable", None)
        if isinstance(leaf, Tensor):
            leaves += id(leaf) not in names
            called[node] = names.get(id(leaf), f"leaf{leaves}")
            dtype = str(leaf.dtype).partition(".")[2]
            yield GraphNode(called[node], "", f"{dtype}{list(leaf.shape)}", ())
        else:
            operators += 1
            called[node] = f"n{operators}"
            inputs = tuple(called[before] for before, _ in node.next_functions if before)
            yield GraphNode(called[node], type(node).__name__, "", inputs)


def _quoted(text: str) -> str:
    escaped = text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
    return f'"{escaped}"'

"""A graph of images that look alike, of which three per digit are labelled, teaches the others.

Nodes are the digits of scikit-learn, and each is connected to those that are most like it. A graph
convolution averages over neighbours (T. Kipf, M. Welling, 2017), so that labels spread along edges;
the same network without the edges has only the labelled images to learn from.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

from shared.data import digits
from shared.options import Options, begin, parse
from shared.pictures import figure
from shared.progress import Progress

import flambeau
from flambeau import Tensor, nn, optim


@dataclass(frozen=True)
class Settings(Options):
    steps: Annotated[int, "of training"] = 150
    neighbours: Annotated[int, "that a node is connected to"] = 8
    labelled: Annotated[int, "nodes per digit whose label is known"] = 3
    width: Annotated[int, "features of a node"] = 64
    learning_rate: Annotated[float, "of Adam"] = 0.01


@dataclass(frozen=True)
class Graph:
    """Edges from `sources` (E,) to `targets` (E,), each with a weight (E,)."""

    sources: Tensor
    targets: Tensor
    weights: Tensor

    def spread(self, features: Tensor) -> Tensor:
        """Weighted sums (N, F) of the features of the nodes from which edges come."""
        messages = features[self.sources] * self.weights[:, None]
        return flambeau.zeros_like(features).index_add(0, self.targets, messages)


def nearest(points: Tensor, neighbours: int) -> Graph:
    """Connects each point with its nearest, and itself, in both directions.

    Weights are one through the roots of both nodes' numbers of edges.
    """
    distances = flambeau.cdist(points, points)
    near = distances.topk(neighbours + 1, largest=False).indices
    connected = flambeau.zeros_like(distances).scatter(1, near, 1.0)
    connected = flambeau.maximum(connected, connected.T)
    targets, sources = connected.nonzero(as_tuple=True)
    degrees = connected.sum(1)
    return Graph(sources, targets, (degrees[sources] * degrees[targets]).rsqrt())


def alone(count: int) -> Graph:
    """Every node connected with itself only."""
    nodes = flambeau.arange(count)
    return Graph(nodes, nodes, flambeau.ones(count))


class GraphNetwork(nn.Module):
    """Scores (N, 10) of nodes with features (N, 64)."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.first, self.second = nn.Linear(64, width), nn.Linear(width, 10)
        self.dropout = nn.Dropout(0.5)

    def forward(self, features: Tensor, graph: Graph) -> Tensor:
        hidden = graph.spread(self.first(features)).relu()
        return graph.spread(self.second(self.dropout(hidden)))


def train(
    points: Tensor, labels: Tensor, known: Tensor, graph: Graph, name: str, options: Settings
) -> tuple[float, Tensor]:
    """The share of the other nodes that are read rightly, and the scores of all."""
    model = GraphNetwork(options.width)
    optimizer = optim.Adam(model.parameters(), lr=options.learning_rate, weight_decay=5e-4)
    progress = Progress(options.steps, name)
    for _ in progress:
        scores = model(points, graph)
        loss = nn.functional.cross_entropy(scores[known], labels[known])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        progress.report(loss=loss.item())
    model.eval()
    with flambeau.no_grad():
        scores = model(points, graph)
    right = scores.argmax(1) == labels
    right[known] = False
    return right.sum().item() / (len(labels) - len(known)), scores


def draw(found: dict[str, Tensor], labels: Tensor, known: Tensor, options: Settings) -> None:
    """Scores in the plane in which they differ most; nodes whose label is known are crosses."""
    with figure(options.file("graph_convolution.png"), 1, len(found), size=(11, 5)) as axes:
        for each, (title, scores) in zip(axes, found.items(), strict=True):
            centred = scores - scores.mean(0)
            x, y = (centred @ flambeau.pca_lowrank(centred, 2)[2]).T
            for digit in range(10):
                chosen = labels == digit
                each.scatter(x[chosen].numpy(), y[chosen].numpy(), s=5, label=str(digit))
            each.scatter(x[known].numpy(), y[known].numpy(), c="black", s=25, marker="x")
            each.set_title(title)
            each.set_axis_off()
        axes[-1].legend(title="digit", markerscale=3, loc="center left", bbox_to_anchor=(1, 0.5))


def main(options: Settings) -> float:
    """Returns the share of nodes without a label that are read rightly."""
    begin(options)
    data = digits()
    points = flambeau.cat([data.images, data.test_images]).flatten(1)
    labels = flambeau.cat([data.labels, data.test_labels])
    known = flambeau.cat([(labels == d).nonzero()[: options.labelled, 0] for d in range(10)])
    graph = nearest(points, options.neighbours)
    share, scores = train(points, labels, known, graph, "with edges", options)
    lonely = alone(len(points))
    without, lonely_scores = train(points, labels, known, lonely, "without edges", options)
    print(f"of {len(labels) - len(known)} nodes without a label {share:.1%} are read rightly,")
    print(f"without edges {without:.1%}")
    found = {f"without edges: {without:.1%}": lonely_scores, f"with edges: {share:.1%}": scores}
    draw(found, labels, known, options)
    return share


if __name__ == "__main__":
    main(parse(Settings, __doc__))

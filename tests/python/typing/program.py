"""A user's program, for the type checker: mypy --strict accepts it (test_typing.py)."""

from __future__ import annotations

from typing import assert_type

import flambeau
from flambeau import Tensor, nn


class Perceptron(nn.Module):
    """Two layers."""

    def __init__(self, features: int, classes: int) -> None:
        super().__init__()
        self.first = nn.Linear(features, 16)
        self.second = nn.Linear(16, classes)

    def forward(self, x: Tensor) -> Tensor:
        hidden: Tensor = nn.functional.relu(self.first(x))
        result: Tensor = self.second(hidden)
        return result


def operators() -> None:
    x = flambeau.tensor([[1.0, 2.0], [3.0, 4.0]], dtype=flambeau.float64, requires_grad=True)
    assert_type(x + 1, Tensor)
    assert_type(2.0 * x @ x.T, Tensor)
    assert_type(x.sum(dim=0, keepdim=True), Tensor)
    assert_type(flambeau.add(x, x, alpha=2), Tensor)
    assert_type(x > 1, Tensor)
    assert_type(x.view(2, -1).reshape((4,)), Tensor)
    assert_type(x[0, 1:], Tensor)
    assert_type(x.size(0), int)
    values, indices = flambeau.max(x, 1)
    assert_type(values, Tensor)
    assert_type(flambeau.max(x, 1).indices, Tensor)
    assert_type(indices.dtype, flambeau.dtype)
    for part in x.split(1):
        assert_type(part, Tensor)
    x.add_(1).mul_(2.0)
    y = flambeau.zeros(2, 3, device="cpu")
    y[0] = 1.5
    shape: tuple[int, ...] = y.shape
    print(shape, y.float().numpy().mean(), float(y.sum()))
    flambeau.nn.functional.conv2d(flambeau.ones(1, 1, 3, 3), flambeau.ones(1, 1, 2, 2), padding=1)


def training() -> float:
    model = Perceptron(4, 3)
    optimizer = flambeau.optim.SGD(model.parameters(), lr=0.1)
    inputs, targets = flambeau.randn(8, 4), flambeau.randint(0, 3, (8,))
    for _ in range(3):
        optimizer.zero_grad()
        loss: Tensor = nn.functional.cross_entropy(model(inputs), targets)
        loss.backward()
        optimizer.step()
    with flambeau.no_grad():
        return float(model(inputs).argmax(1).eq(targets).float().mean().item())

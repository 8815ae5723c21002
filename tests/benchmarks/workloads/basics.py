"""Calls, elementwise operators, reductions, and the products and convolutions that most use."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from workloads.workload import Call, Workload


def _small(expression: Callable[[Any], Any]) -> Callable[[Any], Call]:
    def make(torch: Any) -> Call:
        x = torch.randn(5, 5)
        return lambda: expression(x)

    return make


def _small_numpy(expression: Callable[[Any], Any]) -> Callable[[Any], Call]:
    def make(numpy: Any) -> Call:
        x = numpy.random.default_rng(0).standard_normal((5, 5)).astype("float32")
        return lambda: expression(x)

    return make


def _unary(name: str, count: int, low: float = -3.0, high: float = 3.0) -> Workload:
    def make(torch: Any) -> Call:
        x = torch.rand(count) * (high - low) + low
        function = getattr(torch, name)
        return lambda: function(x)

    label = f"{name} {count >> 20}M"
    return Workload(label, 0.40, make)


def _binary(name: str) -> Workload:
    def make(torch: Any) -> Call:
        a, b = torch.randn(1 << 24), torch.randn(1 << 24)
        function = getattr(torch, name)
        return lambda: function(a, b)

    return Workload(f"{name} 16M", 0.30, make)


def _relu(torch: Any) -> Call:
    x = torch.randn(1 << 24)
    return lambda: torch.relu(x)


def _gelu(torch: Any) -> Call:
    x = torch.randn(1 << 20)
    return lambda: torch.nn.functional.gelu(x)


def _pow(torch: Any) -> Call:
    x, y = torch.rand(1 << 20) + 0.1, torch.rand(1 << 20) * 3
    return lambda: torch.pow(x, y)


def _square(expression: Callable[[Any, Any], Any]) -> Callable[[Any], Call]:
    def make(torch: Any) -> Call:
        x = torch.randn(4096, 4096)
        return lambda: expression(torch, x)

    return make


def _matmul(size: int) -> Callable[[Any], Call]:
    def make(torch: Any) -> Call:
        a, b = torch.randn(size, size), torch.randn(size, size)
        return lambda: a @ b

    return make


def _linear(rows: int, inputs: int, outputs: int) -> Callable[[Any], Call]:
    def make(torch: Any) -> Call:
        x, weight, bias = (
            torch.randn(rows, inputs),
            torch.randn(outputs, inputs),
            torch.randn(outputs),
        )
        return lambda: torch.nn.functional.linear(x, weight, bias)

    return make


def _conv(inputs: int, outputs: int, kernel: int, backward: bool) -> Callable[[Any], Call]:
    def make(torch: Any) -> Call:
        x = torch.randn(8, inputs, 56, 56, requires_grad=backward)
        weight = torch.randn(outputs, inputs, kernel, kernel, requires_grad=backward)
        conv2d = torch.nn.functional.conv2d

        def forward() -> Any:
            return conv2d(x, weight, padding=kernel // 2)

        def both() -> None:
            x.grad = weight.grad = None
            forward().sum().backward()

        return both if backward else forward

    return make


def _backward(torch: Any) -> Call:
    w = torch.randn(5, 5, requires_grad=True)
    return lambda: (w * w + w).sum().backward()


def _mlp(torch: Any) -> Call:
    nn = torch.nn
    model = nn.Sequential(nn.Linear(64, 128), nn.ReLU(), nn.Linear(128, 10))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
    x, y = torch.randn(64, 64), torch.randint(0, 10, (64,))
    loss = nn.CrossEntropyLoss()

    def step() -> None:
        optimizer.zero_grad()
        loss(model(x), y).backward()
        optimizer.step()

    return step


def digits_model(torch: Any) -> Any:
    """The network of `flambeau demo`."""
    nn = torch.nn
    return nn.Sequential(
        nn.Conv2d(1, 32, 3, padding=1), nn.BatchNorm2d(32), nn.ReLU(), nn.MaxPool2d(2),
        nn.Conv2d(32, 64, 3, padding=1), nn.BatchNorm2d(64), nn.ReLU(), nn.MaxPool2d(2),
        nn.Flatten(), nn.Linear(256, 128), nn.ReLU(), nn.Dropout(0.25), nn.Linear(128, 10),
    )  # fmt: skip


def _digits_epoch(torch: Any) -> Call:
    model = digits_model(torch)
    optimizer = torch.optim.Adam(model.parameters(), lr=2e-3)
    x, y = torch.rand(1437, 1, 8, 8), torch.randint(0, 10, (1437,))
    loss = torch.nn.CrossEntropyLoss()

    def epoch() -> None:
        for start in range(0, 1437, 64):
            optimizer.zero_grad()
            loss(model(x[start : start + 64]), y[start : start + 64]).backward()
            optimizer.step()

    return epoch


M, M16 = 1 << 20, 1 << 24
WORKLOADS = (
    Workload("x + 1 5x5", 0.06, _small(lambda x: x + 1), _small_numpy(lambda x: x + 1)),
    Workload("x + x 5x5", 0.15, _small(lambda x: x + x), _small_numpy(lambda x: x + x)),
    Workload("x[1] 5x5", 0.15, _small(lambda x: x[1]), _small_numpy(lambda x: x[1])),
    Workload("x.sum() 5x5", 0.15, _small(lambda x: x.sum()), _small_numpy(lambda x: x.sum())),
    Workload(
        "x.view(25) 5x5", 0.15, _small(lambda x: x.view(25)), _small_numpy(lambda x: x.reshape(25))
    ),
    Workload("x @ x 5x5", 0.15, _small(lambda x: x @ x), _small_numpy(lambda x: x @ x)),
    Workload("backward 5x5", 0.10, _backward),
    Workload("MLP step", 0.35, _mlp),
    _binary("add"),
    _binary("mul"),
    Workload("relu 16M", 0.30, _relu),
    *(
        _unary(name, count, 0.1 if name == "log" else -3.0)
        for count in (M, M16)
        for name in ("exp", "log", "tanh", "erf", "sigmoid", "sin")
    ),
    Workload("gelu 1M", 0.90, _gelu),
    Workload("pow 1M", 0.90, _pow),
    Workload("sum 4096x4096", 0.80, _square(lambda t, x: x.sum())),
    Workload("sum dim 1", 0.80, _square(lambda t, x: x.sum(1))),
    Workload("mean dim 0", 0.80, _square(lambda t, x: x.mean(0))),
    Workload("max 4096x4096", 0.80, _square(lambda t, x: x.max())),
    Workload("max dim 1", 0.80, _square(lambda t, x: x.max(1))),
    Workload("softmax dim 1", 0.80, _square(lambda t, x: t.softmax(x, 1))),
    Workload("layer_norm", 0.80, _square(lambda t, x: t.nn.functional.layer_norm(x, (4096,)))),
    Workload("sgemm 256", 0.55, _matmul(256)),
    Workload("sgemm 1024", 0.55, _matmul(1024)),
    Workload("linear 64x784-128", 0.55, _linear(64, 784, 128)),
    Workload("linear 4096x768-3072", 0.55, _linear(4096, 768, 3072)),
    Workload("conv 3x3 forward", 0.92, _conv(64, 64, 3, False)),
    Workload("conv 3x3 both", 0.92, _conv(64, 64, 3, True)),
    Workload("conv 1x1 forward", 0.55, _conv(64, 256, 1, False)),
    Workload("conv 1x1 both", 0.55, _conv(64, 256, 1, True)),
    Workload("digits CNN epoch", 0.50, _digits_epoch),
)

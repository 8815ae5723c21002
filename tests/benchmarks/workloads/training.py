"""Steps of training."""

from __future__ import annotations

from typing import Any

from workloads.workload import Call, Make, Workload, training_step


def _mlp(torch: Any) -> Call:
    nn = torch.nn
    model = nn.Sequential(
        nn.Linear(784, 256), nn.ReLU(), nn.Linear(256, 256), nn.ReLU(), nn.Linear(256, 10)
    )
    x, y = torch.randn(128, 784), torch.randint(0, 10, (128,))
    loss = nn.CrossEntropyLoss()
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
    return training_step(torch, model, optimizer, lambda: loss(model(x), y))


def _cnn(torch: Any) -> Call:
    nn = torch.nn
    model = nn.Sequential(
        nn.Conv2d(3, 32, 3, padding=1), nn.BatchNorm2d(32), nn.ReLU(), nn.MaxPool2d(2),
        nn.Conv2d(32, 64, 3, padding=1), nn.BatchNorm2d(64), nn.ReLU(), nn.MaxPool2d(2),
        nn.Flatten(), nn.Linear(64 * 64, 128), nn.ReLU(), nn.Linear(128, 10),
    )  # fmt: skip
    x, y = torch.randn(64, 3, 32, 32), torch.randint(0, 10, (64,))
    loss = nn.CrossEntropyLoss()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01, momentum=0.9)
    return training_step(torch, model, optimizer, lambda: loss(model(x), y))


def _block(torch: Any, inputs: int, outputs: int, stride: int, wide: int) -> Any:
    """A residual block: of two 3x3 convolutions, or of 1x1, 3x3, 1x1 where `wide` is 4."""
    nn = torch.nn
    ends = outputs * wide
    kernels = [(inputs, outputs, 3, stride), (outputs, ends, 3, 1)]
    if wide > 1:
        kernels = [(inputs, outputs, 1, 1), (outputs, outputs, 3, stride), (outputs, ends, 1, 1)]
    layers: list[Any] = []
    for i, (m, n, k, s) in enumerate(kernels):
        layers += [nn.ReLU()] * (i > 0)
        layers += [nn.Conv2d(m, n, k, s, k // 2, bias=False), nn.BatchNorm2d(n)]

    class Block(nn.Module):  # type: ignore[misc,name-defined]
        def __init__(self) -> None:
            super().__init__()
            self.body = nn.Sequential(*layers)
            self.short = nn.Identity()
            if stride != 1 or inputs != ends:
                self.short = nn.Sequential(
                    nn.Conv2d(inputs, ends, 1, stride, bias=False), nn.BatchNorm2d(ends)
                )

        def forward(self, x: Any) -> Any:
            return torch.relu(self.body(x) + self.short(x))

    return Block()


def resnet_step(
    depths: tuple[int, ...], wide: int, memory_format: str = "contiguous_format"
) -> Make:
    """A step of a residual network, K. He et al., 2016."""

    def make(torch: Any) -> Call:
        nn = torch.nn
        layers: list[Any] = [
            nn.Conv2d(3, 64, 7, 2, 3, bias=False), nn.BatchNorm2d(64), nn.ReLU(),
            nn.MaxPool2d(3, 2, 1),
        ]  # fmt: skip
        inputs = 64
        for stage, depth in enumerate(depths):
            outputs = 64 << stage
            for i in range(depth):
                stride = 2 if stage and i == 0 else 1
                layers.append(_block(torch, inputs, outputs, stride, wide))
                inputs = outputs * wide
        model = nn.Sequential(
            *layers, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(inputs, 1000)
        )
        lies = getattr(torch, memory_format)
        model = model.to(memory_format=lies)
        x = torch.randn(4, 3, 224, 224).contiguous(memory_format=lies)
        y = torch.randint(0, 1000, (4,))
        loss = nn.CrossEntropyLoss()
        optimizer = torch.optim.SGD(model.parameters(), lr=0.01, momentum=0.9)
        return training_step(torch, model, optimizer, lambda: loss(model(x), y))

    return make


def _language_model(name: str) -> Make:
    def make(torch: Any) -> Call:
        nn = torch.nn
        embedding, body = nn.Embedding(1000, 128), getattr(nn, name)(128, 256, batch_first=True)
        head, loss = nn.Linear(256, 1000), nn.CrossEntropyLoss()
        model = nn.ModuleList([embedding, body, head])
        x, y = torch.randint(0, 1000, (16, 64)), torch.randint(0, 1000, (16 * 64,))
        optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)

        def value() -> Any:
            return loss(head(body(embedding(x))[0]).flatten(0, 1), y)

        return training_step(torch, model, optimizer, value)

    return make


def _gpt(bfloat16: bool) -> Make:
    def make(torch: Any) -> Call:
        nn, size, heads, length = torch.nn, 256, 8, 128

        class Block(nn.Module):  # type: ignore[misc,name-defined]
            def __init__(self) -> None:
                super().__init__()
                self.first, self.second = nn.LayerNorm(size), nn.LayerNorm(size)
                self.parts, self.out = nn.Linear(size, 3 * size), nn.Linear(size, size)
                self.up, self.down = nn.Linear(size, 4 * size), nn.Linear(4 * size, size)

            def forward(self, x: Any) -> Any:
                n = len(x)
                parts = self.parts(self.first(x)).view(n, length, 3, heads, size // heads)
                q, k, v = parts.permute(2, 0, 3, 1, 4).unbind(0)
                seen = nn.functional.scaled_dot_product_attention(q, k, v, is_causal=True)
                x = x + self.out(seen.transpose(1, 2).reshape(n, length, size))
                return x + self.down(nn.functional.gelu(self.up(self.second(x))))

        model = nn.Sequential(
            nn.Embedding(1000, size), *(Block() for _ in range(4)), nn.LayerNorm(size),
            nn.Linear(size, 1000),
        )  # fmt: skip
        x, y = torch.randint(0, 1000, (8, length)), torch.randint(0, 1000, (8 * length,))
        optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)

        def value() -> Any:
            with torch.autocast("cpu", dtype=torch.bfloat16, enabled=bfloat16):
                return nn.functional.cross_entropy(model(x).flatten(0, 1), y)

        return training_step(torch, model, optimizer, value)

    return make


def _autoencoder(torch: Any) -> Call:
    nn = torch.nn
    encoder = nn.Sequential(nn.Linear(784, 400), nn.ReLU(), nn.Linear(400, 40))
    decoder = nn.Sequential(nn.Linear(20, 400), nn.ReLU(), nn.Linear(400, 784))
    model, x = nn.ModuleList([encoder, decoder]), torch.rand(128, 784)
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)

    def value() -> Any:
        mean, log_var = encoder(x).chunk(2, 1)
        drawn = decoder(mean + torch.randn_like(mean) * (log_var / 2).exp())
        rebuilt = nn.functional.binary_cross_entropy_with_logits(drawn, x, reduction="sum")
        return rebuilt - (1 + log_var - mean * mean - log_var.exp()).sum() / 2

    return training_step(torch, model, optimizer, value)


WORKLOADS = (
    Workload("MLP", 0.6, _mlp),
    Workload("CNN", 0.6, _cnn),
    Workload("ResNet-18", 0.6, resnet_step((2, 2, 2, 2), 1)),
    Workload("ResNet-50", 0.6, resnet_step((3, 4, 6, 3), 4)),
    Workload("LSTM language model", 0.6, _language_model("LSTM")),
    Workload("GRU language model", 0.6, _language_model("GRU")),
    Workload("GPT", 0.6, _gpt(False)),
    Workload("GPT bfloat16", 0.6, _gpt(True)),
    Workload("VAE", 0.6, _autoencoder),
)

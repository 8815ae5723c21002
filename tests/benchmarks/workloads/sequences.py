"""Attention, recurrences, normalization and embeddings."""

from __future__ import annotations

from typing import Any

from workloads.workload import Call, Make, Workload, filled, with_gradients


def _attention(
    batch: int, heads: int, length: int, size: int, *, causal: bool, backward: bool, dtype: str
) -> Make:
    def make(torch: Any) -> Call:
        q, k, v = (filled(torch, batch, heads, length, size, dtype=dtype) for _ in range(3))

        def forward() -> Any:
            return torch.nn.functional.scaled_dot_product_attention(q, k, v, is_causal=causal)

        if not backward:
            return forward
        return with_gradients(forward, tuple(x.requires_grad_() for x in (q, k, v)))

    return make


def _recurrent(name: str, *, backward: bool, layers: int = 1) -> Make:
    def make(torch: Any) -> Call:
        model = getattr(torch.nn, name)(128, 256, layers, batch_first=True)
        x = filled(torch, 32, 64, 128)
        if not backward:

            def forward() -> Any:
                with torch.no_grad():
                    return model(x)

            return forward
        return with_gradients(lambda: model(x)[0], tuple(model.parameters()))

    return make


def _cell(torch: Any) -> Call:
    cell, x = torch.nn.LSTMCell(64, 128), filled(torch, 16, 64)
    state = filled(torch, 16, 128), filled(torch, 16, 128)

    def call() -> Any:
        with torch.no_grad():
            return cell(x, state)

    return call


def _layer_norm(dtype: str, backward: bool) -> Make:
    def make(torch: Any) -> Call:
        x = filled(torch, 4096, 768, dtype=dtype)
        weight, bias = filled(torch, 768, dtype=dtype), filled(torch, 768, dtype=dtype)

        def forward() -> Any:
            return torch.nn.functional.layer_norm(x, (768,), weight, bias)

        if not backward:
            return forward
        return with_gradients(forward, tuple(t.requires_grad_() for t in (x, weight, bias)))

    return make


def _embedding(torch: Any) -> Call:
    weight = filled(torch, 30000, 256).requires_grad_()
    index = torch.randint(0, 30000, (32, 128))
    return with_gradients(lambda: torch.nn.functional.embedding(index, weight), (weight,))


def _cross_entropy(torch: Any) -> Call:
    x, target = filled(torch, 1024, 10000).requires_grad_(), torch.randint(0, 10000, (1024,))
    return with_gradients(lambda: torch.nn.functional.cross_entropy(x, target), (x,))


def _attentions() -> list[Workload]:
    found = []
    for dtype in ("float32", "bfloat16"):
        for causal in (False, True):
            for backward in (False, True):
                name = f"attention{' causal' * causal} {dtype} {'both' if backward else 'forward'}"
                shape = {"causal": causal, "backward": backward, "dtype": dtype}
                found.append(Workload(name, 1.0, _attention(4, 12, 512, 64, **shape)))
    one = {"causal": True, "backward": False, "dtype": "float32"}
    found.append(Workload("attention causal 4096", 1.0, _attention(1, 8, 4096, 64, **one)))
    found.append(Workload("attention causal 64", 1.0, _attention(32, 4, 64, 32, **one)))
    return found


WORKLOADS = (
    *_attentions(),
    *(
        Workload(f"{name} {'both' if backward else 'forward'}", 1.0, _recurrent(name, **options))
        for name in ("RNN", "GRU", "LSTM")
        for backward in (False, True)
        for options in [{"backward": backward}]
    ),
    Workload("LSTM 2 layers both", 1.0, _recurrent("LSTM", backward=True, layers=2)),
    Workload("LSTMCell", 1.0, _cell),
    *(
        Workload(
            f"layer_norm {dtype} {'both' if backward else 'forward'}",
            1.0,
            _layer_norm(dtype, backward),
        )
        for dtype in ("float32", "bfloat16", "float16")
        for backward in (False, True)
    ),
    Workload("embedding both", 1.0, _embedding),
    Workload("cross_entropy both", 1.0, _cross_entropy),
)

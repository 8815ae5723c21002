"""Operators that the other groups leave out: padding, copies, short rows, gradients of shapes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from workloads.workload import Call, Make, Workload, of_input


def _of(name: str, call: Callable[[Any, Any], Any], *shape: int, **options: Any) -> Workload:
    """`call(torch, x)` of a tensor of normal numbers."""
    return Workload(name, 1.0, of_input(shape, call, **options))


def _gradient(call: Callable[[Any, Any], Any], *shape: int) -> Make:
    """The gradient alone of `call(torch, x)`."""

    def make(torch: Any) -> Call:
        x = torch.randn(*shape, requires_grad=True)
        y = call(torch, x)
        seed = torch.randn_like(y)
        return lambda: torch.autograd.grad(y, x, seed, retain_graph=True)

    return make


def _grad(name: str, call: Callable[[Any, Any], Any], *shape: int) -> Workload:
    return Workload(f"{name} gradient", 1.0, _gradient(call, *shape))


def _pad(mode: str) -> tuple[Workload, ...]:
    def pad(t: Any, x: Any) -> Any:
        return t.nn.functional.pad(x, (3, 3, 3, 3), mode=mode)

    return (
        _of(f"pad {mode} 8x32x56x56", pad, 8, 32, 56, 56),
        _of(f"pad {mode} 64x64x8x8", pad, 64, 64, 8, 8),
        _grad(f"pad {mode} 8x32x56x56", pad, 8, 32, 56, 56),
    )


def _index_select(torch: Any) -> Call:
    index = torch.randint(0, 1000, (4096,))
    return _gradient(lambda t, x: x.index_select(0, index), 1000, 128)(torch)


def _index_select_columns(torch: Any) -> Call:
    index = torch.randint(0, 1000, (1000,))
    return _gradient(lambda t, x: x.index_select(1, index), 1000, 1000)(torch)


def _segment_reduce(torch: Any) -> Call:
    x, lengths = torch.randn(100_000, 8), torch.full((1000,), 100)
    return lambda: torch.segment_reduce(x, "sum", lengths=lengths)


def _segment_reduce_short(torch: Any) -> Call:
    x, lengths = torch.randn(1_000_000), torch.full((100_000,), 10)
    return lambda: torch.segment_reduce(x, "sum", lengths=lengths)


def _kron(torch: Any) -> Call:
    a, b = torch.randn(32, 32), torch.randn(32, 32)
    return lambda: torch.kron(a, b)


def _searchsorted(bounds: int, values: int, sorted_values: bool = False) -> Make:
    def make(torch: Any) -> Call:
        sequence, wanted = torch.randn(bounds).sort().values, torch.randn(values)
        wanted = wanted.sort().values if sorted_values else wanted
        return lambda: torch.searchsorted(sequence, wanted)

    return make


def _searchsorted_rows(torch: Any) -> Call:
    sequence, wanted = torch.randn(1000, 100).sort(-1).values, torch.randn(1000, 100)
    return lambda: torch.searchsorted(sequence, wanted)


def _embedding_bag(torch: Any) -> Call:
    weight = torch.randn(10_000, 64, requires_grad=True)
    index = torch.randint(0, 10_000, (1024, 16))
    y = torch.nn.functional.embedding_bag(index, weight, mode="sum")
    seed = torch.randn_like(y)
    return lambda: torch.autograd.grad(y, weight, seed, retain_graph=True)


def _norm_gradient(module: Callable[[Any], Any], *shape: int) -> Make:
    """Of everything that a layer learns, and of its input."""

    def make(torch: Any) -> Call:
        layer, x = module(torch.nn), torch.randn(*shape, requires_grad=True)
        y = layer(x)
        seed, leaves = torch.randn_like(y), (x, *layer.parameters())
        return lambda: torch.autograd.grad(y, leaves, seed, retain_graph=True)

    return make


def _layer(name: str, module: Callable[[Any], Any], *shape: int) -> tuple[Workload, ...]:
    def forward(torch: Any) -> Call:
        layer, x = module(torch.nn), torch.randn(*shape)
        return lambda: layer(x)

    return (
        Workload(name, 1.0, forward),
        Workload(f"{name} gradient", 1.0, _norm_gradient(module, *shape)),
    )


def _positive(name: str, call: Callable[[Any, Any], Any], dtype: str) -> Workload:
    def make(torch: Any) -> Call:
        x = torch.rand(1 << 20).to(getattr(torch, dtype)) * 10 + 0.1
        return lambda: call(torch, x)

    return Workload(f"{name} {dtype}", 1.0, make)


def _gammainc(torch: Any, dtype: str) -> Call:
    a, x = (torch.rand(1 << 18).to(getattr(torch, dtype)) * 10 + 0.1 for _ in range(2))
    return lambda: torch.special.gammainc(a, x)


DTYPES = ("float16", "bfloat16", "int64", "float64")
WORKLOADS = (
    *_pad("reflect"),
    *_pad("replicate"),
    _of("pad reflect of a signal", lambda t, x: t.nn.functional.pad(x, (200, 200), "reflect"),
        16, 1, 16000),
    _of("pad by a constant", lambda t, x: t.nn.functional.pad(x, (1, 2)), 885, 1180),
    _of("flip rows", lambda t, x: x.flip(0), 885, 1180),
    _of("flip a transposed matrix", lambda t, x: x.T.flip(0), 885, 1180),
    _of("roll of two dims", lambda t, x: x.roll((1, -1), (0, 1)), 885, 1180),
    _of("adaptive_avg_pool1d", lambda t, x: t.nn.functional.adaptive_avg_pool1d(x, 3), 50, 75, 275),
    _of("any of dim 0", lambda t, x: x.any(0), 1024, 1024, dtype="bool"),
    _of("any of dim 1", lambda t, x: x.any(1), 1024, 1024, dtype="bool"),
    _of("any of dims 0 and 2", lambda t, x: x.any((0, 2)), 64, 128, 128, dtype="bool"),
    _of("any of dim 1 float32", lambda t, x: x.any(1), 1024, 1024),
    *(_of(f"sum of rows of {n}", lambda t, x: x.sum(1), (1 << 20) // n, n)
      for n in (16, 32, 49, 64, 128)),
    *(_of(f"sum {dtype} 1M", lambda t, x: x.sum(), 1 << 20, dtype=dtype) for dtype in DTYPES),
    *(_of(f"sum {dtype} dim 1", lambda t, x: x.sum(1), 1024, 1024, dtype=dtype)
      for dtype in DTYPES),
    *(_of(f"sum {dtype} dim 0", lambda t, x: x.sum(0), 1024, 1024, dtype=dtype)
      for dtype in DTYPES),
    _of("expand rows", lambda t, x: x.expand(1024, 1024).contiguous(), 1024),
    _of("expand columns", lambda t, x: x.expand(1024, 1024).contiguous(), 1024, 1),
    _of("expand a middle dim", lambda t, x: x.expand(64, 16, 1024).contiguous(), 64, 1, 1024),
    _of("expand short rows", lambda t, x: x.expand(65536, 16).contiguous(), 65536, 1),
    Workload("index_select gradient", 1.0, _index_select),
    Workload("index_select dim 1 gradient", 1.0, _index_select_columns),
    _grad("sign", lambda t, x: x.sign(), 1 << 20),
    _grad("prod", lambda t, x: x.prod(), 1 << 20),
    _grad("prod dim 1", lambda t, x: x.prod(1), 1024, 1024),
    _grad("prod dim 0", lambda t, x: x.prod(0), 1024, 1024),
    _grad("lp_pool2d", lambda t, x: t.nn.functional.lp_pool2d(x, 2, 2), 8, 32, 56, 56),
    Workload("segment_reduce 100000x8", 1.0, _segment_reduce),
    Workload("segment_reduce of 10", 1.0, _segment_reduce_short),
    Workload("kron 32x32", 1.0, _kron),
    Workload("tril_indices 1000", 1.0, lambda t: lambda: t.tril_indices(1000, 1000)),
    _of("pdist 500x64", lambda t, x: t.pdist(x), 500, 64),
    _grad("pdist 500x64", lambda t, x: t.pdist(x), 500, 64),
    Workload("searchsorted 1M in 1M", 1.0, _searchsorted(1_000_000, 1_000_000)),
    Workload("searchsorted 1M in 1000", 1.0, _searchsorted(1000, 1_000_000)),
    Workload("searchsorted 1000 in 1M", 1.0, _searchsorted(1_000_000, 1000)),
    Workload("searchsorted of sorted", 1.0, _searchsorted(1_000_000, 1_000_000, True)),
    Workload("searchsorted rows", 1.0, _searchsorted_rows),
    Workload("randperm 1M", 1.0, lambda t: lambda: t.randperm(1_000_000)),
    Workload("randperm 1000", 1.0, lambda t: lambda: t.randperm(1000)),
    *_layer("layer_norm 64", lambda nn: nn.LayerNorm(64), 8192, 64),
    *_layer("group_norm", lambda nn: nn.GroupNorm(8, 32), 16, 32, 28, 28),
    *_layer("batch_norm 7x7", lambda nn: nn.BatchNorm2d(256), 16, 256, 7, 7),
    *_layer("batch_norm 14x14", lambda nn: nn.BatchNorm2d(256), 16, 256, 14, 14),
    Workload("embedding_bag gradient", 1.0, _embedding_bag),
    _positive("lgamma", lambda t, x: t.lgamma(x), "float64"),
    _positive("i1e", lambda t, x: t.special.i1e(x), "float32"),
    Workload("gammainc float32", 1.0, lambda t: _gammainc(t, "float32")),
    Workload("gammainc float64", 1.0, lambda t: _gammainc(t, "float64")),
    _of("rfft of 8", lambda t, x: t.fft.rfft(x), 65536, 8),
    _of("fft of 16", lambda t, x: t.fft.fft(x), 32768, 16, dtype="complex64"),
    _of("fft of 16 of reals", lambda t, x: t.fft.fft(x), 32768, 16),
)  # fmt: skip

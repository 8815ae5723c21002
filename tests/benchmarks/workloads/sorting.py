"""Sorting, searching, counting."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from workloads.workload import Call, Make, Workload, of_array, of_input

MILLION = 1_000_000


def _integers(call: Callable[[Any, Any], Any], high: int = 2**62) -> Make:
    def make(torch: Any) -> Call:
        x = torch.randint(0, high, (MILLION,))
        return lambda: call(torch, x)

    return make


def _integer_array(call: Callable[[Any, Any], Any], high: int = 2**62) -> Make:
    def make(numpy: Any) -> Call:
        x = numpy.random.default_rng(0).integers(0, high, MILLION)
        return lambda: call(numpy, x)

    return make


def _of_floats(name: str, call: Any, numpy_call: Any = None, count: int = MILLION) -> Workload:
    other = numpy_call and of_array((count,), numpy_call)
    return Workload(name, 1.0, of_input((count,), call), other)


def _of_integers(name: str, call: Any, numpy_call: Any = None, high: int = 2**62) -> Workload:
    other = numpy_call and _integer_array(numpy_call, high)
    return Workload(name, 1.0, _integers(call, high), other)


WORKLOADS = (
    _of_floats("sort float32 1M", lambda t, x: t.sort(x)),
    _of_floats("sort of keys alone", lambda t, x: t.msort(x), lambda n, x: n.sort(x)),
    _of_floats("argsort float32 1M", lambda t, x: t.argsort(x), lambda n, x: n.argsort(x)),
    _of_floats("sort float32 1000", lambda t, x: t.sort(x), None, 1000),
    Workload("sort rows 4096x256", 1.0, of_input((4096, 256), lambda t, x: t.sort(x))),
    _of_integers("sort int64 1M", lambda t, x: t.sort(x)),
    _of_integers("argsort int64 1M", lambda t, x: t.argsort(x), lambda n, x: n.argsort(x)),
    _of_floats("unique float32 1M", lambda t, x: t.unique(x), lambda n, x: n.unique(x)),
    _of_integers("unique int64 1M", lambda t, x: t.unique(x), lambda n, x: n.unique(x)),
    _of_integers(
        "unique of 1000 values", lambda t, x: t.unique(x), lambda n, x: n.unique(x), high=1000
    ),
    _of_floats("topk 10 of 1M", lambda t, x: t.topk(x, 10), lambda n, x: n.partition(x, -10)),
    Workload("topk 5 of rows", 1.0, of_input((4096, 1000), lambda t, x: t.topk(x, 5))),
    _of_floats(
        "kthvalue 1M", lambda t, x: t.kthvalue(x, 500_000), lambda n, x: n.partition(x, 499_999)
    ),
    _of_floats("median 1M", lambda t, x: t.median(x), lambda n, x: n.median(x)),
    _of_floats("quantile 1M", lambda t, x: t.quantile(x, 0.3), lambda n, x: n.quantile(x, 0.3)),
    _of_integers(
        "bincount", lambda t, x: t.bincount(x), lambda n, x: n.bincount(x), high=1000
    ),
    _of_floats(
        "histc", lambda t, x: t.histc(x, 100, -4, 4), lambda n, x: n.histogram(x, 100, (-4, 4))
    ),
    _of_floats(
        "searchsorted",
        lambda t, x: t.searchsorted(t.linspace(-4, 4, 1000), x),
        lambda n, x: n.searchsorted(n.linspace(-4, 4, 1000, dtype="float32"), x),
    ),
    _of_floats("nonzero", lambda t, x: t.nonzero(x > 0), lambda n, x: n.argwhere(x > 0)),
    _of_floats("masked select", lambda t, x: x[x > 0], lambda n, x: x[x > 0]),
    _of_floats("cumsum", lambda t, x: t.cumsum(x, 0), lambda n, x: n.cumsum(x)),
)  # fmt: skip

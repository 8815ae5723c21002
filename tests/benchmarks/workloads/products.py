"""Products of matrices, of all dtypes and shapes."""

from __future__ import annotations

from typing import Any

from workloads.workload import Call, Make, Workload, filled, filled_array

SQUARES = (
    ("float32", (128, 256, 512, 1024, 2048, 4096)),
    ("float64", (256, 1024, 2048)),
    ("complex64", (512,)),
    ("complex128", (512,)),
    ("bfloat16", (256, 1024, 2048)),
    ("float16", (256, 1024)),
)
LINEARS = (
    ("float32", ((64, 784, 128), (4096, 768, 3072), (200, 768, 50257), (100000, 16, 16))),
    ("float32", ((32, 4096, 4096), (1, 4096, 4096), (8, 768, 3072), (256, 64, 10))),
    ("bfloat16", ((4096, 768, 3072), (8, 768, 3072), (1, 4096, 4096))),
    ("float16", ((8, 768, 3072), (1, 4096, 4096))),
)
BATCHES = (
    ("float32", ((96, 128, 64, 128), (1000, 8, 8, 8), (64, 32, 32, 32), (16, 256, 256, 256))),
    ("bfloat16", ((96, 128, 64, 128),)),
)
NUMPY = {"float32", "float64", "complex64", "complex128"}


def _product(dtype: str, left: tuple[int, ...], right: tuple[int, ...]) -> tuple[Make, Make | None]:
    def make(torch: Any) -> Call:
        a, b = filled(torch, *left, dtype=dtype), filled(torch, *right, dtype=dtype)
        return lambda: a @ b

    def in_numpy(numpy: Any) -> Call:
        a, b = filled_array(numpy, *left, dtype=dtype), filled_array(numpy, *right, dtype=dtype)
        return lambda: a @ b

    return make, in_numpy if dtype in NUMPY else None


def _linear(dtype: str, rows: int, inputs: int, outputs: int) -> tuple[Make, Make | None]:
    def make(torch: Any) -> Call:
        x = filled(torch, rows, inputs, dtype=dtype)
        weight = filled(torch, outputs, inputs, dtype=dtype)
        bias = filled(torch, outputs, dtype=dtype)
        return lambda: torch.nn.functional.linear(x, weight, bias)

    def in_numpy(numpy: Any) -> Call:
        x = filled_array(numpy, rows, inputs, dtype=dtype)
        weight = filled_array(numpy, outputs, inputs, dtype=dtype)
        bias = filled_array(numpy, outputs, dtype=dtype)
        return lambda: x @ weight.T + bias

    return make, in_numpy if dtype in NUMPY else None


def _all() -> list[Workload]:
    found = [
        Workload(f"{dtype} {n}", 1.0, *_product(dtype, (n, n), (n, n)))
        for dtype, sizes in SQUARES
        for n in sizes
    ]
    found += [
        Workload(f"{dtype} linear {m}x{k}-{n}", 1.0, *_linear(dtype, m, k, n))
        for dtype, shapes in LINEARS
        for m, k, n in shapes
    ]
    found += [
        Workload(f"{dtype} bmm {b}x{m}x{k}x{n}", 1.0, *_product(dtype, (b, m, k), (b, k, n)))
        for dtype, shapes in BATCHES
        for b, m, k, n in shapes
    ]
    for name, left, right in (
        ("gemv 4096 by rows", (4096, 4096), (4096,)),
        ("gemv 4096 by columns", (4096,), (4096, 4096)),
        ("gemv 512", (512, 512), (512,)),
    ):
        found.append(Workload(name, 1.0, *_product("float32", left, right)))
    return found


WORKLOADS = tuple(_all())

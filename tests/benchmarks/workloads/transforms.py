"""Fourier transforms, linear algebra, distances, grids."""

from __future__ import annotations

from typing import Any

from workloads.workload import Call, Workload, filled, of_array, of_input


def _transform(name: str, shape: tuple[int, ...]) -> Workload:
    dtype = "float32" if name.startswith("r") else "complex64"
    return Workload(
        f"{name} {'x'.join(map(str, shape))}",
        1.0,
        of_input(shape, lambda t, x: getattr(t.fft, name)(x), dtype=dtype),
        of_array(shape, lambda n, x: getattr(n.fft, name)(x), dtype=dtype),
    )


def _linalg(name: str, size: int, definite: bool = False) -> Workload:
    def prepared(library: Any, x: Any) -> Any:
        return x @ x.T + size * library.eye(size) if definite else x

    def make(torch: Any) -> Call:
        x = prepared(torch, filled(torch, size, size))
        return lambda: getattr(torch.linalg, name)(x)

    def in_numpy(numpy: Any) -> Call:
        x = numpy.random.default_rng(0).standard_normal((size, size)).astype("float32")
        x = prepared(numpy, x).astype("float32")
        return lambda: getattr(numpy.linalg, name)(x)

    return Workload(f"{name} {size}", 1.0, make, in_numpy)


def _solve(torch: Any) -> Call:
    a, b = filled(torch, 512, 512), filled(torch, 512, 16)
    return lambda: torch.linalg.solve(a, b)


def _solve_in_numpy(numpy: Any) -> Call:
    generator = numpy.random.default_rng(0)
    a, b = (generator.standard_normal((512, n)).astype("float32") for n in (512, 16))
    return lambda: numpy.linalg.solve(a, b)


def _many(name: str, size: int) -> Workload:
    """A thousand small matrices."""

    def make(torch: Any) -> Call:
        arguments = [filled(torch, 1000, size, size)]
        if name == "cholesky":
            arguments = [arguments[0] @ arguments[0].mT + torch.eye(size)]
        if name == "solve":
            arguments.append(filled(torch, 1000, size, 1))
        return lambda: getattr(torch.linalg, name)(*arguments)

    return Workload(f"{name} 1000 of {size}", 0.3, make)


def _distances(torch: Any) -> Call:
    a, b = filled(torch, 1000, 64), filled(torch, 2000, 64)
    return lambda: torch.cdist(a, b)


def _grid(torch: Any) -> Call:
    x, grid = filled(torch, 4, 16, 64, 64), torch.rand(4, 64, 64, 2) * 2 - 1
    return lambda: torch.nn.functional.grid_sample(x, grid, align_corners=False)


def _resized(torch: Any) -> Call:
    x = filled(torch, 4, 16, 64, 64)
    resize = torch.nn.functional.interpolate
    return lambda: resize(x, scale_factor=2, mode="bilinear", align_corners=False)


WORKLOADS = (
    _transform("fft", (1024,)),
    _transform("fft", (65536,)),
    _transform("fft", (1 << 20,)),
    _transform("rfft", (65536,)),
    _transform("fft", (256, 1024)),
    _transform("fft2", (512, 512)),
    _transform("rfft2", (16, 256, 256)),
    _transform("fft", (10007,)),
    _linalg("inv", 512),
    _linalg("det", 512),
    _linalg("qr", 512),
    _linalg("svd", 256),
    _linalg("eigh", 256, definite=True),
    _linalg("cholesky", 512, definite=True),
    Workload("solve 512", 1.0, _solve, _solve_in_numpy),
    *(_many(name, size) for name in ("det", "inv", "solve", "qr", "cholesky") for size in (4, 8)),
    Workload("cdist 1000x2000", 1.0, _distances),
    Workload("grid_sample", 1.0, _grid),
    Workload("interpolate bilinear", 1.0, _resized),
)

"""Times CUDA kernels of all declared operators: `python tests/cuda/bench_cuda.py --help`.

Operands are a sample's arrays repeated up to 16 million elements, so that every operator gets
arguments of its domain. Time is the best of several groups of calls between two events.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "operators"))

import numpy as np
from operator_calls import bound, call, is_reachable, library_values
from operator_cases import Case, cases

import flambeau
from flambeau import cuda
from flambeau.codegen.model.entries import Kind

try:
    import torch
except ImportError:
    torch = None

COUNT = 1 << 24
SIDE = 4096
GROUP, GROUPS = 10, 4


@dataclass(frozen=True)
class Row:
    """One measurement."""

    name: str
    milliseconds: float
    bytes: int
    torch_milliseconds: float | None

    @property
    def rate(self) -> float:
        """GB/s read and written."""
        return self.bytes / self.milliseconds / 1e6


def best_time(body: Callable[[], Any], event: Callable[[], Any]) -> float:
    """Milliseconds of one call."""
    for _ in range(3):
        body()
    best = float("inf")
    for _ in range(GROUPS):
        start, end = event(), event()
        start.record()
        for _ in range(GROUP):
            body()
        end.record()
        end.synchronize()
        best = min(best, start.elapsed_time(end) / GROUP)
    return best


def own_event() -> Any:
    return cuda.Event(enable_timing=True)


def torch_event() -> Any:
    return torch.cuda.Event(enable_timing=True)


def large(value: Any, dtype: str) -> Any:
    """An array of COUNT elements like a sample's; floats in `dtype`."""
    array = np.resize(np.asarray(value), COUNT)
    if array.dtype.kind != "f":
        return flambeau.from_numpy(np.ascontiguousarray(array)).to("cuda")
    tensor = flambeau.from_numpy(np.ascontiguousarray(array.astype(np.float32)))
    return tensor.to(getattr(flambeau, dtype)).to("cuda")


def nbytes(value: Any) -> int:
    """Bytes of the tensors in a value."""
    if isinstance(value, flambeau.Tensor):
        return int(value.numel() * value.element_size()) if value.is_cuda else 0
    if isinstance(value, list | tuple):
        return sum(map(nbytes, value))
    return 0


def as_torch(tensor: Any) -> Any:
    """The same tensor on the same device, as PyTorch's."""
    name = tensor.dtype.name
    if name == "bfloat16":  # NumPy has none
        tensor = tensor.to(flambeau.float32)
    return torch.from_numpy(tensor.cpu().numpy()).cuda().to(getattr(torch, name))


def torch_twin(case: Case, values: dict[str, Any]) -> Callable[[], Any] | None:
    """The call of PyTorch's operator of the same name, or None."""
    if torch is None:
        return None
    space: Any = torch
    for part in filter(None, case.operator.namespace.split(".")):
        space = getattr(space, part, None)
    function = getattr(space, case.operator.name, None)
    if function is None or any(a.type.mutable for a in case.operator.signature.arguments):
        return None
    arguments: list[Any] = []
    keywords: dict[str, Any] = {}
    skipped = False
    for argument in case.operator.signature.arguments:
        if argument.name not in values:
            skipped = True
            continue
        value = values[argument.name]
        if isinstance(value, flambeau.Tensor):
            value = as_torch(value)
        if argument.keyword_only or skipped:
            keywords[argument.name] = value
        else:
            arguments.append(value)
    try:
        function(*arguments, **keywords)
    except Exception:
        return None
    return lambda: function(*arguments, **keywords)


def pointwise(case: Case, dtype: str) -> Row | None:
    """One pointwise operator on 16 million elements; None where it has no CUDA kernel."""
    values = library_values(case.operator, case.values(), lambda v: large(v, dtype))
    try:
        result = call(case.operator, values)
    except (NotImplementedError, RuntimeError, TypeError, ValueError):
        return None
    moved = sum(map(nbytes, values.values())) + nbytes(result)
    moved += sum(
        nbytes(values[a.name]) for a in case.operator.signature.arguments if a.type.mutable
    )
    taken = best_time(bound(case.operator, values), own_event)
    twin = torch_twin(case, values)
    other = best_time(twin, torch_event) if twin else None
    return Row(f"{case.operator.full_name} {dtype}", taken, moved, other)


def reductions(case: Case, dtype: str) -> list[Row]:
    """One reduction of a 4096 x 4096 matrix: of all, of rows, of columns."""
    rows = []
    matrix = flambeau.rand(SIDE, SIDE, device="cuda").to(getattr(flambeau, dtype))
    first = case.operator.signature.arguments[0].name
    takes_dim = any(a.name == "dim" for a in case.operator.signature.arguments)
    for label, dims in (("all", None), ("rows", 1), ("columns", 0)):
        if dims is not None and not takes_dim:
            continue
        values: dict[str, Any] = {first: matrix}
        if dims is not None:
            values["dim"] = dims
        try:
            call(case.operator, values)
        except (NotImplementedError, RuntimeError, TypeError, ValueError):
            continue
        taken = best_time(bound(case.operator, values), own_event)
        twin = torch_twin(case, values)
        other = best_time(twin, torch_event) if twin else None
        rows.append(Row(f"{case.operator.full_name} {dtype} {label}", taken, nbytes(matrix), other))
    return rows


def copy_rate() -> float:
    """GB/s that a copy of 256 MiB reads and writes."""
    source = flambeau.ones(1 << 26, device="cuda")
    target = flambeau.empty_like(source)
    taken = best_time(lambda: target.copy_(source), own_event)
    return 2 * nbytes(source) / taken / 1e6


def launch_microseconds() -> float:
    """What a call on a tensor of one element costs, waiting left out."""
    x = flambeau.ones(1, device="cuda")
    for _ in range(100):
        x + x
    cuda.synchronize()
    started = time.perf_counter()
    for _ in range(2000):
        x + x
    taken = time.perf_counter() - started
    cuda.synchronize()
    return taken / 2000 * 1e6


def table(title: str, rows: list[Row], peak: float) -> None:
    """Prints rows, slowest share of the bandwidth first."""
    print(f"\n### {title}\n")
    print("| operator | ms | GB/s | of the copy | PyTorch ms | ratio |")
    print("| --- | --- | --- | --- | --- | --- |")
    for row in sorted(rows, key=lambda r: r.rate):
        other = row.torch_milliseconds
        theirs = f"{other:.4f} | {row.milliseconds / other:.2f}" if other else "- | -"
        share = row.rate / peak
        print(f"| {row.name} | {row.milliseconds:.4f} | {row.rate:.0f} | {share:.2f} | {theirs} |")
    ratios = [r.milliseconds / r.torch_milliseconds for r in rows if r.torch_milliseconds]
    if ratios:
        slower = sum(r > 1.05 for r in ratios)
        print(
            f"\n{len(rows)} kernels; geometric mean of the ratio to PyTorch "
            f"{float(np.exp(np.mean(np.log(ratios)))):.3f}; {slower} of {len(ratios)} slower by 5%."
        )


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=180)
    parser.add_argument("--dtypes", nargs="+", default=["float32", "bfloat16"])
    parser.add_argument("--kind", choices=["reductions", "pointwise"], help="default: both")
    options = parser.parse_args()
    deadline = time.monotonic() + options.seconds
    peak = copy_rate()
    print(f"{cuda.get_device_name()}: a copy moves {peak:.0f} GB/s; ", end="")
    print(f"a call costs the host {launch_microseconds():.1f} us.")
    firsts = [c for c in cases() if c.index == 0 and is_reachable(c.operator)]
    found: dict[str, list[Row]] = {"Reductions": [], "Pointwise": []}
    kinds = {Kind.REDUCTION: "reductions", Kind.POINTWISE: "pointwise"}
    for dtype in options.dtypes:
        for case in firsts:
            if time.monotonic() > deadline:
                break
            if options.kind not in (None, kinds.get(case.operator.kind)):
                continue
            if case.operator.kind is Kind.REDUCTION:
                found["Reductions"] += reductions(case, dtype)
            elif case.operator.kind is Kind.POINTWISE:
                row = pointwise(case, dtype)
                found["Pointwise"] += [row] if row else []
    for title, rows in found.items():
        table(title, rows, peak)
    if time.monotonic() > deadline:
        print("\nTime ran out: not everything was measured.")
    return 0


if __name__ == "__main__":
    sys.exit(main())

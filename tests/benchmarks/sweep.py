"""Every declared operator against PyTorch: `python tests/benchmarks/sweep.py --torch PYTHON`.

The calls are the samples of the declarations, once as they stand (what a call costs) and once with
every size multiplied (what an element costs). Where PyTorch has no function of the name, or takes
other arguments, nothing is compared; the count of those is printed.
"""

from __future__ import annotations

import argparse
import importlib
import json
import math
import os
import pickle
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from worker import seconds_per_call

HERE = Path(__file__)
ELEMENTS = 1 << 20
MAXIMUM_FACTOR = 600  # matrix products grow with the third power
SAMPLE_SECONDS, SAMPLES = 0.01, 5
Times = dict[str, float]


@dataclass(frozen=True)
class Case:
    """One call, without anything of either library: arrays stand for tensors."""

    name: str
    path: str  # below the module; below Tensor where `receiver`
    receiver: bool
    positional: list[Any]
    keywords: dict[str, Any] = field(default_factory=dict)
    differentiable: bool = False


def cases(only: str, large: bool) -> list[Case]:
    """The first sample with elements of every operator that Python reaches."""
    sys.path.insert(0, str(HERE.parents[1] / "operators"))
    import operator_calls as calls
    import operator_cases as declared

    found = []
    for operator in declared.operators():
        form = calls.primary_form(operator)
        usable = (c for c in declared.cases() if c.operator is operator)
        sample = next((c for c in usable if _has_elements(declared, c)), None)
        if form is None or sample is None or only not in operator.full_name or operator.internal:
            continue
        values = sample.values()
        if large:
            values = declared.map_arrays(operator, values, _enlarger(declared, sample))
        receiver = calls.receiver_index(operator) if form.is_method else None
        skipped, positional, keywords = not calls.is_first_overload(operator), [], {}
        for index, argument in enumerate(operator.signature.arguments):
            if argument.name not in values:
                skipped = True
            elif index != receiver and (skipped or argument.keyword_only):
                keywords[argument.name] = values[argument.name]
            else:
                place = 0 if index == receiver else len(positional)
                positional.insert(place, values[argument.name])
        space = "Tensor" if receiver is not None else operator.namespace
        path = ".".join(filter(None, (space, calls.form_name(operator, form))))
        found.append(
            Case(
                operator.full_name, path, receiver is not None, positional, keywords,
                operator.derivative is not None,
            )
        )  # fmt: skip
    return found


def _has_elements(declared: Any, case: Any) -> bool:
    return any(array.size > 1 for _, array in declared.arrays(case.operator, case.values()))


def _enlarger(declared: Any, case: Any) -> Callable[[Any, Any], Any]:
    """Repeats arrays along every dimension, so that the largest has about ELEMENTS elements."""
    shapes = [array.shape for _, array in declared.arrays(case.operator, case.values())]
    kind = case.operator.kind.value
    broadcasts = kind == "pointwise"
    largest = np.broadcast_shapes(*shapes) if broadcasts else max(shapes, key=math.prod)
    dimensions = max(sum(size > 1 for size in largest), 1)
    factor = max(int((ELEMENTS / math.prod(largest)) ** (1 / dimensions)), 1)
    if kind not in ("pointwise", "reduction"):
        factor = min(factor, MAXIMUM_FACTOR)

    def enlarge(argument: Any, array: Any) -> Any:
        large = np.tile(array, [factor if size > 1 else 1 for size in array.shape])
        if array.dtype.kind == "i" and argument.name in ("index", "indices", "input", "target"):
            large = large * factor + np.random.default_rng(0).integers(0, factor, large.shape)
        return np.ascontiguousarray(large)

    return enlarge


def time_cases(framework: str, threads: int, path: str, dtype: str, backward: bool) -> None:
    """Prints {name: seconds per call} as JSON, for the calls that the framework takes."""
    module = importlib.import_module(framework)
    module.set_num_threads(threads)
    times: dict[str, float] = {}
    for case in pickle.loads(Path(path).read_bytes()):
        try:
            call = _prepared(module, case, dtype, backward)
            times[case.name] = seconds_per_call(call, SAMPLE_SECONDS, SAMPLES)
        except Exception as error:
            if framework == "flambeau":
                print(f"{case.name}: {error}", file=sys.stderr)
    print(json.dumps(times))


def _prepared(module: Any, case: Case, dtype: str, backward: bool) -> Callable[[], Any]:
    leaves: list[Any] = []

    def convert(value: Any) -> Any:
        if isinstance(value, np.ndarray):
            tensor = module.from_numpy(np.array(value))
            if value.dtype.kind in "fc":
                name = dtype if value.dtype.kind == "f" else "complex64"
                tensor = tensor.to(getattr(module, name))
                if backward and case.differentiable:
                    leaves.append(tensor.requires_grad_())
            return tensor
        if isinstance(value, list):
            return [convert(element) for element in value]
        return value

    positional = [convert(v) for v in case.positional]
    keywords = {k: convert(v) for k, v in case.keywords.items()}
    function: Any = module
    for part in case.path.split("."):
        function = getattr(function, part)
    if not backward:
        return lambda: function(*positional, **keywords)
    result = function(*positional, **keywords)
    result = result[0] if isinstance(result, tuple | list) else result
    seed = module.ones_like(result)
    return lambda: module.autograd.grad(result, leaves, seed, retain_graph=True)


def measure(python: str, framework: str, path: str, options: argparse.Namespace) -> Times:
    """One process."""
    arguments = [framework, str(options.threads), path, options.dtype, str(int(options.backward))]
    command = [python, str(HERE), "--worker", *arguments]
    threads = {"OMP_NUM_THREADS": str(options.threads)}
    environment = {**os.environ, **threads}
    output = subprocess.run(command, env=environment, stdout=subprocess.PIPE, text=True, check=True)
    times: Times = json.loads(output.stdout)
    return times


def main() -> None:
    parser = argparse.ArgumentParser(prog="sweep", description=__doc__)
    parser.add_argument("--torch", metavar="PYTHON", required=True)
    parser.add_argument(
        "--only", metavar="TEXT", default="", help="operators whose name holds TEXT"
    )
    parser.add_argument("--small", action="store_true", help="the samples as they stand")
    parser.add_argument("--backward", action="store_true", help="times the gradient")
    parser.add_argument("--dtype", default="float32", help="of floating-point tensors")
    parser.add_argument("--above", type=float, default=0.9, help="least ratio that is printed")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--threads", type=int, default=2)
    options = parser.parse_args()
    found = cases(options.only, not options.small)
    with tempfile.NamedTemporaryFile(suffix=".pickle") as file:
        Path(file.name).write_bytes(pickle.dumps(found))
        pythons = {"flambeau": sys.executable, "torch": options.torch}
        rounds = [
            {name: measure(python, name, file.name, options) for name, python in pythons.items()}
            for _ in range(options.rounds)
        ]
    both = [c.name for c in found if all(c.name in r[f] for r in rounds for f in pythons)]
    ratios = {
        name: statistics.median(r["flambeau"][name] / r["torch"][name] for r in rounds)
        for name in both
    }
    for name in sorted(both, key=lambda name: -ratios[name]):
        if ratios[name] >= options.above:
            own, other = (
                statistics.median(r[framework][name] for r in rounds) * 1e6 for framework in pythons
            )
            print(f"{name:40} {own:10.1f} us {other:10.1f} us {ratios[name]:7.2f}")
    median = statistics.median(ratios.values())
    print(f"{len(both)} of {len(found)} operators compared, median of the ratios {median:.2f}")


if __name__ == "__main__":
    if sys.argv[1:2] == ["--worker"]:
        framework, threads, path, dtype, backward = sys.argv[2:]
        time_cases(framework, int(threads), path, dtype, backward == "1")
    else:
        main()

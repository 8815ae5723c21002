"""Every declared operator against PyTorch: `python tests/benchmarks/sweep.py --torch PYTHON`.

The calls are the samples of the declarations, with every size multiplied up to `--elements`
(what an element costs), or as they stand with `--small` (what a call costs). Where PyTorch has no
function of the name, or takes other arguments, nothing is compared; the count of those is printed,
and the geometric mean of the ratios of each file of declarations.
"""

from __future__ import annotations

import argparse
import importlib
import itertools
import json
import math
import os
import pickle
import re
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from worker import seconds_of

HERE = Path(__file__)
MEMORY = 12 << 30  # bytes of addresses: a call that wants more is an error, not the end
MAXIMUM_FACTOR = 600  # matrix products grow with the third power
MATRIX_FACTOR = 64  # and decompositions with a greater factor
SAMPLE_SECONDS, LONG_SECONDS = 0.01, 0.3
CLEARLY = 0.7  # of the least ratio that is printed: below that one round tells enough
REST_SECONDS = 0.02  # threads that wait for work keep a processor busy for so long


@dataclass(frozen=True)
class Case:
    """One call, without anything of either library: arrays stand for tensors."""

    name: str
    path: str  # below the module; below Tensor where `receiver`
    receiver: bool
    positional: list[Any]
    keywords: dict[str, Any] = field(default_factory=dict)
    family: str = ""


def cases(
    only: str, part: str, elements: int, in_place: bool, over_first: bool = False
) -> Iterator[Case]:
    """The first sample with elements of every operator that Python reaches, or reaches in place; as
    it stands where `elements` is 0. `over_first`: of those alone that work along a dim, by the
    first."""
    sys.path.insert(0, str(HERE.parents[1] / "operators"))
    import operator_calls as calls
    import operator_cases as declared

    usable: dict[str, list[Any]] = {}
    for case in declared.cases():
        usable.setdefault(case.operator.full_name, []).append(case)
    first, step = (int(number) for number in part.split("/"))
    for operator in itertools.islice(declared.operators(), first - 1, None, step):
        form = calls.primary_form(operator)
        if in_place:
            form = next((f for f in calls.forms(operator) if f.is_inplace and f.is_method), None)
        if form is None or not re.search(only, operator.full_name) or operator.internal:
            continue
        if operator.layouts:  # its samples stand for tensors of other layouts
            continue
        samples = usable.get(operator.full_name, [])
        sample = next((c for c in samples if _has_elements(declared, c)), None)
        if sample is None:
            continue
        values = sample.values()
        if over_first and not _turned_to_first_dim(declared, sample, values):
            continue
        if elements:
            enlarger = _enlarger(declared, sample, elements)
            values = declared.map_arrays(operator, values, enlarger)
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
        yield Case(
            operator.full_name, path, receiver is not None, positional, keywords, operator.family
        )


def _has_elements(declared: Any, case: Any) -> bool:
    return any(array.size > 1 for _, array in declared.arrays(case.operator, case.values()))


def _turned_to_first_dim(declared: Any, case: Any, values: dict[str, Any]) -> bool:
    """Makes the dim that a call works along the first one, where there are others."""
    if "dim" not in {argument.name for argument in case.operator.signature.arguments}:
        return False
    values["dim"] = [0] if isinstance(values.get("dim"), list) else 0
    return any(array.ndim > 1 for _, array in declared.arrays(case.operator, case.values()))


def _enlarger(declared: Any, case: Any, elements: int) -> Callable[[Any, Any], Any]:
    """Repeats arrays along every dimension, so that the largest has about so many elements."""
    shapes = [array.shape for _, array in declared.arrays(case.operator, case.values())]
    kind = case.operator.kind.value
    broadcasts = kind == "pointwise"
    largest = np.broadcast_shapes(*shapes) if broadcasts else max(shapes, key=math.prod)
    dimensions = max(sum(size > 1 for size in largest), 1)
    factor = max(int((elements / math.prod(largest)) ** (1 / dimensions)), 1)
    if kind not in ("pointwise", "reduction"):
        is_matrix = case.operator.family.startswith("linalg")
        factor = min(factor, MATRIX_FACTOR if is_matrix else MAXIMUM_FACTOR)

    def enlarge(argument: Any, array: Any) -> Any:
        # Of filters there are more, but no larger ones.
        is_filter = argument.name == "weight" and case.operator.family.endswith("convolution")
        grown = array.shape[:2] if is_filter else array.shape
        large = np.tile(
            array,
            [factor if size > 1 and d < len(grown) else 1 for d, size in enumerate(array.shape)],
        )
        if array.dtype.kind == "i" and argument.name in ("index", "indices", "input", "target"):
            large = large * factor + np.random.default_rng(0).integers(0, factor, large.shape)
        return np.ascontiguousarray(large)

    return enlarge


def _nothing() -> None:
    """A call that holds no memory."""


def serve(framework: str, path: str, options: argparse.Namespace) -> None:
    """Answers each line of the input by one line: "next" prepares the case in the file and says how
    many seconds a call took, or why there is none; "time" says what a call takes now."""
    module = importlib.import_module(framework)
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    module.set_num_threads(options.threads)
    answers = sys.stdout
    sys.stdout = sys.stderr  # what a call prints is no answer
    call, count = _nothing, 1
    for line in sys.stdin:
        try:
            if line.strip() == "next":
                call = _nothing  # what the last one holds is let go of
                call = _prepared(module, pickle.loads(Path(path).read_bytes()), options)
                call()  # the first one of a kind loads libraries
                once = seconds_of(call, 1)
                count = max(int(SAMPLE_SECONDS / max(once, 1e-7)), 1)
                print(json.dumps(once), file=answers, flush=True)
            else:
                seconds_of(call, count)  # caches hold what the other one read, threads sleep
                print(json.dumps(seconds_of(call, count) / count), file=answers, flush=True)
        except Exception as error:
            print(json.dumps(f"{type(error).__name__}: {error}"), file=answers, flush=True)


def _prepared(module: Any, case: Case, options: argparse.Namespace) -> Callable[[], Any]:
    leaves: list[Any] = []

    def convert(value: Any) -> Any:
        if isinstance(value, np.ndarray):
            tensor = module.from_numpy(np.array(value))
            if value.dtype.kind in "fc":
                name = options.dtype if value.dtype.kind == "f" else "complex64"
                tensor = tensor.to(getattr(module, name))
            if options.transposed and tensor.dim() > 1:
                tensor = tensor.mT.contiguous().mT
            if value.dtype.kind in "fc" and options.backward:
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
    if options.in_place:
        written, before = positional[0], positional[0].clone()
        return lambda: (written.copy_(before), function(*positional, **keywords))
    if not options.backward:
        return lambda: function(*positional, **keywords)
    result = function(*positional, **keywords)
    result = result[0] if isinstance(result, tuple | list) else result
    seed = module.ones_like(result)
    return lambda: module.autograd.grad(result, leaves, seed, retain_graph=True, allow_unused=True)


class Worker:
    """A process of one framework, which times the cases of a file one after another."""

    def __init__(self, python: str, framework: str, path: str, threads: int) -> None:
        command = [python, str(HERE), *sys.argv[1:], "--worker", framework, path]
        self.process = subprocess.Popen(
            command,
            env={**os.environ, "OMP_NUM_THREADS": str(threads)},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )

    def ask(self, question: str) -> float | str:
        """Seconds, or why there are none."""
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        time.sleep(REST_SECONDS)
        print(question, file=self.process.stdin, flush=True)
        answer: float | str = json.loads(self.process.stdout.readline() or '"the process ended"')
        return answer


@dataclass(frozen=True)
class Timed:
    """Medians of the seconds of a call, and of the ratios of pairs."""

    own: float
    other: float
    ratio: float


def timed(own: Worker, other: Worker, rounds: int, above: float) -> Timed | str:
    """Of the next case, in turns; or why it is not compared. What is well below `above` in a first
    round has no others."""
    workers = (own, other)
    pairs = [[worker.ask("next") for worker in workers]]
    wrong = next((answer for answer in pairs[0] if isinstance(answer, str)), None)
    if wrong is not None:
        return wrong
    if max(map(float, pairs[0])) <= LONG_SECONDS:
        pairs = []
        while len(pairs) < rounds:
            pairs.append([worker.ask("time") for worker in workers])
            wrong = next((answer for answer in pairs[-1] if isinstance(answer, str)), None)
            if wrong is not None:
                return wrong
            if float(pairs[0][0]) < CLEARLY * above * float(pairs[0][1]):
                break
    seconds = [(float(a), float(b)) for a, b in pairs]
    own_median, other_median = (statistics.median(p[side] for p in seconds) for side in (0, 1))
    return Timed(own_median, other_median, statistics.median(a / b for a, b in seconds))


def main() -> None:
    parser = argparse.ArgumentParser(prog="sweep", description=__doc__)
    parser.add_argument("--torch", metavar="PYTHON", required=True)
    parser.add_argument(
        "--only", metavar="PATTERN", default="", help="operators in whose name it is found"
    )
    size = parser.add_mutually_exclusive_group()
    size.add_argument("--elements", type=int, default=1 << 20, help="of the largest argument")
    size.add_argument("--small", action="store_true", help="the samples as they stand")
    what = parser.add_mutually_exclusive_group()
    what.add_argument("--backward", action="store_true", help="times the gradient")
    what.add_argument(
        "--in-place", action="store_true", help="times the form in place, and what copies before it"
    )
    parser.add_argument(
        "--part", default="1/1", metavar="I/N", help="every N-th operator, from the I-th on"
    )
    parser.add_argument("--dtype", default="float32", help="of floating-point tensors")
    parser.add_argument("--above", type=float, default=0.9, help="least ratio that is printed")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--transposed", action="store_true", help="matrices stand by columns")
    parser.add_argument(
        "--over-first", action="store_true", help="what works along a dim, along the first one"
    )
    parser.add_argument("--worker", nargs=2, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.worker:
        framework, path = options.worker
        serve(framework, path, options)
        return
    elements = 0 if options.small else options.elements
    made = cases(options.only, options.part, elements, options.in_place, options.over_first)
    times: dict[str, Timed | str] = {}
    found: dict[str, str] = {}
    with tempfile.NamedTemporaryFile(suffix=".pickle") as file:
        pythons = {"flambeau": sys.executable, "torch": options.torch}
        own, other = (
            Worker(python, name, file.name, options.threads) for name, python in pythons.items()
        )
        for case in made:  # one at a time, as all together fill memory and disk
            Path(file.name).write_bytes(pickle.dumps(case))
            found[case.name] = case.family
            times[case.name] = timed(own, other, options.rounds, options.above)
    ratios = {name: t.ratio for name, t in times.items() if isinstance(t, Timed)}
    for name in sorted(ratios, key=lambda name: -ratios[name]):
        found_times = times[name]
        if isinstance(found_times, Timed) and found_times.ratio >= options.above:
            micros = f"{found_times.own * 1e6:10.1f} us {found_times.other * 1e6:10.1f} us"
            print(f"{name:40} {micros} {found_times.ratio:7.2f}")
    families: dict[str, list[float]] = {}
    for name, ratio in ratios.items():
        families.setdefault(found[name], []).append(ratio)
    for family, members in sorted(families.items()):
        print(f"{family:40} {len(members):5} {statistics.geometric_mean(members):7.2f}")
    median = statistics.median(ratios.values())
    print(f"{len(ratios)} of {len(found)} operators compared, median of the ratios {median:.2f}")


if __name__ == "__main__":
    main()

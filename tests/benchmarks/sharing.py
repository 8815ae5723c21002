"""Tensors between processes: what a round trip costs, here and in PyTorch.

`python tests/benchmarks/sharing.py --torch PYTHON`

One process puts a tensor in a Queue; the other takes it out, reads an element and answers over a
pipe of bytes. Both libraries run in turns.
"""

from __future__ import annotations

import argparse
import statistics
import subprocess
import sys
import tempfile

PROGRAM = """
import sys, time, multiprocessing
import FRAMEWORK as torch, FRAMEWORK.multiprocessing as mp

def answer(queue, pipe):
    while True:
        tensor = queue.get()
        if tensor is None:
            return
        pipe.send_bytes(str(tensor.reshape(-1)[0].item()).encode())
        del tensor

def main(make, rounds):
    context = mp.get_context("fork")
    queue = context.Queue()
    here, there = multiprocessing.Pipe()
    process = context.Process(target=answer, args=(queue, there))
    process.start()
    times = []
    for i in range(rounds + rounds // 5 + 1):
        tensor = make(i)
        start = time.perf_counter()
        queue.put(tensor)
        here.recv_bytes()
        times.append(time.perf_counter() - start)
        del tensor
    queue.put(None)
    process.join()
    times = sorted(times[-rounds:])
    print(times[rounds // 2])

big = 25_000_000
shared = torch.ones(big).share_memory_()
MAKE = {
    "shared 100 MB": (lambda i: shared, 200),
    "unshared 100 MB": (lambda i: torch.full((big,), float(i)), 15),
    "unshared 4 KB": (lambda i: torch.full((1024,), float(i)), 1000),
}
main(*MAKE[sys.argv[1]])
"""
WORKLOADS = {"shared 100 MB": 0.9, "unshared 100 MB": 0.6, "unshared 4 KB": 0.6}


def seconds(program_text: str, python: str, framework: str, workload: str) -> float:
    """What a program prints."""
    with tempfile.TemporaryDirectory() as folder:
        program = f"{folder}/program.py"
        with open(program, "w", encoding="utf-8") as file:
            file.write(program_text.replace("FRAMEWORK", framework))
        output = subprocess.run(
            [python, program, workload], check=True, capture_output=True, text=True
        ).stdout
    return float(output)


def compare(program: str, workloads: dict[str, float], torch: str | None, rounds: int) -> None:
    """Prints medians and ratios; the libraries run in turns."""
    for workload, target in workloads.items():
        ours, theirs = [], []
        for _ in range(rounds):
            ours.append(seconds(program, sys.executable, "flambeau", workload))
            if torch:
                theirs.append(seconds(program, torch, "torch", workload))
        line = f"{workload}: {statistics.median(ours) * 1e6:.0f} us"
        if theirs:
            ratio = statistics.median(ours) / statistics.median(theirs)
            verdict = "ok" if ratio <= target else "missed"
            line += f", PyTorch {statistics.median(theirs) * 1e6:.0f} us, ratio {ratio:.2f}"
            line += f" (target {target}: {verdict})"
        print(line, flush=True)


def main(description: str, program: str, workloads: dict[str, float]) -> None:
    """Compares what the command line asks for."""
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument("--torch", metavar="PYTHON")
    parser.add_argument("--rounds", type=int, default=5)
    options = parser.parse_args()
    compare(program, workloads, options.torch, options.rounds)


if __name__ == "__main__":
    main(__doc__ or "", PROGRAM, WORKLOADS)

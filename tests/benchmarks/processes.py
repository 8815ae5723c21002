"""What is measured as whole processes: import time, peak memory of a training step, the edit loop.

`python tests/benchmarks/processes.py --torch PYTHON`
"""

from __future__ import annotations

import argparse
import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]

# A residual network small enough for any machine; batch 32 of 3x32x32.
RESNET_STEP = """
import resource, FRAMEWORK as torch
torch.set_num_threads(2); torch.manual_seed(0)
nn = torch.nn
class Block(nn.Module):
    def __init__(self, inputs, outputs, stride):
        super().__init__()
        self.a = nn.Conv2d(inputs, outputs, 3, stride, 1, bias=False)
        self.b = nn.Conv2d(outputs, outputs, 3, 1, 1, bias=False)
        self.na, self.nb = nn.BatchNorm2d(outputs), nn.BatchNorm2d(outputs)
        same = stride == 1 and inputs == outputs
        self.skip = None if same else nn.Conv2d(inputs, outputs, 1, stride, bias=False)
    def forward(self, x):
        y = self.nb(self.b(torch.relu(self.na(self.a(x)))))
        return torch.relu(y + (x if self.skip is None else self.skip(x)))
model = nn.Sequential(
    nn.Conv2d(3, 32, 3, 1, 1), Block(32, 32, 1), Block(32, 64, 2), Block(64, 128, 2),
    nn.AvgPool2d(8), nn.Flatten(), nn.Linear(128, 10))
optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
for step in range(3):
    x, y = torch.randn(32, 3, 32, 32), torch.randint(0, 10, (32,))
    optimizer.zero_grad(); nn.CrossEntropyLoss()(model(x), y).backward(); optimizer.step()
import resource; print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)
"""
BASELINE = "import FRAMEWORK, resource; print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)"


def import_seconds(python: str, framework: str) -> float:
    """Median over 7 processes of `import framework`, less an empty interpreter."""

    def run(code: str) -> float:
        start = time.perf_counter()
        subprocess.run([python, "-c", code], check=True)
        return time.perf_counter() - start

    pairs = [(run(f"import {framework}"), run("pass")) for _ in range(7)]
    return statistics.median(a - b for a, b in pairs)


def peak_kilobytes(python: str, framework: str, code: str) -> int:
    """Peak resident memory of a process."""
    source = code.replace("FRAMEWORK", framework)
    output = subprocess.run([python, "-c", source], check=True, capture_output=True, text=True)
    return int(output.stdout.split()[-1])


def edit_loop_seconds() -> float:
    """From changing a pointwise expression to printing its new result, in a copy of the
    declarations."""
    source = ROOT / "declarations" / "activation.yaml"
    before = source.read_text(encoding="utf-8")
    marker = 'expr: "self * sigmoid(self)"'
    if marker not in before:
        raise SystemExit("the expression that this benchmark edits is no longer there")
    environment = {**os.environ, "PYTHONPATH": str(ROOT / "build" / "release" / "package")}
    program = "import flambeau; print(flambeau.nn.functional.silu(flambeau.ones(1)).item())"
    try:
        source.write_text(
            before.replace(marker, 'expr: "self * sigmoid(self) + 1"'), encoding="utf-8"
        )
        start = time.perf_counter()
        subprocess.run(
            [sys.executable, "-m", "build_tools.build"], cwd=ROOT, check=True, capture_output=True
        )
        shown = subprocess.run(
            [sys.executable, "-c", program],
            env=environment,
            check=True,
            capture_output=True,
            text=True,
        )
        elapsed = time.perf_counter() - start
        if abs(float(shown.stdout) - 1.7310586) > 1e-4:
            raise SystemExit(f"the edit had no effect: {shown.stdout}")
    finally:
        source.write_text(before, encoding="utf-8")
        subprocess.run(
            [sys.executable, "-m", "build_tools.build"], cwd=ROOT, check=True, capture_output=True
        )
    return elapsed


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--torch", metavar="PYTHON")
    parser.add_argument(
        "--edit", action="store_true", help="also time the edit loop (rebuilds the tree)"
    )
    options = parser.parse_args()
    frameworks = [("flambeau", sys.executable)]
    if options.torch:
        frameworks.append(("torch", options.torch))
    os.chdir(tempfile.gettempdir())
    for framework, python in frameworks:
        print(f"import {framework}: {import_seconds(python, framework):.3f} s")
        base = peak_kilobytes(python, framework, BASELINE)
        step = peak_kilobytes(python, framework, RESNET_STEP)
        print(
            f"{framework}: training step peaks at {step / 1024:.0f} MiB, "
            f"{(step - base) / 1024:.0f} above import"
        )
    if options.edit:
        print(f"edit loop: {edit_loop_seconds():.1f} s")


if __name__ == "__main__":
    main()

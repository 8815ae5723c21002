"""What is measured as whole processes: import time and peak memory of a training step.

`python tests/benchmarks/processes.py --torch PYTHON`
"""

from __future__ import annotations

import argparse
import statistics
import subprocess
import sys
import tempfile
import time

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
# An attribute is read, because a folder of that name can be imported as an empty package.
IMPORT = "import FRAMEWORK; FRAMEWORK.Tensor"
BASELINE = f"{IMPORT}; import resource; print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)"


def run(python: str, code: str) -> str:
    """What a program prints; it runs in an empty folder, so that nothing else is imported."""
    with tempfile.TemporaryDirectory() as folder:
        process = subprocess.run(
            [python, "-c", code], cwd=folder, capture_output=True, text=True, check=False
        )
    if process.returncode != 0:
        reason = process.stderr.strip().splitlines()[-1:] or ["no output"]
        raise SystemExit(f"{python} -c {code.strip().splitlines()[0]!r} fails: {reason[0]}")
    return process.stdout


def import_seconds(python: str, framework: str) -> float:
    """Median over 7 processes of `import framework`, less an empty interpreter."""

    def seconds(code: str) -> float:
        start = time.perf_counter()
        run(python, code)
        return time.perf_counter() - start

    code = IMPORT.replace("FRAMEWORK", framework)
    return statistics.median(seconds(code) - seconds("pass") for _ in range(7))


def peak_kilobytes(python: str, framework: str, code: str) -> int:
    """Peak resident memory of a process."""
    return int(run(python, code.replace("FRAMEWORK", framework)).split()[-1])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--torch", metavar="PYTHON")
    options = parser.parse_args()
    frameworks = [("flambeau", sys.executable)]
    if options.torch:
        frameworks.append(("torch", options.torch))
    for framework, python in frameworks:
        print(f"import {framework}: {import_seconds(python, framework):.3f} s")
        base = peak_kilobytes(python, framework, BASELINE)
        step = peak_kilobytes(python, framework, RESNET_STEP)
        print(
            f"{framework}: training step peaks at {step / 1024:.0f} MiB, "
            f"{(step - base) / 1024:.0f} above import"
        )


if __name__ == "__main__":
    main()

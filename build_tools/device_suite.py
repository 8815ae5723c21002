"""Everything that needs a GPU, in one run: build, CUDA tests, kernel times; writes a report.

`python -m build_tools.device_suite [--report FILE] [--minutes 9] [--skip-build] [--skip-tests]`

Builds the CPU library and the CUDA backend (both incremental), runs tests/cuda, then times kernels:
every declared pointwise operator and reduction that has a CUDA kernel, on large operands, as a
share of the memory bandwidth that a device-to-device copy reaches, and against PyTorch where it is
installed and has an operator of the name. Exit status 0 if everything passed, 1 otherwise.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import time
from dataclasses import dataclass, field
from importlib import util
from pathlib import Path

from build_tools.cuda_check import ROOT, check
from build_tools.shared.compiler import BuildError

# Processes of tests: they wait for the host more than for the device.
WORKERS = 8
PACKAGE = ROOT / "build" / "release" / "package"


@dataclass
class Report:
    """Markdown, written out after every step: a run that is cut short leaves what it found."""

    path: Path
    lines: list[str] = field(default_factory=list)
    has_failed: bool = False

    def add(self, *lines: str) -> None:
        self.lines += lines
        print(*lines, sep="\n", flush=True)
        self.path.parent.mkdir(parents=True, exist_ok=True)
        self.path.write_text("\n".join(self.lines) + "\n", encoding="utf-8")

    def fail(self, *lines: str) -> None:
        self.has_failed = True
        self.add(*lines)


def environment() -> dict[str, str]:
    """For processes that import the package built in this tree, with the CUDA backend."""
    paths = [str(PACKAGE), str(ROOT), *filter(None, [os.environ.get("PYTHONPATH")])]
    library = ROOT / "build" / "cuda" / "libflambeau_cuda.so"
    return {
        **os.environ,
        "PYTHONPATH": os.pathsep.join(paths),
        "FLAMBEAU_CUDA_LIBRARY": str(library),
    }


def run(command: list[str], seconds: float) -> tuple[int, str]:
    """Status and output; a process that takes too long counts as failed."""
    try:
        done = subprocess.run(
            command,
            env=environment(),
            cwd=ROOT,
            capture_output=True,
            text=True,
            timeout=max(seconds, 1),
            check=False,
        )
    except subprocess.TimeoutExpired as error:
        said = error.stdout or b""
        return 124, said.decode(errors="replace") if isinstance(said, bytes) else said
    return done.returncode, done.stdout + done.stderr


def build(report: Report, jobs: int, arch: str, seconds: float) -> bool:
    """Both libraries; False if one does not build."""
    started = time.monotonic()
    command = [sys.executable, "-m", "build_tools.build", "-j", str(jobs)]
    status, said = run(command, seconds)
    if status != 0:
        report.fail("## Build", "The CPU library did not build:", "```", said[-4000:], "```")
        return False
    middle = time.monotonic()
    try:
        library = check(arch, jobs)
    except BuildError as error:
        report.fail("## Build", "The CUDA backend did not build:", "```", str(error)[-4000:], "```")
        return False
    ended = time.monotonic()
    size = library.stat().st_size / 1e6
    report.add(
        "## Build",
        f"CPU library {middle - started:.0f} s, CUDA backend {ended - middle:.0f} s ({size:.1f} MB)"
        f" with {jobs} jobs.",
    )
    return True


def run_tests(report: Report, seconds: float) -> None:
    """tests/cuda; the report holds the summary and what failed."""
    started = time.monotonic()
    command = [sys.executable, "-m", "pytest", "tests/cuda", "-q", "-p", "no:cacheprovider"]
    if util.find_spec("xdist"):
        command += ["-n", str(WORKERS)]  # what crashes one process does not hide the rest
    status, said = run([*command, "--tb=short", "-rfE", "--maxfail=60"], seconds)
    tail = said.strip().splitlines()
    summary = tail[-1] if tail else "no output"
    report.add("", "## Tests", f"{summary} ({time.monotonic() - started:.0f} s, status {status})")
    if status != 0:
        report.fail("```", *tail[-300:], "```")


def measure(report: Report, seconds: float) -> None:
    """Kernel times, from a process of their own."""
    command = [sys.executable, "tests/cuda/bench_cuda.py", "--seconds", f"{seconds - 10:.0f}"]
    status, said = run(command, seconds)
    report.add("", "## Kernel times", said.strip())
    if status != 0:
        report.fail(f"The measurement ended with status {status}.")


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m build_tools.device_suite", description=__doc__)
    default = ROOT / "build" / "device_report.md"
    parser.add_argument("--report", type=Path, default=default, help="where the report goes")
    parser.add_argument("--minutes", type=float, default=9, help="what the whole run may take")
    parser.add_argument("--arch", default="sm_90", help="the architecture to compile for")
    parser.add_argument("-j", "--jobs", type=int, default=os.cpu_count() or 1)
    parser.add_argument("--skip-build", action="store_true", help="use what is built")
    parser.add_argument("--skip-tests", action="store_true", help="measure only")
    options = parser.parse_args()
    deadline: float = time.monotonic() + options.minutes * 60
    report = Report(options.report)
    command = [
        "nvidia-smi",
        "--query-gpu=name,driver_version,memory.total",
        "--format=csv,noheader",
    ]
    try:
        _, device = run(command, 30)
    except FileNotFoundError:
        device = "no nvidia-smi"
    report.add("# CUDA on a device", device.strip(), "")

    def left() -> float:
        return deadline - time.monotonic()

    if not options.skip_build and not build(report, options.jobs, options.arch, left()):
        return 1
    probe = "import sys, flambeau.cuda as c; sys.exit(0 if c.is_available() else 3)"
    status, said = run([sys.executable, "-c", probe], 60)
    if status != 0:
        report.fail("No CUDA device can be used.", "```", said[-2000:], "```")
        return 1
    if not options.skip_tests:
        run_tests(report, min(left() - 60, left() * 0.6))
    measure(report, left() - 5)
    return 1 if report.has_failed else 0


if __name__ == "__main__":
    sys.exit(main())

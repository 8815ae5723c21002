"""Compiles and links the CUDA backend; needs nvcc, but no GPU.

`python -m build_tools.cuda_check [--jobs N] [--arch sm_90]` generates what is missing or old,
compiles every .cu and .cpp of native/cuda and of the generated folder that changed, links
build/cuda/libflambeau_cuda.so against libflambeau.so and prints how long it took. Exit status: 0,
1 after an error, 2 where nvcc is missing.
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from importlib import util
from pathlib import Path

from build_tools.build import generate
from build_tools.shared.compiler import BuildError

ROOT = Path(__file__).resolve().parent.parent
LIBRARY = "libflambeau_cuda.so"
FLAGS = (
    "-std=c++20",
    "-O3",
    "--extended-lambda",
    "-cudart=static",
    "-Xcompiler=-fPIC,-fvisibility=hidden,-fopenmp-simd,-Wall,-Wno-unknown-pragmas",
    # Attributes and pragmas of core headers that are for g++ alone; unsigned x < 0 in templates.
    "-diag-suppress=1835,1675,186",
)


class CheckError(Exception):
    """The check cannot go on; the message is one sentence that says what to do."""


@dataclass(frozen=True)
class Settings:
    """What every command of a check shares."""

    nvcc: str
    arch: str
    generated: Path
    build: Path

    @property
    def compile_flags(self) -> list[str]:
        number = self.arch.removeprefix("sm_")
        return [
            *FLAGS,
            f"-gencode=arch=compute_{number},code=sm_{number}",
            f"-I{ROOT / 'native'}",
            f"-I{self.generated}",
        ]


def find_nvcc() -> str | None:
    """nvcc on the PATH, or where NVIDIA's installers put it."""
    found = shutil.which(os.environ.get("NVCC", "nvcc"))
    usual = Path(os.environ.get("CUDA_HOME", "/usr/local/cuda")) / "bin" / "nvcc"
    return found or (str(usual) if usual.exists() else None)


def find_flambeau() -> Path:
    """libflambeau.so: the one built in this tree, else the installed one."""
    places = [ROOT / "build" / "release" / "lib" / "libflambeau.so"]
    spec = util.find_spec("flambeau")
    for folder in (spec.submodule_search_locations or []) if spec else []:
        places.append(Path(folder) / "lib" / "libflambeau.so")
    for place in places:
        if place.exists():
            return place
    raise CheckError(
        "libflambeau.so was not found: build it with `python -m build_tools.build`, or install "
        "Flambeau."
    )


def collect_sources(generated: Path) -> list[Path]:
    """Every source of the backend, dear ones first, so that none is left over at the end."""
    folders = (ROOT / "native" / "cuda", generated / "cuda")
    sources = [file for folder in folders for s in ("*.cu", "*.cpp") for file in folder.rglob(s)]
    return sorted(sources, key=lambda file: (file.suffix != ".cu", -file.stat().st_size, file))


def object_of(source: Path, settings: Settings) -> Path:
    """Where a source's object goes."""
    is_generated = source.is_relative_to(settings.generated)
    base = settings.generated if is_generated else ROOT
    inside = source.relative_to(base)
    return settings.build / settings.arch / ("generated" if is_generated else ".") / f"{inside}.o"


def is_fresh(target: Path, command: list[str]) -> bool:
    """Whether an object was made by this command and is newer than all that it was made from."""
    notes, stamp = Path(f"{target}.d"), Path(f"{target}.command")
    if not (target.exists() and notes.exists() and stamp.exists()):
        return False
    if stamp.read_text(encoding="utf-8") != " ".join(command):
        return False
    made = target.stat().st_mtime_ns
    words = notes.read_text(encoding="utf-8").replace("\\\n", " ").split()
    for word in words[words.index(":") + 1 :] if ":" in words else words[1:]:
        file = Path(word)
        if not file.is_absolute():
            file = ROOT / file
        if not file.exists() or file.stat().st_mtime_ns > made:
            return False
    return True


def compile_one(source: Path, settings: Settings) -> tuple[Path, float, str]:
    """Brings one object up to date: the object, seconds, what the compiler said if it failed."""
    target = object_of(source, settings)
    command = [settings.nvcc, *settings.compile_flags, "-c", str(source), "-o", str(target)]
    if is_fresh(target, command):
        return target, 0.0, ""
    target.parent.mkdir(parents=True, exist_ok=True)
    target.unlink(missing_ok=True)
    started = time.monotonic()
    done = subprocess.run(
        [*command, "-MD", "-MF", f"{target}.d"],
        capture_output=True,
        text=True,
        check=False,
        cwd=ROOT,
    )
    seconds = time.monotonic() - started
    said = (done.stdout + done.stderr).strip()
    if done.returncode != 0:
        return target, seconds, said or f"nvcc exited with status {done.returncode}"
    if said:
        print(said, file=sys.stderr)
    Path(f"{target}.command").write_text(" ".join(command), encoding="utf-8")
    return target, seconds, ""


def compile_all(sources: list[Path], settings: Settings, jobs: int, verbose: bool) -> list[Path]:
    """Compiles what changed; CheckError with every message if something does not compile."""
    failures = []
    objects = []
    with ThreadPoolExecutor(jobs) as pool:
        results = pool.map(lambda source: compile_one(source, settings), sources)
        for source, (target, seconds, message) in zip(sources, results, strict=True):
            objects.append(target)
            if message:
                failures.append(f"{source}:\n{message}")
            if verbose and seconds:
                print(f"{seconds:6.1f} s  {source.relative_to(ROOT)}", flush=True)
    if failures:
        raise CheckError("\n\n".join([*failures, f"{len(failures)} units did not compile."]))
    return objects


def link(objects: list[Path], flambeau: Path, settings: Settings) -> Path:
    """The shared library; symbols that nobody defines are an error here, not at load."""
    target = settings.build / LIBRARY
    newest = max(file.stat().st_mtime_ns for file in [*objects, flambeau])
    if target.exists() and target.stat().st_mtime_ns > newest:
        return target
    command = [
        settings.nvcc,
        "-shared",
        "-cudart=static",
        f"-arch={settings.arch}",
        "-o",
        str(target),
    ]
    command += [*map(str, objects), str(flambeau), f"-Xlinker=-soname={LIBRARY}"]
    command += ["-Xlinker=-z,defs", "-Xlinker=-rpath=$ORIGIN", "-Xlinker=--allow-shlib-undefined"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise CheckError(f"{done.stdout}{done.stderr}{LIBRARY} did not link.")
    return target


def check(arch: str, jobs: int, verbose: bool = False) -> Path:
    """Brings libflambeau_cuda.so up to date and returns it."""
    nvcc = find_nvcc()
    if nvcc is None:
        raise FileNotFoundError(
            "nvcc was not found: the CUDA backend was not compiled. Install the CUDA toolkit, or "
            "set NVCC."
        )
    settings = Settings(nvcc, arch, ROOT / "build" / "generated", ROOT / "build" / "cuda")
    generate(settings.generated)
    objects = compile_all(collect_sources(settings.generated), settings, jobs, verbose)
    return link(objects, find_flambeau(), settings)


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m build_tools.cuda_check", description=__doc__)
    parser.add_argument(
        "-j", "--jobs", type=int, default=os.cpu_count() or 1, help="compilers at a time"
    )
    parser.add_argument("--arch", default="sm_90", help="the architecture to compile for")
    parser.add_argument("-v", "--verbose", action="store_true", help="print what each unit took")
    options = parser.parse_args()
    started = time.monotonic()
    try:
        library = check(options.arch, options.jobs, options.verbose)
    except FileNotFoundError as error:
        print(f"flambeau: {error}", file=sys.stderr)
        return 2
    except (BuildError, CheckError) as error:
        print(f"flambeau: {error}", file=sys.stderr)
        return 1
    size, seconds = library.stat().st_size / 1e6, time.monotonic() - started
    print(f"{library.relative_to(ROOT)}: {size:.1f} MB for {options.arch}, {seconds:.0f} s")
    return 0


if __name__ == "__main__":
    sys.exit(main())

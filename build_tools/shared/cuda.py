"""How CUDA sources become objects and shared libraries, with nvcc."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterable, Sequence
from pathlib import Path

from .compiler import BuildError, compiler_name, find_compiler
from .compiling import place
from .ninja_writer import NinjaWriter

LIBRARY = "libflambeau_cuda.so"  # the backend, which packages with CUDA kernels link
NATIVE = "native"  # the architecture of the GPUs of this machine
_FLAGS = (
    "-std=c++20 -O3 --extended-lambda -cudart=static "
    "-Xcompiler=-fPIC,-fvisibility=hidden,-fopenmp-simd,-Wall,-Wno-unknown-pragmas "
    # Attributes and pragmas of core headers that are for g++ alone; unsigned x < 0 in templates.
    "-diag-suppress=1835,1675,186"
)


def find_nvcc() -> str:
    """nvcc on the PATH, or where NVIDIA's installers put it."""
    found = shutil.which(os.environ.get("NVCC", "nvcc"))
    usual = Path(os.environ.get("CUDA_HOME", "/usr/local/cuda")) / "bin" / "nvcc"
    if found is None and not usual.exists():
        raise BuildError(
            "nvcc was not found, which compiles kernels for CUDA: install the CUDA toolkit, or set "
            "NVCC."
        )
    return found or str(usual)


def cuda_files(folder: Path) -> list[Path]:
    """Sources that nvcc compiles, dear ones first, so that none is left over at the end."""
    files = [file for suffix in ("*.cu", "*.cpp") for file in folder.rglob(suffix)]
    return sorted(files, key=lambda file: (file.suffix != ".cu", -file.stat().st_size, file))


def write_cuda_rules(
    writer: NinjaWriter, nvcc: str, architectures: Iterable[str], flags: str
) -> None:
    """The rules `compile_cuda` and `link_cuda` (its variable `libraries`). Architectures are named
    `sm_90`. Host code is compiled with the compiler that everything else is compiled with.
    """
    host = find_compiler(compiler_name())
    targets = " ".join(_target(architecture) for architecture in architectures)
    writer.variable("cuda_flags", f"{_FLAGS} {flags}")
    writer.variable("cuda_targets", targets)
    writer.rule(
        "compile_cuda",
        command=(
            f"$$(command -v ccache) {nvcc} -ccbin {host} $cuda_flags $cuda_targets"
            " -MD -MF $out.d -c $in -o $out"
        ),
        depfile="$out.d",
        deps="gcc",
        description="compile $in",
    )
    writer.rule(
        "link_cuda",
        command=f"{nvcc} -ccbin {host} -shared -cudart=static $cuda_targets -o $out $in $libraries",
        description="link $out",
    )


def _target(architecture: str) -> str:
    if architecture == NATIVE:
        return "-arch=native"
    number = architecture.removeprefix("sm_")
    return f"-gencode=arch=compute_{number},code=sm_{number}"


def cuda_objects(
    writer: NinjaWriter, sources: Iterable[Path], folder: Path, bases: Sequence[Path]
) -> list[str]:
    """Edges from sources to objects."""
    objects = []
    for source in sources:
        objects.append(f"{place(source, folder, bases)}.o")
        writer.build(objects[-1], "compile_cuda", [str(source)])
    return objects

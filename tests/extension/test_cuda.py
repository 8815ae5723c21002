"""Kernels for CUDA in packages: nvcc compiles them; where there is no CUDA, they are left alone."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from flambeau import ops
from flambeau._build.compiler import BuildError
from flambeau._build.cuda import find_nvcc
from flambeau.cuda import _library
from flambeau.extension.building import build
from flambeau.extension.project import read_project
from flambeau.extension.stage import stage_links

ENTRIES = """
- op: "softclip(Tensor self) -> Tensor result"
  kind: pointwise
  dtypes: {self: float32}
  expr: "tanh(self)"
  derivative: auto
  summary: "Squeezed."
  reference: "np.tanh(self)"
  samples:
    - randn(3)
- op: "doubled(Tensor self) -> Tensor result"
  kind: structured
  dtypes: {self: float32}
  shape: "self.shape"
  kernel: {cpu: doubled.cpp, cuda: doubled.cu}
  linear_in: [self]
  derivative: {self: "doubled(grad)"}
  summary: "Twice the elements."
  reference: "2 * self"
  samples:
    - randn(3)
"""
KERNEL = """
#include "cuda/loops.cuh"
#include "kernels/with_cuda/own_cuda.h"

namespace flambeau::cuda {

void doubled(const Tensor& result, const Tensor& self) {
  Iterator iter("doubled");
  iter.add_output(result, result.dtype());
  iter.add_input(self);
  iter.build({.promoted = 0});
  map<Types<Outs<float>, Ins<float>>, Returns>(iter, [=] __device__(float x) { return 2 * x; });
}

}  // namespace flambeau::cuda
"""
ON_CPU = """
#include "kernels/with_cuda/own.h"

namespace flambeau::cpu {

void doubled(const Tensor& result, const Tensor& self) {
  const Tensor dense = contiguous_data(self);
  for (int64_t i = 0; i < self.numel(); ++i) result.data<float>()[i] = 2 * dense.data<float>()[i];
}

}  // namespace flambeau::cpu
"""
PROGRAM = """
import flambeau, with_cuda
print(with_cuda.doubled(with_cuda.softclip(flambeau.zeros(2)) + 1).tolist())
print("_C_cuda.so" in open("/proc/self/maps").read())
"""


def has_nvcc() -> bool:
    try:
        return bool(find_nvcc())
    except BuildError:
        return False


needs_nvcc = pytest.mark.skipif(not has_nvcc(), reason="there is no nvcc")


def write_project(folder: Path, cuda: str) -> Path:
    """A package with a generated kernel, and one that is written by hand."""
    for name in ("declarations", "kernels"):
        (folder / name).mkdir(exist_ok=True)
    (folder / "declarations" / "own.yaml").write_text(ENTRIES)
    (folder / "kernels" / "doubled.cu").write_text(KERNEL)
    (folder / "kernels" / "doubled.cpp").write_text(ON_CPU)
    table = f'[project]\nname = "with-cuda"\n[tool.flambeau]\ncuda = {cuda}\n'
    (folder / "pyproject.toml").write_text(table + 'cuda-architectures = ["sm_90"]\n')
    return folder


@needs_nvcc
def test_package(tmp_path: Path) -> None:
    """The kernels are a library beside the module. It is loaded where the backend is installed."""
    built = build(read_project(write_project(tmp_path, "true")))
    module, kernels = built.libraries
    assert kernels.name == "_C_cuda.so"
    code = kernels.read_bytes()
    for kernel in ("softclip", "softclip_backward_self", "doubled"):
        assert f"with_cuda.{kernel}\0".encode() in code
    assert {"with_cuda/_C_cuda.so", f"with_cuda/{module.name}"} <= {n for _, n in built.files()}

    paths = [str(stage_links(built)), *filter(None, [os.environ.get("PYTHONPATH")])]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(paths)}
    command = [sys.executable, "-c", PROGRAM]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert done.stdout == f"[2.0, 2.0]\n{_library.path().exists()}\n", done.stderr

    without = build(read_project(write_project(tmp_path, "false")))
    assert without.libraries == (module,)
    assert not list(stage_links(without).rglob("*cuda.so"))


@needs_nvcc
@pytest.mark.usefixtures("empty_cache")
def test_load() -> None:
    text = ENTRIES[: ENTRIES.index('- op: "doubled')]
    found = ops.load(text, name="with_cuda", check_formulas=False, cuda=True)
    assert found.__file__ is not None
    assert Path(found.__file__).with_name("with_cuda_cuda.so").exists()


@needs_nvcc
@pytest.mark.usefixtures("empty_cache")
def test_mistakes_in_kernels(tmp_path: Path) -> None:
    write_project(tmp_path, "true")
    kernel = tmp_path / "kernels" / "doubled.cu"
    kernels = [kernel, kernel.with_suffix(".cpp")]
    kernel.write_text(KERNEL.replace("return 2 * x", "return 2 * y"))
    line = KERNEL.split("\n").index(next(t for t in KERNEL.split("\n") if "2 * x" in t)) + 1
    with pytest.raises(ops.CompileError) as error:
        ops.load(tmp_path / "declarations/own.yaml", kernels, name="with_cuda", cuda=True)
    found = error.value.diagnostics[0]
    assert (found.span.file, found.span.line) == (str(kernel), line)
    assert 'identifier "y" is undefined' in str(error.value)


def test_missing_nvcc(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NVCC", "no-such-nvcc")
    monkeypatch.setenv("CUDA_HOME", str(tmp_path))
    with pytest.raises(BuildError, match="nvcc was not found"):
        build(read_project(write_project(tmp_path, "true")))

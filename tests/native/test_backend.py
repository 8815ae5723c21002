"""A backend out of the tree (twin_backend.cpp): compiled against the package, loaded, used."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import flambeau

PACKAGE = Path(flambeau.__file__).parent

PROGRAM = """
import ctypes, sys
import flambeau

ctypes.CDLL(sys.argv[1])
x = flambeau.tensor([1.0, -2.0, 3.0]).to("twin")
print(x.device.type, (-x).to("cpu").tolist())
try:
    x.exp()
except NotImplementedError as error:
    print(error)
"""


@pytest.mark.skipif(shutil.which("g++") is None, reason="there is no C++ compiler")
def test_backend_out_of_the_tree(tmp_path: Path) -> None:
    library = tmp_path / "libtwin.so"
    command = ["g++", "-std=c++20", "-O1", "-shared", "-fPIC", "-fopenmp-simd", "-Wall", "-Wextra"]
    command += [f"-I{PACKAGE / 'include'}", str(Path(__file__).with_name("twin_backend.cpp"))]
    command += ["-o", str(library), f"-L{PACKAGE / 'lib'}", "-lflambeau"]
    subprocess.run(command, check=True)
    process = subprocess.run(
        [sys.executable, "-c", PROGRAM, str(library)], capture_output=True, text=True, check=False
    )
    assert process.returncode == 0, process.stderr
    assert process.stdout.splitlines() == [
        "twin [-1.0, 2.0, -3.0]",
        "exp: no kernel for device twin; it has kernels for cpu",
    ]

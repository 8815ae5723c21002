"""What wheels carry in place of newer systems' libraries: the same numbers, and nothing newer."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

ROOT = Path(__file__).resolve().parents[2]
sys.path.append(str(ROOT))

from build_tools import portability  # noqa: E402
from build_tools.ninja_file import OLDER_SYSTEMS  # noqa: E402
from build_tools.shared.compiler import BuildError  # noqa: E402

# objdump comes with the compiler.
pytestmark = pytest.mark.skipif(shutil.which("g++") is None, reason="there is no C++ compiler")

# Calls what newer libraries have newer versions of, and prints what comes of it.
PROGRAM = r"""
#include <immintrin.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmath>
#include <cstdio>
#include <exception>
#include <new>
#include <sstream>
#include <stdexcept>

extern "C" __m128d _ZGVbN2v_sinh(__m128d);
extern "C" __m128 _ZGVbN4v_erfcf(__m128);
extern "C" __m128d _ZGVbN2vv_hypot(__m128d, __m128d);

extern "C" __attribute__((visibility("default"))) int run(double x, double y, int size) {
  std::printf("%.17g %.17g %.17g %.17g %.17g %.17g %.9g\n", std::exp(x), std::exp2(x), std::log(x),
              std::log2(x), std::pow(x, y), std::hypot(x, y), std::hypot(float(x), float(y)));
  const __m128d sinh = _ZGVbN2v_sinh(__m128d{x, y});
  const __m128 erfc = _ZGVbN4v_erfcf(__m128{float(x), float(y), 0.f, 1.f});
  const __m128d hypot = _ZGVbN2vv_hypot(__m128d{x, y}, __m128d{y, 3.});
  std::printf("%.17g %.17g %.9g %.9g %.17g %.17g\n", sinh[0], sinh[1], erfc[0], erfc[1], hypot[0],
              hypot[1]);
  std::ostringstream text;
  text << size << " bytes";
  std::exception_ptr kept;
  try {
    throw std::runtime_error(text.str());
  } catch (...) {
    kept = std::current_exception();
  }
  for (int i = 0; i < 3; ++i) {
    const std::exception_ptr copy = kept;
    try {
      std::rethrow_exception(copy);
    } catch (const std::exception& error) {
      std::printf("%s\n", error.what());
    }
  }
  try {
    delete[] new long[static_cast<size_t>(size)];
  } catch (const std::bad_array_new_length&) {
    std::printf("no array\n");
  }
  struct stat status;
  std::printf("%d %d\n", fstat(0, &status), gettid() == getpid());
  return S_ISFIFO(status.st_mode);
}
"""
MAIN = r"""
#include <cstdlib>
extern "C" int run(double, double, int);
int main(int, char** words) { return run(atof(words[1]), atof(words[2]), atoi(words[3])) ? 0 : 1; }
"""


def built(folder: Path, *portable: str) -> Path:
    """A library of the program and of what wheels carry, linked as these are."""
    (folder / "program.cpp").write_text(PROGRAM)
    (folder / "main.cpp").write_text(MAIN)
    sources = [folder / "program.cpp", *(ROOT / "native" / "portable" / name for name in portable)]
    library = folder / "libprogram.so"
    flags = ["-std=c++20", "-O2", "-fPIC", "-fvisibility=hidden", "-fno-math-errno", "-shared"]
    older = OLDER_SYSTEMS.split() if portable else []
    compile_ = ["g++", *flags, "-o", library, *sources, "-lmvec", "-lm", "-pthread", *older]
    subprocess.run(compile_, check=True)
    link = ["g++", "-o", folder / "main", folder / "main.cpp", library, f"-Wl,-rpath,{folder}"]
    subprocess.run(link, check=True)
    return library


def said(folder: Path, size: int) -> list[str]:
    command = [folder / "main", "0.7", "1.3", str(size)]
    process = subprocess.run(command, input="", capture_output=True, text=True, check=True)
    return process.stdout.splitlines()


@pytest.fixture(scope="module")
def portable(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("portable")
    built(folder, "c_library.cpp", "cpp_library.cpp", "vector_library.cpp")
    return folder


def test_only_what_older_systems_have(portable: Path) -> None:
    tag = portability.platform_tag([portable / "libprogram.so"])
    assert int(tag.removeprefix("manylinux_2_").removesuffix("_x86_64")) <= 28
    needed = portability.needs([portable / "libprogram.so"])
    assert needed.newest["GLIBC"] <= (2, 28)
    assert needed.newest["GLIBCXX"] <= (3, 4, 24)
    assert {"libpthread.so.0", "libdl.so.2"} <= needed.libraries


def test_without_them_newer_systems_are_needed(tmp_path: Path) -> None:
    """The tests above would see it."""
    newest = portability.needs([built(tmp_path)]).newest
    assert newest["GLIBC"] >= (2, 35)
    assert newest["GLIBCXX"] >= (3, 4, 26)


def test_functions(portable: Path) -> None:
    scalars, vectors, *texts, end = said(portable, 5)
    x, y = 0.7, 1.3
    expected = [np.exp(x), np.exp2(x), np.log(x), np.log2(x), x**y, np.hypot(x, y), np.hypot(x, y)]
    got = np.array(scalars.split(), dtype=float)
    np.testing.assert_allclose(got[:6], expected[:6], rtol=4e-16)
    np.testing.assert_allclose(got[6], expected[6], rtol=1e-7)
    got = np.array(vectors.split(), dtype=float)
    np.testing.assert_allclose(got[:2], np.sinh([x, y]), rtol=1e-15)
    # erfc of 0.7 and 1.3, of published tables.
    np.testing.assert_allclose(got[2:4], [0.3221988062, 0.0659920551], rtol=1e-6)
    np.testing.assert_allclose(got[4:], np.hypot([x, y], [y, 3]), rtol=1e-15)
    assert texts == ["5 bytes"] * 3
    assert end == "0 1"


def test_arrays_that_are_too_long(portable: Path) -> None:
    assert said(portable, -1)[2:] == ["-1 bytes"] * 3 + ["no array", "0 1"]


def test_vectors_without_the_vector_library(portable: Path, tmp_path: Path) -> None:
    """Where libmvec lacks a function, each lane is computed by the C library's."""
    source = (ROOT / "native" / "portable" / "vector_library.cpp").read_text()
    assert source.count('dlopen("libmvec.so.1"') == 1
    (tmp_path / "vectors.cpp").write_text(source.replace('"libmvec.so.1"', '"no_such_library"'))
    built(tmp_path, "c_library.cpp", "cpp_library.cpp", str(tmp_path / "vectors.cpp"))
    with_library = np.array(said(portable, 5)[1].split(), dtype=float)
    without = np.array(said(tmp_path, 5)[1].split(), dtype=float)
    np.testing.assert_allclose(without, with_library, rtol=5e-7)
    np.testing.assert_allclose(without[:2], with_library[:2], rtol=1e-15)


def test_other_libraries_are_refused(tmp_path: Path) -> None:
    """A wheel must not need what a system may lack."""
    (tmp_path / "other.cpp").write_text("int other() { return 1; }")
    (tmp_path / "user.cpp").write_text("int other(); int user() { return other(); }")
    other, user = tmp_path / "libother.so", tmp_path / "libuser.so"
    subprocess.run(
        ["g++", "-shared", "-fPIC", "-o", other, tmp_path / "other.cpp", "-Wl,-soname,libother.so"],
        check=True,
    )
    subprocess.run(
        ["g++", "-shared", "-fPIC", "-o", user, tmp_path / "user.cpp", other],
        check=True,
    )
    with pytest.raises(BuildError, match=r"libother\.so, which systems may not have"):
        portability.platform_tag([user])
    assert portability.platform_tag([user, other]).startswith("manylinux_2_")

"""The report of loops that stayed scalar names them, and them alone."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
sys.path.append(str(ROOT))

from build_tools.shared.compiler import BuildError  # noqa: E402
from build_tools.vector_report import marked_loops, report  # noqa: E402

PLANTED = """\
int opaque(int);

void doubled(float* to, const float* from, int count) {
#pragma omp simd
  for (int i = 0; i < count; ++i) {
    to[i] = 2 * from[i];
  }
}

void asked(int* to, const int* from, int count) {
#pragma omp simd
  for (int i = 0; i < count; ++i)
    to[i] = opaque(from[i]);
}

void unmarked(int* to, const int* from, int count) {
  for (int i = 0; i < count; ++i) to[i] = opaque(from[i]);
}

template <class T>
void sometimes(T* to, const int* from, int count) {
#pragma omp simd
  for (int i = 0; i < count; ++i) {
    if constexpr (sizeof(T) == 8) {
      to[i] = opaque(from[i]);
    } else {
      to[i] = from[i] + 1;
    }
  }
}
template void sometimes<int>(int*, const int*, int);
template void sometimes<long>(long*, const int*, int);
"""


def line_of(text: str) -> int:
    """The line of the pragma in front of a loop that says `text`."""
    before = PLANTED[: PLANTED.index(text)]
    return before.count("\n", 0, before.rindex("#pragma")) + 1


@pytest.fixture
def planted(tmp_path: Path) -> Path:
    file = tmp_path / "planted.simd.cpp"
    file.write_text(PLANTED)
    return file


def test_marked_loops(planted: Path) -> None:
    loops = [(loop.first, loop.last) for loop in marked_loops(planted)]
    first = line_of("2 * from")
    assert loops[0] == (first, first + 3)
    assert loops[1] == (line_of("opaque(from"), line_of("opaque(from") + 2)
    assert len(loops) == 3


@pytest.mark.parametrize("name", ["avx2", "avx512"])
def test_report(planted: Path, name: str) -> None:
    # The planted file stands in a tree of its own, without headers that every source is given.
    found = report([planted], [name], planted.parent)
    at = {place.split(":")[1]: remarks for place, remarks in found.items()}
    vectors = at[f"{line_of('2 * from')} ({name})"]
    assert vectors.vectors > 0 and not vectors.is_scalar
    scalar = at[f"{line_of('opaque(from')} ({name})"]
    assert scalar.is_scalar
    assert scalar.reason
    partly = at[f"{line_of('from[i] + 1')} ({name})"]
    assert partly.vectors > 0 and partly.scalars > 0 and not partly.is_scalar
    assert len(found) == 3


def test_source_that_does_not_compile(planted: Path) -> None:
    planted.write_text("int answer() { return nothing; }\n")
    with pytest.raises(BuildError, match="planted.simd.cpp does not compile"):
        report([planted], ["avx2"], planted.parent)

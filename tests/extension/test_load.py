"""Operators that are compiled when a program runs: results, cache, errors, several processes."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest

import flambeau
from flambeau import ops
from flambeau.autograd import gradcheck, gradgradcheck

TEXT = """
- op: "softclip(Tensor self, float limit=1) -> Tensor result"
  kind: pointwise
  variants: [function]
  dtypes: {self: float}
  expr: "limit * tanh(self / limit)"
  derivative: auto
  reference: "limit * np.tanh(self / limit)"
  samples:
    - randn(3, 4)
    - randn(3), limit=0.5
- op: "dyad(Tensor self, Tensor vec2) -> Tensor result"
  kind: structured
  dtypes: {self: float32|float64, vec2: same(self)}
  shape: "[self.shape[0], vec2.shape[0]]"
  kernel: {cpu: dyad.cpp}
  linear_in: [self, vec2]
  derivative: {self: "mv(grad, vec2)", vec2: "mv(t(grad), self)"}
- op: "slope(Tensor self) -> Tensor result"
  kind: pointwise
  variants: [function, inplace]
  dtypes: {self: float}
  expr: "self * logaddexp(0, self)"
  derivative: auto
  reference: "self * np.logaddexp(0, self)"
  samples:
    - randn(3, 4)
- op: "jitter(Tensor self, bool noisy, bool normal, *, Generator? generator=None) -> Tensor result"
  kind: pointwise
  variants: [function]
  random: philox
  dtypes: {self: float}
  expr: "self if not noisy else self + normal() if normal else self + uniform() - uniform()"
- op: "confined(Tensor self, int top) -> Tensor result"
  kind: composite
  variants: [function]
  body: "clamp(self, 0, top)"
- op: "third(Tensor self) -> Tensor result"
  kind: composite
  variants: [function]
  body: "chunk(self, 3)[2]"
- op: "parts(Tensor self, bool whole) -> (Tensor first, Tensor second)"
  kind: composite
  grad_fn: PartsBackward0
  variants: [function]
  body: {first: "self if whole else self / 2", second: "-self"}
"""
KERNEL = """
#include "cpu/dtype_switch.h"
#include "factors.h"
#include "kernels/run_time/run_time.h"

namespace flambeau::cpu {

void dyad(const Tensor& result, const Tensor& self, const Tensor& vec2) {
  const Tensor left = contiguous_data(self), right = contiguous_data(vec2);
  static_assert(kFactor == 1);
  visit_dtype(result.dtype(), [&]<class T>() {
    T* out = result.data<T>();
    for (int64_t i = 0; i < left.numel(); ++i) {
      for (int64_t j = 0; j < right.numel(); ++j)
        *out++ = static_cast<T>(left.data<T>()[i] * right.data<T>()[j]);
    }
  });
}

}  // namespace flambeau::cpu
"""


@pytest.fixture(autouse=True)
def cache(shared_folder: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A cache that the processes of the run share: what one compiles, the others import."""
    monkeypatch.setenv("FLAMBEAU_CACHE", str(shared_folder / "cache"))
    return shared_folder / "cache"


@pytest.fixture
def sources(shared_folder: Path) -> Path:
    """The same files for every process."""
    folder = shared_folder / "run_time"
    folder.mkdir(exist_ok=True)
    for name, text in (
        ("run_time.yaml", TEXT),
        ("dyad.cpp", KERNEL),
        ("factors.h", "constexpr int kFactor = 1;\n"),
    ):
        if not (folder / name).exists():
            (folder / f"{name}.{os.getpid()}").write_text(text)
            (folder / f"{name}.{os.getpid()}").rename(folder / name)
    return folder


@pytest.fixture
def loaded(sources: Path) -> ModuleType:
    return ops.load(sources / "run_time.yaml", [sources / "dyad.cpp"])


def test_results(loaded: Any) -> None:
    x = flambeau.randn(4, 5, dtype=flambeau.float64)
    np.testing.assert_allclose(loaded.softclip(x.T, 2).numpy(), 2 * np.tanh(x.numpy().T / 2))
    a, b = flambeau.arange(3.0), flambeau.arange(4.0)
    np.testing.assert_array_equal(
        loaded.dyad(a, b).numpy(), np.multiply.outer(a.numpy(), b.numpy())
    )
    assert loaded.__name__ == "flambeau.ops.loaded.run_time"
    assert "limit" in loaded.softclip.__doc__


def test_names_of_nodes(loaded: Any) -> None:
    y = flambeau.ones(3, requires_grad=True) * 2
    names = [part.grad_fn.name() for part in loaded.parts(y, False)]
    assert names == ["PartsBackward0", "PartsBackward0"]
    same, other = loaded.parts(y, True)
    assert same.grad_fn.name() == y.grad_fn.name() == "MulBackward0"  # handed through
    assert other.grad_fn.name() == "PartsBackward0"
    assert [part.grad_fn for part in loaded.parts(y.detach(), False)] == [None, None]


def test_gradients(loaded: Any) -> None:
    x = flambeau.randn(3, dtype=flambeau.float64, requires_grad=True)
    y = flambeau.randn(2, dtype=flambeau.float64, requires_grad=True)
    assert gradcheck(lambda a, b: loaded.dyad(loaded.softclip(a), b), (x, y))
    assert gradgradcheck(lambda a, b: loaded.dyad(loaded.softclip(a), b), (x, y))


def test_an_integer_beside_elements(loaded: Any) -> None:
    """It takes their type in every form and derivative, also where tensors stand for elements."""
    x = flambeau.randn(3, dtype=flambeau.float64, requires_grad=True)
    assert gradcheck(loaded.slope, (x,), check_forward_ad=True)
    assert gradgradcheck(loaded.slope, (x,))
    assert gradcheck(lambda a: loaded.slope_(a.clone()), (x,), check_forward_ad=True)
    assert gradgradcheck(lambda a: loaded.slope_(a.clone()), (x,))


def test_branches_draw_what_they_read(loaded: Any) -> None:
    x = flambeau.zeros(2000)
    assert loaded.jitter(x, False, True).equal(x)
    uniform, normal = loaded.jitter(x, True, False), loaded.jitter(x, True, True)
    assert 0.9 < uniform.abs().max().item() < 1
    assert abs(uniform.var().item() - 1 / 6) < 0.03  # of a difference of two uniform numbers
    assert normal.abs().max().item() > 2
    assert abs(normal.var().item() - 1) < 0.15


def test_numbers_choose_the_overload_for_numbers(loaded: Any) -> None:
    assert loaded.confined(flambeau.tensor([5, -3, 1]), 2).tolist() == [2, 0, 1]
    assert loaded.confined(flambeau.tensor([5.0, -3.0]), 2).tolist() == [2.0, 0.0]


def test_refused_dtype(loaded: Any) -> None:
    with pytest.raises(RuntimeError, match=r"softclip.*int64"):
        loaded.softclip(flambeau.ones(2, dtype=flambeau.int64))


def test_second_load_is_the_same_module(sources: Path, loaded: ModuleType) -> None:
    assert ops.load(sources / "run_time.yaml", [sources / "dyad.cpp"]) is loaded


PROGRAM = """
import sys, time
import flambeau
started = time.perf_counter()
module = flambeau.ops.load(sys.argv[1], sys.argv[2:])
print(time.perf_counter() - started, "flambeau.codegen" in sys.modules)
print(module.softclip(flambeau.ones(2)).tolist())
"""


def test_other_processes_import(sources: Path, loaded: ModuleType) -> None:
    """Without the generator, so in milliseconds, and without a compiler."""
    arguments = [str(sources / "run_time.yaml"), str(sources / "dyad.cpp")]
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM, *arguments], capture_output=True, text=True, check=False
    )
    seconds, generator = done.stdout.split()[:2]
    assert float(seconds) < 1, done.stderr
    assert generator == "False"


def test_changes_compile_anew(cache: Path, sources: Path, loaded: ModuleType) -> None:
    """The digest follows the text, and what is asked for."""
    from flambeau.ops._load import _digest
    from flambeau.ops._source import read_source

    def digest() -> str:
        return _digest(
            read_source(sources / "run_time.yaml", [sources / "dyad.cpp"], None), True, False
        )

    before = digest()
    assert before == digest()
    one, other = (
        read_source(text, [sources / "dyad.cpp"], "run_time") for text in (TEXT, TEXT + "\n# more")
    )
    digests = [_digest(one, True, False), _digest(one, True, True), _digest(other, True, False)]
    assert len(set(digests)) == 3


def test_included_headers_count(tmp_path: Path) -> None:
    """Wherever they lie, in this process too; others do not."""
    folders = [tmp_path / name for name in ("kernels", "kernels/deep", "elsewhere")]
    for folder in folders:
        folder.mkdir()
    (folders[1] / "factor.h").write_text('#include "../../elsewhere/value.h"\n')
    (folders[2] / "value.h").write_text("constexpr float kFactor = 2;\n")
    (folders[0] / "scaled.cpp").write_text(
        """
        #include "deep/factor.h"
        #include "kernels/scaling/scaling.h"

        namespace flambeau::cpu {
        void scaled(const Tensor& result, const Tensor& self) {
          *result.data<float>() = kFactor * *self.data<float>();
        }
        }  // namespace flambeau::cpu
        """
    )
    text = """
- op: "scaled(Tensor self) -> Tensor result"
  kind: structured
  dtypes: {self: float32}
  shape: "self.shape"
  kernel: {cpu: scaled.cpp}
  derivative: none
"""

    def load() -> Any:
        return ops.load(text, [folders[0] / "scaled.cpp"], name="scaling")

    first = load()
    (folders[0] / "unused.h").write_text("")
    assert load() is first
    (folders[2] / "value.h").write_text("constexpr float kFactor = 3;\n")
    assert load().scaled(flambeau.ones(())).item() == 3
    (folders[2] / "value.h").write_text("constexpr float kFactor = 2;\n")
    assert load() is first and first.scaled(flambeau.ones(())).item() == 2


def test_declaration_errors() -> None:
    """The generator's own messages, all at once."""
    with pytest.raises(ops.DeclarationError) as error:
        ops.load(TEXT.replace("tanh", "tahn").replace("kind: structured", "kind: structurd"))
    message = str(error.value)
    assert "operators.yaml:6:" in message
    assert "there is no function or operator 'tahn'" in message or "tahn" in message
    assert "did you mean" in message
    assert "structurd" in message
    assert "  " + TEXT.split("\n")[5].replace("tanh", "tahn") in message


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("dtypes: {self: float}", "{file}:6:7: error: expected ',' or '}}', found ':'"),
        ('expr: "limit * tanh(self / limit)"', "{file}:6:22: error: '(' is not closed"),
    ],
    ids=["yaml", "formula"],
)
def test_places_of_mistakes(tmp_path: Path, text: str, message: str) -> None:
    """A bracket is missing: the message shows the file, line and column."""
    path = tmp_path / "own.yaml"
    path.write_text(TEXT[: TEXT.index('- op: "dyad')].replace(text, re.sub(r"[)}]", "", text), 1))
    with pytest.raises(ops.DeclarationError) as error:
        ops.load(path)
    assert message.format(file=path) in str(error.value)


def test_not_declarations(tmp_path: Path) -> None:
    (tmp_path / "own.yaml").write_bytes(b"- op: \xff")
    with pytest.raises(ops.DeclarationError, match=r"own.yaml:1:7: error: byte 0xff is not UTF-8"):
        ops.load(tmp_path / "own.yaml")
    with pytest.raises(ops.DeclarationError, match=r"operators.yaml:1:1: error: .*no operator"):
        ops.load("# nothing\n")


def test_wrong_gradient() -> None:
    text = TEXT[: TEXT.index('- op: "dyad')].replace("auto", '{self: "2 * grad"}')
    with pytest.raises(ops.DeclarationError, match="finite"):
        ops.load(text)


def test_items_that_a_list_does_not_have(sources: Path) -> None:
    library = ops.load(sources / "run_time.yaml", [sources / "dyad.cpp"])
    assert library.third(flambeau.arange(6)).tolist() == [4, 5]
    message = r"third\(\): chunk\(self, 3\) has 2 items, of which item 2 is read"
    with pytest.raises(IndexError, match=message):
        library.third(flambeau.arange(2))


def test_compiler_errors_in_kernels(sources: Path, tmp_path: Path) -> None:
    (tmp_path / "dyad.cpp").write_text(KERNEL.replace("right.numel()", "right.numle()"))
    (tmp_path / "factors.h").write_text("constexpr int kFactor = 1;\n")
    with pytest.raises(ops.CompileError) as error:
        ops.load(sources / "run_time.yaml", [tmp_path / "dyad.cpp"])
    found = error.value.diagnostics[0]
    line = KERNEL.split("\n").index("      for (int64_t j = 0; j < right.numel(); ++j)") + 1
    assert (found.span.file, found.span.line) == (str(tmp_path / "dyad.cpp"), line)
    assert "numle" in found.message
    assert "right.numle()" in str(error.value)


def test_compiler_errors_in_declarations(monkeypatch: pytest.MonkeyPatch) -> None:
    """What the generator made of an entry does not compile: the message shows the entry."""
    from flambeau.extension import runtime

    def emit_broken(*arguments: Any) -> Any:
        output = emit(*arguments)
        (path,) = (output.folder / "ops").rglob("*.cpp")
        path.write_text(path.read_text().replace("& computed) override", "& cmoputed) override"))
        return output

    emit = runtime.emit_package
    monkeypatch.setattr(runtime, "emit_package", emit_broken)
    text = TEXT[: TEXT.index('- op: "dyad')]
    with pytest.raises(ops.CompileError) as error:
        ops.load("\n\n" + text)
    assert {(d.span.file, d.span.line) for d in error.value.diagnostics} == {("operators.yaml", 4)}
    assert '- op: "softclip(Tensor self, float limit=1) -> Tensor result"' in str(error.value)


def test_wrong_arguments(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        ops.load(tmp_path / "missing.yaml")
    with pytest.raises(ValueError, match="'a b' is no identifier"):
        ops.load(TEXT, name="a b")

"""Long training, and training while memory runs out again and again."""

from __future__ import annotations

import gc
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import flambeau
from flambeau import nn

FAILING = r"""
#include <errno.h>
#include <stddef.h>

extern void *__libc_malloc(size_t), *__libc_calloc(size_t, size_t), *__libc_realloc(void *, size_t);
extern void *__libc_memalign(size_t, size_t);
static int every = 0;
static int calls = 0, failures = 0;

void fail_every(int interval) { every = interval; }
int failed(void) { return failures; }
static int fails(void) {
  /* Several in a row: after the first, the library gives back what it keeps and asks again. */
  if (!every || __sync_add_and_fetch(&calls, 1) % every >= 3) return 0;
  __sync_add_and_fetch(&failures, 1);
  errno = ENOMEM;
  return 1;
}
void *malloc(size_t n) { return fails() ? NULL : __libc_malloc(n); }
void *calloc(size_t n, size_t size) { return fails() ? NULL : __libc_calloc(n, size); }
void *realloc(void *old, size_t n) { return fails() ? NULL : __libc_realloc(old, n); }
void *memalign(size_t align, size_t n) { return fails() ? NULL : __libc_memalign(align, n); }
void *aligned_alloc(size_t align, size_t n) { return memalign(align, n); }
int posix_memalign(void **result, size_t align, size_t n) {
  return (*result = memalign(align, n)) ? 0 : ENOMEM;
}
"""

TRAINING = """
import ctypes, gc, sys
import flambeau as torch
from flambeau import nn
from flambeau.nn import functional as F

memory = ctypes.CDLL(None)
torch.manual_seed(0)
model = nn.Sequential(nn.Conv2d(1, 4, 3), nn.BatchNorm2d(4), nn.ReLU(), nn.Flatten(),
                      nn.Linear(4 * 36, 10))
optimizer = torch.optim.Adam(model.parameters(), 1e-2)
inputs, targets = torch.randn(32, 1, 8, 8), torch.randint(0, 10, (32,))


def step():
    optimizer.zero_grad()
    loss = F.cross_entropy(model(inputs), targets)
    loss.backward()
    optimizer.step()
    return loss.item()


first = step()
refused = done = 0
for interval in (1000, 300, 100, 50, 31, 17, 7):
    for size in range(40):
        torch.cpu.empty_cache()  # so that every step asks the system
        memory.fail_every(interval)
        try:
            torch.randn(7 + size, 1000 + size).sort(0)[0].matmul(torch.randn(1000 + size, 3)).sum()
            step()
            done += 1
        except (MemoryError, torch.OutOfMemoryError):
            refused += 1
        finally:
            memory.fail_every(0)
assert memory.failed() > 200, memory.failed()
assert refused > 20 and done > 20, (refused, done)
for parameter in model.parameters():
    assert parameter.isfinite().all()
for _ in range(60):
    last = step()
assert last < first / 2, (first, last)
"""


def test_training_while_allocations_fail(tmp_path: Path) -> None:
    """Every so many calls of malloc fail: MemoryError, and everything still works."""
    compiler = shutil.which("gcc")
    assert compiler, "packages of operators are compiled with gcc: it must be there"
    source, library = tmp_path / "failing.c", tmp_path / "failing.so"
    source.write_text(FAILING)
    # The compiler must not make a call of calloc from malloc and memset, nor the like.
    options = ["-shared", "-fPIC", "-O1", "-fno-builtin"]
    subprocess.run([compiler, *options, str(source), "-o", str(library)], check=True)
    done = subprocess.run(
        ["env", f"LD_PRELOAD={library}", sys.executable, "-c", TRAINING],
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert done.returncode == 0, f"{done.returncode}: {done.stderr[-3000:]}"


@pytest.mark.parametrize("create_graph", [False, True], ids=["backward", "twice"])
def test_ten_thousand_steps_leave_nothing_behind(create_graph: bool) -> None:
    model = nn.Sequential(nn.Linear(4, 8), nn.Tanh(), nn.Linear(8, 1))
    optimizer = flambeau.optim.Adam(model.parameters(), 1e-3)
    inputs = flambeau.randn(16, 4)

    def steps(count: int) -> tuple[int, int]:
        for _ in range(count):
            optimizer.zero_grad()
            loss = model(inputs).square().mean()
            if create_graph:
                gradients = flambeau.autograd.grad(loss, model.parameters(), create_graph=True)
                loss = loss + sum(g.square().sum() for g in gradients)
            loss.backward()
            optimizer.step()
        gc.collect()
        return flambeau.cpu.memory_stats()["allocated_bytes"], sys.getallocatedblocks()

    steps(200)
    before = steps(800)
    after = steps(2_000 if create_graph else 10_000)
    assert after[0] == before[0]
    assert after[1] - before[1] < 100

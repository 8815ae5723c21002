"""What a wheel must do where nothing but it and its requirements is installed, and no compiler is.

Run by the environment's own Python: it imports the installed library and nothing of the tree.
"""

from __future__ import annotations

import shutil
import sys
from importlib import import_module
from types import ModuleType

import numpy as np

ENTRY = """
- op: "twice(Tensor self) -> Tensor result"
  kind: pointwise
  dtypes: {self: float}
  expr: "self + self"
  summary: "Twice a number."
  reference: "2 * self"
  samples: layouts(randn)
"""


def main() -> int:
    torch = import_module("flambeau")

    assert shutil.which("g++") is None, "the trial is of a machine without a compiler"
    capability = torch.backends.cpu.get_cpu_capability()
    print(f"flambeau {torch.__version__}, Python {sys.version.split()[0]}, loops: {capability}")
    trains(torch)
    computes(torch)
    refuses_to_compile(torch)
    return 0


def trains(torch: ModuleType) -> None:
    """A network learns a line."""
    torch.manual_seed(0)
    model = torch.nn.Sequential(torch.nn.Linear(1, 16), torch.nn.Tanh(), torch.nn.Linear(16, 1))
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-2)
    x = torch.linspace(-1, 1, 64).unsqueeze(1)
    losses = []
    for _ in range(200):
        optimizer.zero_grad()
        loss = torch.nn.functional.mse_loss(model(x), 3 * x + 1)
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    assert losses[-1] < 0.05 * losses[0], losses[::50]


def computes(torch: ModuleType) -> None:
    """Functions of the vector library, of the C library and of LAPACK agree with NumPy."""
    values = np.linspace(0.1, 0.9, 100)
    shared = [f for f in vars(np).values() if isinstance(f, np.ufunc) and f.nin == f.nout == 1]
    shared = [f for f in shared if "d->d" in f.types and hasattr(torch, f.__name__)]
    assert len(shared) > 20, shared
    for dtype, tolerance in ((np.float32, 1e-5), (np.float64, 1e-12)):
        x = values.astype(dtype)
        for function in shared:
            result = getattr(torch, function.__name__)(torch.from_numpy(x)).numpy()
            with np.errstate(invalid="ignore"):  # outside of the domain both are NaN
                np.testing.assert_allclose(result, function(x), rtol=tolerance)
    matrix = np.random.default_rng(0).normal(size=(5, 5))
    solved = torch.linalg.solve(torch.from_numpy(matrix), torch.ones(5, dtype=torch.float64))
    np.testing.assert_allclose(matrix @ solved.numpy(), np.ones(5), rtol=1e-9)


def refuses_to_compile(torch: ModuleType) -> None:
    """Operators of one's own need a compiler, which the message names."""
    try:
        torch.ops.load(ENTRY)
    except Exception as error:
        assert "needs the C++ compiler g++" in str(error), error
        return
    raise AssertionError("ops.load compiled without a compiler")


if __name__ == "__main__":
    sys.exit(main())

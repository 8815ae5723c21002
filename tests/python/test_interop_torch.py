"""`flambeau.interop.torch` without PyTorch; `tests/parity/interop.py` runs it with PyTorch."""

from __future__ import annotations

import importlib
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import flambeau
from flambeau.interop import torch as interop

CHECKS = Path(__file__).parents[1] / "parity" / "interop.py"


def test_without_pytorch_it_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "torch", None)  # as if there were none
    for call in (lambda: interop.to_torch(flambeau.ones(2)), lambda: interop.TorchModule(None)):
        with pytest.raises(ModuleNotFoundError, match="pip install torch"):
            call()


def test_where_torch_is_flambeau_it_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "torch", flambeau)
    with pytest.raises(RuntimeError, match="'torch' stands for Flambeau in this process"):
        interop.to_torch(flambeau.ones(2))


def test_memory_of_whatever_speaks_dlpack() -> None:
    numbers = np.zeros(3, np.float32)
    shared = interop.from_torch(numbers)
    numbers[1] = 5
    assert shared.tolist() == [0, 5, 0]


def test_with_pytorch() -> None:
    if importlib.util.find_spec("torch") is None:
        pytest.skip("PyTorch is not installed; tests/parity/interop.py --torch PYTHON runs it")
    found = subprocess.run([sys.executable, str(CHECKS)], capture_output=True, text=True)
    assert found.returncode == 0, found.stdout

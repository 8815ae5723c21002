"""The example programs do what they say."""

from __future__ import annotations

import importlib.util
from pathlib import Path

import pytest

FOLDER = Path(__file__).resolve().parents[2] / "python" / "examples"
GOALS = {
    "mlp": lambda accuracy: accuracy > 0.97,
    "custom_autograd": lambda found: found > 0.9,
    "lstm_sine": lambda error: error < 0.15,
    "transformer_copy_task": lambda right: right > 0.9,
}


def test_every_example_has_a_goal() -> None:
    assert {path.stem for path in FOLDER.glob("*.py")} == GOALS.keys()


@pytest.mark.parametrize("name", GOALS)
def test_example(name: str) -> None:
    spec = importlib.util.spec_from_file_location(name, FOLDER / f"{name}.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    assert GOALS[name](module.main())

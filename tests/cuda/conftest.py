"""Tests of the CUDA backend: they need a device, and say so where there is none."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

import flambeau
import flambeau.cuda

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE.parent / "operators"))


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    own = [item for item in items if HERE in item.path.parents]
    if not flambeau.cuda.is_available():
        for item in own:
            item.add_marker(pytest.mark.skip(reason="no CUDA device"))
    elif "FLAMBEAU_EMULATED" in os.environ:
        for item in own:
            if item.get_closest_marker("hardware"):
                item.add_marker(pytest.mark.skip(reason="no CUDA device: an emulated one"))

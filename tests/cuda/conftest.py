"""Tests of the CUDA backend: they need a device, and say so where there is none."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

import flambeau
import flambeau.cuda

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE.parent / "operators"))


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    if flambeau.cuda.is_available():
        return
    skip = pytest.mark.skip(reason="no CUDA device")
    for item in items:
        if HERE in item.path.parents:
            item.add_marker(skip)

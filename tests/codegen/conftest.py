"""Lets the tests of this folder share support.py, and a small library."""

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))

from support import small_library


@pytest.fixture(scope="session")
def small(tmp_path_factory: pytest.TempPathFactory) -> str:
    """The folder of `small_library`, for commands that change nothing in it."""
    return str(small_library(tmp_path_factory.mktemp("small")))

"""A plugin of pytest: the device that `flambeau ops test --backend NAME` runs tests on."""

from __future__ import annotations

import os

import pytest

import flambeau
from flambeau.extension.testing import BACKEND_VARIABLE


@pytest.fixture(scope="session")
def device() -> str:
    """The backend's name, once it is loaded."""
    name = os.environ[BACKEND_VARIABLE]
    flambeau.backends.load(name)
    return name

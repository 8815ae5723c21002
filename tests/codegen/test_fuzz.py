"""2,000 cases of hostile text, the same in every run; `fuzz.py` draws as many as one likes."""

from __future__ import annotations

import pytest
from fuzz import TARGETS, fuzz

CASES = 2000


@pytest.mark.parametrize("target", TARGETS)
def test_hostile_text(target: str) -> None:
    fuzz(target, CASES, repeatable=True)

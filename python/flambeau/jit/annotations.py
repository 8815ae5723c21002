"""Types that scripted programs import from here."""

# mypy: implicit-reexport
from __future__ import annotations

from typing import Any, Dict, List, Optional, Tuple, Union  # noqa: UP035

__all__ = ["Any", "Dict", "List", "Optional", "Tuple", "Union"]

"""`distributed` under the name that programs of 2018 used while it was changed."""

from __future__ import annotations

from typing import Any

from flambeau import distributed


def __getattr__(name: str) -> Any:
    return getattr(distributed, name)

"""Tensors without elements that PyTorch's tracer computes with: nothing is one."""

from __future__ import annotations

from typing import Any

from flambeau._absent_classes import Absent


class FakeTensor(Absent):
    """What nothing is an instance of."""

    why = "Flambeau runs programs and makes no graphs of them; see the device 'meta'"


class FakeTensorMode(FakeTensor):
    """The mode that would make them."""


def is_fake(x: Any) -> bool:
    """False."""
    return False

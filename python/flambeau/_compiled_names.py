"""Functions of PyTorch's compiled module that other people's libraries call.

Importing this module attaches them to ours.
"""

from __future__ import annotations

from flambeau import _C


def _log_api_usage_once(event: str) -> None:
    """Nothing: Flambeau records no usage."""


def _get_tracing_state() -> None:
    """None: programs are not traced."""


for _function in (_log_api_usage_once, _get_tracing_state):
    setattr(_C, _function.__name__, _function)

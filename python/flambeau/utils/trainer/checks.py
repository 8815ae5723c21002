"""Arguments of the trainer, checked."""

from __future__ import annotations

import os
from collections import OrderedDict
from pathlib import Path
from typing import Any

from flambeau import Tensor
from flambeau._values import brief

_PLAIN = (type(None), bool, int, float, str, bytes)


def positive_int(name: str, value: Any) -> int:
    """The value; TypeError or ValueError if it is no positive int."""
    if not isinstance(value, int) or isinstance(value, bool):
        raise TypeError(f"Trainer: {name} must be an int, got {brief(value)}")
    if value <= 0:
        raise ValueError(f"Trainer: {name} must be positive, got {value}")
    return value


def positive_number(name: str, value: Any) -> float:
    """The value; TypeError or ValueError if it is no positive number."""
    if not isinstance(value, int | float) or isinstance(value, bool):
        raise TypeError(f"Trainer: {name} must be a number, got {brief(value)}")
    if not value > 0:
        raise ValueError(f"Trainer: {name} must be positive, got {value}")
    return value


def one_of(name: str, value: Any, choices: tuple[str, ...]) -> str:
    """The value; ValueError if it is none of the choices."""
    if value not in choices:
        wanted = " or ".join(repr(choice) for choice in choices)
        raise ValueError(f"Trainer: {name} must be {wanted}, got {brief(value)}")
    return str(value)


def in_a_folder(name: str, path: str | os.PathLike[str]) -> Path:
    """The path; ValueError if the folder that it names does not exist."""
    if not Path(path).resolve().parent.is_dir():
        raise ValueError(f"Trainer: {name}: the folder of {os.fspath(path)} does not exist")
    return Path(path)


def plain(name: str, value: Any) -> None:
    """TypeError if a checkpoint with the value could be written, but not be read again."""
    if type(value) in _PLAIN or isinstance(value, Tensor):
        return
    if type(value) in (dict, OrderedDict):
        for key, part in value.items():
            plain(f"a key of {name}", key)
            plain(f"{name}[{brief(key)}]", part)
    elif type(value) in (list, tuple):
        for i, part in enumerate(value):
            plain(f"{name}[{i}]", part)
    else:
        raise TypeError(
            f"Trainer: {name} is of type {type(value).__name__}: checkpoints hold tensors, "
            "numbers, strings, lists, tuples and dicts"
        )

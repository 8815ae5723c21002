"""The pickles of Python 2 that datasets come in: dicts, lists, numbers, strings, arrays of bytes.

They are read as files of tensors are, by an interpreter that runs nothing. What these may name is
the three names that arrays need.
"""

from __future__ import annotations

import math
from typing import Any

import flambeau
from flambeau import Tensor
from flambeau._values import brief
from flambeau.serialization.interpreter import Interpreter
from flambeau.serialization.names import Constructor, Context
from flambeau.serialization.stream import Stream
from flambeau.serialization.tensors import refused, whole_numbers


def read_python2_pickle(data: bytes, place: str) -> Any:
    """The object in a pickle; strings are bytes, arrays are tensors of uint8.

    Args:
        data: the pickle.
        place: where it is, for messages.

    Raises:
        pickle.UnpicklingError: for data that is broken, or names anything else.
    """
    return Interpreter(place, Stream.over(data), find=_find, encoding="bytes").load()


def _find(module: str, name: str) -> Any:
    found = _NAMES.get(f"{module}.{name}")
    if found is None:
        raise refused(f"it names {module}.{name}, which is none of {', '.join(_NAMES)}")
    return found


def _empty(context: Context, kind: Any, *rest: Any) -> Tensor:
    """An array whose contents come as its state."""
    if kind is not _ARRAY:
        raise refused(f"an array of type {brief(kind)}")
    return flambeau.empty(0, dtype=flambeau.uint8)


def _set_contents(context: Context, target: Tensor, state: Any) -> None:
    """Of a state (version, shape, dtype, is in Fortran's order, bytes)."""
    if type(state) is not tuple or len(state) != 5:
        raise refused(f"the state of an array has 5 parts, and is {brief(state)}")
    _, shape, dtype, reverse, data = state
    shape = whole_numbers(shape, "sizes")
    if dtype is not flambeau.uint8 or type(data) is not bytes or math.prod(shape) != len(data):
        raise refused(f"an array of shape {shape} and dtype {brief(dtype)} in {brief(data)}")
    context.spend(len(data))
    values = flambeau.frombuffer(bytearray(data), dtype=flambeau.uint8) if data else target
    if reverse:
        values = values.reshape(shape[::-1]).permute(*reversed(range(len(shape)))).contiguous()
    target.data = values.reshape(shape)


def _dtype(context: Context, code: Any, *rest: Any) -> Any:
    if code != b"u1":
        raise refused(f"an array of dtype {brief(code)}; those of such files are uint8")
    return flambeau.uint8


def _no_order(context: Context, target: Any, state: Any) -> None:
    """The state of a dtype is the order of bytes and the like, which bytes do not have."""


_ARRAY = Constructor("numpy.ndarray", None)
_NAMES = {"numpy.ndarray": _ARRAY}
for _core in ("core", "_core"):
    _name = f"numpy.{_core}.multiarray._reconstruct"
    _NAMES[_name] = Constructor(_name, _empty, set_state=_set_contents)
_NAMES["numpy.dtype"] = Constructor("numpy.dtype", _dtype, set_state=_no_order)

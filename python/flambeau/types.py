"""Types for annotations, and classes of values."""

# mypy: implicit-reexport
from __future__ import annotations

from builtins import bool as _bool
from builtins import float as _float
from builtins import int as _int
from collections.abc import Sequence
from typing import Any, TypeAlias

from flambeau._C import Size as _Size
from flambeau._C import Tensor
from flambeau._C import device as _device

_TensorOrTensors: TypeAlias = Tensor | Sequence[Tensor]
_TensorOrTensorsOrGradEdge: TypeAlias = Any
_size: TypeAlias = _Size | list[_int] | tuple[_int, ...]
_int_like: TypeAlias = _int
Number: TypeAlias = _int | _float | _bool
Device: TypeAlias = _device | str | _int | None
FileLike: TypeAlias = Any

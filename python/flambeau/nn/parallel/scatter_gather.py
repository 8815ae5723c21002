"""Parts of tensors on several devices, and these together again."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from flambeau.nn.parallel.data_parallel import gather as gather
from flambeau.nn.parallel.data_parallel import scatter as scatter


def is_namedtuple(obj: Any) -> bool:
    """Whether an object is a named tuple."""
    return isinstance(obj, tuple) and hasattr(obj, "_asdict") and hasattr(obj, "_fields")


def scatter_kwargs(
    inputs: tuple[Any, ...],
    kwargs: dict[str, Any] | None,
    target_gpus: Sequence[Any],
    dim: int = 0,
) -> tuple[tuple[Any, ...], tuple[dict[str, Any], ...]]:
    """Arguments of a call divided among devices, as many of both kinds."""
    parts = list(scatter(inputs, target_gpus, dim)) if inputs else []
    named = list(scatter(kwargs, target_gpus, dim)) if kwargs else []
    parts += [()] * (len(named) - len(parts))
    named += [{}] * (len(parts) - len(named))
    return tuple(parts), tuple(named)

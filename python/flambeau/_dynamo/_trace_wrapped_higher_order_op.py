"""A context that libraries import for index functions under vmap."""

from __future__ import annotations

__all__ = ["TransformGetItemToIndex"]


class TransformGetItemToIndex:
    """Raises where it is entered: it belongs to a tracer that is not there."""

    def __enter__(self) -> None:
        raise RuntimeError("TransformGetItemToIndex: Flambeau does not trace programs")

    def __exit__(self, *exception: object) -> None:
        pass

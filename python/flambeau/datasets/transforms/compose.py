"""Transforms one after the other."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any


class Compose:
    """Calls transforms one after the other.

    Args:
        transforms: functions of one argument; `functools.partial` gives a function the others.

    Raises:
        TypeError: for something that cannot be called.

    Example:
        >>> from functools import partial
        >>> from flambeau.datasets.transforms import normalize, to_tensor
        >>> transform = Compose([to_tensor, partial(normalize, mean=[0.5], std=[0.5])])
        >>> transform(flambeau.full((1, 1, 2), 255, dtype=flambeau.uint8))
        tensor([[[1., 1.]]])
    """

    def __init__(self, transforms: Sequence[Callable[[Any], Any]]) -> None:
        for transform in transforms:
            if not callable(transform):
                raise TypeError(
                    f"Compose: expected functions, got an object of type {type(transform).__name__}"
                )
        self.transforms = transforms

    def __call__(self, image: Any) -> Any:
        """The image after all transforms."""
        for transform in self.transforms:
            image = transform(image)
        return image

    def __repr__(self) -> str:
        lines = "".join(f"\n    {transform!r}," for transform in self.transforms)
        return f"Compose([{lines}\n])"

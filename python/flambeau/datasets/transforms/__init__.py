# mypy: implicit-reexport
"""Transforms of images: functions on tensors, and classes that draw random numbers.

Images are tensors of shape (..., channels, height, width). Random transforms draw from the default
generator, once per call: a batch that is transformed as a whole is transformed alike.
"""

from __future__ import annotations

from flambeau.datasets.transforms.compose import Compose
from flambeau.datasets.transforms.functional import (
    center_crop,
    crop,
    hflip,
    normalize,
    pad,
    to_tensor,
    vflip,
)
from flambeau.datasets.transforms.randomly import (
    RandomCrop,
    RandomHorizontalFlip,
    RandomResizedCrop,
    RandomVerticalFlip,
)
from flambeau.datasets.transforms.resizing import resize

__all__ = [
    "Compose",
    "RandomCrop",
    "RandomHorizontalFlip",
    "RandomResizedCrop",
    "RandomVerticalFlip",
    "center_crop",
    "crop",
    "hflip",
    "normalize",
    "pad",
    "resize",
    "to_tensor",
    "vflip",
]

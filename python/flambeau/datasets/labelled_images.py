"""What datasets of images with a class have in common."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from flambeau import Tensor
from flambeau.utils.data import Dataset

Transform = Callable[[Any], Any]


class LabelledImages(Dataset[Any]):
    """Samples (image, class): images are tensors of uint8 of shape (channels, height, width),
    unless transformed.

    Args:
        root: the folder of the files.
        transform: changes images.
        target_transform: changes classes.
    """

    classes: Sequence[str]

    def __init__(
        self,
        root: str | os.PathLike[str],
        transform: Transform | None = None,
        target_transform: Transform | None = None,
    ) -> None:
        self.root = Path(root)
        self.transform = transform
        self.target_transform = target_transform

    @property
    def class_to_idx(self) -> dict[str, int]:
        """Numbers of classes by name."""
        return {name: number for number, name in enumerate(self.classes)}

    def _transformed(self, image: Any, target: int) -> tuple[Any, Any]:
        if self.transform is not None:
            image = self.transform(image)
        if self.target_transform is not None:
            return image, self.target_transform(target)
        return image, target


class ImagesInMemory(LabelledImages):
    """Images that are all in memory; subclasses set `data` and `targets`."""

    data: Tensor
    targets: Tensor

    def __len__(self) -> int:
        return len(self.targets)

    def _image(self, index: int) -> Tensor:
        return self.data[index]

    def __getitem__(self, index: int) -> tuple[Any, Any]:
        """The sample of an index.

        Raises:
            IndexError: if there are not so many.
        """
        return self._transformed(self._image(index), int(self.targets[index].item()))

    def _check(self, where: Path) -> None:
        """Refuses files that do not belong together."""
        if len(self.data) != len(self.targets):
            raise RuntimeError(f"{where}: {len(self.data)} images, but {len(self.targets)} labels")
        if len(self.targets):
            lowest, highest = int(self.targets.min()), int(self.targets.max())
            if lowest < 0 or highest >= len(self.classes):
                raise RuntimeError(
                    f"{where}: labels are within [{lowest}, {highest}], there are "
                    f"{len(self.classes)} classes"
                )

"""Images in folders, one folder per class."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import flambeau
from flambeau import Tensor
from flambeau.datasets.labelled_images import LabelledImages, Transform

IMAGE_SUFFIXES = (".jpg", ".jpeg", ".png", ".ppm", ".bmp", ".pgm", ".tif", ".tiff", ".webp")


def read_image(path: str | os.PathLike[str]) -> Tensor:
    """The image of a file, as a tensor of uint8 of shape (3, height, width): red, green, blue.

    Args:
        path: of the file.

    Raises:
        RuntimeError: if the file is no image that Pillow reads, or broken.
        FileNotFoundError: if there is no such file.

    Example:
        >>> import tempfile
        >>> from PIL import Image
        >>> with tempfile.NamedTemporaryFile(suffix=".png") as file:
        ...     Image.new("RGB", (4, 3), "red").save(file.name)
        ...     flambeau.datasets.read_image(file.name).shape
        flambeau.Size([3, 3, 4])
    """
    import numpy
    from PIL import Image

    try:
        with Image.open(path) as image:
            pixels = numpy.array(image.convert("RGB"))
    except FileNotFoundError:
        raise
    except (OSError, SyntaxError, ValueError, Image.DecompressionBombError) as error:
        raise RuntimeError(f"{os.fspath(path)} is no image, or broken: {error}") from error
    return flambeau.from_numpy(pixels).permute(2, 0, 1).contiguous()


class ImageFolder(LabelledImages):
    """Images in `root/CLASS/.../NAME`: each folder of `root` is a class, in alphabetical order.

    Args:
        root: the folder of the classes' folders.
        transform: changes images, which are tensors of uint8 of shape (3, height, width).
        target_transform: changes classes, which are ints.
        loader: a path to an image.
        is_valid_file: says of a path whether it is an image; None: by its suffix.
        allow_empty: let classes have no images.

    Attributes:
        classes: names of the folders.
        samples: pairs of a path and a class; also as `imgs`.
        targets: the classes of all samples.

    Raises:
        FileNotFoundError: if there are no folders, or one has no images.

    Example:
        >>> import pathlib, tempfile
        >>> from PIL import Image
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     for name in ("cats", "dogs"):
        ...         pathlib.Path(folder, name).mkdir()
        ...         Image.new("RGB", (4, 3)).save(pathlib.Path(folder, name, "0.png"))
        ...     data = flambeau.datasets.ImageFolder(folder)
        ...     len(data), data.classes
        (2, ['cats', 'dogs'])
    """

    def __init__(
        self,
        root: str | os.PathLike[str],
        transform: Transform | None = None,
        target_transform: Transform | None = None,
        loader: Callable[[str], Any] = read_image,
        is_valid_file: Callable[[str], bool] | None = None,
        allow_empty: bool = False,
    ) -> None:
        super().__init__(root, transform, target_transform)
        self.loader = loader
        valid = _has_image_suffix if is_valid_file is None else is_valid_file
        self.classes = sorted(entry.name for entry in os.scandir(self.root) if entry.is_dir())
        if not self.classes:
            raise FileNotFoundError(f"ImageFolder: {self.root} has no folders, one per class")
        self.samples: list[tuple[str, int]] = []
        for number, name in enumerate(self.classes):
            found = [path for path in _files(self.root / name) if valid(path)]
            if not found and not allow_empty:
                raise FileNotFoundError(f"ImageFolder: {self.root / name} has no images")
            self.samples += [(path, number) for path in found]
        self.imgs = self.samples
        self.targets = [number for _, number in self.samples]

    def __len__(self) -> int:
        return len(self.samples)

    def __getitem__(self, index: int) -> tuple[Any, Any]:
        """The sample of an index.

        Raises:
            RuntimeError: if its file is no image, or broken.
        """
        path, target = self.samples[index]
        return self._transformed(self.loader(path), target)


def _files(folder: Path) -> Iterator[str]:
    for place, folders, names in os.walk(folder, followlinks=True):
        folders.sort()
        for name in sorted(names):
            yield os.path.join(place, name)


def _has_image_suffix(path: str) -> bool:
    return path.lower().endswith(IMAGE_SUFFIXES)

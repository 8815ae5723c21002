"""Handwritten digits and pieces of clothing: 70,000 grey images of 28x28 pixels each."""

from __future__ import annotations

import os
from pathlib import Path
from typing import ClassVar

import flambeau
from flambeau import Tensor
from flambeau.datasets.downloads import download as fetch
from flambeau.datasets.idx import read_idx
from flambeau.datasets.labelled_images import ImagesInMemory, Transform


class MNIST(ImagesInMemory):
    """Handwritten digits (LeCun, Cortes, Burges): 60,000 to train with, 10,000 to test.

    The four files, compressed or not, lie in `root/MNIST/raw` or in `root` itself; so none is
    fetched that is there.

    Args:
        root: the folder of the files.
        train: the images to train with, else those to test.
        transform: changes images, which are tensors of uint8 of shape (1, 28, 28).
        target_transform: changes classes, which are ints.
        download: fetch files that are not there.

    Attributes:
        data: all images, of shape (N, 28, 28).
        targets: all classes, of shape (N,).

    Raises:
        RuntimeError: if files are missing or broken, or cannot be fetched.

    Example:
        >>> import pathlib, tempfile
        >>> header = bytes([0, 0, 8, 3, 0, 0, 0, 2, 0, 0, 0, 28, 0, 0, 0, 28])
        >>> with tempfile.TemporaryDirectory() as folder:  # files of two images
        ...     images = pathlib.Path(folder, "t10k-images-idx3-ubyte")
        ...     _ = images.write_bytes(header + bytes(2 * 28 * 28))
        ...     labels = pathlib.Path(folder, "t10k-labels-idx1-ubyte")
        ...     _ = labels.write_bytes(bytes([0, 0, 8, 1, 0, 0, 0, 2, 7, 2]))
        ...     test = flambeau.datasets.MNIST(folder, train=False)
        >>> image, digit = test[0]
        >>> image.shape, image.dtype, digit, test.classes[digit]
        (flambeau.Size([1, 28, 28]), flambeau.uint8, 7, '7 - seven')
    """

    classes = (
        *("0 - zero", "1 - one", "2 - two", "3 - three", "4 - four"),
        *("5 - five", "6 - six", "7 - seven", "8 - eight", "9 - nine"),
    )
    mirrors: ClassVar[tuple[str, ...]] = ("https://ossci-datasets.s3.amazonaws.com/mnist/",)
    checksums: ClassVar[dict[str, str]] = {
        "train-images-idx3-ubyte.gz": "md5:f68b3c2dcbeaaa9fbdd348bbdeb94873",
        "train-labels-idx1-ubyte.gz": "md5:d53e105ee54ea40749a09fcbcd1e9432",
        "t10k-images-idx3-ubyte.gz": "md5:9fb629c4189551a2d022fa330f9573f3",
        "t10k-labels-idx1-ubyte.gz": "md5:ec29112dd5afa0611ce80d1b7f02629c",
    }

    def __init__(
        self,
        root: str | os.PathLike[str],
        train: bool = True,
        transform: Transform | None = None,
        target_transform: Transform | None = None,
        download: bool = False,
    ) -> None:
        super().__init__(root, transform, target_transform)
        self.train = train
        images, labels = list(self.checksums)[:2] if train else list(self.checksums)[2:]
        self.data = _checked(self._find(images, download), 3)
        self.targets = _checked(self._find(labels, download), 1).to(flambeau.int64)
        self._check(self.root)

    @property
    def raw_folder(self) -> Path:
        """Where files are fetched to."""
        return self.root / type(self).__name__ / "raw"

    def _find(self, name: str, download: bool) -> Path:
        for folder in (self.raw_folder, self.root):
            for path in (folder / name.removesuffix(".gz"), folder / name):
                if path.is_file():
                    return path
        if download:
            urls = [mirror + name for mirror in self.mirrors]
            return fetch(urls, self.raw_folder / name, self.checksums[name])
        raise RuntimeError(
            f"{type(self).__name__}: {name} is neither in {self.raw_folder} nor in {self.root}; "
            "download=True fetches it"
        )

    def _image(self, index: int) -> Tensor:
        return self.data[index].unsqueeze(0)


def _checked(path: Path, dimensions: int) -> Tensor:
    found = read_idx(path)
    if found.dtype != flambeau.uint8 or found.dim() != dimensions:
        raise RuntimeError(
            f"{path}: expected bytes of {dimensions} dimensions, got {found.dtype} of shape "
            f"{tuple(found.shape)}"
        )
    return found


class FashionMNIST(MNIST):
    """Pieces of clothing (Xiao, Rasul, Vollgraf 2017), in the form of `MNIST`.

    The four files lie in `root/FashionMNIST/raw` or in `root` itself.

    Args:
        root: the folder of the files.
        train: the images to train with, else those to test.
        transform: changes images, which are tensors of uint8 of shape (1, 28, 28).
        target_transform: changes classes, which are ints.
        download: fetch files that are not there.

    Raises:
        RuntimeError: if files are missing or broken, or cannot be fetched.

    Example:
        >>> flambeau.datasets.FashionMNIST.classes[9]
        'Ankle boot'
        >>> flambeau.datasets.FashionMNIST("data", train=False)
        Traceback (most recent call last):
            ...
        RuntimeError: FashionMNIST: t10k-images-idx3-ubyte.gz is neither in data/FashionMNIST/raw
        nor in data; download=True fetches it
    """

    classes = (
        *("T-shirt/top", "Trouser", "Pullover", "Dress", "Coat"),
        *("Sandal", "Shirt", "Sneaker", "Bag", "Ankle boot"),
    )
    mirrors = ("http://fashion-mnist.s3-website.eu-central-1.amazonaws.com/",)
    checksums: ClassVar[dict[str, str]] = {
        "train-images-idx3-ubyte.gz": "md5:8d4fb7e6c68d591d4c3dfef9ec88bf0d",
        "train-labels-idx1-ubyte.gz": "md5:25c81989df183df01b3e8a0aad5dffbe",
        "t10k-images-idx3-ubyte.gz": "md5:bef4ecab320f06d8554ea6380940ec79",
        "t10k-labels-idx1-ubyte.gz": "md5:bb300cfdad3c16e7a12a480ee83cd310",
    }

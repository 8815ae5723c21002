# mypy: implicit-reexport
"""Datasets: digits, MNIST, FashionMNIST, CIFAR, folders of images, text.

Files that are there are read where they are, without the network; `download=True` fetches the
others, checks them and continues what broke off. `flambeau.datasets.transforms` changes images.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from flambeau import _lazy
from flambeau.datasets import transforms
from flambeau.datasets.cifar import CIFAR10, CIFAR100
from flambeau.datasets.digits import Digits, load_digits
from flambeau.datasets.downloads import download
from flambeau.datasets.idx import read_idx
from flambeau.datasets.image_folder import ImageFolder, read_image
from flambeau.datasets.mnist import MNIST, FashionMNIST
from flambeau.datasets.text import TextCorpus, Vocabulary

__all__ = [
    "CIFAR10",
    "CIFAR100",
    "MNIST",
    "Digits",
    "FashionMNIST",
    "ImageFolder",
    "TextCorpus",
    "Vocabulary",
    "download",
    "load_digits",
    "read_idx",
    "read_image",
    "transforms",
]

if not TYPE_CHECKING:
    __getattr__ = _lazy.missing(__name__)

"""The digits of scikit-learn: 1,797 grey images of 8x8 pixels."""

from __future__ import annotations

from dataclasses import dataclass

import flambeau
from flambeau import Generator
from flambeau.utils.data import Subset, TensorDataset, random_split

TEST_IMAGES = 360


@dataclass(frozen=True)
class Digits:
    """Samples of (image (1, 8, 8) with mean 0 and deviation 1, digit).

    Args:
        train: 1,437 samples.
        test: 360 others.

    Example:
        >>> digits = flambeau.datasets.load_digits()
        >>> isinstance(digits, flambeau.datasets.Digits)
        True
        >>> loader = flambeau.utils.data.DataLoader(digits.test, batch_size=360)
        >>> images, numbers = next(iter(loader))
        >>> images.shape, numbers.bincount().shape
        (flambeau.Size([360, 1, 8, 8]), flambeau.Size([10]))
    """

    train: Subset[tuple[flambeau.Tensor, ...]]
    test: Subset[tuple[flambeau.Tensor, ...]]


def load_digits(seed: int = 0) -> Digits:
    """Loads the images, which scikit-learn brings, and sets 360 of them apart for testing.

    Args:
        seed: of the split.

    Raises:
        ImportError: without scikit-learn.

    Example:
        >>> digits = load_digits()
        >>> len(digits.train), len(digits.test)
        (1437, 360)
        >>> image, digit = digits.train[0]
        >>> image.shape, digit.dtype
        (flambeau.Size([1, 8, 8]), flambeau.int64)
    """
    try:
        from sklearn import datasets  # type: ignore[import-untyped]
    except ModuleNotFoundError as error:
        raise ImportError(
            "load_digits: the images come with scikit-learn: install it with "
            "'pip install flambeau[demo]'"
        ) from error

    pixels, digits = datasets.load_digits(return_X_y=True)
    images = flambeau.from_numpy(pixels).to(flambeau.float32).reshape(-1, 1, 8, 8)
    images = (images - images.mean()) / images.std()
    dataset = TensorDataset(images, flambeau.from_numpy(digits).to(flambeau.int64))
    generator = Generator()
    generator.manual_seed(seed)
    sizes = [len(dataset) - TEST_IMAGES, TEST_IMAGES]
    train, test = random_split(dataset, sizes, generator)
    return Digits(train, test)

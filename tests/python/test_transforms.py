"""Transforms, compared with NumPy and Pillow."""

from __future__ import annotations

import pickle
from collections import Counter
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import pytest
from PIL import Image

import flambeau
from flambeau.datasets.transforms import (
    Compose,
    RandomCrop,
    RandomHorizontalFlip,
    RandomResizedCrop,
    RandomVerticalFlip,
    center_crop,
    crop,
    hflip,
    normalize,
    pad,
    resize,
    to_tensor,
    vflip,
)

PIXELS = np.random.default_rng(0).integers(0, 256, (3, 11, 14), np.uint8)
IMAGE = flambeau.from_numpy(PIXELS)


def test_parts_borders_and_flips() -> None:
    np.testing.assert_array_equal(crop(IMAGE, 2, 3, 4, 5).numpy(), PIXELS[:, 2:6, 3:8])
    np.testing.assert_array_equal(center_crop(IMAGE, (5, 4)).numpy(), PIXELS[:, 3:8, 5:9])
    np.testing.assert_array_equal(center_crop(IMAGE, (11, 14)).numpy(), PIXELS)
    np.testing.assert_array_equal(hflip(IMAGE).numpy(), PIXELS[:, :, ::-1])
    np.testing.assert_array_equal(vflip(IMAGE).numpy(), PIXELS[:, ::-1])
    for padding, widths in (
        (2, ((2, 2), (2, 2))),
        ((1, 2), ((2, 2), (1, 1))),
        ((1, 2, 3, 4), ((2, 4), (1, 3))),
    ):
        wanted = np.pad(PIXELS, ((0, 0), *widths), constant_values=7)
        np.testing.assert_array_equal(pad(IMAGE, padding, 7).numpy(), wanted)


def test_images_become_tensors() -> None:
    floats = PIXELS / np.float32(255)
    rows_first = np.ascontiguousarray(PIXELS.transpose(1, 2, 0))
    for image in (IMAGE, rows_first, Image.fromarray(rows_first)):
        found = to_tensor(image)
        assert found.dtype == flambeau.float32
        np.testing.assert_allclose(found.numpy(), floats, rtol=1e-6)
    np.testing.assert_allclose(to_tensor(Image.fromarray(PIXELS[0]))[0].numpy(), floats[0], 1e-6)
    assert to_tensor(Image.new("1", (2, 2), 1)).tolist() == [[[1, 1], [1, 1]]]
    half = np.full((2, 2), 0.5)
    assert to_tensor(half).tolist() == [[[0.5, 0.5], [0.5, 0.5]]]
    assert IMAGE.dtype == flambeau.uint8
    with pytest.raises(TypeError, match="expected a tensor, a NumPy array or an image"):
        to_tensor([1, 2])
    with pytest.raises(TypeError, match=r"got shape \(1, 1, 1, 1\)"):
        to_tensor(np.ones((1, 1, 1, 1)))


@pytest.mark.parametrize("shape", [(3, 11, 14), (5, 3, 11, 14)])
def test_normalize(shape: tuple[int, ...]) -> None:
    array = np.random.default_rng(1).random(shape, np.float32)
    mean, std = [0.1, 0.2, 0.3], [0.5, 0.6, 0.7]
    wanted = (array - np.reshape(mean, (3, 1, 1))) / np.reshape(std, (3, 1, 1))
    found = normalize(flambeau.from_numpy(array), mean, std)
    np.testing.assert_allclose(found.numpy(), wanted, rtol=1e-5, atol=1e-6)
    one = normalize(flambeau.from_numpy(array), [0.5], [2.0])
    np.testing.assert_allclose(one.numpy(), (array - 0.5) / 2, rtol=1e-5, atol=1e-6)
    assert normalize(flambeau.ones(2, 2), [1.0], [1.0]).shape == (2, 2)


@pytest.mark.parametrize("size", [(5, 6), (22, 28), (11, 3), (1, 1), (7, 40), (11, 14)])
def test_resized_as_pillow_does(size: tuple[int, int]) -> None:
    """Pillow averages when it makes an image smaller, in floats for images of mode F."""
    floats = PIXELS.astype(np.float32)
    found = resize(flambeau.from_numpy(floats), size)
    for channel, plane in zip(found, floats, strict=True):
        image = Image.fromarray(plane).resize(size[::-1], Image.Resampling.BILINEAR)
        np.testing.assert_allclose(channel.numpy(), np.asarray(image), rtol=1e-4, atol=2e-3)
    whole = resize(IMAGE, size)
    assert whole.dtype == flambeau.uint8
    np.testing.assert_allclose(whole.numpy(), np.round(found.numpy()), atol=1)
    batch = resize(flambeau.stack([flambeau.from_numpy(floats)] * 2), size)
    np.testing.assert_allclose(batch[1].numpy(), found.numpy(), rtol=1e-6)


@pytest.mark.parametrize("size", [(5, 6), (22, 28), (11, 3), (1, 1), (7, 40)])
def test_resized_without_averaging(size: tuple[int, int]) -> None:
    """Between the four nearest pixels, by interpolation of rows and then of columns."""

    def along(values: Any, wanted: int) -> Any:
        count = values.shape[-1]
        places = (np.arange(wanted) + 0.5) * count / wanted - 0.5
        rows = values.reshape(-1, count)
        found = np.stack([np.interp(places, np.arange(count), row) for row in rows])
        return found.reshape(*values.shape[:-1], wanted)

    floats = PIXELS.astype(np.float64)
    wanted = along(along(floats.swapaxes(1, 2), size[0]).swapaxes(1, 2), size[1])
    found = resize(flambeau.from_numpy(floats), size, antialias=False)
    np.testing.assert_allclose(found.numpy(), wanted, rtol=1e-10, atol=1e-10)
    nearest = resize(IMAGE, size, "nearest").numpy()
    rows, columns = (np.arange(s) * n // s for s, n in zip(size, (11, 14), strict=True))
    np.testing.assert_array_equal(nearest, PIXELS[:, rows][:, :, columns])


def test_the_shorter_side() -> None:
    assert resize(IMAGE, 22).shape == (3, 22, 28)
    assert resize(IMAGE.transpose(1, 2), 22).shape == (3, 28, 22)
    assert resize(IMAGE, 5).shape == (3, 5, 6)
    assert resize(flambeau.ones(1, 100, 1), 3).shape == (1, 300, 3)


def test_flips_at_random() -> None:
    flambeau.manual_seed(0)
    for kind, flip in ((RandomHorizontalFlip, hflip), (RandomVerticalFlip, vflip)):
        results = Counter(kind(0.3)(IMAGE).numpy().tobytes() for _ in range(1000))
        assert set(results) == {PIXELS.tobytes(), flip(IMAGE).numpy().tobytes()}
        assert results[flip(IMAGE).numpy().tobytes()] == pytest.approx(300, abs=60)
        assert flambeau.equal(kind(0)(IMAGE), IMAGE)
        assert flambeau.equal(kind(1)(IMAGE), flip(IMAGE))


def test_parts_at_random() -> None:
    flambeau.manual_seed(0)
    numbers = flambeau.arange(12).reshape(1, 3, 4)
    places = Counter(RandomCrop((2, 3))(numbers)[0, 0, 0].item() for _ in range(800))
    assert sorted(places) == [0, 1, 4, 5]
    assert all(abs(count - 200) < 60 for count in places.values())
    assert flambeau.equal(RandomCrop((3, 4))(numbers), numbers)
    bordered = [RandomCrop((3, 4), padding=1, fill=99)(numbers) for _ in range(50)]
    assert {int(part.max()) for part in bordered} == {11, 99}
    first = {RandomCrop((3, 4), padding=1)(numbers).numpy().tobytes() for _ in range(200)}
    assert len(first) == 9


def test_resized_parts_at_random() -> None:
    """Area and shape of a part are found in an image of coordinates."""
    flambeau.manual_seed(0)
    rows, columns = flambeau.meshgrid(flambeau.arange(200.0), flambeau.arange(300.0), indexing="ij")
    image = flambeau.stack([rows, columns])
    transform = RandomResizedCrop((6, 6), scale=(0.2, 0.6), ratio=(0.5, 2.0), antialias=False)
    areas, ratios, tops = [], [], []
    for _ in range(300):
        part = transform(image)
        assert part.shape == (2, 6, 6)
        height = (part[0, 4, 0] - part[0, 1, 0]).item() * 2
        width = (part[1, 0, 4] - part[1, 0, 1]).item() * 2
        areas.append(height * width / 60000)
        ratios.append(width / height)
        tops.append(part[0, 0, 0].item())
    assert 0.19 < min(areas) < 0.25
    assert 0.52 < max(areas) < 0.61
    assert 0.49 < min(ratios) < 0.6
    assert 1.7 < max(ratios) < 2.02
    assert np.median(ratios) == pytest.approx(1, abs=0.15)
    assert min(tops) < 20 < 60 < max(tops)
    narrow = RandomResizedCrop((2, 2))(flambeau.arange(100.0).reshape(1, 1, 100))
    assert narrow.mean().item() == pytest.approx(49.5, abs=1)


def test_composed() -> None:
    transform = Compose(
        [RandomHorizontalFlip(1), to_tensor, partial(normalize, mean=[0.5], std=[0.5])]
    )
    wanted = (PIXELS[:, :, ::-1] / np.float32(255) - 0.5) / 0.5
    np.testing.assert_allclose(transform(IMAGE).numpy(), wanted, rtol=1e-5, atol=1e-6)
    again = pickle.loads(pickle.dumps(transform))
    assert flambeau.equal(again(IMAGE), transform(IMAGE))
    assert "RandomHorizontalFlip(p=1)," in repr(transform)
    with pytest.raises(TypeError, match="expected functions, got an object of type int"):
        Compose([3])


FLOATS = flambeau.ones(3, 4, 5)


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda: crop(IMAGE, 8, 0, 4, 4), ValueError, r"crop: 4x4 at \(8, 0\) is not within"),
        (lambda: crop(IMAGE, -1, 0, 4, 4), ValueError, "not within an image of 11x14"),
        (lambda: crop(IMAGE, 0, 0, 0, 4), ValueError, "0x4"),
        (lambda: crop(PIXELS, 0, 0, 1, 1), TypeError, "crop: expected a tensor"),
        (lambda: hflip(flambeau.ones(3)), ValueError, r"expected shape \(..., height, width\)"),
        (lambda: center_crop(IMAGE, 12), ValueError, "size 12x12 is larger than the image, 11x14"),
        (lambda: center_crop(IMAGE, (1, 2, 3)), ValueError, "one or two positive ints"),
        (lambda: pad(IMAGE, (1, 2, 3)), ValueError, "1, 2 or 4 ints"),
        (lambda: pad(IMAGE, -1), ValueError, "ints from 0, got -1"),
        (lambda: normalize(IMAGE, [0.5], [0.5]), TypeError, "to_tensor comes first"),
        (lambda: normalize(FLOATS, [0.5] * 2, [1]), ValueError, "mean has 2 numbers, .* 3 chan"),
        (lambda: normalize(FLOATS, [0.5], [0, 1, 1]), ValueError, "std must be positive"),
        (lambda: resize(IMAGE, 0), ValueError, "resize: size must be one or two positive ints"),
        (lambda: resize(IMAGE, 5, "cubic"), ValueError, "interpolation must be 'bilinear' or"),
        (lambda: resize(flambeau.ones(1, 0, 3), 5), ValueError, "the image is empty"),
        (lambda: RandomHorizontalFlip(1.5), ValueError, r"p must be within \[0, 1\], got 1.5"),
        (lambda: RandomCrop(12)(IMAGE), ValueError, "size 12x12 is larger than the image"),
        (lambda: RandomCrop("3"), ValueError, "RandomCrop: size must be"),
        (lambda: RandomResizedCrop(3, scale=(0, 1)), ValueError, "scale must be"),
        (lambda: RandomResizedCrop(3, ratio=(2, 1)), ValueError, "ratio must be"),
    ],
)
def test_mistakes(call: Callable[[], Any], error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        call()

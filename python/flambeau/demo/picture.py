"""The picture: curves of training, and test images with predictions."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path
from typing import Any

import flambeau
from flambeau import nn
from flambeau.demo.command import DemoError
from flambeau.demo.data import Digits
from flambeau.demo.training import History, device_of
from flambeau.utils.data import DataLoader

IMAGES = 12
# Colours that the colour-blind tell apart, dark enough for text.
_TRAIN, _TEST, _RIGHT, _WRONG, _INK = "#c2570c", "#1d5fa8", "#1a7f4b", "#b3261e", "#2b2b2b"


def draw(path: Path, history: History, model: nn.Module, digits: Digits) -> None:
    """Writes the picture; a file is there completely or not at all.

    Raises:
        DemoError: if it cannot be written.
    """
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    with pyplot.rc_context(
        {
            "font.size": 11,
            "axes.spines.top": False,
            "axes.spines.right": False,
            "axes.edgecolor": "#8a8a8a",
            "axes.labelcolor": _INK,
            "text.color": _INK,
            "xtick.color": _INK,
            "ytick.color": _INK,
        }
    ):
        figure = pyplot.figure(figsize=(11, 6.6), layout="constrained")
        parts: Any = figure.subfigures(2, 1, height_ratios=[3.2, 1.35])
        upper, lower = parts
        accuracy = history.test_accuracy[-1]
        upper.suptitle(
            f"Reading digits with Flambeau: {accuracy:.1%} of {len(digits.test)} test images",
            fontsize=15,
            fontweight="bold",
        )
        left, right = upper.subplots(1, 2)
        _curves(left, "Loss", history.train_loss, history.test_loss)
        left.set_yscale("log")
        _curves(
            right, "Accuracy (%)", _percent(history.train_accuracy), _percent(history.test_accuracy)
        )
        _images(lower, model, digits)
        try:
            _write(figure, path)
        except (OSError, ValueError) as error:
            raise DemoError(f"the picture {path} cannot be written: {error}") from error
        finally:
            pyplot.close(figure)


def _percent(shares: list[float]) -> list[float]:
    return [100 * share for share in shares]


def _curves(axes: Any, label: str, train: list[float], test: list[float]) -> None:
    from matplotlib.ticker import MaxNLocator

    epochs = range(1, len(train) + 1)
    for values, name, color in ((train, "training", _TRAIN), (test, "test", _TEST)):
        axes.plot(epochs, values, color=color, linewidth=2.2, marker="o", markersize=4, label=name)
    axes.set_xlabel("Epoch")
    axes.set_ylabel(label)
    axes.xaxis.set_major_locator(MaxNLocator(integer=True))
    axes.grid(axis="y", color="#d9d9d9", linewidth=0.8)
    axes.set_axisbelow(True)
    axes.legend(frameon=False)


def _images(figure: Any, model: nn.Module, digits: Digits) -> None:
    """Mistakes first, then others in order."""
    model.eval()
    with flambeau.no_grad():
        images, labels = next(iter(DataLoader(digits.test, len(digits.test))))
        shares = nn.functional.softmax(model(images.to(device_of(model))), 1).cpu()
    predicted, wanted = shares.argmax(1).tolist(), labels.tolist()
    order = sorted(range(len(wanted)), key=lambda i: predicted[i] == wanted[i])
    mistakes = sum(p != w for p, w in zip(predicted, wanted, strict=True))
    chosen = order[: min(mistakes, IMAGES // 3)] + order[mistakes:]
    figure.suptitle("Predictions on test images", fontsize=12)
    for axes, i in zip(figure.subplots(1, IMAGES), chosen, strict=False):
        axes.imshow(images[i, 0].numpy(), cmap="gray_r", interpolation="nearest")
        right = predicted[i] == wanted[i]
        share = shares[i, predicted[i]].item()
        text = f"{predicted[i]}" if right else f"{predicted[i]}, not {wanted[i]}"
        axes.set_title(text, color=_RIGHT if right else _WRONG, fontsize=12, fontweight="bold")
        axes.set_xlabel(f"{share:.0%}", fontsize=9)
        axes.set_xticks([])
        axes.set_yticks([])
        for spine in axes.spines.values():
            spine.set_visible(True)
            spine.set_color(_RIGHT if right else _WRONG)


def _write(figure: Any, path: Path) -> None:
    suffix = path.suffix or ".png"
    handle, name = tempfile.mkstemp(prefix=".flambeau-", suffix=suffix, dir=path.resolve().parent)
    os.close(handle)
    try:
        figure.savefig(name, dpi=130, format=suffix[1:])
        os.chmod(name, 0o644)
        os.replace(name, path)
    except BaseException:
        os.unlink(name)
        raise

"""The picture: curves of training, and test images with predictions."""

from __future__ import annotations

import io
from pathlib import Path
from typing import Any

import flambeau
from flambeau import nn
from flambeau._whole_files import write_whole
from flambeau.datasets.digits import Digits
from flambeau.demo.error import DemoError
from flambeau.utils.data import DataLoader
from flambeau.utils.trainer import History
from flambeau.utils.trainer.compute import device_of
from flambeau.utils.trainer.curves import draw_curves, plain_style

IMAGES = 12
_RIGHT, _WRONG = "#1a7f4b", "#b3261e"  # told apart by the colour-blind, dark enough for text


def draw(path: Path, history: History, model: nn.Module, digits: Digits) -> None:
    """Writes the picture; a file is there completely or not at all.

    Raises:
        DemoError: if it cannot be written.
    """
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    with plain_style():
        figure = pyplot.figure(figsize=(11, 6.6), layout="constrained")
        parts: Any = figure.subfigures(2, 1, height_ratios=[3.2, 1.35])
        upper, lower = parts
        accuracy = history.last["validation_accuracy"]
        upper.suptitle(
            f"Reading digits with Flambeau: {accuracy:.1%} of {len(digits.test)} test images",
            fontsize=15,
            fontweight="bold",
        )
        left, right = upper.subplots(1, 2)
        for axes, name, label, scale in (
            (left, "loss", "Loss", 1),
            (right, "accuracy", "Accuracy (%)", 100),
        ):
            curves = {"training": history[name], "test": history[f"validation_{name}"]}
            scaled = {of: [scale * value for value in values] for of, values in curves.items()}
            draw_curves(axes, label, history["epoch"], scaled)
        left.set_yscale("log")
        _images(lower, model, digits)
        try:
            picture = io.BytesIO()
            figure.savefig(picture, dpi=130, format=path.suffix[1:] or "png")
            write_whole(path, picture.getvalue())
        except (OSError, ValueError) as error:
            raise DemoError(f"the picture {path} cannot be written: {error}") from error
        finally:
            pyplot.close(figure)


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

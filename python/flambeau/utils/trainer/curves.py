"""Curves of a history."""

from __future__ import annotations

import io
from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any

from flambeau._whole_files import write_whole
from flambeau.utils.trainer.history import History

# Colours that the colour-blind tell apart, dark enough for text.
TRAINING, VALIDATION, INK = "#c2570c", "#1d5fa8", "#2b2b2b"


def plain_style() -> AbstractContextManager[None]:
    """Matplotlib's settings for these pictures, inside a `with` block."""
    import matplotlib

    return matplotlib.rc_context(
        {
            "font.size": 11,
            "axes.spines.top": False,
            "axes.spines.right": False,
            "axes.edgecolor": "#8a8a8a",
            "axes.labelcolor": INK,
            "text.color": INK,
            "xtick.color": INK,
            "ytick.color": INK,
        }
    )


def draw_curves(
    axes: Any, label: str, epochs: Sequence[float], curves: Mapping[str, Sequence[float]]
) -> None:
    """Curves over epochs in one pair of axes, the first of training, the second of validation."""
    from matplotlib.ticker import MaxNLocator

    for (name, values), color in zip(curves.items(), (TRAINING, VALIDATION), strict=False):
        axes.plot(epochs, values, color=color, linewidth=2.2, marker="o", markersize=4, label=name)
    axes.set_xlabel("Epoch")
    axes.set_ylabel(label)
    axes.xaxis.set_major_locator(MaxNLocator(integer=True))
    axes.grid(axis="y", color="#d9d9d9", linewidth=0.8)
    axes.set_axisbelow(True)
    if len(curves) > 1:
        axes.legend(frameon=False)


def draw_history(history: History, path: Path) -> None:
    """Writes a PNG file with a pair of axes per number; a file is there completely or not at all.

    Args:
        history: of at least one epoch.
        path: of the file.
    """
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    names = [n for n in history.names if n != "epoch" and not n.startswith("validation_")]
    # The rate last: what matters comes first.
    names.sort(key="learning_rate".__eq__)
    columns = min(len(names), 3)
    rows = -(-len(names) // columns)
    with plain_style():
        figure = Figure(figsize=(4.4 * columns, 3.3 * rows), layout="constrained")
        FigureCanvasAgg(figure)
        for place, name in enumerate(names, 1):
            axes = figure.add_subplot(rows, columns, place)
            curves = {"training": history[name]}
            if f"validation_{name}" in history.names:
                curves["validation"] = history[f"validation_{name}"]
            draw_curves(axes, name.replace("_", " "), history["epoch"], curves)
        picture = io.BytesIO()
        figure.savefig(picture, dpi=130, format="png")
    write_whole(path, picture.getvalue())

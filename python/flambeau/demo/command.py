"""The command `flambeau demo`."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from flambeau.demo.error import DemoError

INTERRUPTED = 130  # what a shell reports for a program ended by Ctrl-C


def _positive_int(text: str) -> int:
    value = int(text)
    if value <= 0:
        raise argparse.ArgumentTypeError(f"must be positive, got {text}")
    return value


def _positive_float(text: str) -> float:
    value = float(text)
    if not value > 0:
        raise argparse.ArgumentTypeError(f"must be positive, got {text}")
    return value


_positive_int.__name__ = "int"
_positive_float.__name__ = "number"


def configure(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Adds the command and its options."""
    demo = commands.add_parser(
        "demo",
        help="train a small network on handwritten digits and draw how it went",
        description="Trains a small convolutional network on scikit-learn's 1,797 images of "
        "handwritten digits (8x8 pixels) and draws loss, accuracy and predictions.",
        formatter_class=argparse.ArgumentDefaultsHelpFormatter,
    )
    demo.add_argument("--epochs", type=_positive_int, default=12, help="passes over the images")
    demo.add_argument("--batch-size", type=_positive_int, default=32, help="images per step")
    demo.add_argument(
        "--learning-rate", type=_positive_float, default=3e-3, help="highest learning rate of Adam"
    )
    demo.add_argument("--seed", type=int, default=0, help="of the random numbers")
    demo.add_argument(
        "--output", type=Path, default=Path("flambeau-demo.png"), help="the picture to write"
    )
    demo.add_argument(
        "--device",
        default="cpu",
        help="where to train: cpu, cuda, or a device of an installed backend package",
    )
    demo.add_argument(
        "--threads",
        type=_positive_int,
        default=1,
        help="threads per operation; more than one does not pay for so small a network",
    )


def main(options: argparse.Namespace) -> int:
    """Runs the demo; returns the exit code."""
    try:
        # Imported late: --help needs none of it.
        from flambeau.demo.interrupt import noticed_interrupts
        from flambeau.demo.run import run

        with noticed_interrupts() as check:
            run(options, check)
    except KeyboardInterrupt:
        print("\nInterrupted: no picture was written.", file=sys.stderr)
        return INTERRUPTED
    except DemoError as error:
        print(f"flambeau demo: {error}", file=sys.stderr)
        return 1
    return 0

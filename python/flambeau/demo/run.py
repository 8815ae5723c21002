"""The demonstration from data to picture."""

from __future__ import annotations

import argparse
import importlib.util
import time
from collections.abc import Callable

import flambeau
from flambeau.datasets.digits import load_digits
from flambeau.demo.error import DemoError
from flambeau.demo.model import DigitNet
from flambeau.demo.training import train_digits


def run(options: argparse.Namespace, check: Callable[[], None] = lambda: None) -> None:
    """Trains, prints what happens, and writes the picture.

    Args:
        check: called at each step; may raise to end the run.

    Raises:
        DemoError: if a package is missing or the picture cannot be written.
    """
    _check(options)
    device = _device(options.device)
    flambeau.set_num_threads(options.threads)
    flambeau.manual_seed(options.seed)
    digits = load_digits(options.seed)
    model = DigitNet().to(device)
    weights = sum(parameter.numel() for parameter in model.parameters())
    print(
        f"{len(digits.train)} training and {len(digits.test)} test images, {weights:,} weights, "
        f"{options.threads} {'thread' if options.threads == 1 else 'threads'}, device {device}"
    )
    start = time.perf_counter()
    history = train_digits(
        model, digits, options.epochs, options.batch_size, options.learning_rate, check
    )
    seconds = time.perf_counter() - start
    print(f"Test accuracy {history.last['validation_accuracy']:.2%} after {seconds:.1f} s")
    from flambeau.demo.picture import draw

    draw(options.output, history, model, digits)
    print(f"Picture: {options.output}")


def _device(name: str) -> flambeau.device:
    """The device of a name, if it has memory; an installed package's backend is loaded."""
    try:
        flambeau.backends.load(name.partition(":")[0])
        device = flambeau.device(name)
        flambeau.empty(1, device=device)
        return device
    except RuntimeError as error:
        raise DemoError(f"--device {name}: {error}.") from error


def _check(options: argparse.Namespace) -> None:
    """Refuses before training what would fail after it."""
    packages = {"sklearn": "scikit-learn", "matplotlib": "matplotlib", "tqdm": "tqdm"}
    for module, package in packages.items():
        if importlib.util.find_spec(module) is None:
            raise DemoError(
                f"it needs {package}: install it with 'pip install {package}', or all that the "
                "demo needs with 'pip install flambeau[demo]'."
            )
    folder = options.output.resolve().parent
    if not folder.is_dir():
        raise DemoError(f"the folder {folder} of --output does not exist.")
    if options.output.is_dir():
        raise DemoError(f"--output {options.output} is a folder; name a file.")

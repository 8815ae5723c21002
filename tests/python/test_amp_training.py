"""Training with autocast in bfloat16: the demo's network and a small GPT cost what they cost in
float32.
"""

from __future__ import annotations

import importlib
from pathlib import Path

import pytest

import flambeau
from flambeau import Tensor, nn, optim
from flambeau.datasets.digits import load_digits
from flambeau.demo.model import DigitNet

EXAMPLES = Path(__file__).resolve().parents[2] / "python" / "examples"
cross_entropy = nn.functional.cross_entropy


def digits(lower: bool) -> float:
    """The mean loss of three epochs."""
    flambeau.manual_seed(0)
    images, labels = load_digits(0).train[:]
    model = DigitNet()
    optimizer = optim.Adam(model.parameters(), lr=3e-3)
    losses = []
    for _ in range(3):
        for part in flambeau.randperm(len(images)).split(64):
            with flambeau.autocast("cpu", enabled=lower):
                loss = cross_entropy(model(images[part]), labels[part])
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            losses.append(loss.item())
    return sum(losses) / len(losses)


def gpt(lower: bool) -> float:
    """The loss of text that was not seen, after some steps."""
    example = importlib.import_module("character_gpt")
    flambeau.manual_seed(0)
    options = example.Settings(batch_size=8, context=48, width=64)
    known, new = example.manual()
    numbers = {character: i for i, character in enumerate(sorted({*known, *new}))}
    training, test = (flambeau.tensor([numbers[c] for c in text]) for text in (known, new))
    model = example.Writer(len(numbers), options)
    optimizer = optim.AdamW(model.parameters(), lr=3e-3)

    def loss_at(text: Tensor, starts: Tensor) -> Tensor:
        with flambeau.autocast("cpu", enabled=lower):
            loss: Tensor = example.loss_of(model, text, starts, options.context)
        return loss

    for _ in range(60):
        optimizer.zero_grad()
        starts = flambeau.randint(len(training) - options.context, [options.batch_size])
        loss_at(training, starts).backward()
        optimizer.step()
    with flambeau.no_grad():
        return loss_at(test, flambeau.arange(0, 2000, 48)).item()


def test_demo() -> None:
    assert digits(lower=True) == pytest.approx(digits(lower=False), rel=0.01)


def test_small_gpt(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(EXAMPLES)
    whole = gpt(lower=False)
    assert whole < 3.2  # it learns: at first it is 4.5
    assert gpt(lower=True) == pytest.approx(whole, rel=0.01)

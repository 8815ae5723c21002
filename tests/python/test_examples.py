"""The example programs do what they say, in a fast setting."""

from __future__ import annotations

import dataclasses
import importlib
import re
import runpy
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

import flambeau

FOLDER = Path(__file__).resolve().parents[2] / "python" / "examples"
# Options of a short run, what it then comes to at least, and the files that it writes.
Goal = tuple[dict[str, Any], Callable[[float], bool], set[str]]
PROGRAMS: dict[str, Goal] = {
    "mlp": ({}, lambda right: right > 0.97, {"mlp.png"}),
    "custom_autograd": ({}, lambda found: found > 0.9, {"custom_autograd.png"}),
    "lstm_sine": ({}, lambda error: error < 0.15, {"lstm_sine.png"}),
    "transformer_copy_task": ({}, lambda right: right > 0.9, {"transformer_copy_task.png"}),
    "digits_cnn": ({"steps": 80}, lambda right: right > 0.95, {"digits_cnn.png"}),
    "distributed_digits": ({"epochs": 3}, lambda right: right > 0.9, set()),
    "hogwild": ({"steps": 60}, lambda right: right > 0.9, {"hogwild.png"}),
    "resnet_folder": (
        {"drawn": 300, "epochs": 8, "learning_rate": 0.01},
        lambda right: right > 0.4,
        {"resnet_folder.png"},
    ),
    "vae": ({"steps": 400}, lambda nats: nats < 27, {"vae.png", "vae_codes.png"}),
    "dcgan": ({"steps": 40}, lambda distance: distance < 40, {"dcgan.png"}),
    "diffusion": (
        {"steps": 60, "noise_steps": 6, "samples": 200},
        lambda distance: distance < 45,
        {"diffusion.png"},
    ),
    "character_gpt": (
        {"steps": 40, "context": 48, "width": 64},
        lambda bits: bits < 4.6,  # 6.5 before
        {"character_gpt.txt"},
    ),
    "super_resolution": (
        {"steps": 80, "width": 16, "batch_size": 8},
        lambda gain: gain > -0.2,
        {"super_resolution.png"},
    ),
    "style_transfer": ({"steps": 12}, lambda left: left < 0.8, {"style_transfer.png"}),
    "actor_critic": ({"updates": 12, "looks": 4}, lambda steps: steps > 60, {"actor_critic.png"}),
    "sentence_pairs": (
        {"steps": 150, "pairs": 4000},
        lambda right: right > 0.45,
        {"sentence_pairs.png"},
    ),
    "time_sequence": (
        {"steps": 4, "waves": 10, "length": 60, "future": 20},
        lambda error: error < 0.5,
        {"time_sequence.png"},
    ),
    "siamese": ({"steps": 80}, lambda right: right > 0.85, {"siamese.png"}),
    "graph_convolution": ({"steps": 40}, lambda right: right > 0.85, {"graph_convolution.png"}),
    "mixture_of_experts": (
        {"steps": 150, "batch_size": 512},
        lambda gain: gain > 0,
        {"mixture_of_experts.png"},
    ),
}
LANGUAGES = ("LSTM", "GRU", "Transformer")
FAST_LANGUAGE = {"files": 6, "epochs": 3, "words": 400, "width": 64}


@pytest.fixture(autouse=True)
def _environment(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Examples import each other, and what they share, from their folder."""
    monkeypatch.syspath_prepend(str(FOLDER))
    before, threads = set(sys.modules), flambeau.get_num_threads()
    yield
    flambeau.set_num_threads(threads)
    for name in set(sys.modules) - before:
        if str(FOLDER) in str(getattr(sys.modules[name], "__file__", "")):
            del sys.modules[name]


def load(name: str) -> ModuleType:
    return importlib.import_module(name)


def test_every_example_has_a_goal() -> None:
    expected = {*PROGRAMS, "word_language_model"}
    assert {path.stem for path in FOLDER.glob("*.py")} == expected


@pytest.mark.parametrize("name", [*PROGRAMS, "word_language_model"])
def test_every_example_explains_its_options(
    name: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys, "argv", [f"{name}.py", "--help"])
    with pytest.raises(SystemExit) as ended:
        runpy.run_path(str(FOLDER / f"{name}.py"), run_name="__main__")
    shown = " ".join(capsys.readouterr().out.split())
    assert ended.value.code == 0 and shown.startswith(f"usage: {name}.py [-h]")
    options = {field.name for field in dataclasses.fields(load(name).Settings)}
    for option in options:
        line = rf"--{option.replace('_', '-')} \S+ (?:(?!--).)+ \(default: "
        assert re.search(line, shown), f"--{option} is not explained in {shown}"


@pytest.mark.parametrize("name", PROGRAMS)
def test_program(name: str, tmp_path: Path) -> None:
    fast, goal, files = PROGRAMS[name]
    module = load(name)
    score = module.main(module.Settings(output=tmp_path, **fast))
    assert goal(score), score
    assert {path.name for path in tmp_path.iterdir()} == files
    assert all(path.stat().st_size > 100 for path in tmp_path.iterdir())


@pytest.mark.parametrize("model", LANGUAGES)
def test_word_language_model(model: str, tmp_path: Path) -> None:
    module = load("word_language_model")
    perplexity = module.main(module.Settings(output=tmp_path, model=model, **FAST_LANGUAGE))
    assert perplexity < 35  # 45.5 by frequencies alone
    sample = (tmp_path / f"word_language_model_{model}.py.txt").read_text()
    assert sample.lstrip().startswith("def")


def test_the_distance_of_samples() -> None:
    """Of normal distributions: the squares of the differences of means and of deviations."""
    scores = load("shared.scores")
    flambeau.manual_seed(0)
    first = flambeau.randn(20000, 2)
    second = first @ flambeau.tensor([[3.0, 0.0], [0.0, 0.5]]) + flambeau.tensor([1.0, 2.0])
    expected = 1 + 4 + 2**2 + 0.5**2
    assert scores.frechet_distance(first, second) == pytest.approx(expected, rel=0.02)
    assert scores.frechet_distance(first, first) == pytest.approx(0, abs=1e-6)


def test_help_and_options(tmp_path: Path) -> None:
    """As from a shell: options are explained, read, and refused."""

    def run(*arguments: str) -> subprocess.CompletedProcess[str]:
        command = [sys.executable, str(FOLDER / "word_language_model.py"), *arguments]
        return subprocess.run(command, capture_output=True, text=True, check=False, cwd=tmp_path)

    shown = run("--help")
    assert shown.returncode == 0
    assert "--model {LSTM,GRU,Transformer}" in shown.stdout
    assert "passes over the text (default: 4)" in shown.stdout
    refused = run("--model", "RNN")
    assert refused.returncode == 2
    assert "invalid choice: 'RNN'" in refused.stderr

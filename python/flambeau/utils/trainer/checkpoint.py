"""Checkpoints: all that a training is, in a file."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import flambeau
from flambeau import nn
from flambeau.utils.trainer.callbacks import Callback
from flambeau.utils.trainer.checks import plain
from flambeau.utils.trainer.history import History
from flambeau.utils.trainer.random_states import random_state

if TYPE_CHECKING:
    from flambeau.utils.trainer.trainer import Trainer

FORMAT = 1


def save_checkpoint(trainer: Trainer, path: Path) -> None:
    """Writes a checkpoint in place of the old one; a crash leaves one of them.

    Raises:
        TypeError: for states that `load_checkpoint` could not read.
    """
    state = {
        "format": FORMAT,
        "order": _order(trainer),
        "position": {"epoch": trainer.epoch, "batch": trainer.batch, "step": trainer.step},
        "stopped": trainer.stopped,
        "parts": {name: part.state_dict() for name, part in _parts(trainer).items()},
        "history": [dict(row) for row in trainer.history],
        "totals": trainer.totals.state_dict(),
        "callbacks": [[type(c).__name__, c.state_dict()] for c in _with_state(trainer)],
        "random": random_state(),
    }
    for name in ("parts", "totals", "callbacks"):
        plain(name, state[name])
    flambeau.save(state, path)


def load_checkpoint(trainer: Trainer, path: Path) -> dict[str, Any]:
    """Puts a trainer where the checkpoint was written; returns the random numbers' state, to be
    put back when the next batch begins.

    Raises:
        ValueError: for a file that is no checkpoint, or one of another training.
    """
    state = flambeau.load(path, map_location="cpu")
    if not isinstance(state, dict) or state.get("format") != FORMAT:
        raise ValueError(f"Trainer: {path} is no checkpoint of this version of the trainer")
    names = [type(callback).__name__ for callback in _with_state(trainer)]
    _compare(path, "callbacks", [name for name, _ in state["callbacks"]], names)
    _compare(path, "parts", sorted(state["parts"]), sorted(_parts(trainer)))
    found, wanted = state["order"], _order(trainer)
    if trainer.seed is None:
        wanted["seed"] = found["seed"]
    for name in wanted:
        _compare(path, name, found[name], wanted[name])
    try:
        for name, part in _parts(trainer).items():
            part.load_state_dict(state["parts"][name])
    except (RuntimeError, ValueError, KeyError) as error:
        raise ValueError(f"Trainer: {path} is of another {name}: {error}") from error
    for callback, (_, kept) in zip(_with_state(trainer), state["callbacks"], strict=True):
        callback.load_state_dict(kept)
    trainer.totals.load_state_dict(state["totals"])
    trainer.history = History(state["history"])
    position = state["position"]
    trainer.epoch, trainer.batch = position["epoch"], position["batch"]
    trainer.step, trainer.stopped = position["step"], state["stopped"]
    trainer.used_seed = found["seed"]
    random: dict[str, Any] = state["random"]
    return random


def _parts(trainer: Trainer) -> dict[str, Any]:
    parts = {"model": trainer.model, "optimizer": trainer.optimizer}
    if isinstance(trainer.criterion, nn.Module):
        parts["criterion"] = trainer.criterion
    if trainer.schedule is not None:
        parts["schedule"] = trainer.schedule
    if trainer.scaler.is_enabled():
        parts["scaler"] = trainer.scaler
    return parts


def _with_state(trainer: Trainer) -> list[Callback]:
    """The callbacks that keep something."""
    return [c for c in trainer.all_callbacks if type(c).state_dict is not Callback.state_dict]


def _order(trainer: Trainer) -> dict[str, Any]:
    """What decides which samples a batch has."""
    try:
        samples: int | None = len(trainer.dataset)
    except TypeError:
        samples = None
    return {
        "seed": trainer.used_seed,
        "samples": samples,
        "batch_size": trainer.batch_size,
        "shuffle": trainer.shuffle,
        "drop_last": trainer.drop_last,
        "accumulate": trainer.accumulate,
    }


def _compare(path: Path, name: str, found: Any, wanted: Any) -> None:
    if found != wanted:
        raise ValueError(
            f"Trainer: the checkpoint {path} has {name} {found}, this training has {wanted}; "
            "resume=False begins anew"
        )

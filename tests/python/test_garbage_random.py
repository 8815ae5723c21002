"""Random graphs of tensors, views, hooks, contexts and attributes: a collection takes what nobody
reaches, and changes nothing else.
"""

from __future__ import annotations

import gc
import random
import weakref
from collections.abc import Iterator
from typing import Any, ClassVar

import pytest

import flambeau
from flambeau import Tensor


class Hook:
    """Notes that it ran, and keeps tensors."""

    living: ClassVar[weakref.WeakSet[Hook]] = weakref.WeakSet()

    def __init__(self, number: int, kept: list[Tensor], log: list[Any]) -> None:
        self.number, self.kept, self.log = number, kept, log
        Hook.living.add(self)

    def __call__(self, *_: Any) -> None:
        self.log.append((self.number, [t.sum().item() for t in self.kept]))


class Watched(flambeau.autograd.Function):
    """x * 1.5, with a hook that the context keeps."""

    @staticmethod
    def forward(ctx, x, hook):
        ctx.hook = hook
        return x * 1.5

    @staticmethod
    def backward(ctx, grad):
        ctx.hook()
        return grad * 1.5, None


class Program:
    """Steps chosen by a seed; collections between them have no say in what is chosen."""

    def __init__(self, seed: int, collecting: bool) -> None:
        self.random = random.Random(seed)
        self.collecting = collecting
        self.log: list[Any] = []
        self.hooks = 0
        self.tensors = [flambeau.ones(4, requires_grad=True) for _ in range(2)]
        self.tensors.append(flambeau.nn.Parameter(flambeau.ones(4)))

    def some(self) -> list[Tensor]:
        return [self.random.choice(self.tensors) for _ in range(self.random.randrange(4))]

    def hook(self) -> Hook:
        self.hooks += 1
        return Hook(self.hooks, self.some(), self.log)

    def step(self, t: Tensor) -> list[Tensor]:
        """New tensors, or something that closes a cycle."""
        match self.random.randrange(11):
            case 0:
                return [t * 2, t + self.random.choice(self.tensors)]
            case 1:
                return [t.view(4), t[:]]
            case 2:
                return list(flambeau.cat([t, t]).split(4))
            case 3 | 4:
                t.register_hook(self.hook())
            case 5 if t.grad_fn is not None:
                t.grad_fn.register_hook(self.hook())
            case 6 if t.grad_fn is not None:
                t.grad_fn.metadata["hook"] = self.hook()
            case 7:
                return [Watched.apply(t, self.hook())]
            case 8:
                t.note = self.some()
            case 9 if t.is_leaf:
                t.grad = self.random.choice(self.tensors) * 1.0
            case 10:
                hook = self.hook()
                with flambeau.autograd.graph.saved_tensors_hooks(
                    lambda x: (hook, x.detach()), lambda pair: pair[1]
                ):
                    return [(t * self.random.choice(self.tensors)).exp().clamp(max=2)]
        return []

    def run(self) -> tuple[Any, ...]:
        for _ in range(self.random.randrange(5, 60)):
            self.tensors += self.step(self.random.choice(self.tensors))
            if self.random.random() < 0.2:
                del self.tensors[self.random.randrange(len(self.tensors) - 1)]
            if self.collecting:
                gc.collect(2 * (len(self.tensors) % 2))
        kept = self.random.sample(self.tensors, 2)
        self.tensors.clear()
        for t in kept:
            if self.collecting:
                gc.collect()
            t.sum().backward(retain_graph=True)
        notes = [[len(value) for value in t.__dict__.values()] for t in kept]
        # What garbage still holds of a leaf decides when its gradient is ready, so in what order.
        return sorted(self.log, key=str), notes, [t.sum().item() for t in kept]


@pytest.fixture
def by_hand() -> Iterator[None]:
    """Collections at the calls above only."""
    gc.collect()
    gc.disable()
    yield
    gc.enable()


@pytest.mark.usefixtures("by_hand")
@pytest.mark.parametrize("first", range(0, 60, 20))
def test_collections_change_nothing(first: int) -> None:
    before = flambeau.cpu.memory_stats()["allocated_bytes"]
    for seed in range(first, first + 20):
        expected = Program(seed, False).run()
        gc.collect()
        assert not Hook.living, seed
        assert Program(seed, True).run() == expected, seed
        gc.collect()
        assert not Hook.living, seed
        assert flambeau.cpu.memory_stats()["allocated_bytes"] == before, seed

"""Cycles through hooks, contexts, gradients and graphs: collected when nobody needs them, and only
then.
"""

from __future__ import annotations

import gc
import threading
import time
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from garbage_cycles import (
    CYCLES,
    SIZE,
    Holder,
    Keeping,
    hook_on_a_leaf,
    hook_that_keeps_a_view,
    kept_result,
    leaf,
)

import flambeau
from flambeau import Tensor


def allocated() -> int:
    return flambeau.cpu.memory_stats()["allocated_bytes"]


@pytest.fixture
def collected() -> Iterator[None]:
    gc.collect()
    yield
    gc.enable()
    gc.collect()


@pytest.mark.usefixtures("collected")
@pytest.mark.parametrize("cycle", CYCLES)
def test_cycles_are_collected(cycle: str) -> None:
    make = CYCLES[cycle]
    make()
    gc.collect()
    before = allocated()
    for _ in range(50):
        make()
    gc.collect()
    assert allocated() == before


@pytest.mark.usefixtures("collected")
@pytest.mark.parametrize("cycle", CYCLES)
def test_what_is_needed_is_not_collected(cycle: str) -> None:
    """Whatever the collector is told, reachable things stay as they are."""
    gc.disable()
    kept = [CYCLES[cycle]() for _ in range(3)]
    sizes = []
    for _ in range(3):
        sizes.append(allocated())
        gc.collect()
        gc.collect(0)
    assert len(set(sizes)) == 1
    for item in kept:
        if isinstance(item, Tensor) and item.requires_grad and item.grad_fn is not None:
            item.sum().backward(retain_graph=True)
    gc.collect()


def test_growth_of_20000_cycles() -> None:
    """The collector finds them by itself, as it runs."""
    gc.collect()
    before = allocated()
    for _ in range(20_000):
        hook_on_a_leaf()
        kept_result()
    assert allocated() - before < 20e6


def test_hooks_run_after_a_collection() -> None:
    x = leaf()
    seen: list[float] = []
    x.register_hook(lambda grad: seen.append((x * 3).sum().item()))
    y = (x * 2).sum()
    for _ in range(3):
        gc.collect()
    y.backward()
    assert seen == [3.0 * SIZE]


def test_a_context_that_only_a_graph_keeps() -> None:
    x, holder = leaf(), Holder()
    y = Keeping.apply(x, holder)
    holder.value = y
    z = (y * 3).sum()
    del y, holder
    for _ in range(3):
        gc.collect()
    z.backward()
    assert x.grad is not None
    assert x.grad.tolist() == [6.0] * SIZE


def test_attributes_that_only_a_graph_keeps() -> None:
    """A grad with attributes, and a saved input with attributes, come back with them."""
    x = leaf()
    x.sum().backward()
    x.grad.note = ["kept", x]
    gc.collect()
    assert x.grad.note[0] == "kept"

    class Noted(flambeau.autograd.Function):
        @staticmethod
        def forward(ctx, data, weight):
            ctx.save_for_backward(data)
            return data * weight

        @staticmethod
        def backward(ctx, grad):
            (data,) = ctx.saved_tensors
            assert data.note == ["kept"]
            return None, grad * data

    data = flambeau.full((SIZE,), 5.0)
    data.note = ["kept"]
    y = Noted.apply(data, x)
    del data
    gc.collect()
    x.grad = None
    y.sum().backward()
    assert x.grad.tolist() == [5.0] * SIZE


def test_leaves_give_up_their_gradients() -> None:
    x = leaf()
    y = (x * 2).sum()
    y.backward(retain_graph=True)
    gc.collect()
    before = allocated()
    del x  # the graph keeps its accumulator, whose gradient nobody can read any more
    assert before - allocated() >= SIZE * 4
    y.backward()


def test_finalizers_see_whole_tensors() -> None:
    seen: list[Any] = []

    class Watching:
        def __init__(self, tensor: Tensor) -> None:
            self.tensor = tensor

        def __del__(self) -> None:
            seen.append((self.tensor.sum().item(), self.tensor.grad_fn is not None))

    def make() -> None:
        y = leaf() * 2
        watching = Watching(y)
        y.register_hook(lambda grad: (watching, None)[1])

    make()
    gc.collect()
    assert seen == [(2.0 * SIZE, True)]


def test_collections_while_threads_compute() -> None:
    weight = flambeau.ones(200, 200, requires_grad=True)
    stop = time.monotonic() + 2
    errors: list[BaseException] = []

    def work() -> None:
        try:
            while time.monotonic() < stop:
                x = flambeau.ones(200, 200, requires_grad=True)
                y = Keeping.apply(x @ weight, Holder())
                y.register_hook(lambda grad, y=y: (y, None)[1])
                y.sum().backward()
        except BaseException as error:
            errors.append(error)

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    while time.monotonic() < stop:
        gc.collect()
    for thread in threads:
        thread.join()
    assert not errors


@pytest.mark.parametrize("saved", [lambda view: view, lambda view: view * 2], ids=["view", "new"])
def test_what_a_finalizer_saves_is_whole(saved: Callable[[Tensor], Tensor]) -> None:
    kept: list[Tensor] = []
    seen: list[float] = []

    class Saving:
        def __init__(self, tensor: Tensor) -> None:
            self.tensor = tensor

        def __del__(self) -> None:
            kept.append(saved(self.tensor))

    def make() -> None:
        x = leaf()
        view = x[1:]
        saving = Saving(view)
        x.register_hook(lambda grad: seen.append((x.sum() + view.sum()).item() + bool(saving)))

    make()
    for _ in range(3):
        gc.collect()
    assert not seen
    assert len(kept) == 1
    kept[0].sum().backward()
    assert seen == [2.0 * SIZE]


def test_images_that_are_found_stay_harmless() -> None:
    """gc.garbage keeps what a collection finds, on demand."""
    found = gc.garbage
    gc.set_debug(gc.DEBUG_SAVEALL)
    try:
        hook_that_keeps_a_view()
        gc.collect()
        assert found
    finally:
        gc.set_debug(0)
    gc.collect()
    kinds = {type(item).__name__ for item in found}
    assert "Tensor" in kinds
    assert all(gc.get_referents(item) is not None for item in found)
    found.clear()
    gc.collect()

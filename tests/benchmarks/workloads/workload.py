"""What a workload is."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

Call = Callable[[], Any]
Make = Callable[[Any], Call]


@dataclass(frozen=True)
class Workload:
    """`make(torch)` prepares data and returns the call to time, written once against PyTorch's API;
    `numpy` the same computation in NumPy where it has one; `target`: the ratio to PyTorch's time
    that is wanted."""

    name: str
    target: float
    make: Make
    numpy: Make | None = None


def filled(torch: Any, *shape: int, dtype: str = "float32") -> Any:
    """Normal numbers."""
    made = torch.randn(*shape, dtype=torch.complex64 if "complex" in dtype else torch.float32)
    return made.to(getattr(torch, dtype))


def filled_array(numpy: Any, *shape: int, dtype: str = "float32") -> Any:
    """Normal numbers."""
    generator = numpy.random.default_rng(0)
    made = generator.standard_normal(shape)
    if "complex" in dtype:
        made = made + 1j * generator.standard_normal(shape)
    return made.astype(dtype)


def of_input(shape: tuple[int, ...], call: Callable[[Any, Any], Any], **options: Any) -> Make:
    """`call(torch, x)` of one tensor of normal numbers."""

    def make(torch: Any) -> Call:
        x = filled(torch, *shape, **options)
        return lambda: call(torch, x)

    return make


def of_array(shape: tuple[int, ...], call: Callable[[Any, Any], Any], **options: Any) -> Make:
    """`call(numpy, x)` of one array of normal numbers."""

    def make(numpy: Any) -> Call:
        x = filled_array(numpy, *shape, **options)
        return lambda: call(numpy, x)

    return make


def with_gradients(forward: Callable[[], Any], leaves: tuple[Any, ...]) -> Call:
    """The call and backward from the sum of its result."""

    def both() -> None:
        for leaf in leaves:
            leaf.grad = None
        forward().sum().backward()

    return both


def training_step(torch: Any, model: Any, optimizer: Any, loss: Callable[[], Any]) -> Call:
    """One step of an optimizer."""

    def step() -> None:
        optimizer.zero_grad()
        loss().backward()
        optimizer.step()

    return step

"""Processes train one network at once, without locks, in memory that they share.

The scheme is Hogwild (F. Niu, B. Recht, C. Ré, S. Wright, 2011): each process reads and writes the
parameters whenever it likes; a write that is lost now and then does no harm.
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import Annotated

from digits_cnn import network
from shared.data import digits
from shared.options import Options, begin, parse
from shared.pictures import figure
from shared.progress import Progress, batches
from shared.scores import accuracy

import flambeau
import flambeau.multiprocessing as mp
from flambeau import Tensor, nn, optim


@dataclass(frozen=True)
class Settings(Options):
    processes: Annotated[int, "that train at once"] = 2
    steps: Annotated[int, "of each process"] = 400
    batch_size: Annotated[int, "digits per step"] = 32
    learning_rate: Annotated[float, "of gradient descent"] = 0.05


def train(
    worker: int, model: nn.Module, losses: Tensor, moments: Tensor, begun: float, o: Settings
) -> None:
    """What one process does: steps on the parameters of all, and notes of its losses, and when."""
    flambeau.set_num_threads(1)
    flambeau.manual_seed(o.seed + worker)
    data = digits()
    optimizer = optim.SGD(model.parameters(), lr=o.learning_rate, momentum=0.5)
    source = batches(o.batch_size, data.images, data.labels)
    for step, (images, labels) in zip(range(o.steps), source, strict=False):
        # The gradients are the process's own; only parameters and buffers are shared.
        loss = nn.functional.cross_entropy(model(images), labels)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses[worker, step] = loss.item()
        moments[worker, step] = time.monotonic() - begun


def main(options: Settings) -> float:
    """Returns the share of test images that are read."""
    begin(options)
    data, model = digits(), network().share_memory()
    losses = flambeau.zeros(options.processes, options.steps).share_memory_()
    moments = flambeau.zeros_like(losses).share_memory_()
    arguments = (model, losses, moments, time.monotonic(), options)
    context = mp.start_processes(
        train, arguments, options.processes, join=False, start_method="fork"
    )
    assert context is not None
    progress = Progress(options.processes * options.steps, f"{options.processes} processes")
    for step in progress:
        while moments.count_nonzero().item() <= step and not context.join(timeout=0.01):
            time.sleep(0.01)
    while not context.join():
        pass
    share = accuracy(model, data.test_images, data.test_labels)
    print(f"{share:.1%} of {len(data.test_images)} digits that it has not seen are read")
    with figure(options.file("hogwild.png")) as axes:
        width = min(20, options.steps)
        for worker, (loss, moment) in enumerate(zip(losses, moments, strict=True)):
            smooth = loss.unfold(0, width, 1).mean(1)
            axes.plot(moment[width - 1 :].numpy(), smooth.numpy(), label=f"process {worker}")
        axes.set(xlabel="seconds", ylabel="loss, mean of 20 steps", yscale="log")
        axes.legend()
    return share


if __name__ == "__main__":
    main(parse(Settings, __doc__))

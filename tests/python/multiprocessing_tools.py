"""What the tests of processes run in them: functions that a process which begins anew can find."""

from __future__ import annotations

import os
import resource
import signal
import time
from pathlib import Path
from typing import Any

import flambeau
from flambeau import nn


def descriptors() -> int:
    """How many files this process has open."""
    return len(os.listdir("/proc/self/fd"))


def shared_bytes() -> int:
    """Memory of shared tensors that this process holds."""
    total = 0
    for name in os.listdir("/proc/self/fd"):
        path = Path("/proc/self/fd") / name
        try:
            if os.readlink(path).startswith("/memfd:flambeau"):
                total += os.stat(path).st_blocks * 512
        except FileNotFoundError:
            continue  # the one that the list was read by
    return total


def settled(value: Any, expected: Any, seconds: float = 10) -> Any:
    """What a function gives, after it had time to give what is expected."""
    end = time.monotonic() + seconds
    while (got := value()) != expected and time.monotonic() < end:
        time.sleep(0.01)
    return got


def fill(queue: Any) -> None:
    while True:
        tensor = queue.get()
        tensor.fill_(10)
        queue.put(tensor)


def fill_pool(tensor: flambeau.Tensor) -> None:
    tensor.fill_(10)


def doubled(tensor: flambeau.Tensor) -> flambeau.Tensor:
    return tensor * 2


def write_and_return(queue: Any, answers: Any, shared: flambeau.Tensor, parts: Any) -> None:
    """Writes to what was an argument and to what comes, and sends all back."""
    shared.fill_(7)
    come = queue.get()
    come[0] += 1
    parts[0][0] = 5
    answers.put((come, parts))
    queue.get()


def echo(pipe: Any) -> None:
    """Sends back what comes, until a None does."""
    while (obj := pipe.recv()) is not None:
        pipe.send(obj)
        del obj


def receive_with_few_files(pipe: Any) -> None:
    """Sends back what goes wrong, then the sum of what comes."""
    hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    resource.setrlimit(resource.RLIMIT_NOFILE, (descriptors() + 10, hard))
    try:
        pipe.recv()
    except RuntimeError as error:
        pipe.send(str(error))
    pipe.send(pipe.recv().sum().item())


def swallow(queue: Any, answers: Any) -> None:
    """Takes objects, keeps none, and counts them, until a None comes."""
    count = 0
    while queue.get() is not None:
        count += 1
    answers.put(count)


def hold(queue: Any, answers: Any) -> None:
    """Keeps some of what comes, and sends all on, for ever."""
    kept: list[Any] = []
    while True:
        kept = [*kept[-20:], queue.get()]
        answers.put(kept[-1])


def put_and_exit(queue: Any, tensor: flambeau.Tensor) -> None:
    queue.put(tensor)
    queue.close()
    queue.join_thread()
    os._exit(0)


def regression() -> tuple[flambeau.Tensor, flambeau.Tensor]:
    """Points on a curve."""
    x = flambeau.linspace(-1, 1, 256).reshape(-1, 1)
    return x, x * x - 0.5 * x


def curve_model() -> nn.Module:
    flambeau.manual_seed(0)
    return nn.Sequential(nn.Linear(1, 16), nn.Tanh(), nn.Linear(16, 1))


def train(model: nn.Module, steps: int, seed: int) -> None:
    """Steps of gradient descent on the model's parameters, wherever they are."""
    flambeau.set_num_threads(1)
    x, y = regression()
    optimizer = flambeau.optim.SGD(model.parameters(), lr=0.05)
    order = flambeau.Generator()
    order.manual_seed(seed)
    for _ in range(steps):
        chosen = flambeau.randint(0, 256, (32,), generator=order)
        optimizer.zero_grad()
        nn.functional.mse_loss(model(x[chosen]), y[chosen]).backward()
        optimizer.step()


def raise_in_one(index: int, wanted: int, text: str) -> None:
    if index == wanted:
        raise ValueError(text)
    time.sleep(60)


def exit_in_one(index: int, code: int) -> None:
    if index == 1:
        os._exit(code)
    time.sleep(60)


def killed_in_one(index: int) -> None:
    if index == 1:
        os.kill(os.getpid(), signal.SIGKILL)
    time.sleep(60)


def add_index(index: int, tensor: flambeau.Tensor) -> None:
    tensor[index] += index

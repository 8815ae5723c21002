"""Signals and the end of the process while the library computes."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import textwrap
import time
from pathlib import Path

import pytest

LONG = {
    "matmul": "x = flambeau.rand(8000, 8000, dtype=flambeau.float64); f = lambda: x @ x",
    "matmul of many": (
        "x = flambeau.rand(60, 1500, 1500, dtype=flambeau.float64); f = lambda: x @ x"
    ),
    "matrix and vector": (
        "x = flambeau.rand(1, 50_000).expand(20_000_000, 50_000); f = lambda: x @ x[0]"
    ),
    "sort": "x = flambeau.rand(60_000_000, dtype=flambeau.float64); f = lambda: x.sort()",
    "topk": "x = flambeau.rand(300_000_000); f = lambda: [x.topk(100_000) for _ in range(99)]",
    "unique": (
        "x = flambeau.randint(0, 2**62, (60_000_000,));"
        "f = lambda: [flambeau.unique(x) for _ in range(9)]"
    ),
    "elementwise": (
        "x = flambeau.rand(150_000_000, dtype=flambeau.float64); f = lambda: x.lgamma().lgamma()"
    ),
    "combinations": (
        "x = flambeau.ones(27); f = lambda: [flambeau.combinations(x, 11) for _ in range(4)]"
    ),
    "sum": "x = flambeau.ones(1).expand(2**37); f = lambda: x.sum()",
    "conv2d": (
        "x = flambeau.rand(1, 64, 1500, 1500); w = flambeau.rand(64, 64, 7, 7);"
        "f = lambda: flambeau.nn.functional.conv2d(x, w)"
    ),
    "backward": (
        "x = flambeau.rand(1, 32, 1200, 1200); w = flambeau.rand(32, 32, 5, 5, requires_grad=True);"
        "y = flambeau.nn.functional.conv2d(x, w).sum();"
        "f = lambda: [y.backward(retain_graph=True) for _ in range(9)]"
    ),
}

INTERRUPTED = """
import os, signal, sys, time
import flambeau
flambeau.set_num_threads({threads})
{setup}
print("ready", flush=True)
try:
    f()
except KeyboardInterrupt:
    print(time.process_time())
else:
    print("finished")
assert flambeau.ones(1000, 1000).sum().item() == 1e6
assert (flambeau.ones(300, 300) @ flambeau.ones(300, 300))[0, 0].item() == 300
"""


def processor_seconds(pid: int) -> float:
    """What a process has used: unlike the time on the clock, no matter of what else runs."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


@pytest.mark.timed
@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("work", LONG)
def test_ctrl_c_ends_long_work(work: str, threads: int) -> None:
    code = INTERRUPTED.format(setup=LONG[work], threads=threads)
    child = subprocess.Popen(
        [sys.executable, "-c", code], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    assert child.stdout is not None
    assert child.stdout.readline() == "ready\n"
    time.sleep(0.6)
    before = processor_seconds(child.pid)
    child.send_signal(signal.SIGINT)
    said, errors = child.communicate(timeout=120)
    assert (child.returncode, errors) == (0, "")
    spent = (float(said) - before) / threads
    print(f"{work}: {spent:.3f} s")
    assert spent < 1


def run(code: str) -> str:
    """The output of a program that must end well and say nothing on stderr."""
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(code)], capture_output=True, text=True, timeout=120
    )
    assert (done.returncode, done.stderr) == (0, "")
    return done.stdout


def test_handlers_run_during_long_work() -> None:
    """And what they do not raise leaves the result as it is."""
    said = run("""
        import signal
        import flambeau
        calls = []
        def handle(number, frame):
            calls.append((flambeau.ones(3) * 2).sum().item())
        signal.signal(signal.SIGALRM, handle)
        x = flambeau.rand(3000, 3000, dtype=flambeau.float64)
        expected = x @ x
        signal.setitimer(signal.ITIMER_REAL, 0.05, 0.05)
        for _ in range(10):
            found = x @ x
        signal.setitimer(signal.ITIMER_REAL, 0)
        assert flambeau.equal(found, expected)
        assert set(calls) == {6.0}, calls
    """)
    assert said == ""


def test_what_a_handler_raises_ends_the_work() -> None:
    run("""
        import signal
        import flambeau
        def late(number, frame):
            raise TimeoutError("too long")
        signal.signal(signal.SIGALRM, late)
        weight = flambeau.rand(4000, 4000, requires_grad=True)
        signal.setitimer(signal.ITIMER_REAL, 0.3)
        try:
            while True:
                (weight @ weight).sum().backward()
        except TimeoutError as error:
            assert str(error) == "too long"
        weight.grad = None
        (weight * 2).sum().backward()
        assert weight.grad[0, 0].item() == 2
    """)


def test_only_the_main_thread_is_interrupted() -> None:
    run("""
        import os, signal, threading, time
        import flambeau
        x = flambeau.rand(2500, 2500, dtype=flambeau.float64)
        expected = x @ x
        results = []
        def work():
            for _ in range(4):
                results.append(x @ x)
        thread = threading.Thread(target=work)
        thread.start()
        time.sleep(0.1)
        try:
            os.kill(os.getpid(), signal.SIGINT)
            thread.join()
        except KeyboardInterrupt:
            thread.join()
        assert all(flambeau.equal(result, expected) for result in results) and len(results) == 4
    """)


COMPUTING = {
    "product": "x = flambeau.rand(1500, 1500)\ndef f(): x @ x",
    "sort": "x = flambeau.rand(3_000_000)\ndef f(): x.sort()",
    "small": "x = flambeau.rand(5, 5)\ndef f(): x + x",
    "elementwise": "x = flambeau.rand(3_000_000)\ndef f(): x.exp()",
    "backward": (
        "x = flambeau.rand(400, 400)\n"
        "def f():\n"
        "    w = flambeau.rand(400, 400, requires_grad=True)\n"
        "    w.register_hook(lambda grad: grad * 2)\n"
        "    (x @ w).exp().sum().backward()"
    ),
    "objects": "x = flambeau.rand(300_000)\ndef f(): [x.split(1000), x.numpy(), x.tolist()[:9]]",
}


@pytest.mark.parametrize("work", COMPUTING)
def test_the_process_ends_while_threads_compute(work: str) -> None:
    for _ in range(3):
        run(f"""
import threading, time
import flambeau
{COMPUTING[work]}
def forever():
    while True:
        f()
for _ in range(4):
    threading.Thread(target=forever, daemon=True).start()
time.sleep(0.2)
""")

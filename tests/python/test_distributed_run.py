"""The launcher: environment, failures, restarts, and programs that say torch."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import time
from pathlib import Path

import pytest

SUM = """
import os
import {library} as torch
import {library}.distributed as dist
from {library}.nn.parallel import DistributedDataParallel as DDP

dist.init_process_group("gloo")
rank = dist.get_rank()
assert rank == int(os.environ["RANK"]) == dist.get_node_local_rank()
model = DDP(torch.nn.Linear(2, 1))
model(torch.ones(3, 2) * rank).sum().backward()
x = torch.tensor([rank + 1.0])
dist.all_reduce(x)
if rank == 0:
    print(torch.__name__, dist.get_world_size(), x.item(), model.module.weight.grad.tolist())
dist.destroy_process_group()
"""


def launched(*arguments: str, module: str = "flambeau.distributed.run") -> tuple[int, str, str]:
    done = subprocess.run(
        [sys.executable, "-m", *module.split(), "--nproc-per-node", "2", *arguments],
        capture_output=True,
        text=True,
        timeout=100,
        check=False,
    )
    return done.returncode, done.stdout, done.stderr


def test_a_program_in_two_processes(tmp_path: Path) -> None:
    path = tmp_path / "program.py"
    path.write_text(SUM.format(library="flambeau"))
    status, out, err = launched("--standalone", str(path))
    assert status == 0, err
    assert out.split("\n")[0] == "flambeau 2 3.0 [[1.5, 1.5]]"


def test_a_program_that_says_torch(tmp_path: Path) -> None:
    path = tmp_path / "program.py"
    path.write_text(SUM.format(library="torch"))
    module = "flambeau.run_as_torch -m torch.distributed.run"
    status, out, err = launched("--standalone", str(path), module=module)
    assert status == 0, err
    assert out.split("\n")[0] == "flambeau 2 3.0 [[1.5, 1.5]]"


def test_one_that_fails_ends_the_others(tmp_path: Path) -> None:
    path = tmp_path / "program.py"
    path.write_text(
        "import os, sys, time\n"
        "if os.environ['RANK'] == '1':\n"
        "    raise SystemExit(7) if sys.argv[1:] == ['7'] else KeyError('of rank 1')\n"
        "time.sleep(90)\n"
    )
    begin = time.monotonic()
    status, _, err = launched("--standalone", str(path))
    assert status == 1 and "KeyError: 'of rank 1'" in err
    assert "rank 1 (attempt 0) exited with 1; the others were ended" in err
    assert launched("--standalone", str(path), "7")[0] == 7
    assert time.monotonic() - begin < 60


def test_restarts(tmp_path: Path) -> None:
    path = tmp_path / "program.py"
    path.write_text(
        "import os, flambeau, flambeau.distributed as dist\n"
        "dist.init_process_group()\n"
        "x = flambeau.ones(1)\n"
        "dist.all_reduce(x)\n"
        "attempt = os.environ['TORCHELASTIC_RESTART_COUNT']\n"
        "os.write(1, f'{dist.get_rank()} {attempt} {x.item()}\\n'.encode())\n"
        "if attempt == '0' and dist.get_rank() == 1: os._exit(3)\n"
        "dist.barrier()\n"
    )
    status, out, err = launched("--standalone", "--max-restarts", "1", str(path))
    assert status == 0, err
    assert "rank 1 (attempt 0) exited with 3; the others were ended, restarts left: 1" in err
    assert {"0 1 2.0", "1 1 2.0"} <= set(out.split("\n"))


@pytest.mark.parametrize(
    ("arguments", "word"),
    [
        (["--nproc-per-node", "gpu", "x.py"], "--nproc-per-node"),
        (["--nnodes", "1:4", "x.py"], "--nnodes"),
        (["--nnodes", "2", "--node-rank", "2", "x.py"], "--node-rank"),
        (["--nnodes", "2", "--max-restarts", "1", "x.py"], "--max-restarts"),
    ],
)
def test_wrong_arguments(arguments: list[str], word: str) -> None:
    status, _, err = launched(*arguments)
    assert status == 1 and f"{word} must be" in err


def test_two_machines(tmp_path: Path) -> None:
    """Two launchers, as on two machines."""
    path = tmp_path / "program.py"
    path.write_text(SUM.format(library="flambeau").replace("== dist.get_node_local_rank()", ""))
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = str(free.getsockname()[1])
    command = [sys.executable, "-m", "flambeau.distributed.run", "--nnodes", "2"]
    command += ["--master-port", port, "--node-rank"]
    both = [
        subprocess.Popen([*command, node, str(path)], stdout=subprocess.PIPE, text=True)
        for node in ("0", "1")
    ]
    outs = [one.communicate(timeout=100)[0] for one in both]
    assert [one.returncode for one in both] == [0, 0]
    assert outs[0].split("\n")[0] == "flambeau 2 3.0 [[1.5, 1.5]]" and not outs[1]
    assert "RANK" not in os.environ

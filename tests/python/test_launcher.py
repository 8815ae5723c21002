"""Functions and commands in several processes, started from Python."""

from __future__ import annotations

import os
import pickle
from typing import Any

import pytest

import flambeau
import flambeau.distributed as dist
from flambeau.distributed.elastic.multiprocessing.errors import ChildFailedError, ProcessFailure
from flambeau.distributed.launcher.api import LaunchConfig, elastic_launch, launch_agent
from flambeau.distributed.run import config_from_args, parse_args


def config(**changes: Any) -> LaunchConfig:
    given = {"min_nodes": 1, "max_nodes": 1, "nproc_per_node": 2, "max_restarts": 0}
    return LaunchConfig(**{**given, "start_method": "fork", "rdzv_backend": "c10d", **changes})


def summed(start: float) -> tuple[float, int, str]:
    dist.init_process_group("gloo")
    x = flambeau.tensor([start + dist.get_rank()])
    dist.all_reduce(x)
    dist.destroy_process_group()
    return x.item(), int(os.environ["LOCAL_RANK"]), os.environ["WORLD_SIZE"]


def broken(rank: str) -> str:
    if os.environ["RANK"] == rank:
        raise ValueError("of this rank")
    return "fine"


def second_time() -> int:
    attempt = int(os.environ["TORCHELASTIC_RESTART_COUNT"])
    if attempt == 0 and os.environ["RANK"] == "1":
        os._exit(3)
    return attempt


@pytest.mark.parametrize("method", ["spawn", "fork"])
def test_results_by_rank(method: str) -> None:
    found = elastic_launch(config(start_method=method), summed)(5.0)
    assert found == {0: (11.0, 0, "2"), 1: (11.0, 1, "2")}


def test_long_results() -> None:
    found = elastic_launch(config(), bytes)(2_000_000)
    assert [len(found[rank]) for rank in (0, 1)] == [2_000_000] * 2


def test_one_that_fails() -> None:
    with pytest.raises(ChildFailedError, match="broken: rank 1 exited with 1") as caught:
        elastic_launch(config(), broken)("1")
    rank, failure = caught.value.get_first_failure()
    assert (rank, failure.local_rank, failure.exitcode) == (1, 1, 1)
    assert "ValueError: of this rank" in str(caught.value)
    again = pickle.loads(pickle.dumps(caught.value))
    assert str(again) == str(caught.value)


def test_restarts(capfd: pytest.CaptureFixture[str]) -> None:
    assert elastic_launch(config(max_restarts=1), second_time)() == {0: 1, 1: 1}
    assert "rank 1 (attempt 0) exited with 3" in capfd.readouterr().err


def test_commands() -> None:
    assert launch_agent(config(), "true", []) == {0: None, 1: None}
    with pytest.raises(ChildFailedError, match="sh: rank [01] exited with 4"):
        launch_agent(config(), "sh", ["-c", "exit 4"])


def test_the_environment_here_is_as_before() -> None:
    before = dict(os.environ)
    elastic_launch(config(), broken)("none")
    assert dict(os.environ) == before


def test_signals_have_names() -> None:
    assert ProcessFailure(0, 1, -15).signal_name() == "SIGTERM"
    assert ProcessFailure(0, 1, 15).signal_name() == "<N/A>"


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"nproc_per_node": 0}, "nproc_per_node must be a number, at least 1, got 0"),
        ({"nproc_per_node": "2"}, "nproc_per_node must be a number"),
        ({"max_nodes": 2}, "min_nodes and max_nodes must be the same, got 1 and 2"),
        ({"max_restarts": -1}, "max_restarts must be a number, at least 0"),
        ({"start_method": "thread"}, "start_method must be one of"),
        ({"rdzv_configs": {"rank": 1}}, r"rdzv_configs\['rank'\] must be within \[0, 0\], got 1"),
    ],
)
def test_wrong_configurations(changes: dict[str, Any], words: str) -> None:
    with pytest.raises(ValueError, match=words):
        config(**changes)


def test_what_cannot_be_started() -> None:
    with pytest.raises(TypeError, match="entrypoint must be a function or the path"):
        launch_agent(config(), None, [])
    with pytest.raises(TypeError, match="config must be a LaunchConfig, got 3"):
        launch_agent(3, summed, [])  # type: ignore[arg-type]


def test_command_lines() -> None:
    given = parse_args(["--nproc_per_node=2", "--nnodes=1:1", "--standalone", "t.py", "--lr", "3"])
    assert (given.nproc_per_node, given.nnodes, given.standalone) == ("2", "1:1", True)
    assert (given.training_script, given.training_script_args) == ("t.py", ["--lr", "3"])
    found, _, arguments = config_from_args(given)
    assert (found.min_nodes, found.max_nodes, found.nproc_per_node) == (1, 1, 2)
    assert arguments[0] == "-u" and arguments[-3:] == ["t.py", "--lr", "3"]
    several = parse_args(
        ["--nnodes", "2", "--node-rank", "1", "--master-addr", "a", "--master-port", "7", "x"]
    )
    found = config_from_args(several)[0]
    assert (found.rdzv_endpoint, found.rdzv_configs) == ("a:7", {"rank": 1})
    assert (found.rdzv_backend, found.max_restarts) == ("static", 0)

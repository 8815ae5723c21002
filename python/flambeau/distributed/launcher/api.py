"""What `python -m flambeau.distributed.run` does, called from Python: of programs and functions."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from flambeau._values import brief
from flambeau.distributed.elastic.multiprocessing.errors import ChildFailedError
from flambeau.distributed.launcher.agent import Agent
from flambeau.distributed.launcher.workers import Commands, Functions, Workers

__all__ = ["LaunchConfig", "elastic_launch", "launch_agent"]

_METHODS = ("spawn", "fork", "forkserver")


@dataclass
class LaunchConfig:
    """How many processes there are, and where they meet.

    Args:
        min_nodes, max_nodes: machines, the same number: groups have one size.
        nproc_per_node: processes of each machine.
        logs_specs: accepted: processes write where this one writes.
        run_id: a name of this run; "": one that is drawn.
        role: a name of the processes.
        rdzv_endpoint: HOST:PORT of machine 0; of one machine, a port of this one.
        rdzv_backend: "static": that port is taken; another one: any free port of one machine.
        rdzv_configs: `{"rank": n}` is the number of this machine, from 0.
        rdzv_timeout, monitor_interval, log_line_prefix_template, metrics_cfg, local_addr,
            event_log_handler, numa_options, signals_to_handle: accepted.
        max_restarts: how often all begin again after a failure; of one machine.
        start_method: of functions: "spawn", "fork" or "forkserver".

    Raises:
        ValueError: if numbers do not go together.

    Example:
        >>> from flambeau.distributed.launcher.api import LaunchConfig
        >>> config = LaunchConfig(min_nodes=1, max_nodes=1, nproc_per_node=2)
        >>> config.nproc_per_node, config.max_restarts
        (2, 3)
    """

    min_nodes: int
    max_nodes: int
    nproc_per_node: int
    logs_specs: Any = None
    run_id: str = ""
    role: str = "default_role"
    rdzv_endpoint: str = ""
    rdzv_backend: str = "etcd"
    rdzv_configs: dict[str, Any] = field(default_factory=dict)
    rdzv_timeout: int = -1
    max_restarts: int = 3
    monitor_interval: float = 0.1
    start_method: str = "spawn"
    log_line_prefix_template: str | None = None
    metrics_cfg: dict[str, str] = field(default_factory=dict)
    local_addr: str | None = None
    event_log_handler: str = "null"
    numa_options: Any = None
    signals_to_handle: str = "SIGTERM,SIGINT,SIGHUP,SIGQUIT"

    def __post_init__(self) -> None:
        for name, least in (("min_nodes", 1), ("nproc_per_node", 1), ("max_restarts", 0)):
            given = getattr(self, name)
            if not isinstance(given, int) or given < least:
                raise ValueError(
                    f"LaunchConfig: {name} must be a number, at least {least}, got {brief(given)}"
                )
        if self.min_nodes != self.max_nodes:
            raise ValueError(
                f"LaunchConfig: min_nodes and max_nodes must be the same, got {self.min_nodes} and "
                f"{brief(self.max_nodes)}; the number of machines does not change while a program "
                "runs"
            )
        node = self.rdzv_configs.get("rank", 0)
        if not isinstance(node, int) or not 0 <= node < self.max_nodes:
            raise ValueError(
                f"LaunchConfig: rdzv_configs['rank'] must be within [0, {self.max_nodes - 1}], got "
                f"{brief(node)}"
            )
        if self.start_method not in _METHODS:
            raise ValueError(
                f"LaunchConfig: start_method must be one of {_METHODS}, got "
                f"{brief(self.start_method)}"
            )


def launch_agent(
    config: LaunchConfig, entrypoint: Callable[..., Any] | str | None, args: Sequence[Any]
) -> dict[int, Any]:
    """Runs a function or a command in the processes of this machine.

    Args:
        config: how many.
        entrypoint: a function, or the path of what runs.
        args: of it.

    Returns:
        For the rank of each process what the function returned; None of commands.

    Raises:
        ChildFailedError: one failed, and the others were ended.
        TypeError: `entrypoint` is neither.

    Example:
        >>> from flambeau.distributed.launcher.api import LaunchConfig, launch_agent
        >>> config = LaunchConfig(1, 1, 2, start_method="fork")
        >>> launch_agent(config, divmod, [7, 2])
        {0: (3, 1), 1: (3, 1)}
    """
    if not isinstance(config, LaunchConfig):
        raise TypeError(f"launch_agent(): config must be a LaunchConfig, got {brief(config)}")
    if isinstance(entrypoint, str):
        workers: Workers = Commands([entrypoint, *map(str, args)])
    elif callable(entrypoint):
        workers = Functions(entrypoint, args, config.start_method)
    else:
        raise TypeError(
            "launch_agent(): entrypoint must be a function or the path of a program, got "
            f"{brief(entrypoint)}"
        )
    if config.max_nodes > 1 and config.max_restarts:
        # Machines cannot agree to begin again.
        config = dataclasses.replace(config, max_restarts=0)
    agent = Agent(config, workers)
    failed = agent.run()
    called = isinstance(workers, Functions)
    if failed is not None:
        if isinstance(workers, Functions):
            failed.message = workers.errors.get(failed.local_rank, failed.message)
        name = entrypoint if isinstance(entrypoint, str) else entrypoint.__qualname__
        raise ChildFailedError(name, {agent.rank(failed.local_rank): failed})
    results = workers.results if isinstance(workers, Functions) else {}
    ranks = range(config.nproc_per_node)
    return {agent.rank(i): results[i] if called else None for i in ranks}


class elastic_launch:
    """Calls a function, or runs a command, in several processes: `elastic_launch(config, f)(x)`.

    Args:
        config: how many processes.
        entrypoint: a function or a path; None fails when it is called.

    Returns:
        As of `launch_agent`.

    Example:
        >>> from flambeau.distributed.launcher.api import LaunchConfig, elastic_launch
        >>> elastic_launch(LaunchConfig(1, 1, 2, start_method="fork"), pow)(2, 5)
        {0: 32, 1: 32}
    """

    def __init__(self, config: LaunchConfig, entrypoint: Callable[..., Any] | str | None) -> None:
        self._config = config
        self._entrypoint = entrypoint

    def __call__(self, *args: Any) -> dict[int, Any]:
        return launch_agent(self._config, self._entrypoint, list(args))

"""What runs the processes of this machine: their environment, failures, restarts."""

from __future__ import annotations

import os
import sys
import time
import uuid
from typing import TYPE_CHECKING

from flambeau.distributed.elastic.multiprocessing.errors import ProcessFailure
from flambeau.distributed.launcher.workers import Workers
from flambeau.distributed.tcp_store import TCPStore

if TYPE_CHECKING:
    from flambeau.distributed.launcher.api import LaunchConfig


class Agent:
    """The processes of this machine.

    Args:
        config: how many there are, and where all machines meet.
        workers: starts them.
    """

    def __init__(self, config: LaunchConfig, workers: Workers) -> None:
        self._config, self._workers = config, workers
        self._node = int(config.rdzv_configs.get("rank", 0))
        self._machines = config.max_nodes
        self._store: TCPStore | None = None
        self._host, _, port = config.rdzv_endpoint.partition(":")
        self._port = int(port or 29500)
        if self._machines == 1:
            # Kept here, over all attempts: no port is looked for that somebody else may take.
            self._host = "127.0.0.1"
            free = config.rdzv_backend != "static"
            self._store = TCPStore(self._host, 0 if free else self._port, is_master=True)
            self._port = self._store.port
        self._run_id = config.run_id or uuid.uuid4().hex[:8]

    def rank(self, local_rank: int) -> int:
        """The rank among the processes of all machines."""
        return self._node * self._config.nproc_per_node + local_rank

    def _environment(self, local_rank: int, attempt: int) -> dict[str, str]:
        local, rank = self._config.nproc_per_node, self.rank(local_rank)
        size = local * self._machines
        values = {
            "LOCAL_RANK": local_rank,
            "RANK": rank,
            "ROLE_RANK": rank,
            "GROUP_RANK": self._node,
            "LOCAL_WORLD_SIZE": local,
            "WORLD_SIZE": size,
            "ROLE_WORLD_SIZE": size,
            "GROUP_WORLD_SIZE": self._machines,
            "ROLE_NAME": self._config.role,
            "MASTER_ADDR": self._host,
            "MASTER_PORT": self._port,
            "TORCHELASTIC_RESTART_COUNT": attempt,
            "TORCHELASTIC_MAX_RESTARTS": self._config.max_restarts,
            "TORCHELASTIC_RUN_ID": self._run_id,
            "TORCHELASTIC_USE_AGENT_STORE": self._store is not None,
        }
        environment = {**os.environ, **{name: str(value) for name, value in values.items()}}
        if local > 1:
            # Processes that each use all cores are in each other's way.
            environment.setdefault("OMP_NUM_THREADS", "1")
        return environment

    def run(self) -> ProcessFailure | None:
        """Runs the processes until all have ended, or one has failed too often, which is returned;
        None: none has.
        """
        failed = None
        for attempt in range(self._config.max_restarts + 1):
            failed = self._attempt(attempt)
            if failed is None:
                return None
            left = self._config.max_restarts - attempt
            print(
                f"flambeau.distributed.run: rank {self.rank(failed.local_rank)} (attempt "
                f"{attempt}) {failed.how()}; the others were ended"
                f"{f', restarts left: {left}' if left else ''}",
                file=sys.stderr,
                flush=True,
            )
        return failed

    def _attempt(self, attempt: int) -> ProcessFailure | None:
        """The first process that fails; None: none does."""
        try:
            for local_rank in range(self._config.nproc_per_node):
                self._workers.start(self._environment(local_rank, attempt))
            for local_rank, status in self._workers.ended():
                if status:
                    pid = self._workers.pid(local_rank)
                    return ProcessFailure(local_rank, pid, status, timestamp=int(time.time()))
            return None
        finally:
            self._workers.end()

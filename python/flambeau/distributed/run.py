"""Starts a program in several processes, which find each other by their environment.

    python -m flambeau.distributed.run --nproc-per-node 4 train.py --epochs 3
    python -m flambeau.distributed.run --nnodes 2 --node-rank 0 --nproc-per-node 4 \\
        --master-addr 10.0.0.1 --master-port 29500 train.py      # and on the other, --node-rank 1

Every process has RANK, WORLD_SIZE, LOCAL_RANK, MASTER_ADDR, MASTER_PORT and more in its
environment, and `init_process_group()` needs nothing else. When one fails the others are ended, and
the command ends with its status; with --max-restarts all begin again.
"""

from __future__ import annotations

import argparse
import os
import signal
import sys
from collections.abc import Sequence
from types import FrameType

from flambeau.distributed.launcher.agent import Agent
from flambeau.distributed.launcher.api import LaunchConfig
from flambeau.distributed.launcher.workers import Commands

__all__ = ["config_from_args", "get_args_parser", "main", "parse_args", "run"]


def get_args_parser() -> argparse.ArgumentParser:
    """What reads the command line.

    Example:
        >>> from flambeau.distributed.run import get_args_parser
        >>> get_args_parser().parse_args(["train.py"]).max_restarts
        0
    """
    parser = argparse.ArgumentParser(
        prog="python -m flambeau.distributed.run",
        description="Start a program in several processes that train together.",
    )

    def add(name: str, kind: type, default: object, text: str) -> None:
        other = "--" + name[2:].replace("-", "_")
        names = [name] if other == name else [name, other]
        parser.add_argument(*names, type=kind, default=default, help=text)

    add("--nproc-per-node", str, "1", "processes of this machine; cpu, auto: one for each core")
    add("--nnodes", str, "1", "machines")
    add("--node-rank", int, 0, "the number of this machine, from 0")
    add("--master-addr", str, "127.0.0.1", "the address of machine 0")
    add("--master-port", int, 29500, "a free port there; one machine: 0 takes any")
    add("--rdzv-backend", str, "static", "static, or c10d, which needs --rdzv-endpoint")
    add("--rdzv-endpoint", str, "", "HOST:PORT of machine 0, in place of --master-addr and -port")
    add("--rdzv-id", str, "", "a name of this run")
    add("--max-restarts", int, 0, "how often all begin again after a failure; of one machine")
    add("--monitor-interval", float, 0.1, "of no meaning: the end of a process is seen at once")
    parser.add_argument("--standalone", action="store_true", help="one machine, any free port")
    parser.add_argument("-m", "--module", action="store_true", help="the program is a module")
    parser.add_argument(
        "--no-python", "--no_python", action="store_true", help="the program is no Python program"
    )
    parser.add_argument("training_script", help="a path; with -m a module")
    parser.add_argument("training_script_args", nargs=argparse.REMAINDER, help="of the program")
    return parser


def parse_args(args: Sequence[str] | None) -> argparse.Namespace:
    """What a command line says.

    Args:
        args: None: those of this process.

    Example:
        >>> from flambeau.distributed.run import parse_args
        >>> given = parse_args(["--nproc-per-node=2", "train.py", "--lr", "3"])
        >>> given.training_script, given.training_script_args
        ('train.py', ['--lr', '3'])
    """
    return get_args_parser().parse_args(args)


def _count(text: str) -> int:
    """The number of processes that --nproc-per-node says."""
    if text in ("cpu", "auto"):
        return len(os.sched_getaffinity(0))
    if text.isdigit() and int(text) > 0:
        return int(text)
    raise SystemExit(
        f"--nproc-per-node must be a positive number, cpu or auto, got {text!r}; processes "
        "exchange tensors of the cpu"
    )


def _command(given: argparse.Namespace) -> tuple[str, list[str]]:
    arguments = [given.training_script, *given.training_script_args]
    if given.no_python:
        return arguments[0], arguments[1:]
    options = ["-u"]
    if "torch" in sys.modules:
        # This was started by run_as_torch: so are they.
        options += ["-m", "flambeau.run_as_torch"]
    return sys.executable, [*options, *(["-m"] if given.module else []), *arguments]


def config_from_args(args: argparse.Namespace) -> tuple[LaunchConfig, str, list[str]]:
    """What a command line says, as `launcher.api` takes it.

    Args:
        args: of `parse_args`.

    Returns:
        How many processes there are and where they meet, what runs, its arguments.

    Raises:
        SystemExit: if it says what cannot be, with the option's name.

    Example:
        >>> from flambeau.distributed.run import config_from_args, parse_args
        >>> given = parse_args(["--nproc-per-node", "2", "--no-python", "sleep", "1"])
        >>> config, command, arguments = config_from_args(given)
        >>> config.nproc_per_node, command, arguments
        (2, 'sleep', ['1'])
    """
    local = _count(args.nproc_per_node)
    machines = args.nnodes.split(":")
    if len(set(machines)) != 1 or not machines[0].isdigit() or int(machines[0]) < 1:
        raise SystemExit(
            f"--nnodes must be a positive number, got {args.nnodes!r}; the number of machines "
            "does not change while a program runs"
        )
    count = int(machines[0])
    if not 0 <= args.node_rank < count:
        raise SystemExit(f"--node-rank must be within [0, {count - 1}], got {args.node_rank}")
    if count > 1 and args.max_restarts:
        raise SystemExit("--max-restarts must be 0 for several machines, which cannot agree")
    if args.max_restarts < 0:
        raise SystemExit(f"--max-restarts must not be negative, got {args.max_restarts}")
    endpoint = args.rdzv_endpoint or args.master_addr
    config = LaunchConfig(
        min_nodes=count,
        max_nodes=count,
        nproc_per_node=local,
        run_id=args.rdzv_id,
        role="default",
        rdzv_endpoint=endpoint if ":" in endpoint else f"{endpoint}:{args.master_port}",
        rdzv_backend="c10d" if args.standalone else args.rdzv_backend,
        rdzv_configs={"rank": args.node_rank},
        max_restarts=args.max_restarts,
        monitor_interval=args.monitor_interval,
    )
    return config, *_command(args)


def run(args: argparse.Namespace) -> None:
    """Runs what a command line says.

    Args:
        args: of `parse_args`.

    Raises:
        SystemExit: with the status of a process that failed.

    Example:
        >>> from flambeau.distributed.run import parse_args, run
        >>> run(parse_args(["--standalone", "--no-python", "true"]))
    """
    config, command, arguments = config_from_args(args)
    failed = Agent(config, Commands([command, *arguments])).run()
    if failed is not None:
        sys.exit(failed.exitcode if failed.exitcode > 0 else 128 - failed.exitcode)


def _interrupted(number: int, frame: FrameType | None) -> None:
    raise SystemExit(128 + number)


def main(arguments: Sequence[str] | None = None) -> None:
    """The command `python -m flambeau.distributed.run`.

    Args:
        arguments: None: those of this process.

    Raises:
        SystemExit: with 0, or the status of the process that failed.

    Example:
        >>> import subprocess, sys
        >>> command = [sys.executable, "-m", "flambeau.distributed.run", "--standalone"]
        >>> command += ["--nproc-per-node=2", "--no-python", "sh", "-c", "exit $RANK"]
        >>> done = subprocess.run(command, capture_output=True, text=True)
        >>> done.returncode, done.stderr
        (1, 'flambeau.distributed.run: rank 1 (attempt 0) exited with 1; the others were ended\\n')
    """
    given = parse_args(arguments)
    signal.signal(signal.SIGTERM, _interrupted)
    run(given)
    sys.exit(0)


if __name__ == "__main__":
    main()

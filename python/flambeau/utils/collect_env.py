"""What a report of a mistake should say of the machine: `python -m flambeau.utils.collect_env`."""

from __future__ import annotations

import importlib.metadata
import platform
import sys
from typing import NamedTuple

import flambeau

__all__ = ["SystemEnv", "get_env_info", "get_pretty_env_info", "main"]


class SystemEnv(NamedTuple):
    """Facts of this machine and process.

    Args:
        flambeau_version, python_version, python_platform: of the program.
        cpu: the processor's name.
        instruction_set: that loops use.
        threads: that kernels run on.
        cuda_devices: their names.
        packages: NumPy and SciPy with their versions.

    Example:
        >>> flambeau.utils.collect_env.get_env_info().flambeau_version == flambeau.__version__
        True
    """

    flambeau_version: str
    python_version: str
    python_platform: str
    cpu: str
    instruction_set: str
    threads: int
    cuda_devices: list[str]
    packages: list[str]


def get_env_info() -> SystemEnv:
    """The facts, asked for now.

    Example:
        >>> flambeau.utils.collect_env.get_env_info().flambeau_version == flambeau.__version__
        True
    """
    devices = range(flambeau.cuda.device_count())
    return SystemEnv(
        flambeau_version=str(flambeau.__version__),
        python_version=sys.version.replace("\n", " "),
        python_platform=platform.platform(),
        cpu=_processor(),
        instruction_set=flambeau.cpu.get_capability(),
        threads=flambeau.get_num_threads(),
        cuda_devices=[flambeau.cuda.get_device_name(i) for i in devices],
        packages=[f"{name}=={_installed(name)}" for name in ("numpy", "scipy")],
    )


def _processor() -> str:
    try:
        with open("/proc/cpuinfo", encoding="utf-8") as file:
            lines = [line for line in file if line.startswith("model name")]
    except OSError:
        lines = []
    return lines[0].partition(":")[2].strip() if lines else platform.machine()


def _installed(package: str) -> str:
    try:
        return importlib.metadata.version(package)
    except importlib.metadata.PackageNotFoundError:
        return "not installed"


def get_pretty_env_info() -> str:
    """The facts, a line each.

    Example:
        >>> flambeau.__version__ in flambeau.utils.collect_env.get_pretty_env_info()
        True
    """
    return "\n".join(f"{name}: {value}" for name, value in get_env_info()._asdict().items())


def main() -> None:
    """Prints them.

    Example:
        >>> flambeau.utils.collect_env.main()
        flambeau...: ...
    """
    print(get_pretty_env_info())


if __name__ == "__main__":
    main()

"""Backends: what the library was built with, and those that other packages bring."""

from __future__ import annotations

from importlib.metadata import entry_points

import flambeau
from flambeau import _C

GROUP = "flambeau.backends"  # of entry points


def load(name: str) -> None:
    """Makes the devices of a backend known that an installed package brings.

    The package names the module to import as an entry point of the group "flambeau.backends":

        [project.entry-points."flambeau.backends"]
        opencl = "flambeau_opencl"

    Args:
        name: of the backend, as devices are named. One that is known already is left alone.

    Raises:
        RuntimeError: if no installed package brings it.
    """
    try:
        flambeau.device(name)
    except RuntimeError as unknown:
        found = entry_points(group=GROUP, name=name)
        if not found:
            installed = sorted({point.name for point in entry_points(group=GROUP)})
            others = f"; installed are {', '.join(installed)}" if installed else ""
            raise RuntimeError(
                f"no installed package brings a backend '{name}'{others}"
            ) from unknown
        next(iter(found)).load()


def kernels(device: str | flambeau.device) -> dict[str, str]:
    """How each kernel table serves a device.

    Args:
        device: one of the backend's devices, as "opencl".

    Returns:
        Names of kernels, in order, each with "own" (the backend registered it), "composed" (made of
        other operators, copies and views), "host" (the CPU's, on copies in the host's memory) or
        "missing" (a call raises NotImplementedError).
    """
    return dict(_C._kernel_origins(device))


class cpu:
    """The CPU backend."""

    @staticmethod
    def get_cpu_capability() -> str:
        """The instruction set that loops use: "baseline", "avx2" or "avx512"."""
        return str(_C._cpu_capability())

"""Backends: what the library was built with, and those that other packages bring.

The submodules answer for libraries that PyTorch may be built with: `is_available()` says whether
Flambeau calls them. Switches among them can be set and read, and change nothing.
"""

from __future__ import annotations

from importlib.metadata import entry_points

import flambeau
from flambeau import _C, _lazy

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


__getattr__, __dir__ = _lazy.submodules(
    globals(),
    (
        "cpu",
        "cuda",
        "cudnn",
        "mha",
        "mkl",
        "mkldnn",
        "mps",
        "nnpack",
        "openmp",
        "opt_einsum",
        "quantized",
        "xnnpack",
    ),
)

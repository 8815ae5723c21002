"""What carries messages between processes: names, and which of them there are."""

from __future__ import annotations

import os
import sys
from typing import Any, ClassVar

import flambeau
from flambeau._values import brief

_ABSENT = {
    "nccl": "NCCL carries tensors of CUDA devices only, and Flambeau is built without it",
    "xccl": "XCCL carries tensors of XPU devices, which Flambeau has no kernels for",
    "ucc": "Flambeau is built without UCC",
    "mpi": "Flambeau is built without MPI",
}
_WHY_UNKNOWN = "expected 'gloo', or 'cpu:gloo' with others for other devices"


class Backend(str):
    """The name of what carries messages, in lower case.

    Args:
        name: "gloo" is what there is: TCP, of the CPU's tensors. Other names can be named.

    Raises:
        ValueError: for no str.

    Example:
        >>> flambeau.distributed.Backend("GLOO")
        'gloo'
    """

    UNDEFINED = "undefined"
    GLOO = "gloo"
    NCCL = "nccl"
    UCC = "ucc"
    MPI = "mpi"
    XCCL = "xccl"
    backend_list: ClassVar[list[str]] = ["undefined", "gloo", "nccl", "xccl", "ucc", "mpi"]
    default_device_backend_map: ClassVar[dict[str, str]] = {"cpu": "gloo"}
    backend_capability: ClassVar[dict[str, list[str]]] = {"gloo": ["cpu"]}

    __slots__ = ()

    def __new__(cls, name: str) -> Backend:
        if not isinstance(name, str):
            raise ValueError(f"Backend: name must be a str, got {type(name).__name__}")
        return super().__new__(cls, name.lower())

    @classmethod
    def register_backend(cls, name: str, func: Any, *args: Any, **kwargs: Any) -> None:
        """NotImplementedError: messages go over TCP, and nothing else can carry them."""
        raise NotImplementedError(
            f"Backend.register_backend({name!r}): messages between processes go over TCP; other "
            "carriers cannot be registered"
        )


class BackendConfig:
    """Which backend carries the tensors of which device.

    Args:
        backend: a name, or "device:name" of several devices with commas between.

    Raises:
        RuntimeError: the CPU's tensors would go by what there is not.
        ValueError: there is no such name.

    Example:
        >>> flambeau.distributed.BackendConfig("cpu:gloo,cuda:nccl")
        cpu:gloo,cuda:nccl
        >>> flambeau.distributed.BackendConfig("mpi")
        Traceback (most recent call last):
            ...
        RuntimeError: init_process_group: backend 'mpi' is not available: ...; use 'gloo'
    """

    def __init__(self, backend: str) -> None:
        text = "gloo" if backend in ("", Backend.UNDEFINED) else str(backend).lower()
        if ":" in text:
            pairs = [part.strip().partition(":") for part in text.split(",")]
            self.device_backend_map = {device: Backend(name) for device, _, name in pairs}
        else:
            self.device_backend_map = {"cpu": Backend(text)}
        carrier = self.device_backend_map.get("cpu")
        if carrier in _ABSENT:
            raise RuntimeError(
                f"init_process_group: backend {str(carrier)!r} is not available: "
                f"{_ABSENT[str(carrier)]}; use 'gloo'"
            )
        if carrier != Backend.GLOO:
            raise ValueError(
                f"init_process_group: unknown backend {brief(backend)}: {_WHY_UNKNOWN}"
            )

    def get_device_backend_map(self) -> dict[str, Backend]:
        """Backends by kinds of devices."""
        return self.device_backend_map

    def __repr__(self) -> str:
        return ",".join(f"{device}:{name}" for device, name in self.device_backend_map.items())


def is_available() -> bool:
    """Whether processes can train together: True on Linux.

    Example:
        >>> flambeau.distributed.is_available()
        True
    """
    return sys.platform == "linux"


def is_backend_available(backend: str) -> bool:
    """Whether a backend can be used: "gloo".

    Example:
        >>> [flambeau.distributed.is_backend_available(name) for name in ("gloo", "nccl")]
        [True, False]
    """
    return backend.lower() == Backend.GLOO


def is_gloo_available() -> bool:
    """True: the name stands for TCP between processes, for tensors of the CPU.

    Example:
        >>> flambeau.distributed.is_gloo_available()
        True
    """
    return True


def is_mpi_available() -> bool:
    """False: built without MPI.

    Example:
        >>> flambeau.distributed.is_mpi_available()
        False
    """
    return False


def is_nccl_available() -> bool:
    """False: built without NCCL.

    Example:
        >>> flambeau.distributed.is_nccl_available()
        False
    """
    return False


def is_ucc_available() -> bool:
    """False: built without UCC.

    Example:
        >>> flambeau.distributed.is_ucc_available()
        False
    """
    return False


def is_xccl_available() -> bool:
    """False: there are no XPU kernels.

    Example:
        >>> flambeau.distributed.is_xccl_available()
        False
    """
    return False


def is_torchelastic_launched() -> bool:
    """Whether `flambeau.distributed.run` started this process.

    Example:
        >>> flambeau.distributed.is_torchelastic_launched()  # in a process that nothing started so
        False
    """
    return "TORCHELASTIC_RUN_ID" in os.environ


def get_default_backend_for_device(device: str | flambeau.device) -> str:
    """The backend that carries a device's tensors.

    Raises:
        ValueError: there is none.

    Example:
        >>> flambeau.distributed.get_default_backend_for_device("cpu")
        'gloo'
    """
    kind = flambeau.device(device).type
    if kind != "cpu":
        raise ValueError(
            f"get_default_backend_for_device: no backend carries tensors of {kind}; there is "
            "'gloo' for the cpu"
        )
    return Backend.GLOO

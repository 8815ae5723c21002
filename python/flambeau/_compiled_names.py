"""Names of PyTorch's compiled module that other people's libraries use.

Importing this module attaches them to ours.
"""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

from flambeau import _C
from flambeau.autograd.grad_mode import no_grad


def _log_api_usage_once(event: str) -> None:
    """Nothing: Flambeau records no usage."""


def _get_tracing_state() -> None:
    """None: programs are not traced."""


def _assert_async(input: Any, assert_msg: str = "expected one value that is not zero") -> None:
    """RuntimeError if a tensor of one element is zero."""
    if not bool(input):
        raise RuntimeError(f"_assert_async(): {assert_msg}")


def _are_functorch_transforms_active() -> bool:
    """Whether this thread is in a transform of `func`."""
    from flambeau.func import _batched, levels  # late: most programs use none

    return _batched.runs() or levels.runs()


def _parse_to(*args: Any, **kwargs: Any) -> tuple[Any, Any, bool, Any]:
    """The device, the dtype, whether not to wait, and the memory format that `Module.to` is asked
    for; None of what it is not.
    """
    from flambeau.nn.module_conversion import target

    device, dtype, memory_format = target(args, kwargs)
    found = None if device is None else _C.device(device)
    return found, dtype, bool(kwargs.get("non_blocking", False)), memory_format


class PyTorchFileReader:
    """The name alone, for annotations: `flambeau.load` reads files, in part with `mmap=True`."""

    def __init__(self, *args: Any) -> None:
        raise NotImplementedError(f"PyTorchFileReader: {type(self).__doc__}")


vars(_C).update(
    _nn=SimpleNamespace(_parse_to=_parse_to),
    _TensorMeta=type(_C.Tensor),
    _AutoDispatchBelowAutograd=no_grad,
)
for _function in (
    _log_api_usage_once,
    _get_tracing_state,
    _are_functorch_transforms_active,
    PyTorchFileReader,
):
    setattr(_C, _function.__name__, _function)

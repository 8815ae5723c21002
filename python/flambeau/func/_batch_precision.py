"""Autocast of operators that a batch computes by formulas, which see the operators inside alone."""

from __future__ import annotations

import functools
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Any

import flambeau
from flambeau import _C, Tensor
from flambeau._torch_function import DisableTorchFunction
from flambeau.func._batching_table import Overload

Given = dict[str, Any]
Precision = tuple[tuple[str, Any], ...]


@contextmanager
def in_dtype_of_policy(overload: Overload, given: Given) -> Iterator[Given]:
    """The arguments in the dtype that the entry's `autocast` names, which is off meanwhile: as in
    the native code (native/operators/autocast.h).
    """
    device = _device(given) if "autocast" in overload.entry else None
    policy = overload.entry["autocast"][device != "cpu"] if device else "none"
    if device is None or policy == "none":
        yield given
        return
    target = _target(policy, device, given)
    switch([device], False)
    try:
        yield {name: _converted(value, device, target) for name, value in given.items()}
    finally:
        switch([device], True)


def switch(devices: Iterable[str], on: bool) -> None:
    """Turns autocast on or off, which is no call of the program's that modes would see."""
    with DisableTorchFunction():
        for device in devices:
            _C.set_autocast_enabled(device, on)


def precision_of(devices: Iterable[str]) -> Precision:
    """The dtypes of autocast on devices of these kinds, where it is on."""
    on = sorted(device for device in devices if _C._is_autocast_enabled(device))
    return tuple((device, _C.get_autocast_dtype(device)) for device in on)


def precision_for(given: Given) -> Precision:
    """The same of the devices where arguments are."""
    return precision_of({str(t.device.type) for t in _tensors(list(given.values()))})


@contextmanager
def for_shells(precision: Precision) -> Iterator[None]:
    """What has no elements is computed with as tensors of a device are."""
    for _, dtype in precision:
        _C.set_autocast_dtype("meta", dtype)
    switch(["meta"], bool(precision))
    try:
        yield
    finally:
        switch(["meta"], False)


def _tensors(value: Any) -> Iterator[Tensor]:
    if isinstance(value, Tensor):
        yield value
    elif isinstance(value, tuple | list):
        for item in value:
            yield from _tensors(item)


def _device(given: Given) -> str | None:
    """The kind of device of the first tensor on one whose autocast is on."""
    kinds = (str(tensor.device.type) for tensor in _tensors(list(given.values())))
    return next((kind for kind in kinds if _C._is_autocast_enabled(kind)), None)


def _is_eligible(tensor: Tensor, device: str) -> bool:
    is_narrow = tensor.dtype.is_floating_point and tensor.dtype is not flambeau.float64
    return is_narrow and tensor.device.type == device


def _target(policy: str, device: str, given: Given) -> Any:
    if policy == "lower":
        return _C.get_autocast_dtype(device)
    if policy == "float32":
        return flambeau.float32
    dtypes = [t.dtype for t in _tensors(list(given.values())) if _is_eligible(t, device)]
    return functools.reduce(flambeau.promote_types, dtypes) if dtypes else flambeau.float32


def _converted(value: Any, device: str, target: Any) -> Any:
    if isinstance(value, Tensor):
        return _C._internal.to_dtype(value, target) if _is_eligible(value, device) else value
    if isinstance(value, tuple | list):
        return [_converted(item, device, target) for item in value]
    return value

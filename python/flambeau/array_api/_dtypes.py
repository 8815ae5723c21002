"""Dtypes: conversion, limits, kinds, promotion."""

from __future__ import annotations

import functools
from typing import Any

import flambeau
from flambeau import Tensor
from flambeau._values import brief
from flambeau.array_api._adapted import is_number

_UNSIGNED = (flambeau.uint8, flambeau.uint16, flambeau.uint32, flambeau.uint64)


def astype(x: Tensor, dtype: flambeau.dtype, /, *, copy: bool = True, device: Any = None) -> Tensor:
    """The array in another dtype; `copy=False`: itself where nothing changes."""
    return x.to(dtype=dtype, device=device or x.device, copy=copy)


def isdtype(dtype: flambeau.dtype, kind: Any) -> bool:
    """Whether a dtype is of a kind: a dtype, a name of kinds, or a tuple of these.

    Raises:
        ValueError: there is no kind of that name.
        TypeError: the kind is something else.
    """
    if isinstance(kind, tuple):
        return any(isdtype(dtype, each) for each in kind)
    if isinstance(kind, flambeau.dtype):
        return dtype == kind
    if not isinstance(kind, str):
        raise TypeError(
            f"isdtype(): argument 'kind' must be str, dtype or tuple, not {brief(kind)}"
        )
    is_integer = not (dtype.is_floating_point or dtype.is_complex or dtype == flambeau.bool)
    kinds = {
        "bool": dtype == flambeau.bool,
        "signed integer": is_integer and dtype not in _UNSIGNED,
        "unsigned integer": dtype in _UNSIGNED,
        "integral": is_integer,
        "real floating": dtype.is_floating_point,
        "complex floating": dtype.is_complex,
        "numeric": dtype != flambeau.bool,
    }
    if kind not in kinds:
        raise ValueError(
            f"isdtype(): argument 'kind' is {brief(kind)}, expected one of {list(kinds)}"
        )
    return kinds[kind]


def can_cast(from_: Tensor | flambeau.dtype, to: flambeau.dtype, /) -> bool:
    """Whether promotion leads from a dtype, or that of an array, to another."""
    source = _dtype_of(from_)
    try:
        return flambeau.promote_types(source, to) == to
    except RuntimeError:  # the two have no common dtype
        return False


def finfo(type: Tensor | flambeau.dtype, /) -> flambeau.finfo:
    """The limits of a floating-point dtype, or of that of an array; `dtype` is no name, but one."""
    limits = flambeau.finfo(_dtype_of(type))
    vars(limits)["dtype"] = getattr(flambeau, limits.dtype)
    return limits


def iinfo(type: Tensor | flambeau.dtype, /) -> flambeau.iinfo:
    """The limits of an integer dtype, or of that of an array; `dtype` is no name, but one."""
    limits = flambeau.iinfo(_dtype_of(type))
    vars(limits)["dtype"] = getattr(flambeau, limits.dtype)
    return limits


def result_type(*arrays_and_dtypes: Any) -> flambeau.dtype:
    """The dtype of arithmetic on arrays, dtypes and numbers; ranks do not count.

    Raises:
        ValueError: there is neither an array nor a dtype.
    """
    numbers = [value for value in arrays_and_dtypes if is_number(value)]
    dtypes = [_dtype_of(value) for value in arrays_and_dtypes if not is_number(value)]
    if not dtypes:
        raise ValueError("result_type(): expected at least one array or dtype")
    common = functools.reduce(flambeau.promote_types, dtypes)
    for number in numbers:
        common = flambeau.result_type(flambeau.empty(1, dtype=common, device="meta"), number)
    return common


def _dtype_of(value: Tensor | flambeau.dtype) -> flambeau.dtype:
    return value.dtype if isinstance(value, Tensor) else value

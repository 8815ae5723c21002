"""Checks of derivatives that need nothing but the function itself.

A function maps tensors to tensors. Its numeric derivative along a random direction u is J u;
reverse mode gives J^T v for a random v. Both are right if <v, J u> = <J^T v, u>, and forward mode
is if it gives J u.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from operator_calls import to_array

import flambeau
from flambeau import Tensor
from flambeau.autograd import forward_ad, grad
from flambeau.codegen.check.differences import central_difference

Function = Callable[[Sequence[Tensor]], Sequence[Tensor]]
TOLERANCE = 2e-6


@dataclass(frozen=True, slots=True)
class Numeric:
    """J u for one input, all outputs in one flat array of real numbers."""

    value: Any
    error: Any
    trusted: Any


def flat(tensors: Sequence[Any]) -> Any:
    """All elements as real numbers."""
    parts = [np.asarray(t).ravel() for t in tensors]
    parts = [p.view(np.float64) if p.dtype.kind == "c" else p.astype(np.float64) for p in parts]
    return np.concatenate(parts) if parts else np.zeros(0)


def directions(random: np.random.Generator, arrays: Sequence[Any]) -> list[Any]:
    """A random array like each."""
    return [_like(random, array) for array in arrays]


def _like(random: np.random.Generator, array: Any) -> Any:
    drawn = random.standard_normal(array.shape)
    if array.dtype.kind == "c":
        drawn = drawn + 1j * random.standard_normal(array.shape)
    return np.asarray(drawn)


def is_differentiable(tensor: Tensor) -> bool:
    """Whether gradients can flow through it."""
    return tensor.dtype.is_floating_point or tensor.dtype.is_complex


def numeric(function: Function, inputs: Sequence[Any], index: int, direction: Any) -> Numeric:
    """Differences of the function along a direction of one input."""

    def moved(t: float) -> Any:
        arrays = list(inputs)
        arrays[index] = arrays[index] + t * direction
        found = function([flambeau.from_numpy(np.array(a)) for a in arrays])
        return flat([to_array(o) for o in found if is_differentiable(o)])

    found = central_difference(moved)
    return Numeric(found.value, found.error, found.trusted)


def check_reverse(function: Function, inputs: Sequence[Any], seed: int) -> str | None:
    """What is wrong with the gradients; None where they agree with differences."""
    random = np.random.default_rng(seed)
    along = directions(random, inputs)
    columns = [numeric(function, inputs, i, along[i]) for i in range(len(inputs))]
    leaves = [flambeau.from_numpy(np.array(a)).requires_grad_() for a in inputs]
    found = [o for o in function(leaves) if is_differentiable(o)]
    cotangents = directions(random, [to_array(o) for o in found])
    weights = flat(cotangents)
    for column in columns:
        weights = np.where(column.trusted, weights, 0.0)
    gradients = reverse(found, leaves, unflat(weights, cotangents))
    for index, (column, gradient) in enumerate(zip(columns, gradients, strict=True)):
        wanted = float(np.sum(weights * np.where(column.trusted, column.value, 0.0)))
        got = float(np.sum(flat([gradient]) * flat([along[index]])))
        error = float(np.sum(np.abs(weights) * np.where(column.trusted, column.error, 0.0)))
        size = float(np.linalg.norm(weights) * np.linalg.norm(np.nan_to_num(column.value)))
        if not abs(got - wanted) <= TOLERANCE * (1 + size) + 10 * error:
            return f"gradient of input {index}: {got:.9g}, differences give {wanted:.9g}"
    return None


def unflat(numbers: Any, like: Sequence[Any]) -> list[Any]:
    """flat() undone."""
    parts, start = [], 0
    for array in like:
        count = array.size * (2 if array.dtype.kind == "c" else 1)
        part = numbers[start : start + count]
        start += count
        if array.dtype.kind == "c":
            part = np.ascontiguousarray(part).view(np.complex128)
        parts.append(part.reshape(array.shape))
    return parts


def reverse(found: Sequence[Tensor], leaves: Sequence[Tensor], cotangents: Sequence[Any]) -> Any:
    """J^T v as arrays; zero where nothing is recorded."""
    pairs = [
        (o, flambeau.from_numpy(np.array(v)).to(o.dtype))
        for o, v in zip(found, cotangents, strict=True)
        if o.requires_grad
    ]
    if not pairs:
        return [np.zeros(leaf.shape, to_array(leaf).dtype) for leaf in leaves]
    gradients = grad([o for o, _ in pairs], list(leaves), [v for _, v in pairs], allow_unused=True)
    return [
        np.zeros(leaf.shape, to_array(leaf).dtype) if g is None else to_array(g)
        for g, leaf in zip(gradients, leaves, strict=True)
    ]


def check_forward(function: Function, inputs: Sequence[Any], seed: int) -> str | None:
    """What is wrong with the tangents; None where they agree with differences."""
    random = np.random.default_rng(seed)
    along = directions(random, inputs)
    columns = [numeric(function, inputs, i, along[i]) for i in range(len(inputs))]
    with forward_ad.dual_level():
        duals = [
            forward_ad.make_dual(flambeau.from_numpy(np.array(a)), flambeau.from_numpy(np.array(u)))
            for a, u in zip(inputs, along, strict=True)
        ]
        found = [o for o in function(duals) if is_differentiable(o)]
        tangents = [forward_ad.unpack_dual(o).tangent for o in found]
    got = flat(
        [
            np.zeros(o.shape)
            if t is None
            else to_array(t)
            if not o.dtype.is_complex
            else to_array(t).astype(np.complex128)
            for o, t in zip(found, tangents, strict=True)
        ]
        if not any(o.dtype.is_complex and t is None for o, t in zip(found, tangents, strict=True))
        else [np.zeros(o.shape, to_array(o).dtype) for o in found]
    )
    wanted = np.sum([c.value for c in columns], axis=0)
    error = np.sum([c.error for c in columns], axis=0)
    trusted = np.all([c.trusted for c in columns], axis=0)
    if got.size == 0:
        return None
    allowed = TOLERANCE * (1 + np.abs(wanted)) + 10 * error
    wrong = ~(np.abs(got - wanted) <= allowed) & trusted
    if not wrong.any():
        return None
    where = int(np.argmax(wrong))
    missing = " (no tangent)" if all(t is None for t in tangents) else ""
    return f"tangent {where}: {got[where]:.9g}{missing}, differences give {wanted[where]:.9g}"


def gradient_function(function: Function, count: int) -> Function:
    """(inputs, cotangents) -> gradients, recorded: the function whose derivative is the second."""

    def second(arguments: Sequence[Tensor]) -> Sequence[Tensor]:
        records = any(a.requires_grad for a in arguments)
        leaves = [a if a.requires_grad else a.requires_grad_() for a in arguments[:count]]
        found = [o for o in function(leaves) if is_differentiable(o)]
        pairs = [(o, v) for o, v in zip(found, arguments[count:], strict=True) if o.requires_grad]
        if not pairs:  # constant
            return [flambeau.zeros_like(leaf) for leaf in leaves]
        gradients = grad(
            [o for o, _ in pairs],
            leaves,
            [v for _, v in pairs],
            create_graph=records,
            allow_unused=True,
        )
        return [
            flambeau.zeros_like(leaf) if g is None else g
            for g, leaf in zip(gradients, leaves, strict=True)
        ]

    return second

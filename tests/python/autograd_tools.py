"""What the tests of autograd share."""

from __future__ import annotations

import flambeau

f64 = flambeau.float64


def leaf(values, dtype=f64):
    return flambeau.tensor(values, dtype=dtype, requires_grad=True)


def close(tensor, expected, tolerance=1e-9):
    values, wanted = flat(tensor.tolist()), flat(expected)
    assert len(values) == len(wanted)
    assert all(abs(a - b) <= tolerance for a, b in zip(values, wanted, strict=True)), values


def flat(value):
    return [x for item in value for x in flat(item)] if isinstance(value, list) else [value]

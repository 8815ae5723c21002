"""Tensor.random_ without an interval: integers that the dtype holds."""

from __future__ import annotations

import pytest

import flambeau

DIGITS = {"float16": 11, "bfloat16": 8, "float32": 24, "float64": 53}
BITS = {"bool": 1, "uint8": 8, "int8": 7, "int16": 15, "int32": 31, "int64": 63}


@pytest.mark.parametrize(("name", "bits"), [*DIGITS.items(), *BITS.items()])
def test_random_integers_of_all_sizes(name: str, bits: int) -> None:
    generator = flambeau.Generator().manual_seed(0)
    x = flambeau.zeros(4000, dtype=getattr(flambeau, name)).random_(generator=generator)
    values = x.double()
    assert (values >= 0).all() and values.max().item() <= 2.0**bits
    assert (values == values.floor()).all()
    # Half of them lie in the upper half.
    middle = 0.5 if bits == 1 else 2.0 ** (bits - 1)
    assert abs((values >= middle).double().mean().item() - 0.5) < 0.05
    again = flambeau.zeros(4000, dtype=x.dtype).random_(generator=generator.manual_seed(0))
    assert flambeau.equal(x, again)

"""Pointwise loops: sizes, layouts, numbers, several outputs, random numbers, far offsets."""

from __future__ import annotations

import numpy as np
import pytest

import flambeau


def pair(*shape: int, seed: int = 0) -> tuple[flambeau.Tensor, flambeau.Tensor]:
    """The same numbers on the CPU and on the device."""
    numbers = np.random.default_rng(seed).uniform(0.5, 2, shape).astype(np.float32)
    x = flambeau.from_numpy(numbers)
    return x, x.to("cuda")


def close(found: flambeau.Tensor, wanted: flambeau.Tensor, rtol: float = 2e-6) -> None:
    assert found.dtype == wanted.dtype
    np.testing.assert_allclose(
        found.cpu().to(flambeau.float64).numpy(), wanted.to(flambeau.float64).numpy(), rtol=rtol
    )


@pytest.mark.parametrize("count", [0, 1, 2, 3, 4, 5, 255, 256, 1023, 1025, 123_457, 3_000_001])
def test_sizes(count: int) -> None:
    (x, x_), (y, y_) = pair(count), pair(count, seed=1)
    close(x_ + y_, x + y)
    close(x_ * 3 + 1, x * 3 + 1)
    close(
        x_.to(flambeau.float16) * y_.to(flambeau.float16),
        x.to(flambeau.float16) * y.to(flambeau.float16),
    )


@pytest.mark.parametrize("left", [(64, 1, 33), (1, 40, 33), (64, 40, 1), (33,), ()])
@pytest.mark.parametrize("right", [(64, 40, 33), (40, 1), (1, 1, 1)])
def test_broadcasting(left: tuple[int, ...], right: tuple[int, ...]) -> None:
    (x, x_), (y, y_) = pair(*left), pair(*right, seed=1)
    close(x_ - y_, x - y)
    close(x_.expand(64, 40, 33) / y_, x.expand(64, 40, 33) / y)


def test_transposed_operands_keep_their_layout() -> None:
    (x, x_), (y, y_) = pair(300, 200), pair(200, 300, seed=1)
    result = x_.t() + x_.t()
    assert result.stride() == x_.t().stride()
    close(x_.t() + y_, x.t() + y)
    close(y_ + x_.t(), y + x.t())


def test_numbers_and_cpu_scalars() -> None:
    x, x_ = pair(1001)
    close(2 / x_, 2 / x)
    close(x_ + flambeau.tensor(1.5), x + 1.5)
    close(x_ + flambeau.tensor(1.5, dtype=flambeau.float64), x + 1.5)
    assert (x_.to(flambeau.int32) + 1).dtype == flambeau.int32
    with pytest.raises(RuntimeError, match="one device"):
        x_ + x


def test_in_place_and_out() -> None:
    x, x_ = pair(70_001)
    x_.add_(1).mul_(x_)
    close(x_, (x + 1) * (x + 1))
    out = flambeau.empty(0, device="cuda")
    flambeau.exp(x_, out=out)
    close(out, flambeau.exp((x + 1) * (x + 1)), rtol=2e-5)
    x_[1:].add_(x_[:-1])  # overlapping: read before it is written
    wanted = (x + 1) * (x + 1)
    wanted[1:].add_(wanted[:-1].clone())
    close(x_, wanted)


def test_not_finite() -> None:
    values = [np.nan, np.inf, -np.inf, 0.0, -0.0, 1.0]
    x = flambeau.tensor(values, dtype=flambeau.float64)
    for function in (flambeau.exp, flambeau.sqrt, flambeau.log, flambeau.sign, flambeau.isnan):
        found, wanted = function(x.to("cuda")).cpu().numpy(), function(x).numpy()
        np.testing.assert_allclose(found, wanted, rtol=1e-15)
        numbers = ~np.isnan(wanted)  # a NaN's sign says nothing
        np.testing.assert_array_equal(np.signbit(found[numbers]), np.signbit(wanted[numbers]))
    for function in (flambeau.maximum, flambeau.minimum, flambeau.fmax, flambeau.fmin):
        left, right = x.reshape(-1, 1), x.reshape(1, -1)
        found = function(left.to("cuda"), right.to("cuda")).cpu().numpy()
        np.testing.assert_array_equal(found, function(left, right).numpy())


@pytest.mark.parametrize("name", ["float32", "float64", "float16"])
@pytest.mark.parametrize("shape", [(1,), (7,), (1024,), (100_001,), (37, 41)])
def test_random_numbers_are_those_of_the_cpu(name: str, shape: tuple[int, ...]) -> None:
    dtype = getattr(flambeau, name)
    tolerance = {"float32": 2e-6, "float64": 1e-13, "float16": 2e-3}[name]
    for draw in (flambeau.rand, flambeau.randn):
        flambeau.manual_seed(11)
        wanted = [draw(*shape, dtype=dtype).to(flambeau.float64).numpy() for _ in range(2)]
        flambeau.manual_seed(11)
        found = [
            draw(*shape, dtype=dtype, device="cuda").cpu().to(flambeau.float64).numpy()
            for _ in range(2)
        ]
        for one, other in zip(found, wanted, strict=True):
            np.testing.assert_allclose(one, other, rtol=tolerance, atol=tolerance)


def test_more_elements_than_31_bits_hold() -> None:
    free, _ = flambeau.cuda.mem_get_info()
    count = 2**31 + 5
    if free < 3 * count:
        pytest.skip("needs 7 GB of device memory")
    x = flambeau.zeros(count, dtype=flambeau.int8, device="cuda")
    x[-3:] = 5
    x += 1
    assert int(x[-1]) == 6
    assert int(x[0]) == 1
    assert int(x[-4]) == 1
    assert int(x.sum()) == count + 15


def test_far_strides() -> None:
    free, _ = flambeau.cuda.mem_get_info()
    if free < 7 << 30:
        pytest.skip("needs 7 GB of device memory")
    x = flambeau.zeros(3, 1 << 29, device="cuda")
    x[:, 17] = flambeau.arange(3, dtype=flambeau.float32)
    found = (x[:, 17] * 2).cpu()
    np.testing.assert_array_equal(found.numpy(), [0, 2, 4])
    column = x.t()[:1000]
    assert float((column + 1).sum()) == 3000 + 3

"""uint16, uint32, uint64: kept, moved, converted, compared, computed with, but not promoted."""

from __future__ import annotations

import copy
from typing import Any

import numpy as np
import pytest

import flambeau
from flambeau.codegen.read.loader import library_declarations

LIMITED = [d for d in library_declarations().dtypes if d.category == "limited"]
NAMES = [d.name for d in LIMITED]
OTHERS = [d.name for d in library_declarations().dtypes if d.category != "limited" and d.numpy]


def dtype(name: str) -> Any:
    return getattr(flambeau, name)


def values(name: str) -> Any:
    """The ends of the range, and what lies above the half."""
    top = np.iinfo(name).max
    return np.array([[0, 1, 2], [top // 2, top // 2 + 1, top]], dtype=name)


@pytest.mark.parametrize("name", NAMES)
class TestLimited:
    def test_arrays(self, name: str) -> None:
        """NumPy's arrays and DLPack's capsules share memory, with all values."""
        array = values(name)
        tensor = flambeau.from_numpy(array)
        assert tensor.dtype is dtype(name)
        assert tensor.numpy().dtype == np.dtype(name)
        np.testing.assert_array_equal(tensor.numpy(), array)
        np.testing.assert_array_equal(np.asarray(tensor), array)
        np.testing.assert_array_equal(np.from_dlpack(tensor), array)
        assert flambeau.from_dlpack(array).dtype is tensor.dtype
        read = flambeau.frombuffer(bytearray(array.tobytes()), dtype=dtype(name))
        np.testing.assert_array_equal(read.numpy(), array.reshape(-1))

    def test_numbers(self, name: str) -> None:
        array = values(name)
        tensor = flambeau.tensor(array.tolist(), dtype=dtype(name))
        assert tensor.tolist() == array.tolist()
        assert [t.item() for t in tensor.reshape(-1)] == array.reshape(-1).tolist()
        top = int(np.iinfo(name).max)
        assert int(tensor[1, 2]) == top and bool(tensor[1, 2]) and float(tensor[0, 1]) == 1.0
        with pytest.raises((RuntimeError, OverflowError), match="fit"):
            flambeau.tensor([top + 1], dtype=dtype(name))
        assert str(top) in str(tensor) and f"dtype=flambeau.{name}" in repr(tensor)
        assert copy.deepcopy(tensor).tolist() == array.tolist()

    @pytest.mark.parametrize("other", OTHERS)
    def test_conversions(self, name: str, other: str) -> None:
        array = values(name)
        with np.errstate(all="ignore"):
            expected = array.astype(other)
            small = np.array([0, 1, 5, 100]).astype(other)
        np.testing.assert_array_equal(flambeau.from_numpy(array).to(dtype(other)).numpy(), expected)
        back = flambeau.from_numpy(small).to(dtype(name))
        np.testing.assert_array_equal(back.numpy(), small.real.astype(name))

    def test_what_is_below_zero_wraps(self, name: str) -> None:
        top = int(np.iinfo(name).max)
        for source in (flambeau.tensor([-1]), flambeau.tensor([-1.0]), flambeau.tensor([-1.5])):
            assert source.to(dtype(name)).tolist() == [top]

    def test_made_and_moved(self, name: str) -> None:
        kind = dtype(name)
        assert flambeau.zeros(2, dtype=kind).tolist() == [0, 0]
        assert flambeau.ones(2, dtype=kind).tolist() == [1, 1]
        assert flambeau.full((2,), 7, dtype=kind).tolist() == [7, 7]
        array = values(name)
        x = flambeau.from_numpy(array.copy())
        assert flambeau.full_like(x, 3).dtype is kind
        np.testing.assert_array_equal(x.T.contiguous().numpy(), array.T)
        np.testing.assert_array_equal(x[:, ::2].clone().numpy(), array[:, ::2])
        np.testing.assert_array_equal(x[[1, 0]].numpy(), array[[1, 0]])
        np.testing.assert_array_equal(x[x != 1].numpy(), array[array != 1])
        np.testing.assert_array_equal(flambeau.cat([x, x]).numpy(), np.concatenate([array] * 2))
        np.testing.assert_array_equal(flambeau.stack([x, x]).numpy(), np.stack([array] * 2))
        np.testing.assert_array_equal(x.roll(1, 1).numpy(), np.roll(array, 1, 1))
        np.testing.assert_array_equal(x.repeat(2, 1).numpy(), np.tile(array, (2, 1)))
        padded = flambeau.nn.functional.pad(x, (1, 1))
        np.testing.assert_array_equal(padded.numpy(), np.pad(array, ((0, 0), (1, 1))))
        x[0] = 5
        x[1, 2] = 6
        assert x[0].tolist() == [5, 5, 5] and x[1, 2].item() == 6

    def test_computed_with(self, name: str) -> None:
        array = values(name)
        x = flambeau.from_numpy(array)
        np.testing.assert_array_equal((x == x).numpy(), array == array)
        np.testing.assert_array_equal((x != 1).numpy(), array != 1)
        np.testing.assert_array_equal((x & 3).numpy(), array & array.dtype.type(3))
        np.testing.assert_array_equal((x | x).numpy(), array)
        np.testing.assert_array_equal((x ^ x).numpy(), array ^ array)
        np.testing.assert_array_equal((x[:1] * 2).numpy(), array[:1] * 2)
        np.testing.assert_array_equal(flambeau.where(x == 1, x, x).numpy(), array)
        small = x[0]
        assert small.sum().item() == 3 and small.sum().dtype is flambeau.int64
        assert small.cumsum(0).tolist() == [0, 1, 3]
        assert small.cumsum(0, dtype=dtype(name)).tolist() == [0, 1, 3]
        assert small.cumprod(0, dtype=dtype(name)).tolist() == [0, 0, 0]
        assert x.any().item() and not x.all().item()
        np.testing.assert_allclose(small.sqrt().numpy(), np.sqrt(array[0].astype("f4")))
        np.testing.assert_allclose((small / 2).numpy(), array[0] / 2)
        assert flambeau.equal(x, x) and not x.isnan().any()

    def test_arithmetic(self, name: str) -> None:
        """As NumPy's, which wraps around; the halves above the signed ones' ends count."""
        left, right = values(name), np.array([[3, 1, 5], [2, 7, 1]], name)
        x, y = flambeau.from_numpy(left), flambeau.from_numpy(right)
        pairs: dict[str, Any] = {
            "add": np.add,
            "sub": np.subtract,
            "rsub": lambda a, b: np.subtract(b, a),
            "mul": np.multiply,
            "floor_divide": np.floor_divide,
            "remainder": np.remainder,
            "pow": np.power,
            "maximum": np.maximum,
            "minimum": np.minimum,
            "lt": np.less,
            "le": np.less_equal,
            "gt": np.greater,
            "ge": np.greater_equal,
            "bitwise_left_shift": np.left_shift,
            "bitwise_right_shift": np.right_shift,
            "logical_and": np.logical_and,
            "logical_or": np.logical_or,
            "logical_xor": np.logical_xor,
        }
        for op, expected in pairs.items():
            found, wanted = getattr(flambeau, op)(x, y).numpy(), expected(left, right)
            assert found.dtype == wanted.dtype, op
            np.testing.assert_array_equal(found, wanted, err_msg=op)
        singles: dict[str, Any] = {
            "neg": lambda a: np.subtract(np.array(0, name), a),
            "abs": np.abs,
            "square": np.square,
            "sign": np.sign,
            "bitwise_not": np.invert,
            "logical_not": np.logical_not,
            "signbit": lambda a: np.zeros_like(a, bool),
            "positive": np.positive,
            "nan_to_num": np.positive,
        }
        for op, one in singles.items():
            found, wanted = getattr(flambeau, op)(x).numpy(), one(left)
            assert found.dtype == wanted.dtype, op
            np.testing.assert_array_equal(found, wanted, err_msg=op)
        np.testing.assert_array_equal((x + 1).numpy(), left + np.array(1, name))
        np.testing.assert_allclose((x + 1.5).numpy(), left.astype("f4") + np.float32(1.5))
        np.testing.assert_array_equal(x.clamp(1, 3).numpy(), np.clip(left, 1, 3))

    def test_extremes_and_places(self, name: str) -> None:
        array = values(name)
        x = flambeau.from_numpy(array)
        top = int(array.max())
        assert (x.max().item(), x.min().item()) == (top, 0)
        assert (x.argmax().item(), x.argmin().item()) == (5, 0)
        for dim in (0, 1):
            found = x.max(dim), x.min(dim)
            np.testing.assert_array_equal(found[0].values.numpy(), array.max(dim))
            np.testing.assert_array_equal(found[0].indices.numpy(), array.argmax(dim))
            np.testing.assert_array_equal(found[1].values.numpy(), array.min(dim))
            np.testing.assert_array_equal(found[1].indices.numpy(), array.argmin(dim))
            np.testing.assert_array_equal(x.amax(dim).numpy(), array.max(dim))
            np.testing.assert_array_equal(x.flip(dim).numpy(), np.flip(array, dim))
        assert x.nansum(dtype=x.dtype).item() == int(array.sum(dtype=name))
        np.testing.assert_array_equal(x.diagonal().diag().numpy(), np.diag(array.diagonal()))
        np.testing.assert_array_equal(x.tril().numpy(), np.tril(array))
        np.testing.assert_array_equal(x.triu().numpy(), np.triu(array))
        np.testing.assert_array_equal(x.nonzero().numpy(), np.argwhere(array))
        assert x.count_nonzero().item() == 5
        places = flambeau.tensor([[2, 0, 1]])
        np.testing.assert_array_equal(x.gather(1, places).numpy(), array[:1, [2, 0, 1]])
        scattered = flambeau.zeros(1, 3, dtype=x.dtype).scatter(1, places, x[1:])
        np.testing.assert_array_equal(scattered[0, [2, 0, 1]].numpy(), array[1])
        mask = x > 1
        np.testing.assert_array_equal(x.masked_select(mask).numpy(), array[array > 1])
        np.testing.assert_array_equal(x.masked_fill(mask, 4).numpy(), np.where(array > 1, 4, array))
        y = x.clone()
        y[mask] = 9
        y.index_put_((flambeau.tensor([0, 0]), flambeau.tensor([1, 1])), x[1, 1:], accumulate=True)
        expected = np.where(array > 1, np.array(9, name), array)
        np.add.at(expected, ([0, 0], [1, 1]), array[1, 1:])
        np.testing.assert_array_equal(y.numpy(), expected)
        assert flambeau.arange(2, 9, 3, dtype=x.dtype).tolist() == [2, 5, 8]

    def test_sorted_and_drawn(self, name: str) -> None:
        top = int(np.iinfo(name).max)
        array = np.array([top, 0, 7, top - 1, 7], name)
        x = flambeau.from_numpy(array)
        np.testing.assert_array_equal(x.sort()[0].numpy(), np.sort(array))
        np.testing.assert_array_equal(flambeau.msort(x).numpy(), np.sort(array))
        assert x.argsort(descending=True, stable=True).tolist() == [0, 3, 2, 4, 1]
        np.testing.assert_array_equal(x.unique().numpy(), np.unique(array))
        np.testing.assert_array_equal(x.unique(dim=0).numpy(), np.unique(array))
        assert flambeau.unique_consecutive(x).tolist() == array.tolist()
        for rounded in (x.floor(), x.ceil(), x.round(), x.trunc()):
            assert rounded.dtype is x.dtype and rounded.tolist() == array.tolist()
        drawn = flambeau.randint(3, 9, (1000,), dtype=x.dtype)
        assert drawn.dtype is x.dtype and set(drawn.tolist()) == set(range(3, 9))

    def test_refused(self, name: str) -> None:
        """As in PyTorch: no common dtype with other integers, bools and complex numbers."""
        kind, x = dtype(name), flambeau.ones(2, dtype=dtype(name))
        for floating in ("float16", "bfloat16", "float32", "float64"):
            assert flambeau.promote_types(kind, dtype(floating)) is dtype(floating)
        assert flambeau.promote_types(kind, kind) is kind
        others = [n for n in OTHERS if not n.startswith("float")] + [n for n in NAMES if n != name]
        for other in others:
            with pytest.raises(RuntimeError, match=rf"{name}.*common dtype|{other}.*common dtype"):
                flambeau.promote_types(kind, dtype(other))
            with pytest.raises(RuntimeError, match="common dtype"):
                x == flambeau.ones(2, dtype=dtype(other))  # noqa: B015
        assert flambeau.result_type(x, 1) is kind
        assert flambeau.result_type(x, 1.5) is flambeau.float32
        for refused in (lambda: x @ x, lambda: x.median(), lambda: flambeau.gcd(x, x)):
            with pytest.raises(RuntimeError, match=name):
                refused()
        with pytest.raises(RuntimeError, match="floating"):
            flambeau.ones(2, dtype=kind, requires_grad=True)
        assert not kind.is_signed and not x.is_signed() and not kind.is_floating_point
        assert flambeau.iinfo(kind).max == np.iinfo(name).max
        assert flambeau.can_cast(kind, flambeau.int32)
        assert not flambeau.can_cast(flambeau.float32, kind)


def test_an_int_beyond_uint64_is_refused() -> None:
    for wrong in (2**64, -(2**63) - 1):
        with pytest.raises(OverflowError, match="64 bits"):
            flambeau.tensor([wrong], dtype=flambeau.uint64)
    with pytest.raises(OverflowError, match="64 bits"):
        flambeau.ones(2, dtype=flambeau.int64) + 2**63


@pytest.mark.parametrize("name", ["uint16", "uint32", "uint64"])
@pytest.mark.parametrize("exponent", ["uint16", "uint32", "int32"])
def test_powers_of_two_are_floating(name: str, exponent: str) -> None:
    numbers = flambeau.tensor([1, 3, 5], dtype=getattr(flambeau, name))
    found = flambeau.ldexp(numbers, flambeau.tensor([2, 1, 0], dtype=getattr(flambeau, exponent)))
    assert found.dtype is flambeau.float32
    assert found.tolist() == [4, 6, 5]

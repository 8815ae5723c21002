"""Sizes, counts and positions at the ends of 64 bits, dims that a tensor does not have, lists of
another length: an error that names the operator, never foreign memory, a hang or a wrong number.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import flambeau
from flambeau import Tensor, nn
from flambeau.nn import functional as F

LAST = 2**63 - 1
FIRST = -(2**63)

OVERFLOWS: list[tuple[str, Callable[[], Any]]] = [
    ("repeat_interleave", lambda: ones(2).repeat_interleave(integers(2**62, 2**62), dim=0)),
    ("repeat", lambda: ones(3).repeat(LAST)),
    ("bincount", lambda: flambeau.bincount(integers(LAST))),
    ("one_hot", lambda: F.one_hot(integers(LAST))),
    ("split_with_sizes", lambda: ones(3).split([LAST, LAST])),
    ("cat", lambda: flambeau.cat([ones(1).expand(2**62)] * 2)),
    ("arange", lambda: flambeau.arange(FIRST, LAST)),
]
TOO_MANY: list[tuple[str, Callable[[], Any]]] = [
    ("tensor_split", lambda: ones(3).tensor_split(LAST)),
    ("chunk", lambda: ones(0).chunk(LAST)),
    ("combinations", lambda: flambeau.combinations(ones(30), 15)),
    ("combinations", lambda: flambeau.combinations(ones(3), LAST, with_replacement=True)),
]
MISFITS: list[tuple[str, type[Exception], Callable[[], Any]]] = [
    ("repeat_interleave", RuntimeError, lambda: ones(3).repeat_interleave(integers(1, 2), dim=0)),
    ("unique", IndexError, lambda: flambeau.unique(ones(2, 3), dim=7)),
    ("unique", IndexError, lambda: flambeau.unique(ones(), dim=0)),
    ("unique", RuntimeError, lambda: flambeau.unique(ones(2, 0), dim=0)),
    ("unique_consecutive", IndexError, lambda: flambeau.unique_consecutive(ones(2, 3), dim=-3)),
    ("tensordot", IndexError, lambda: flambeau.tensordot(ones(2, 3), ones(3, 2), ([7], [0]))),
    ("pad", RuntimeError, lambda: F.pad(ones(1, 3), (-2, -2), mode="replicate")),
    ("channel_shuffle", RuntimeError, lambda: F.channel_shuffle(ones(4), 2)),
    ("rms_norm", RuntimeError, lambda: F.rms_norm(ones(2, 3), [3], ones(1))),
    ("arange", RuntimeError, lambda: flambeau.arange(5, 0)),
    ("arange", ValueError, lambda: flambeau.arange(0, 5, 0.5, dtype=flambeau.int64)),
    ("arange", ValueError, lambda: flambeau.arange(0, 5, 0.5, dtype=flambeau.int8)),
    ("full", RuntimeError, lambda: flambeau.full((2,), 300, dtype=flambeau.int8)),
    ("fill_", RuntimeError, lambda: small(2).fill_(float("nan"))),
    ("index_fill", RuntimeError, lambda: small(2).index_fill(0, integers(0), 300)),
    ("scatter", RuntimeError, lambda: small(2).scatter(0, integers(0), 300)),
    ("randperm", RuntimeError, lambda: flambeau.randperm(300, dtype=flambeau.uint8)),
    ("randperm", RuntimeError, lambda: flambeau.randperm(3000, dtype=flambeau.float16)),
]


def ones(*shape: int) -> Tensor:
    return flambeau.ones(shape)


def small(*shape: int) -> Tensor:
    return flambeau.zeros(shape, dtype=flambeau.int8)


def integers(*values: int) -> Tensor:
    return flambeau.tensor(values, dtype=flambeau.int64)


@pytest.mark.parametrize(("name", "call"), OVERFLOWS, ids=[n for n, _ in OVERFLOWS])
def test_sums_and_products_of_sizes(name: str, call: Callable[[], Any]) -> None:
    with pytest.raises(RuntimeError, match=rf"{name}\(\): .*64 bits"):
        call()


@pytest.mark.parametrize(("name", "call"), TOO_MANY, ids=[n for n, _ in TOO_MANY])
def test_more_parts_than_any_list_holds(name: str, call: Callable[[], Any]) -> None:
    with pytest.raises(RuntimeError, match=name):
        call()


@pytest.mark.parametrize(("name", "error", "call"), MISFITS, ids=[n for n, _, _ in MISFITS])
def test_what_does_not_fit(name: str, error: type[Exception], call: Callable[[], Any]) -> None:
    with pytest.raises(error, match=rf"{name}(\(\))?: "):
        call()


@pytest.mark.parametrize("far", [LAST, FIRST])
def test_diagonals_far_outside(far: int) -> None:
    x = flambeau.arange(6).reshape(2, 3)
    upper, lower = (x, 0 * x) if far < 0 else (0 * x, x)
    assert flambeau.triu(x, far).tolist() == upper.tolist()
    assert flambeau.tril(x, far).tolist() == lower.tolist()
    assert flambeau.diagonal(x, far).tolist() == []


@pytest.mark.parametrize("shift", [LAST, FIRST, -7, 8])
def test_shifts_of_any_length(shift: int) -> None:
    x = flambeau.arange(6).reshape(2, 3)
    assert x.roll(shift, 1).tolist() == np.roll(x.numpy(), shift % 3, 1).tolist()
    assert flambeau.roll(x, shift).tolist() == np.roll(x.numpy(), shift % 6).tolist()


def test_ranges_between_the_ends_of_64_bits() -> None:
    assert flambeau.arange(FIRST, LAST, 2**62).tolist() == [FIRST, -(2**62), 0, 2**62]
    assert flambeau.arange(0, 10, LAST).tolist() == [0]
    assert flambeau.arange(10, 0, FIRST).tolist() == [10]


def test_fractions_of_a_range_of_integers_are_dropped_first() -> None:
    assert flambeau.arange(0.5, 5.5, 1.5, dtype=flambeau.int64).tolist() == [0, 1, 2, 3, 4]
    # Of smaller integers they count for the length.
    assert flambeau.arange(0.5, 5.5, 1.5, dtype=flambeau.int32).tolist() == [0, 1, 2, 3]
    assert flambeau.arange(5, -5, -2.7, dtype=flambeau.int64).tolist() == [5, 3, 1, -1, -3]


def test_numbers_that_cannot_be_negated() -> None:
    with pytest.raises(RuntimeError, match=r"diag\(\): .*64 bits"):
        flambeau.ones(0).diag(-(2**63))


def test_buffers_of_empty_tensors_of_large_sizes() -> None:
    view = memoryview(flambeau.zeros(0, 2**62))
    assert view.shape == (0, 2**62) and view.nbytes == 0


def test_more_bytes_than_a_buffer_has() -> None:
    repeated = flambeau.ones(1).as_strided((2,) * 62, (0,) * 62)
    with pytest.raises(BufferError, match="64 bits"):
        memoryview(repeated)


def test_gradient_of_copies_to_no_index() -> None:
    x = flambeau.ones(4, 5, requires_grad=True)
    none = flambeau.zeros(0, dtype=flambeau.int64)
    x.index_copy(0, none, flambeau.zeros(0, 5)).sum().backward()
    assert x.grad.tolist() == [[1.0] * 5] * 4


def test_indices_on_another_device() -> None:
    elsewhere = flambeau.zeros(1, dtype=flambeau.int64).to("meta")
    with pytest.raises(RuntimeError, match="take.*on meta but the others are on cpu"):
        flambeau.ones(3).take(elsewhere)


@pytest.mark.parametrize("mode", ["reflect", "replicate", "circular"])
def test_padding_by_index(mode: str) -> None:
    x = flambeau.arange(4.0).reshape(1, 4)
    modes = {"reflect": "reflect", "replicate": "edge", "circular": "wrap"}
    for pads in ((2, 3), (3, 0), (0, 1)):
        wanted = np.pad(x.numpy(), ((0, 0), pads), mode=modes[mode])  # type: ignore[call-overload]
        assert F.pad(x, pads, mode=mode).tolist() == wanted.tolist()
    assert F.pad(x, (-1, 1), mode=mode).shape == (1, 4)


def test_padding_by_more_than_there_is_memory_for() -> None:
    with pytest.raises((RuntimeError, OverflowError), match=r"allocate|64 bits"):
        F.pad(ones(1, 3), (2**50, 0), mode="replicate")


def test_unique_slices_with_nan() -> None:
    rows = flambeau.tensor([[float("nan")], [1.0], [2.0], [1.0], [float("nan")]])
    found, counts = flambeau.unique(rows, dim=0, return_counts=True)
    assert found[:2].tolist() == [[1], [2]]
    assert np.isnan(found[2:].numpy()).all()
    assert counts.tolist() == [2, 1, 1, 1]
    assert flambeau.unique(ones(0, 2), dim=0).shape == (0, 2)


@pytest.mark.parametrize("dtype", [flambeau.float16, flambeau.bfloat16, flambeau.float32])
def test_uniform_numbers_are_below_the_upper_end(dtype: Any) -> None:
    flambeau.manual_seed(0)
    assert flambeau.rand(200_000, dtype=dtype).max().item() < 1
    for low, high in ((1, 2), (-3, -2), (64, 65)):
        drawn = flambeau.empty(200_000, dtype=dtype).uniform_(low, high)
        assert low <= drawn.min().item()
        assert drawn.max().item() < high


def test_random_integers_of_few_digits_are_below_the_upper_end() -> None:
    for dtype, high in ((flambeau.bfloat16, 512), (flambeau.float16, 4096)):
        drawn = flambeau.randint(0, high, (100_000,), dtype=dtype)
        assert 0 <= drawn.min().item() <= drawn.max().item() < high


@pytest.mark.parametrize("cell", [nn.RNNCell, nn.GRUCell, nn.LSTMCell])
def test_cells_refuse_states_of_another_size(cell: Any) -> None:
    layer = cell(3, 4)
    parts = 2 if cell is nn.LSTMCell else 1
    for shape in ((1, 4), (2, 1), (4,)):
        state = tuple(flambeau.zeros(shape) for _ in range(parts))
        with pytest.raises(RuntimeError, match=cell.__name__):
            layer(ones(2, 3), state if parts == 2 else state[0])


def test_indices_of_maxima_may_have_been_overwritten() -> None:
    """They are results that a caller can write to: backward checks them all the same."""
    x = flambeau.rand(1, 1, 4, 4).requires_grad_()
    pooled, indices = F.max_pool2d(x, 2, return_indices=True)
    indices.numpy()[:] = 10**9
    with pytest.raises(IndexError, match="max_pool2d"):
        pooled.sum().backward()


def test_an_infinite_pixel_of_a_large_convolution() -> None:
    """Transforms of windows take differences; the result is that of sums all the same."""
    x = flambeau.zeros(1, 32, 12, 12)
    x[0, 3, 5, 5] = float("inf")
    weight = flambeau.ones(32, 32, 3, 3)
    result = F.conv2d(x, weight, padding=1)
    inside = np.zeros((12, 12), bool)
    inside[4:7, 4:7] = True
    assert (np.isposinf(result.numpy()[0]) == inside).all()
    assert (result.numpy()[0][:, ~inside] == 0).all()


def test_tensors_without_dims_have_no_sizes() -> None:
    x = flambeau.tensor(1.0)
    for dim in (0, -1):
        for ask in (x.size, x.stride):
            with pytest.raises(IndexError, match=rf"{ask.__name__}\(\): a 0-d tensor has no dim"):
                ask(dim)
            with pytest.raises(IndexError, match="a 0-d tensor has no dim"):
                ask(dim=dim)


def test_an_index_of_other_dims_than_what_it_reads() -> None:
    grad = flambeau._C._internal.scatter_source_grad
    for source, index in (((1, 0), ()), ((3, 2), (2,)), ((3,), (2, 2))):
        with pytest.raises(RuntimeError, match="has not as many dims as shape"):
            grad(flambeau.randn(source), 0, flambeau.zeros(index, dtype=flambeau.int64), index)


def _laid_out(rows: int, columns: int, layout: str, dtype: Any) -> flambeau.Tensor:
    """A matrix of small integers, dense, transposed or with gaps."""
    steps = {"dense": 1, "stepped": 2, "transposed": 1}
    shape = (columns, rows) if layout == "transposed" else (rows, columns * steps[layout])
    count = shape[0] * shape[1]
    whole = (flambeau.arange(count) % 3).reshape(shape).to(dtype)
    return whole.mT if layout == "transposed" else whole[:, :: steps[layout]]


@pytest.mark.parametrize("layout", ["dense", "transposed", "stepped"])
@pytest.mark.parametrize(
    "name", ["uint8", "int32", "int64", "float16", "bfloat16", "float32", "float64", "complex64"]
)
def test_products_of_any_size(name: str, layout: str) -> None:
    """Products without rows, terms or columns, and of one or many, in every layout."""
    dtype = getattr(flambeau, name)
    sizes = (0, 1, 5, 40)
    for m, k, n in itertools.product(sizes, repeat=3):
        a, b = _laid_out(m, k, layout, dtype), _laid_out(k, n, layout, dtype)
        added = flambeau.ones(n, dtype=dtype)
        expected = np.array(a.to(flambeau.complex128)) @ np.array(b.to(flambeau.complex128))
        found = {
            "mm": a.mm(b),
            "addmm": flambeau.addmm(added, a, b) - 1,
            "bmm": flambeau.bmm(a[None], b[None])[0],
            "linear": F.linear(a, b.mT),
            "mv": flambeau.stack([a.mv(column) for column in b.unbind(1)], 1) if n else expected,
        }
        for operator, result in found.items():
            values = np.array(flambeau.as_tensor(result).to(flambeau.complex128))
            assert np.array_equal(values, expected), (operator, m, k, n)

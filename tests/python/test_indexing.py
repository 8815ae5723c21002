"""x[...] and x[...] = v against NumPy; where PyTorch's rule differs, it is written out."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

import flambeau
from flambeau import Tensor

ARRAY = np.arange(2 * 3 * 4 * 5).reshape(2, 3, 4, 5).astype(np.float32)
MASK = np.random.default_rng(0).random((2, 3)) > 0.4
ROWS = np.array([[0, 1], [1, -1]])

# Basic keys: views.
VIEWS = [
    0,
    -1,
    np.int64(1),
    (1, 2),
    (0, -1, 2, 3),
    slice(None),
    slice(1, None),
    slice(None, None, 2),
    slice(-2, None),
    slice(5, 1),
    slice(-100, 100),
    (slice(None), 1),
    (Ellipsis, 1),
    (1, Ellipsis, 1),
    (Ellipsis,),
    Ellipsis,
    (),
    None,
    (None, 1, None),
    (Ellipsis, None),
    (slice(0, 2), slice(1, 3), slice(None, None, 3)),
    (slice(None), None, slice(1, 2)),
]

# Keys with arrays: copies. NumPy gets them as they are, Flambeau as lists, arrays and tensors.
ADVANCED = [
    (np.array([0, 1]),),
    (ROWS,),
    (np.array([], np.int64),),
    (np.array([0, 1]), np.array([2, 0])),
    (np.array([0, 1]), slice(None), np.array([2, 0])),
    (slice(None), np.array([0, 2]), np.array([1, 3])),
    (slice(None), np.array([0, 2]), slice(None), np.array([1, 3])),
    (slice(None), slice(1, 3), ROWS),
    (Ellipsis, np.array([4, 0, 0])),
    (None, np.array([0]), Ellipsis),
    (slice(None), None, np.array([0, 1])),
    (np.array([[0], [1]]), np.array([0, 2])),
    (MASK,),
    (MASK, slice(1, None)),
    (slice(None), np.ones((3, 4), bool)),
    (MASK, np.arange(int(MASK.sum())) % 4),
    (np.array([True, False]),),
    (np.zeros((2, 3, 4, 5), bool),),
    (ARRAY > 60,),
]


def as_tensors(key):
    return tuple(flambeau.tensor(k) if isinstance(k, np.ndarray) else k for k in key)


def as_lists(key):
    return tuple(k.tolist() if isinstance(k, np.ndarray) and k.size else k for k in key)


@pytest.fixture
def x():
    return flambeau.tensor(ARRAY)


@pytest.mark.parametrize("key", VIEWS, ids=str)
def test_views(x, key):
    result = x[key]
    expected = ARRAY[key]
    assert tuple(result.shape) == expected.shape
    np.testing.assert_array_equal(result.numpy(), expected)
    assert result is not x
    if result.numel():
        assert result.untyped_storage() is x.untyped_storage()


@pytest.mark.parametrize(
    "convert", [as_tensors, as_lists, lambda key: key], ids=["tensor", "list", "array"]
)
@pytest.mark.parametrize("key", ADVANCED, ids=range(len(ADVANCED)))
def test_advanced(x, key, convert):
    result = x[convert(key)]
    expected = ARRAY[key]
    assert tuple(result.shape) == expected.shape
    np.testing.assert_array_equal(result.numpy(), expected)


@pytest.mark.parametrize("key", VIEWS + ADVANCED, ids=range(len(VIEWS + ADVANCED)))
@pytest.mark.parametrize("kind", ["number", "tensor", "array", "broadcast", "leading ones"])
def test_assignment(x, key, kind):
    expected = ARRAY.copy()
    selected = expected[key]
    if kind == "number":
        value = given = 7
    elif kind == "broadcast":
        value = np.float32(-3)
        given = flambeau.tensor(value)
    else:
        value = -np.arange(selected.size, dtype=np.float32).reshape(selected.shape)
        given = value if kind == "array" else flambeau.tensor(value)
        if kind == "leading ones":
            given = flambeau.tensor(value[None, None])
    expected[key] = value
    version = x._version
    x[as_tensors(key) if isinstance(key, tuple) else key] = given
    np.testing.assert_array_equal(x.numpy(), expected)
    assert x._version > version or selected.size == 0


def test_an_int_beside_an_array_is_applied_first(x):
    """NumPy counts the int as a broadcast index and moves dims to the front; PyTorch selects."""
    assert x[:, 0, :, [0, 1]].shape == (2, 4, 2)
    np.testing.assert_array_equal(x[:, 0, :, [0, 1]].numpy(), ARRAY[:, 0][:, :, [0, 1]])


def test_bools_add_a_dimension(x):
    assert x[True].shape == (1, 2, 3, 4, 5)
    assert x[False].shape == (0, 2, 3, 4, 5)
    assert x[True, 0].shape == (1, 3, 4, 5)
    assert x[flambeau.tensor(True)].shape == (1, 2, 3, 4, 5)


def test_zero_dim_tensors_are_ints(x):
    np.testing.assert_array_equal(x[flambeau.tensor(1)].numpy(), ARRAY[1])
    np.testing.assert_array_equal(x[:, flambeau.tensor(1) :].numpy(), ARRAY[:, 1:])


@pytest.mark.parametrize("dtype", [flambeau.int8, flambeau.int16, flambeau.int32, flambeau.int64])
def test_index_dtypes(x, dtype):
    np.testing.assert_array_equal(x[flambeau.tensor([1, 0], dtype=dtype)].numpy(), ARRAY[[1, 0]])


def test_repeated_index_keeps_the_last():
    x = flambeau.tensor([0, 0, 0])
    x[[1, 1]] = flambeau.tensor([5, 6])
    assert x[1].item() == 6


def test_assignment_converts():
    x = flambeau.tensor([1, 2, 3])
    x[0] = flambeau.tensor(7.9)
    x[[1, 2]] = flambeau.tensor([8.5, -9.5])
    assert x.tolist() == [7, 8, -9]
    x[1:] = [4, 5]
    assert x.tolist() == [7, 4, 5]


def test_empty_and_zero_dim():
    scalar = flambeau.tensor(3.0)
    assert scalar[...].item() == 3
    assert scalar[()].item() == 3
    assert scalar[None].shape == (1,)
    scalar[...] = 4
    assert scalar.item() == 4
    empty = flambeau.tensor(np.zeros((0, 3), np.float32))
    assert empty[:, 1].shape == (0,)
    assert empty[empty[:, 0].to(flambeau.bool)].shape == (0, 3)


@pytest.mark.parametrize(
    ("key", "error", "message"),
    [
        (2, IndexError, "index 2 is out of bounds for dimension 0 with size 2"),
        (-3, IndexError, "index -3"),
        ((0, 3), IndexError, "index 3 is out of bounds"),
        ((0, 0, 0, 0, 0), IndexError, "5 indices .* dimension 4"),
        (1.0, IndexError, "got float"),
        ("a", IndexError, "got str"),
        (slice(None, None, -1), ValueError, "positive"),
        (slice(None, None, 0), ValueError, "zero"),
        (slice("a"), TypeError, "slice indices"),
        ([5], IndexError, "index 5 is out of bounds"),
        ([True, False, True], IndexError, r"mask of shape \[3\]"),
        ([0.5], IndexError, "float32"),
    ],
)
def test_refused(x, key, error, message):
    with pytest.raises(error, match=message):
        x[key]
    with pytest.raises(error, match=message):
        x[key] = 1


def test_refused_values(x):
    with pytest.raises(TypeError, match="deleted"):
        del x[0]
    with pytest.raises(RuntimeError):
        x[0] = flambeau.tensor(np.zeros((7, 7), np.float32))
    with pytest.raises(TypeError):
        x[0] = "a"
    with pytest.raises(IndexError):
        flambeau.tensor(1.0)[0]


def test_membership():
    x = flambeau.tensor([1, 5])
    assert 5 in x
    assert 2 not in x
    with pytest.raises(TypeError, match="str"):
        "a" in x  # noqa: B015


@pytest.mark.parametrize(
    "call",
    [
        lambda x, index: flambeau.take(x, index),
        lambda x, index: x.index_put_([None, index], flambeau.ones(())),
        lambda x, index: flambeau._C._internal.index_places(x, x.shape, [index]),
    ],
)
def test_indices_are_where_the_tensor_is(call: Callable[[Tensor, Tensor], object]) -> None:
    index = flambeau.zeros(2, dtype=flambeau.int64, device="meta")
    with pytest.raises(RuntimeError, match=r"argument 'indices' is on \w+ but the others are on"):
        call(flambeau.ones(2, 3), index)


@pytest.mark.parametrize("name", ["index_add", "index_copy"])
def test_copies_with_slices_added_or_written_are_row_major(name: str) -> None:
    x, source = (np.random.default_rng(n).random((5, n)).T for n in (4, 3))
    places = np.array([2, 0, 3])
    own = [flambeau.tensor(a.T.copy(), requires_grad=True) for a in (x, source)]
    result = getattr(own[0].T, name)(0, flambeau.tensor(places), own[1].T)
    wanted = x.copy()
    wanted[places] = source + (wanted[places] if name == "index_add" else 0)
    np.testing.assert_array_equal(result.detach().numpy(), wanted)
    assert result.is_contiguous()
    weights = np.random.default_rng(9).random(x.shape)
    found = flambeau.autograd.grad(result, own, flambeau.tensor(weights))
    kept = np.ones((4, 1))
    kept[places] = name == "index_add"
    np.testing.assert_array_equal(found[0].numpy().T, weights * kept)
    np.testing.assert_array_equal(found[1].numpy().T, weights[places])

"""The Tensor type: construction, properties, conversions, identity, ownership, argument errors."""

from __future__ import annotations

import copy
import gc
import pickle
import threading
import weakref

import numpy as np
import pytest

import flambeau

FLOATS = [flambeau.float32, flambeau.float64]
NUMPY_DTYPES = {
    flambeau.bool: np.bool_,
    flambeau.uint8: np.uint8,
    flambeau.int8: np.int8,
    flambeau.int16: np.int16,
    flambeau.int32: np.int32,
    flambeau.int64: np.int64,
    flambeau.float16: np.float16,
    flambeau.float32: np.float32,
    flambeau.float64: np.float64,
    flambeau.complex64: np.complex64,
    flambeau.complex128: np.complex128,
}


class TestConstruction:
    @pytest.mark.parametrize(
        ("data", "dtype", "shape"),
        [
            (1, flambeau.int64, ()),
            (True, flambeau.bool, ()),
            (1.5, flambeau.float32, ()),
            (2j, flambeau.complex64, ()),
            ([], flambeau.float32, (0,)),
            ([[], []], flambeau.float32, (2, 0)),
            ([1, 2], flambeau.int64, (2,)),
            ([True, False], flambeau.bool, (2,)),
            ([True, 2], flambeau.int64, (2,)),
            ([1, 2.5, True], flambeau.float32, (3,)),
            ([1.0, 2j], flambeau.complex64, (2,)),
            (((1, 2), [3, 4]), flambeau.int64, (2, 2)),
            (range(3), flambeau.int64, (3,)),
            (bytearray(b"ab"), flambeau.int64, (2,)),
            (np.float64(1), flambeau.float64, ()),
            (np.float32(1), flambeau.float32, ()),
            ([np.float32(1), 2], flambeau.float32, (2,)),
            ([np.int32(1), np.int32(2)], flambeau.int32, (2,)),
            ([np.bool_(True), 1], flambeau.int64, (2,)),
            ([np.array([1, 2]), np.array([1.0, 2.0])], flambeau.float64, (2, 2)),
        ],
    )
    def test_inferred_dtype_and_shape(self, data, dtype, shape):
        tensor = flambeau.tensor(data)
        assert tensor.dtype == dtype
        assert tuple(tensor.shape) == shape
        expected = np.array(
            [np.asarray(item) for item in data] if isinstance(data, list) else data
        ).astype(NUMPY_DTYPES[dtype])
        np.testing.assert_array_equal(np.array(tensor.tolist()).reshape(shape), expected)

    @pytest.mark.parametrize("dtype", NUMPY_DTYPES)
    def test_explicit_dtype(self, dtype):
        tensor = flambeau.tensor([[0, 1], [2, 3]], dtype=dtype)
        assert tensor.dtype == dtype
        np.testing.assert_array_equal(
            tensor.numpy(), np.array([[0, 1], [2, 3]]).astype(NUMPY_DTYPES[dtype])
        )

    def test_python_types_as_dtypes(self):
        names = {float: "float64", int: "int64", bool: "bool", complex: "complex128"}
        for python, name in names.items():
            assert flambeau.tensor([1], dtype=python).dtype == getattr(flambeau, name)

    def test_float_to_integer_truncates(self):
        assert flambeau.tensor([3.7, -3.7], dtype=flambeau.int64).tolist() == [3, -3]

    def test_overflow_to_infinity(self):
        assert flambeau.tensor(1e300, dtype=flambeau.float32).item() == float("inf")
        assert flambeau.tensor(70000.0, dtype=flambeau.float16).item() == float("inf")

    def test_nonzero_is_true(self):
        values = [0.0, 0.5, float("nan"), 0]
        assert flambeau.tensor(values, dtype=flambeau.bool).tolist() == [False, True, True, False]

    @pytest.mark.parametrize(
        ("data", "error", "message"),
        [
            ([[1, 2], [3]], ValueError, r"length 2 at data\[1\], got length 1"),
            ([[1, 2], 3], ValueError, r"length 2 at data\[1\], got int"),
            ([1, [2]], ValueError, r"number at data\[1\], got list of int"),
            ([[[1], [2]], [[3], [4, 5]]], ValueError, r"at data\[1\]\[1\], got length 2"),
            (["a"], TypeError, "str"),
            ("a", TypeError, "str"),
            (b"a", TypeError, "frombuffer"),
            (None, TypeError, "None"),
            ({1: 2}, TypeError, "dict"),
            (2**63, OverflowError, "64 bits"),
        ],
    )
    def test_refused(self, data, error, message):
        with pytest.raises(error, match=message):
            flambeau.tensor(data)

    def test_refused_values(self):
        with pytest.raises(RuntimeError, match="300"):
            flambeau.tensor(300, dtype=flambeau.uint8)
        with pytest.raises(RuntimeError, match="nan"):
            flambeau.tensor(float("nan"), dtype=flambeau.int32)
        with pytest.raises(TypeError, match="complex"):
            flambeau.tensor(1j, dtype=flambeau.float32)

    def test_list_that_changes_while_it_is_read(self):
        class Shrinking:
            def __index__(self):
                del data[1:]
                return 1

        data = [1, 2, 3]
        data[1] = Shrinking()
        with pytest.raises(RuntimeError, match="changed size"):
            flambeau.tensor(data, dtype=flambeau.int64)

    def test_copies(self):
        array = np.ones(3, np.float32)
        tensor = flambeau.tensor(array)
        array[0] = 5
        assert tensor.tolist() == [1, 1, 1]
        again = flambeau.tensor(tensor)
        assert again.data_ptr() != tensor.data_ptr()

    def test_tensors_inside_lists(self):
        rows = [flambeau.tensor([1, 2]), [3.5, flambeau.tensor(4)]]
        assert flambeau.tensor(rows).tolist() == [[1, 2], [3.5, 4]]

    def test_requires_grad(self):
        assert flambeau.tensor([1.0], requires_grad=True).requires_grad
        with pytest.raises(RuntimeError):
            flambeau.tensor([1], requires_grad=True)

    def test_as_tensor_shares(self):
        array = np.zeros(2, np.float32)
        shared = flambeau.as_tensor(array)
        array[0] = 7
        assert shared.tolist() == [7, 0]
        assert flambeau.as_tensor(shared) is shared
        assert flambeau.as_tensor(array, dtype=flambeau.float64).dtype == flambeau.float64

    def test_class_call(self):
        assert flambeau.Tensor().shape == (0,)
        assert flambeau.Tensor(2, 3).shape == (2, 3)
        assert flambeau.Tensor([1, 2]).dtype == flambeau.float32
        with pytest.raises(TypeError, match="tensor\\(\\)"):
            flambeau.Tensor(2.5)

    def test_large_list(self):
        values = np.random.default_rng(0).standard_normal(100_000)
        np.testing.assert_array_equal(
            flambeau.tensor(values.tolist(), dtype=flambeau.float64).numpy(), values
        )


class TestProperties:
    def test_geometry(self):
        x = flambeau.tensor(np.arange(24.0).reshape(2, 3, 4))
        assert x.shape == (2, 3, 4)
        assert repr(x.shape) == "flambeau.Size([2, 3, 4])"
        assert isinstance(x.size(), flambeau.Size)
        assert (x.ndim, x.dim(), x.numel(), x.nelement(), len(x)) == (3, 3, 24, 24, 2)
        assert x.stride() == (12, 4, 1)
        assert (x.size(-1), x.stride(0)) == (4, 12)
        assert (x.itemsize, x.element_size(), x.nbytes) == (8, 8, 192)
        assert x.is_contiguous()
        assert x.layout is flambeau.strided
        assert (x.is_cpu, x.is_cuda, x.is_meta) == (True, False, False)
        assert x[1].storage_offset() == 12
        assert x[1].data_ptr() == x.data_ptr() + 12 * 8
        with pytest.raises(IndexError):
            x.size(3)

    def test_transposes(self):
        array = np.arange(24.0).reshape(2, 3, 4)
        x = flambeau.tensor(array)
        np.testing.assert_array_equal(x.T.numpy(), array.T)
        np.testing.assert_array_equal(x.mT.numpy(), array.swapaxes(1, 2))
        assert not x.T.is_contiguous()
        with pytest.raises(RuntimeError, match="mT"):
            flambeau.tensor([1.0]).mT  # noqa: B018

    def test_data_has_a_version_of_its_own(self):
        x = flambeau.tensor([1.0, 2.0])
        alias = x.data
        alias[0] = 5
        assert x.tolist() == [5, 2]
        assert (x._version, alias._version) == (0, 1)
        x.data = flambeau.tensor([7, 8, 9])
        assert (x.dtype, x.tolist()) == (flambeau.int64, [7, 8, 9])

    def test_grad_is_checked(self):
        x = flambeau.tensor([1.0, 2.0], requires_grad=True)
        assert x.grad is None
        x.grad = flambeau.tensor([3.0, 4.0])
        assert x.grad.tolist() == [3, 4]
        assert x.grad is x.grad
        x.grad = None
        assert x.grad is None
        with pytest.raises(RuntimeError, match="shape"):
            x.grad = flambeau.tensor([1.0])
        with pytest.raises(RuntimeError, match="dtype"):
            x.grad = flambeau.tensor([1.0, 2.0], dtype=flambeau.float64)
        with pytest.raises(TypeError, match="int"):
            x.grad = 3

    def test_requires_grad(self):
        x = flambeau.tensor([1.0])
        assert x.requires_grad_() is x
        assert x.requires_grad
        assert x.is_leaf
        assert x.grad_fn is None
        x.requires_grad = False
        assert not x.requires_grad
        with pytest.raises(TypeError, match="bool"):
            x.requires_grad = 1

    def test_devices(self):
        assert flambeau.device("cuda:1") == flambeau.device("cuda", 1)
        assert flambeau.device("cuda") != flambeau.device("cuda:0")
        assert repr(flambeau.device("cuda:1")) == "device(type='cuda', index=1)"
        assert str(flambeau.device("cpu")) == "cpu"
        assert len({flambeau.device("cpu"), flambeau.tensor(1).device}) == 1
        with pytest.raises(RuntimeError, match="nowhere"):
            flambeau.device("nowhere")

    def test_dtypes(self):
        assert repr(flambeau.float32) == "flambeau.float32"
        assert flambeau.float is flambeau.float32
        assert flambeau.long is flambeau.int64
        assert flambeau.bfloat16.itemsize == 2
        assert flambeau.float32.to_complex() is flambeau.complex64
        assert flambeau.complex128.to_real() is flambeau.float64
        assert flambeau.float16.is_floating_point
        assert not flambeau.uint8.is_signed

    def test_size_is_a_tuple(self):
        size = flambeau.Size([2, 3])
        assert size == (2, 3)
        assert size.numel() == 6
        sums = (size + (4,), (4,) + size, size + ())  # noqa: RUF005
        for other in (*sums, size[1:], size * 2, size[:]):
            assert type(other) is flambeau.Size
        assert pickle.loads(pickle.dumps(size)) == size
        with pytest.raises(TypeError, match="str"):
            flambeau.Size(["a"])


class TestConversion:
    def test_numbers(self):
        assert flambeau.tensor(3).item() == 3
        assert flambeau.tensor([[2.5]]).item() == 2.5
        assert int(flambeau.tensor(-2.7)) == -2
        assert float(flambeau.tensor([3])) == 3.0
        assert complex(flambeau.tensor(1 + 2j)) == 1 + 2j
        assert ["a", "b"][flambeau.tensor(1)] == "b"
        assert bool(flambeau.tensor(float("nan")))
        assert not flambeau.tensor([[0.0]])

    @pytest.mark.parametrize(
        ("function", "tensor", "error"),
        [
            (bool, [1, 2], RuntimeError),
            (bool, [], RuntimeError),
            (float, [1.0, 2.0], ValueError),
            (int, 1j, RuntimeError),
            (len, 1, TypeError),
            (iter, 1, TypeError),
            (hex, 1.0, TypeError),
        ],
    )
    def test_refused(self, function, tensor, error):
        with pytest.raises(error):
            function(flambeau.tensor(tensor))

    @pytest.mark.parametrize("dtype", NUMPY_DTYPES)
    def test_tolist(self, dtype):
        array = np.arange(24).reshape(2, 3, 4).astype(NUMPY_DTYPES[dtype])
        x = flambeau.tensor(array)
        assert x.tolist() == array.tolist()
        assert x.T.tolist() == array.T.tolist()
        assert type(x[0, 0, 0].tolist()) is type(array[0, 0, 0].tolist())

    def test_iteration(self):
        assert [row.tolist() for row in flambeau.tensor([[1, 2], [3, 4]])] == [[1, 2], [3, 4]]

    def test_to(self):
        x = flambeau.tensor([1.5, 2.5])
        assert x.to(flambeau.float32) is x
        assert x.to("cpu") is x
        assert x.to(x) is x
        assert x.cpu() is x
        assert x.float() is x
        assert x.to(flambeau.float32, copy=True) is not x
        assert x.to(flambeau.int64).tolist() == [1, 2]
        assert x.to("cpu", flambeau.float64).dtype == flambeau.float64
        assert x.to(dtype=flambeau.float64, device="cpu").dtype == flambeau.float64
        assert x.to(flambeau.tensor(1)).dtype == flambeau.int64
        assert x.to("meta").is_meta
        assert x.long().tolist() == [1, 2]
        assert x.type() == "flambeau.FloatTensor"
        assert x.type(flambeau.float64).dtype == flambeau.float64
        with pytest.raises(TypeError, match=r"Tensor.to\(\)"):
            x.to(3.5)


class TestIdentity:
    """A wrapper with state lives as long as its tensor, and one without state is replaceable."""

    def test_attributes_survive(self):
        owner = flambeau.tensor([1.0], requires_grad=True)
        gradient = flambeau.tensor([2.0])
        gradient.note = "kept"
        reference, address = weakref.ref(gradient), id(gradient)
        owner.grad = gradient
        del gradient
        gc.collect()
        assert reference() is owner.grad
        assert (id(owner.grad), owner.grad.note) == (address, "kept")
        owner.grad = None
        gc.collect()
        assert reference() is None

    def test_subclass_survives(self):
        class Special(flambeau.Tensor):
            pass

        owner = flambeau.tensor([1.0], requires_grad=True)
        owner.grad = Special._make_subclass(Special, flambeau.tensor([2.0]))
        gc.collect()
        assert type(owner.grad) is Special
        for _ in range(3):
            assert owner.grad is owner.grad

    def test_cycle_is_collected(self):
        tensor = flambeau.tensor([1.0])
        tensor.me = tensor
        reference = weakref.ref(tensor)
        del tensor
        gc.collect()
        assert reference() is None

    def test_cycle_that_cpp_holds_is_kept(self):
        owner = flambeau.tensor([1.0], requires_grad=True)
        gradient = flambeau.tensor([2.0])
        gradient.me = gradient
        owner.grad = gradient
        del gradient
        gc.collect()
        assert owner.grad.me is owner.grad
        reference = weakref.ref(owner.grad)
        owner.grad = None
        gc.collect()
        assert reference() is None

    def test_last_owner_on_another_thread(self):
        owner = flambeau.tensor([1.0], requires_grad=True)
        owner.grad = flambeau.tensor([2.0])
        owner.grad.note = 1
        reference = weakref.ref(owner.grad)

        def drop():
            owner.grad = None

        thread = threading.Thread(target=drop)
        thread.start()
        thread.join()
        gc.collect()
        assert reference() is None

    def test_subclass_with_slots_and_finalizer(self):
        deaths = []

        class Special(flambeau.Tensor):
            __slots__ = ("extra",)

            def __del__(self):
                deaths.append(1)

        for _ in range(3):
            Special([1, 2]).extra = [1]
        gc.collect()
        assert len(deaths) == 3

    def test_many_with_attributes(self):
        tensors = [flambeau.tensor(float(i)) for i in range(2000)]
        for i, tensor in enumerate(tensors):
            tensor.number = i
        del tensors[::2]
        gc.collect()
        assert [tensor.number for tensor in tensors] == list(range(1, 2000, 2))
        fresh = [flambeau.tensor(0.0) for _ in range(2000)]
        assert not any(hasattr(tensor, "number") for tensor in fresh)

    def test_dict_replacement(self):
        x = flambeau.tensor(1.0)
        x.__dict__ = {"a": x}
        assert x.a is x
        assert vars(x) == {"a": x}
        reference = weakref.ref(x)
        del x
        gc.collect()
        assert reference() is None

    def test_hash_is_identity(self):
        x, y = flambeau.tensor(1.0), flambeau.tensor(1.0)
        assert hash(x) != hash(y) or x is y
        assert len({x: 1, y: 2}) == 2


class TestPickling:
    @pytest.mark.parametrize("protocol", range(2, pickle.HIGHEST_PROTOCOL + 1))
    def test_views_share_again(self, protocol):
        x = flambeau.tensor(np.arange(6.0).reshape(2, 3))
        a, b = pickle.loads(pickle.dumps([x, x.T[1:]], protocol))
        np.testing.assert_array_equal(b.numpy(), x.T[1:].numpy())
        a[0, 1] = 50
        assert b[0, 0].item() == 50
        assert x[0, 1].item() == 1

    def test_state(self):
        x = flambeau.tensor([1.0], requires_grad=True)
        x.note = "n"
        again = pickle.loads(pickle.dumps(x))
        assert again.requires_grad
        assert again.note == "n"

    def test_out_of_band(self):
        x = flambeau.tensor(np.arange(1000.0))
        buffers = []
        data = pickle.dumps(x, 5, buffer_callback=buffers.append)
        assert len(data) < 1000
        assert pickle.loads(data, buffers=buffers).tolist() == x.tolist()

    def test_small_objects(self):
        for value in (
            flambeau.float32,
            flambeau.bool,
            flambeau.device("cuda:1"),
            flambeau.strided,
            flambeau.channels_last,
        ):
            assert pickle.loads(pickle.dumps(value)) == value

    def test_deepcopy(self):
        x = flambeau.tensor([[1.0, 2.0], [3.0, 4.0]])
        pair = copy.deepcopy({"x": x, "row": x.detach()[0]})
        pair["x"][0, 0] = 9
        assert pair["row"].tolist() == [9, 2]
        assert x[0, 0].item() == 1
        leaf = flambeau.tensor([1.0], requires_grad=True)
        leaf.grad = flambeau.tensor([2.0])
        again = copy.deepcopy(leaf)
        assert again.requires_grad
        assert again.grad.tolist() == [2]
        assert again.grad is not leaf.grad
        with pytest.raises(RuntimeError, match="leaf"):
            copy.deepcopy(leaf + 1)

    def test_copy_shares(self):
        x = flambeau.tensor([1.0, 2.0])
        y = copy.copy(x)
        y[0] = 5
        assert x[0].item() == 5


class TestArguments:
    """The parser behind every operator, seen through add, sum and view."""

    x = flambeau.tensor([[1.0, 2.0], [3.0, 4.0]])

    def test_forms(self):
        expected = [[3, 4], [5, 6]]
        x = self.x
        for result in (
            flambeau.add(x, 2),
            flambeau.add(x, other=2),
            flambeau.add(input=x, other=2.0),
            flambeau.add(x, 1, alpha=2),
            x.add(2),
            x.add(other=flambeau.tensor(2)),
            x + 2,
            2 + x,
            x + np.float32(2),
            np.float32(2) + x,
            np.float64(2) + x,
            np.int64(2) + x,
            x + np.full(2, 2, np.float32),
            np.full(2, 2, np.float32) + x,
        ):
            assert isinstance(result, flambeau.Tensor)
            assert result.dtype == flambeau.float32
            assert result.tolist() == expected

    def test_out(self):
        out = flambeau.tensor([[0.0, 0.0], [0.0, 0.0]])
        assert flambeau.add(self.x, 1, out=out) is out
        assert out.tolist() == [[2, 3], [4, 5]]

    def test_foreign_operands(self):
        class Foreign:
            def __radd__(self, other):
                return "mine"

        assert self.x + Foreign() == "mine"
        for operand in ("a", None, [1, 2]):
            with pytest.raises(TypeError, match="unsupported operand"):
                self.x + operand
        assert (self.x == None) is False  # noqa: E711

    @pytest.mark.parametrize(
        "sizes", [(4,), (-1, 1), ([2, 2],), ((1, 4),), (np.int64(2), 2), (flambeau.tensor(2), 2)]
    )
    def test_packed_sizes(self, sizes):
        array = np.array(self.x.tolist())
        plain = [tuple(int(i) for i in s) if isinstance(s, list | tuple) else int(s) for s in sizes]
        assert self.x.view(*sizes).tolist() == array.reshape(*plain).tolist()

    @pytest.mark.parametrize(
        ("call", "parts"),
        [
            (
                lambda x: flambeau.add(x, "a"),
                ["'other' (position 2)", "not str", "add(Tensor, str)", "^^^"],
            ),
            (lambda x: flambeau.add(x), ["'other' is missing"]),
            (lambda x: flambeau.add(x, 1, 2), ["2 positional arguments, 3 were given"]),
            (lambda x: flambeau.add(x, 1, alhpa=2), ["'alhpa'", "did you mean 'alpha'"]),
            (lambda x: flambeau.add(x, 1, other=2), ["'other' was given twice"]),
            (lambda x: x.add(1, out=x), ["Tensor.add()", "'out'"]),
            (lambda x: x.sum(dim=True), ["'dim'", "not bool"]),
            (lambda x: x.sum(0, 1), ["'keepdim'", "must be bool, not int"]),
            (lambda x: x.sum([0, "a"]), ["list of int and str"]),
            (lambda x: x.view("a"), ["no signature", "'size'", "'dtype'"]),
        ],
    )
    def test_messages(self, call, parts):
        with pytest.raises(TypeError) as caught:
            call(self.x)
        for part in parts:
            assert part in str(caught.value)

    def test_numpy_names(self):
        assert self.x.sum(axis=0, keepdims=True).shape == (1, 2)

    def test_numpy_functions(self):
        assert float(np.sum(self.x)) == 10


def test_generator_state():
    generator = flambeau.Generator()
    assert generator.manual_seed(5) is generator
    assert generator.initial_seed() == 5
    state = generator.get_state()
    generator.manual_seed(6)
    generator.set_state(state)
    assert generator.initial_seed() == 5
    with pytest.raises(RuntimeError, match="uint8"):
        generator.set_state(flambeau.tensor([1.0]))
    with pytest.raises(TypeError, match="str"):
        flambeau.manual_seed("a")


def test_memory_statistics():
    before = flambeau.memory_stats()["allocated_bytes"]
    x = flambeau.tensor(np.zeros(1000, np.float32))
    assert flambeau.memory_stats()["allocated_bytes"] >= before + 4000
    del x
    assert flambeau.memory_stats()["allocated_bytes"] == before


def test_default_dtype():
    try:
        flambeau.set_default_dtype(flambeau.float64)
        assert flambeau.tensor(1.0).dtype == flambeau.float64
        assert flambeau.tensor(1j).dtype == flambeau.complex128
        with pytest.raises((TypeError, RuntimeError)):
            flambeau.set_default_dtype(flambeau.int32)
    finally:
        flambeau.set_default_dtype(flambeau.float32)

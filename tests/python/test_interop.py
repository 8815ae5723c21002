"""Memory shared with NumPy, the buffer protocol and DLPack."""

from __future__ import annotations

import array
import gc
import subprocess
import sys
import weakref

import numpy as np
import pytest

import flambeau

DTYPES = {
    name: getattr(flambeau, name)
    for name in (
        "bool",
        "uint8",
        "int8",
        "int16",
        "int32",
        "int64",
        "float16",
        "float32",
        "float64",
        "complex64",
        "complex128",
    )
}


@pytest.mark.parametrize("name", DTYPES)
def test_round_trip_shares_memory(name):
    values = np.arange(6).reshape(2, 3).astype(name)
    x = flambeau.from_numpy(values)
    assert x.dtype == DTYPES[name]
    assert x.data_ptr() == values.ctypes.data
    back = x.numpy()
    assert back.dtype == values.dtype
    assert back.ctypes.data == values.ctypes.data
    back[0, 0] = 1
    assert x[0, 0].item() == 1
    np.testing.assert_array_equal(back, values)


@pytest.mark.parametrize(
    "view",
    [
        lambda a: a.T,
        lambda a: a[::2, 1:],
        lambda a: a[:0],
        lambda a: a[1, 2],
        lambda a: np.broadcast_to(a[0], (4, 6)),
        lambda a: a.reshape(4, 1, 6),
    ],
)
@pytest.mark.filterwarnings("ignore:.*read-only")
def test_layouts(view):
    values = view(np.arange(24.0).reshape(4, 6))
    x = flambeau.as_tensor(values)
    assert tuple(x.shape) == values.shape
    np.testing.assert_array_equal(x.numpy(), values)
    np.testing.assert_array_equal(flambeau.tensor(values).numpy(), values)


def test_negative_strides():
    values = np.arange(6.0).reshape(2, 3)[:, ::-1]
    with pytest.raises(ValueError, match=r"negative stride.*copy\(\)"):
        flambeau.from_numpy(values)
    np.testing.assert_array_equal(flambeau.tensor(values).numpy(), values)


def test_odd_strides():
    record = np.zeros(3, dtype=[("a", np.uint8), ("b", np.float32)])
    record["b"] = [1, 2, 3]
    with pytest.raises(ValueError, match="multiple"):
        flambeau.from_numpy(record["b"])
    assert flambeau.tensor(record["b"]).tolist() == [1, 2, 3]


@pytest.mark.parametrize(
    ("values", "error"),
    [
        (np.ones(2, ">f4"), ValueError),
        (np.array(["a"]), TypeError),
        (np.array([None]), TypeError),
        (np.array(["2020-01-01"], "datetime64[D]"), TypeError),
        (np.ones(2, np.longdouble), TypeError),
        ([1.0], TypeError),
    ],
    ids=str,
)
def test_refused(values, error):
    with pytest.raises(error, match="from_numpy"):
        flambeau.from_numpy(values)


def test_tensors_that_arrays_cannot_hold():
    with pytest.raises(RuntimeError, match="detach"):
        flambeau.tensor([1.0], requires_grad=True).numpy()
    with pytest.raises(RuntimeError, match="detach"):
        np.asarray(flambeau.tensor([1.0], requires_grad=True))
    with pytest.raises(TypeError, match="bfloat16"):
        flambeau.tensor([1.0], dtype=flambeau.bfloat16).numpy()
    with pytest.raises(TypeError, match="meta"):
        flambeau.tensor([1.0]).to("meta").numpy()
    assert flambeau.tensor([1.0], requires_grad=True).numpy(force=True).tolist() == [1]


def test_lifetimes():
    values = np.arange(3.0)
    reference = weakref.ref(values)
    x = flambeau.from_numpy(values)[1:]
    del values
    gc.collect()
    assert x.tolist() == [1, 2]
    assert reference() is not None
    del x
    gc.collect()
    assert reference() is None
    back = flambeau.tensor([1.0, 2.0]).numpy()
    gc.collect()
    assert back.tolist() == [1, 2]


def test_read_only_warns_once():
    code = (
        "import warnings, numpy, flambeau\n"
        "a = numpy.ones(2); a.flags.writeable = False\n"
        "with warnings.catch_warnings(record=True) as seen:\n"
        "    warnings.simplefilter('always')\n"
        "    flambeau.from_numpy(a); flambeau.from_numpy(a)\n"
        "assert len(seen) == 1 and 'read-only' in str(seen[0].message), seen\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


def test_import_does_not_import_numpy():
    code = "import sys, flambeau; flambeau.tensor([1.0]) + 1; assert 'numpy' not in sys.modules"
    subprocess.run([sys.executable, "-c", code], check=True)


def test_array_protocol():
    x = flambeau.tensor([[1.0, 2.0]])
    assert np.asarray(x).ctypes.data == x.data_ptr()
    assert np.array(x).ctypes.data != x.data_ptr()
    assert np.asarray(x, dtype=np.float64).dtype == np.float64
    assert isinstance(np.sqrt(x), flambeau.Tensor)
    np.testing.assert_allclose(x, [[1, 2]])


def test_buffer_protocol():
    x = flambeau.tensor([[1, 2], [3, 4]], dtype=flambeau.int16)
    view = memoryview(x)
    assert (view.shape, view.strides, view.format, view.readonly) == ((2, 2), (4, 2), "h", False)
    assert bytes(view) == np.array([[1, 2], [3, 4]], np.int16).tobytes()
    view[0, 0] = 9
    assert x[0, 0].item() == 9
    with pytest.raises(BufferError, match="requires grad"):
        memoryview(flambeau.tensor([1.0], requires_grad=True))


def test_frombuffer():
    data = bytearray(np.arange(4, dtype=np.int32).tobytes())
    x = flambeau.frombuffer(data, dtype=flambeau.int32)
    assert x.tolist() == [0, 1, 2, 3]
    x[0] = 7
    assert data[0] == 7
    assert flambeau.frombuffer(data, dtype=flambeau.int32, count=2, offset=4).tolist() == [1, 2]
    assert flambeau.frombuffer(array.array("d", [1.5]), dtype=flambeau.float64).tolist() == [1.5]
    with pytest.raises(ValueError, match="offset 17"):
        flambeau.frombuffer(data, dtype=flambeau.int32, offset=17)
    with pytest.raises(ValueError, match="5 elements"):
        flambeau.frombuffer(data, dtype=flambeau.int32, count=5)
    with pytest.raises(ValueError, match="multiple"):
        flambeau.frombuffer(data, dtype=flambeau.int64, offset=4)
    with pytest.raises(TypeError, match="int"):
        flambeau.frombuffer(3, dtype=flambeau.int32)


@pytest.mark.parametrize("name", [name for name in DTYPES if name != "bool"])
def test_dlpack_with_numpy(name):
    values = np.arange(6).reshape(2, 3).astype(name)
    x = flambeau.from_dlpack(values)
    assert x.dtype == DTYPES[name]
    assert x.data_ptr() == values.ctypes.data
    back = np.from_dlpack(x)
    assert back.ctypes.data == values.ctypes.data
    np.testing.assert_array_equal(np.from_dlpack(x.T), values.T)


def test_dlpack_with_itself():
    x = flambeau.tensor([1.0, 2.0], dtype=flambeau.bfloat16)
    y = flambeau.from_dlpack(x)
    assert y.dtype == flambeau.bfloat16
    assert y.data_ptr() == x.data_ptr()
    capsule = x.__dlpack__()
    assert flambeau.from_dlpack(capsule).tolist() == [1, 2]
    with pytest.raises(RuntimeError, match="used already"):
        flambeau.from_dlpack(capsule)
    assert (
        flambeau.from_dlpack(x.__dlpack__(max_version=(1, 0), copy=True)).data_ptr() != x.data_ptr()
    )
    assert x.__dlpack_device__() == (1, 0)
    with pytest.raises(RuntimeError, match="detach"):
        flambeau.tensor([1.0], requires_grad=True).__dlpack__()
    with pytest.raises(TypeError, match="__dlpack__"):
        flambeau.from_dlpack([1.0])


def test_dlpack_keeps_the_memory():
    x = flambeau.from_dlpack(np.arange(3.0))
    gc.collect()
    assert x.tolist() == [0, 1, 2]
    unused = flambeau.tensor([1.0]).__dlpack__()
    del unused


def test_other_libraries_arrays():
    class Column:
        def __array__(self, dtype=None, copy=None):
            return np.arange(3.0)

    assert flambeau.tensor(Column()).tolist() == [0, 1, 2]


def test_storage():
    x = flambeau.tensor([[1.0, 2.0], [3.0, 4.0]])
    storage = x[1].untyped_storage()
    assert storage is x.untyped_storage()
    assert (storage.nbytes(), len(storage), storage.data_ptr()) == (16, 16, x.data_ptr())
    assert np.frombuffer(storage, np.float32).tolist() == [1, 2, 3, 4]

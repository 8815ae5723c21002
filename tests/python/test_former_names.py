"""Former names: typed tensors and storages, Variable, resize_, set_, scales that come first."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import flambeau
from flambeau import FloatTensor, LongTensor, Tensor  # type: ignore[attr-defined]


def test_typed_tensors_are_made() -> None:
    assert FloatTensor(3, 4).shape == FloatTensor(flambeau.Size([3, 4])).shape == (3, 4)
    assert FloatTensor().shape == (0,)
    for data in ([1, 2.5], (1, 2.5), np.array([1, 2.5]), flambeau.tensor([1, 2.5])):
        made = FloatTensor(data)
        assert made.dtype is flambeau.float32 and made.tolist() == [1, 2.5]
    assert LongTensor([1.5, -1.5]).tolist() == [1, -1]
    assert flambeau.ByteTensor([True, False]).tolist() == [1, 0]
    assert FloatTensor((3, 4)).tolist() == [3, 4]
    assert FloatTensor(range(3)).tolist() == [0, 1, 2]
    x = flambeau.zeros(2)
    FloatTensor(x)[0] = 5
    assert x[0] == 5


def test_typed_tensors_are_types() -> None:
    x = flambeau.ones(2)
    assert isinstance(x, FloatTensor) and not isinstance(x, LongTensor)
    assert not isinstance(x, flambeau.cuda.FloatTensor) and not isinstance(1.0, FloatTensor)
    assert FloatTensor.dtype is flambeau.float32 and not FloatTensor.is_cuda
    assert str(FloatTensor) == "<class 'flambeau.FloatTensor'>"
    assert x.type() == flambeau.typename(x) == "flambeau.FloatTensor"
    assert x.type(LongTensor).dtype is flambeau.int64
    assert x.type("torch.DoubleTensor").dtype is flambeau.float64
    assert x.type("flambeau.HalfTensor").dtype is flambeau.float16
    with pytest.raises(ValueError, match="unknown type 'torch.WordTensor'"):
        x.type("torch.WordTensor")


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: LongTensor(flambeau.ones(2)), "LongTensor.*int64 on cpu, got.*float32"),
        (lambda: LongTensor(flambeau.ones(2), device=[[]]), "expected a device.*got list"),
        (lambda: FloatTensor(2.5), "expected sizes or a sequence of data, got 2.5"),
        (lambda: FloatTensor([1], 2), "expected sizes or one sequence"),
        (lambda: flambeau.ones(2).new("text"), "Tensor.new.*sequence of data, got 'text'"),
        (lambda: flambeau.set_default_tensor_type(LongTensor), "tensors of floats"),
    ],
)
def test_typed_tensors_refuse(make: Any, words: str) -> None:
    with pytest.raises(TypeError, match=words):
        make()


def test_types_have_the_methods_of_tensors() -> None:
    x, y = flambeau.tensor([1.0, 0.0]), flambeau.tensor([2.0, 3.0])
    assert FloatTensor.add(x, y).tolist() == [3.0, 3.0]
    assert flambeau.ByteTensor.any(flambeau.ByteTensor([0, 2]))
    leaf = flambeau.ones(2, requires_grad=True)
    flambeau.autograd.Variable.backward((leaf * y).sum())
    assert leaf.grad is not None and leaf.grad.tolist() == [2.0, 3.0]
    for kind in (FloatTensor, flambeau.autograd.Variable, flambeau.sparse.FloatTensor):
        with pytest.raises(AttributeError, match="has no attribute 'nothing'"):
            kind.nothing  # noqa: B018


def test_sparse_typed_tensors() -> None:
    kind = flambeau.sparse.FloatTensor
    places, values = LongTensor([[0, 1], [2, 0]]), FloatTensor([3, 4])
    made = kind(places, values, flambeau.Size([2, 3]))
    assert made.is_sparse and made.to_dense().tolist() == [[0, 0, 3], [4, 0, 0]]
    assert kind(places, values).shape == (2, 3)
    for empty in (kind(2, 3), kind(flambeau.Size([2, 3]))):
        assert empty.shape == (2, 3) and empty._nnz() == 0
    assert kind().shape == (0,)
    assert isinstance(made, kind) and not isinstance(made, FloatTensor)
    assert not isinstance(made.to_dense(), kind)
    assert made.type() == "flambeau.sparse.FloatTensor"
    assert str(kind) == "<class 'flambeau.sparse.FloatTensor'>"
    assert kind.mul(made, 2).to_dense()[0, 2] == 6
    with pytest.raises(TypeError, match=r"sparse.FloatTensor\(\): expected values of .*float32"):
        kind(places, values.double(), (2, 3))


def test_what_ctx_can_do_is_found_under_function() -> None:
    class Square(flambeau.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: Tensor) -> Tensor:
            flambeau.autograd.Function.save_for_backward(ctx, x)
            return x * x

        @staticmethod
        def backward(ctx: Any, grad: Tensor) -> Tensor:
            (x,) = ctx.saved_tensors
            return 2 * x * grad

    x = flambeau.tensor(3.0, requires_grad=True)
    Square.apply(x).backward()
    assert x.grad == 6


def test_transforms_of_pairs() -> None:
    rng = np.random.default_rng(0)
    x = rng.normal(size=(3, 4, 2))
    numbers = x[..., 0] + 1j * x[..., 1]
    given = flambeau.tensor(x)
    forward: Any = flambeau.fft
    found = forward(given, 2)
    np.testing.assert_allclose(flambeau.view_as_complex(found).numpy(), np.fft.fft2(numbers))
    np.testing.assert_allclose(flambeau.ifft(found, 2).numpy(), x, atol=1e-12)
    back = flambeau.irfft(flambeau.rfft(given, 3), 3, signal_sizes=x.shape)
    np.testing.assert_allclose(back.numpy(), x, atol=1e-12)


def test_default_tensor_type() -> None:
    try:
        flambeau.set_default_tensor_type("torch.DoubleTensor")
        assert Tensor([1.0]).dtype is flambeau.float64
        flambeau.set_default_tensor_type(FloatTensor)
        assert flambeau.zeros(1).dtype is flambeau.float32
    finally:
        flambeau.set_default_dtype(flambeau.float32)


def test_new() -> None:
    x = flambeau.ones(2, dtype=flambeau.int32)
    assert x.new(2, 3).shape == (2, 3) and x.new().numel() == 0
    made = x.new([1, 2])
    assert made.dtype is flambeau.int32 and made.tolist() == [1, 2]


def test_variable() -> None:
    x = flambeau.ones(2)
    with pytest.warns(UserWarning, match="volatile"):
        v = flambeau.autograd.Variable(x, volatile=True)
    assert isinstance(v, flambeau.autograd.Variable) and not v.requires_grad and not v.volatile


# Memory -------------------------------------------------------------------------------------------


def test_resize() -> None:
    x = flambeau.arange(6.0)
    view = x[2:4]
    assert x.resize_(2, 3) is x and x.tolist() == [[0, 1, 2], [3, 4, 5]]
    x.resize_([2])
    assert x.tolist() == [0, 1] and view.tolist() == [2, 3]
    x.resize_(50)[6:] = 0
    assert x[:6].tolist() == [0, 1, 2, 3, 4, 5] and x.numel() == 50
    columns = flambeau.arange(6.0).view(2, 3).t()
    assert columns.resize_(3, 2).stride() == (1, 3), "the shape is the same: nothing changes"
    assert flambeau.empty(0).resize_as_(x).shape == x.shape
    with pytest.raises(RuntimeError, match="requires grad"):
        flambeau.ones(2, requires_grad=True).resize_(3)
    with pytest.raises((RuntimeError, ValueError)):
        flambeau.ones(2).resize_(-1)
    with pytest.raises(RuntimeError):
        flambeau.from_numpy(np.zeros(2)).resize_(100)


def test_set() -> None:
    x, y = flambeau.zeros(2), flambeau.arange(6.0)
    assert x.set_(y) is x and x.is_set_to(y)
    x[0] = 7
    assert y[0] == 7 and not x.is_set_to(y[1:])
    x.set_(y.storage(), 1, (2, 2), (2, 1))
    assert x.tolist() == [[1, 2], [3, 4]]
    assert x.set_(y.untyped_storage()).shape == (6,)
    assert x.set_(y, 4, (2,)).tolist() == [4, 5]
    assert x.set_().numel() == 0
    with pytest.raises(RuntimeError, match="float32, got a tensor of.*int64"):
        x.set_(flambeau.arange(3))
    with pytest.raises(RuntimeError, match="reach outside"):
        x.set_(y.storage(), 4, (3,))
    with pytest.raises(RuntimeError, match="requires grad"):
        flambeau.ones(2, requires_grad=True).set_(y)


def test_storages() -> None:
    x = flambeau.arange(4.0).view(2, 2)
    s = x[1].storage()
    assert len(s) == s.size() == 4 and s.tolist() == [0, 1, 2, 3] and list(s[1:3]) == [1, 2]
    s[0] = 9
    assert x[0, 0] == 9 and s.nbytes() == 16 and s.element_size() == 4
    assert s.data_ptr() == x.data_ptr() and s == x.storage() and s != x.clone().storage()
    assert isinstance(s, flambeau.FloatStorage) and not isinstance(s, flambeau.LongStorage)
    assert x.storage_type() is flambeau.FloatStorage and flambeau.is_storage(s)
    made = flambeau.LongStorage([1, 2, 3])
    assert made.dtype is flambeau.int64 and flambeau.LongStorage(5).size() == 5
    assert LongTensor(made).tolist() == [1, 2, 3]
    assert made.type() == "flambeau.LongStorage"
    assert made.fill_(4).tolist() == [4, 4, 4] and made.clone() != made
    assert "[flambeau.storage.TypedStorage(dtype=flambeau.int64, device=cpu) of size 3]" in repr(
        made
    )


def test_elements_one_by_one() -> None:
    x = flambeau.arange(4.0).view(2, 2)
    assert x.apply_(lambda v: v + 1) is x and x.tolist() == [[1, 2], [3, 4]]
    x.t().map_(flambeau.tensor([10.0, 20.0]), lambda a, b: a * b)
    assert x.tolist() == [[10, 20], [60, 80]]
    with pytest.raises(TypeError, match="expected one on the CPU"):
        x.to("meta").apply_(abs)


# Scales that come first ---------------------------------------------------------------------------


def test_scales_that_come_first() -> None:
    p, g = flambeau.ones(3), flambeau.tensor([1.0, 2.0, 3.0])
    assert p.add_(-0.5, g).tolist() == [0.5, 0, -0.5]
    assert flambeau.add(g, 2, g).tolist() == [3, 6, 9]
    assert g.sub(2, g).tolist() == [-1, -2, -3]
    assert flambeau.zeros(3).addcmul_(0.5, g, g).tolist() == [0.5, 2, 4.5]
    assert flambeau.zeros(3).addcdiv_(2, g, g).tolist() == [2, 2, 2]


def test_what_tensors_are_not() -> None:
    x = flambeau.ones(1)
    assert not flambeau.is_conj(x) and not x.is_neg() and not flambeau.is_inference(x)
    assert x.resolve_conj() is x is flambeau.resolve_neg(x)
    for name in ("is_mps", "is_xpu", "is_xla", "is_quantized", "is_mkldnn", "is_nested"):
        assert getattr(x, name) is False


# Memory of other objects --------------------------------------------------------------------------


def test_asarray() -> None:
    array = np.zeros(3)
    flambeau.asarray(array)[0] = 1
    assert array[0] == 1
    x = flambeau.ones(2)
    assert flambeau.asarray(x) is x and flambeau.asarray(x, copy=True) is not x
    for data in ([1, 2], range(1, 3), bytes([1, 2]), bytearray([1, 2])):
        made = flambeau.asarray(data, dtype=flambeau.uint8)
        assert made.tolist() == [1, 2] and made.dtype is flambeau.uint8
    assert flambeau.asarray(x.untyped_storage(), dtype=flambeau.float32).data_ptr() == x.data_ptr()
    assert flambeau.asarray(2.5, requires_grad=True).requires_grad
    for bad in ([1, 2], 5):
        with pytest.raises(ValueError, match="cannot be taken without a copy"):
            flambeau.asarray(bad, copy=False)
    with pytest.raises(ValueError, match="'ndarray' cannot be taken without a copy"):
        flambeau.asarray(array, dtype=flambeau.float32, copy=False)


def test_storages_of_files(tmp_path: Path) -> None:
    path = tmp_path / "bytes"
    path.write_bytes(bytes(range(16)))
    storage = flambeau.UntypedStorage.from_file(path, shared=False, nbytes=16)
    assert storage.tolist() == list(range(16)) and storage[3] == 3 and storage[-1] == 15
    part = storage[4:8]
    assert part.nbytes() == 4 and part.tolist() == [4, 5, 6, 7] and part.untyped() is part
    flambeau.asarray(part, dtype=flambeau.uint8)[0] = 99
    assert storage[4] == 99 and path.read_bytes()[4] == 4
    shared = flambeau.UntypedStorage.from_file(path, shared=True, nbytes=16)
    flambeau.asarray(shared, dtype=flambeau.int32)[1] = -1
    del shared
    assert path.read_bytes()[4:8] == b"\xff" * 4
    with pytest.raises(RuntimeError, match="has 16 bytes, fewer than 17"):
        flambeau.UntypedStorage.from_file(path, nbytes=17)
    with pytest.raises(IndexError, match="byte 16 of 16"):
        storage[16]
    with pytest.raises(ValueError, match="step of 1, got 2"):
        storage[::2]


def test_dtypes_that_no_tensor_has() -> None:
    assert flambeau.ones(1).dtype != flambeau.float8_e4m3fn
    assert flambeau.finfo(flambeau.float8_e4m3fn).max == 448
    assert flambeau.finfo(flambeau.float8_e5m2).tiny == 2**-14
    with pytest.raises(TypeError):
        flambeau.zeros(1, dtype=flambeau.float8_e5m2)
    with pytest.raises(TypeError, match=r"flambeau.qint8"):
        flambeau.finfo(flambeau.qint8)


def test_storages_are_converted() -> None:
    kinds = {"byte": "uint8", "char": "int8", "short": "int16", "int": "int32", "long": "int64"}
    kinds |= {"half": "float16", "float": "float32", "double": "float64"}
    storage = flambeau.tensor([1.5, 2.0, 100.0]).storage()
    for name, dtype in kinds.items():
        found = getattr(storage, name)()
        assert found.dtype is getattr(flambeau, dtype)
        assert found.tolist() == [1 if "int" in dtype else 1.5, 2, 100]
        assert found.data_ptr() != storage.data_ptr()
    with pytest.raises(RuntimeError, match="no pinned memory"):
        storage.pin_memory()


def test_the_loss_of_images_has_another_name() -> None:
    with pytest.warns(FutureWarning, match="now called NLLLoss"):
        loss = flambeau.nn.NLLLoss2d(reduction="sum")
    scores = flambeau.zeros(1, 2, 2, 2) - 0.5
    assert loss(scores, flambeau.zeros(1, 2, 2, dtype=flambeau.int64)).item() == 2.0

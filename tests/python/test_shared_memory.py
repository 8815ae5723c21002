"""Storages that other processes can map."""

from __future__ import annotations

import gc
import os
import pickle
import subprocess
import sys
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from multiprocessing_tools import descriptors, settled, shared_bytes

import flambeau
from flambeau import Tensor, nn

# Floats: none, of a slab, of a file of their own, of one that several threads write.
SIZES = (0, 1, 3, 5000, 300_000, 2_500_001)


@pytest.mark.parametrize("size", SIZES)
def test_all_tensors_of_a_storage_move_with_it(size: int) -> None:
    expected = np.arange(size, dtype=np.float32)
    x = flambeau.arange(size, dtype=flambeau.float32)
    seen: dict[str, Tensor] = {"view": x.view(-1), "data": x.data, "data of data": x.data.data}
    seen["view of data"] = seen["data"][:]
    version = x._version
    assert not x.is_shared() and not seen["data"].is_shared()
    assert x.share_memory_() is x
    x.add_(1)
    assert x._version == version + 1
    for name, tensor in {"itself": x, **seen}.items():
        assert tensor.is_shared() and tensor.untyped_storage().is_shared(), name
        assert tensor.data_ptr() == x.data_ptr(), name
        np.testing.assert_array_equal(tensor.numpy(), expected + 1, err_msg=name)


def test_sharing_through_an_alias_moves_its_base() -> None:
    x = flambeau.arange(10.0)
    alias = x.data
    alias.share_memory_()
    x.fill_(3)
    assert x.is_shared() and alias.tolist() == [3.0] * 10
    del x
    gc.collect()
    assert alias.is_shared() and alias.tolist() == [3.0] * 10


def test_a_storage_is_shared_once() -> None:
    x = flambeau.ones(4).share_memory_()
    address = x.data_ptr()
    assert x.untyped_storage().share_memory_() is x.untyped_storage()
    assert x.share_memory_().data_ptr() == address


EXPORTS: dict[str, Callable[[Tensor], Any]] = {
    "numpy": lambda x: x.numpy(),
    "memoryview": memoryview,
    "DLPack": np.from_dlpack,
    "storage": lambda x: memoryview(x.untyped_storage()),
    "array of data": lambda x: x.data.numpy(),
    "array of a view": lambda x: x[1:].numpy(),
}


@pytest.mark.parametrize("size", [3, 300_000])
@pytest.mark.parametrize("export", EXPORTS)
def test_memory_that_others_look_at_is_refused(export: str, size: int) -> None:
    x = flambeau.zeros(size)
    seen = EXPORTS[export](x)
    with pytest.raises(RuntimeError, match=r"Tensor.share_memory_\(\): a storage of \d+ bytes"):
        x.share_memory_()
    x.fill_(2)
    assert not x.is_shared() and np.asarray(seen).reshape(-1).view(np.uint8)[-1] == 0x40
    del seen
    gc.collect()
    assert x.share_memory_().is_shared() and x.sum().item() == 2 * size
    # What is shared stays where it is.
    kept = EXPORTS[export](x)
    x.share_memory_().fill_(-2)
    assert np.asarray(kept).reshape(-1).view(np.uint8)[-1] == 0xC0


def test_an_array_keeps_the_memory_that_a_tensor_was_made_of() -> None:
    array = np.arange(4.0)
    tensor = flambeau.from_numpy(array).share_memory_()
    array[:] = 0
    assert tensor.tolist() == [0.0, 1.0, 2.0, 3.0]


def test_gradients_flow_through_memory_that_has_moved() -> None:
    weight = flambeau.full((3,), 2.0, requires_grad=True)
    product = weight * weight * 3
    weight.share_memory_()
    product.share_memory_()
    product.sum().backward()
    assert weight.grad is not None and weight.grad.tolist() == [12.0] * 3
    weight.grad.share_memory_()
    with flambeau.no_grad():
        weight -= weight.grad
    assert weight.tolist() == [-10.0] * 3 and weight.is_shared()
    saved = (weight * weight).sum()
    with flambeau.no_grad():
        weight.zero_()
    with pytest.raises(RuntimeError, match="version"):
        saved.backward()


def test_a_module_shares_parameters_gradients_and_buffers() -> None:
    model = nn.Sequential(nn.Linear(3, 4), nn.BatchNorm1d(4))
    model(flambeau.randn(5, 3)).sum().backward()
    assert model.share_memory() is model
    for name, tensor in (*model.named_parameters(), *model.named_buffers()):
        assert tensor.is_shared(), name
    assert all(p.grad is not None and p.grad.is_shared() for p in model.parameters())


def test_what_cannot_be_shared() -> None:
    with pytest.raises(RuntimeError, match="on meta; only that of the CPU can be shared"):
        flambeau.empty(3, device="meta").share_memory_()
    assert not flambeau.empty(3, device="meta").is_shared()
    x = flambeau.zeros(4).share_memory_()
    with pytest.raises(RuntimeError, match="cannot grow"):
        flambeau.ones(1000, out=x[:0])
    with pytest.raises(ValueError, match="negative size"):
        flambeau.UntypedStorage._new_shared(-1)
    with pytest.raises(RuntimeError, match="more than an address space"):
        flambeau.UntypedStorage._new_shared(2**62)


def test_copies_and_pickles_are_not_shared() -> None:
    x = flambeau.arange(5.0).share_memory_()
    for copy in (x.clone(), pickle.loads(pickle.dumps(x)), x.untyped_storage().clone()):
        assert not copy.is_shared()
    assert pickle.loads(pickle.dumps(x)).tolist() == x.tolist()


def test_a_new_shared_storage_is_full_of_zeros() -> None:
    storage = flambeau.UntypedStorage._new_shared(400_000)
    assert storage.is_shared() and storage.nbytes() == 400_000
    assert not np.frombuffer(storage, np.uint8).any()


def test_small_storages_have_few_descriptors() -> None:
    before = descriptors()
    tensors = [flambeau.full((i % 50,), float(i)).share_memory_() for i in range(1000)]
    assert descriptors() - before <= 1
    for i, tensor in enumerate(tensors):
        assert tensor.data_ptr() % 64 == 0 and tensor.tolist() == [float(i)] * (i % 50)


def test_memory_goes_with_the_last_tensor() -> None:
    for size in (10, 50_000, 3_000_000):
        flambeau.zeros(size).share_memory_()
    before = descriptors(), shared_bytes()
    tensors = [flambeau.ones(size).share_memory_() for size in (400_000, 1_000_000) * 5]
    views = [tensor[1:3] for tensor in tensors]
    del tensors
    assert descriptors() == before[0] + 10 and shared_bytes() >= before[1] + 28_000_000
    del views
    gc.collect()
    assert settled(lambda: (descriptors(), shared_bytes()), before) == before


def test_a_child_takes_blocks_of_its_own() -> None:
    first = flambeau.zeros(8).share_memory_()
    child = os.fork()
    if child == 0:
        own = [flambeau.full((8,), 9.0).share_memory_() for _ in range(100)]
        first.fill_(1)
        os._exit(0 if all(t.sum().item() == 72 for t in own) else 1)
    own = [flambeau.full((8,), 4.0).share_memory_() for _ in range(100)]
    assert os.waitpid(child, 0)[1] == 0
    assert all(t.tolist() == [4.0] * 8 for t in own) and first.tolist() == [1.0] * 8


LIMITS = {
    # A file of shared memory may not become as large: an error, and no signal.
    "RLIMIT_FSIZE, 1 << 20": (4_000_000, "RuntimeError", "File too large"),
    "RLIMIT_AS, (6 << 30)": (8 << 30, "RuntimeError", "bytes of shared memory"),
    "RLIMIT_NOFILE, 40": (300_000, "RuntimeError", "RLIMIT_NOFILE, 40"),
}


@pytest.mark.parametrize("limit", LIMITS)
def test_limits_of_the_system_are_errors(limit: str) -> None:
    size, kind, text = LIMITS[limit]
    program = (
        "import flambeau, resource\n"
        "small = flambeau.arange(9.).share_memory_()\n"
        f"limit = resource.{limit.split(',')[0]}\n"
        f"resource.setrlimit(limit, ({limit.split(',')[1]}, resource.getrlimit(limit)[1]))\n"
        "kept = []\n"
        "try:\n"
        "    for _ in range(50):\n"
        f"        kept.append(flambeau.UntypedStorage._new_shared({size}))\n"
        "except Exception as error:\n"
        "    print(type(error).__mro__, error)\n"
        "kept.clear()\n"
        "assert flambeau.ones(9).share_memory_().sum() == 9 and small.sum() == 36\n"
        "flambeau.UntypedStorage._new_shared(200_000)\n"
    )
    run = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert run.returncode == 0, run.stderr
    assert kind in run.stdout and text in run.stdout

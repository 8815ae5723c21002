"""Names about memory, order of dims, states of generators, and how files are mapped."""

from __future__ import annotations

import itertools
import mmap
from pathlib import Path

import pytest

import flambeau
from flambeau import accelerator, overrides, serialization
from flambeau.utils.checkpoint import CheckpointFunction


def test_a_storage_grows_under_its_tensors() -> None:
    x = flambeau.arange(4.0)
    storage = x.untyped_storage()
    assert storage.resize_(40) is storage and storage.nbytes() == 40
    x[0] = 7
    assert x.tolist() == [7, 1, 2, 3] and storage._view(x.dtype, 0, [4], [1])[0] == 7
    typed = x.storage()
    assert typed.resize_(20) is None and len(typed) == 20 and x.storage()[0] == 7
    assert x.resize_(20).untyped_storage() is storage


def test_a_storage_does_not_shrink_or_move_under_who_looks_at_it() -> None:
    x = flambeau.zeros(4)
    storage = x.untyped_storage()
    for size in (0, 15, -1):
        with pytest.raises(RuntimeError, match=r"resize_\(\): memory of 16 bytes cannot shrink"):
            storage.resize_(size)
    assert storage.resize_(16).nbytes() == 16
    array = x.numpy()
    with pytest.raises(RuntimeError, match="cannot grow to 64 bytes while its memory is shared"):
        storage.resize_(64)
    assert array.tolist() == [0] * 4
    with pytest.raises(TypeError, match="expected an int, got"):
        storage.resize_(1.5)  # type: ignore[arg-type]
    with pytest.raises(OverflowError):
        storage.resize_(1 << 80)


def test_a_clone_of_a_generator_goes_its_own_way() -> None:
    generator = flambeau.Generator().manual_seed(5)
    flambeau.rand(3, generator=generator)
    other = generator.clone_state()
    assert other is not generator and other.initial_seed() == 5
    drawn = flambeau.rand(3, generator=other)
    assert flambeau.equal(flambeau.rand(3, generator=generator), drawn)
    assert not flambeau.equal(flambeau.rand(3, generator=generator), drawn)


def test_dim_order_is_that_of_strides() -> None:
    x = flambeau.zeros(2, 3, 4, 5)
    for dims in itertools.permutations(range(4)):
        turned = x.permute(dims)
        assert turned.permute(turned.dim_order()).is_contiguous()
        assert turned.dim_order(ambiguity_check=True) == turned.dim_order()
    assert flambeau.tensor(1.0).dim_order() == ()
    assert flambeau.ones(2, 3).expand(4, 2, 3).dim_order() == (0, 1, 2)
    images = flambeau.zeros(2, 1, 4, 5).contiguous(memory_format=flambeau.channels_last)
    with pytest.raises(RuntimeError, match=r"shape \(2, 1, 4, 5\) .* no unique order"):
        images.dim_order(ambiguity_check=True)
    formats = [flambeau.contiguous_format, flambeau.channels_last]
    assert flambeau.ones(1, 2, 3, 4).dim_order(ambiguity_check=formats) == (0, 1, 2, 3)
    for wrong in (3, "a", [3]):
        with pytest.raises(TypeError, match="a bool or a list of memory formats"):
            x.dim_order(ambiguity_check=wrong)  # type: ignore[arg-type]


def test_resize_to_more_dims_than_there_are() -> None:
    x = flambeau.ones(2)
    with pytest.raises(RuntimeError, match="at most 64 dimensions, got 65"):
        x.resize_((0,) * 65)
    assert x.shape == (2,)


def test_diagonals_of_more_rows_than_strides_can_span() -> None:
    matrices = flambeau.diag_embed(flambeau.randn(0, 1), 2**62, dim2=0)
    assert matrices.shape == (2**62 + 1, 2**62 + 1, 0) and matrices.numel() == 0


def test_resize_without_writing() -> None:
    x = flambeau.arange(6.0).requires_grad_()
    with pytest.warns(UserWarning, match="deprecated"):
        y = x.resize(2, 3)
    (y * y).sum().backward()
    assert y.shape == (2, 3) and x.grad is not None and x.grad.tolist() == [0, 2, 4, 6, 8, 10]
    with pytest.warns(UserWarning, match="deprecated"):
        assert x.detach().view(2, 3).t().resize_as(flambeau.ones(6)).tolist() == [0, 3, 1, 4, 2, 5]
    with (
        pytest.warns(UserWarning, match="deprecated"),
        pytest.raises(RuntimeError, match=r"\(4,\) has 4 elements"),
    ):
        x.resize(4)


def test_what_is_written_to_a_mapped_file(tmp_path: Path) -> None:
    file = tmp_path / "x.pt"
    flambeau.save({"x": flambeau.zeros(3)}, file)
    assert serialization.get_default_mmap_options() == mmap.MAP_PRIVATE
    flambeau.load(file, mmap=True)["x"].fill_(1)
    assert flambeau.load(file)["x"].tolist() == [0, 0, 0]
    with serialization.set_default_mmap_options(mmap.MAP_SHARED):
        assert serialization.get_default_mmap_options() == mmap.MAP_SHARED
        flambeau.load(file, mmap=True)["x"].fill_(2)
        flambeau.load(file, mmap=True)["x"][0] = 3
    assert serialization.get_default_mmap_options() == mmap.MAP_PRIVATE
    assert flambeau.load(file, mmap=True)["x"].tolist() == [3, 2, 2]
    with pytest.raises(RuntimeError, match="CRC-32"):
        flambeau.load(file)
    with pytest.raises(ValueError, match="MAP_PRIVATE or mmap.MAP_SHARED, got 77"):
        serialization.set_default_mmap_options(77)


def test_of_the_machine() -> None:
    found = flambeau.cpu.get_capabilities()
    if flambeau.cpu.get_capability() != "baseline" and found["architecture"] == "x86_64":
        assert found["avx2"] and found["fma3"]
    assert found["num_sockets"] <= found["num_physical_cores"] <= found["num_logical_cores"]
    if not accelerator.is_available():
        with pytest.raises(RuntimeError, match="there is no accelerator"):
            accelerator.get_memory_info()


def test_functions_that_can_be_taken_over_and_others() -> None:
    ignored, stand_ins = overrides.get_ignored_functions(), overrides.get_testing_overrides()
    assert not ignored & stand_ins.keys() and flambeau.Tensor.add in stand_ins
    for functions in overrides.get_overridable_functions().values():
        assert stand_ins.keys() >= set(functions)
    assert all(stand_in(1, other=2) == -1 for stand_in in stand_ins.values())


def test_the_function_behind_a_reentrant_checkpoint() -> None:
    x = flambeau.ones(2, requires_grad=True)
    y = CheckpointFunction.apply(lambda a, b: (a * b).exp(), True, x, 2)
    y.sum().backward()
    assert flambeau.allclose(x.grad, 2 * y.detach())

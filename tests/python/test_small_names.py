"""Names that programs use now and then: random tensors for tests, exchanged tensors, streams of the
CPU, containers of the first releases.
"""

from __future__ import annotations

import pickle
from collections import namedtuple
from typing import Any

import pytest

import flambeau
from flambeau import nn
from flambeau.testing import make_tensor

INTEGERS = ["uint8", "int8", "int16", "int32", "int64"]
FLOATS = ["float16", "bfloat16", "float32", "float64"]
COMPLEX = ["complex64", "complex128"]


def parts(x: Any) -> Any:
    return flambeau.view_as_real(x) if x.is_complex() else x.to(flambeau.float64)


@pytest.mark.parametrize("name", ["bool", *INTEGERS, *FLOATS, *COMPLEX])
def test_random_tensors(name: str) -> None:
    dtype = getattr(flambeau, name)
    x = make_tensor(40, 50, dtype=dtype, device="cpu")
    assert x.shape == (40, 50) and x.dtype == dtype and not x.requires_grad
    low, high = {"bool": (0, 1), "uint8": (0, 9)}.get(name, (-9, 9))
    values = parts(x)
    assert values.min() >= low and values.max() <= high
    # 2,000 draws reach both ends, or come near them, and lie around the middle.
    assert values.min() < low + 0.1 and values.max() > high - 0.1
    assert abs(values.mean().item() - (low + high) / 2) < 1
    narrow = make_tensor((100,), dtype=dtype, device="cpu", low=0, high=1, exclude_zero=True)
    assert (narrow != 0).all()
    if name in ("bool", *INTEGERS):
        assert (narrow == 1).all()


def test_limits_of_random_tensors() -> None:
    wide = make_tensor(50, dtype=flambeau.int8, device="cpu", low=-1000, high=1000)
    assert wide.dtype == flambeau.int8
    halves = make_tensor(50, dtype=flambeau.float16, device="cpu", low=6e4, high=1e9)
    assert halves.isfinite().all() and (halves >= 6e4).all()
    for low, high in ((3, 2), (2, 2)):
        with pytest.raises(ValueError, match="low must be below high"):
            make_tensor(2, dtype=flambeau.int32, device="cpu", low=low, high=high)
    with pytest.raises(ValueError, match="must be a number, got NaN"):
        make_tensor(2, dtype=flambeau.float32, device="cpu", low=float("nan"))


def test_memory_of_random_tensors() -> None:
    options: dict[str, Any] = {"dtype": flambeau.float32, "device": "cpu"}
    spread = make_tensor(3, 4, noncontiguous=True, requires_grad=True, **options)
    assert not spread.is_contiguous() and spread.requires_grad and spread.is_leaf
    assert make_tensor(1, noncontiguous=True, **options).is_contiguous()
    last = make_tensor(2, 3, 4, 5, memory_format=flambeau.channels_last, **options)
    assert last.is_contiguous(memory_format=flambeau.channels_last)
    with pytest.raises(ValueError, match="cannot both be given"):
        make_tensor(2, noncontiguous=True, memory_format=flambeau.channels_last, **options)
    with pytest.raises(ValueError, match="cannot require grad"):
        make_tensor(2, dtype=flambeau.int32, device="cpu", requires_grad=True)


def test_exchanged_tensors() -> None:
    layer = nn.Linear(2, 3)
    optimizer = flambeau.optim.SGD(layer.parameters(), lr=1.0)
    layer(flambeau.ones(1, 2)).sum().backward()
    weight, before = layer.weight, layer.weight.detach().clone()
    other = flambeau.full((5, 2), 2.0, dtype=flambeau.float64)
    other.note = "mine"  # type: ignore[attr-defined]
    flambeau.utils.swap_tensors(weight, other)
    assert layer.weight is weight is optimizer.param_groups[0]["params"][0]
    assert weight.tolist() == [[2.0, 2.0]] * 5 and weight.dtype == flambeau.float64
    assert type(weight) is flambeau.Tensor and weight.note == "mine"  # type: ignore[attr-defined]
    assert not weight.requires_grad and weight.grad is None
    assert isinstance(other, nn.Parameter) and not hasattr(other, "note")
    assert other.grad.tolist() == [[1.0, 1.0]] * 3 and other.requires_grad
    assert (other.detach() == before).all()
    flambeau.utils.swap_tensors(other, other)
    with pytest.raises(RuntimeError, match="expected leaves, got the result of an operation"):
        flambeau.utils.swap_tensors(other, other * 2)


def test_streams_of_the_cpu() -> None:
    from flambeau import cpu

    main, side = cpu.current_stream(), cpu.Stream()
    side.wait_stream(main)
    with cpu.stream(side), cpu.StreamContext(None):
        assert cpu.current_stream() is side
        event = side.record_event()
    assert cpu.current_stream() is main and event.query() and main.query()
    main.wait_event(event)
    event.wait(side)
    event.synchronize()
    cpu.set_device(0)
    assert cpu.is_initialized()


def test_containers_of_the_first_releases() -> None:
    with pytest.warns(DeprecationWarning, match="derive from nn.Module"):
        found = nn.Container(a=nn.Linear(1, 2), b=nn.ReLU())
    assert list(found.state_dict()) == ["a.weight", "a.bias"]
    assert nn.modules.container.Container is nn.Container


def test_names_of_modules() -> None:
    def function() -> None: ...

    flambeau.utils.set_module(function, "there")
    assert function.__module__ == "there"
    with pytest.raises(TypeError, match="expected the name of a module, got int"):
        flambeau.utils.set_module(function, 3)  # type: ignore[arg-type]


def test_names_where_programs_look_for_them() -> None:
    from flambeau.cpu.amp.autocast_mode import autocast as of_cpu
    from flambeau.cuda.amp.autocast_mode import autocast as of_cuda
    from flambeau.cuda.amp.grad_scaler import GradScaler
    from flambeau.cuda.memory import empty_cache
    from flambeau.distributed import deprecated
    from flambeau.functional import einsum, meshgrid

    assert of_cpu is flambeau.cpu.amp.autocast and of_cuda is flambeau.cuda.amp.autocast
    assert GradScaler is flambeau.cuda.amp.GradScaler
    assert empty_cache is flambeau.cuda.empty_cache
    assert einsum is flambeau.einsum and meshgrid is flambeau.meshgrid
    assert deprecated.all_reduce is flambeau.distributed.all_reduce
    assert flambeau.ones(2, 3)[:, flambeau.newaxis].shape == (2, 1, 3)
    assert flambeau.Tag.pt2_compliant_tag in flambeau.Tag
    for module in (flambeau.functional, flambeau.cuda.memory):
        with pytest.raises(AttributeError, match="has no 'nothing'"):
            _ = module.nothing


def test_former_names_of_autocast() -> None:
    before = flambeau.get_autocast_cpu_dtype()
    try:
        flambeau.set_autocast_cpu_dtype(flambeau.float16)
        flambeau.set_autocast_cpu_enabled(True)
        assert flambeau.is_autocast_cpu_enabled() and flambeau.is_autocast_enabled("cpu")
        assert flambeau.get_autocast_dtype("cpu") == flambeau.float16
        assert (flambeau.ones(1, 1) @ flambeau.ones(1, 1)).dtype == flambeau.float16
    finally:
        flambeau.set_autocast_cpu_enabled(False)
        flambeau.set_autocast_cpu_dtype(before)
    assert flambeau.get_autocast_gpu_dtype() == flambeau.get_autocast_dtype("cuda")


def test_dictionaries_by_identity() -> None:
    from flambeau.utils.weak import WeakIdKeyDictionary, WeakTensorKeyDictionary

    x, y = flambeau.ones(2), flambeau.ones(2)
    notes = WeakTensorKeyDictionary({x: 1})
    notes[y] = 2
    assert notes[x] == 1 and notes[y] == 2 and len(notes) == 2
    assert [key is x or key is y for key in notes] == [True, True]
    del notes[x]
    assert x not in notes and WeakTensorKeyDictionary is WeakIdKeyDictionary
    with pytest.raises(KeyError):
        _ = notes[x]
    del y
    assert len(notes) == 0


def test_flat_tensors() -> None:
    from flambeau._utils import _flatten_dense_tensors, _unflatten_dense_tensors

    parts = [flambeau.arange(6).view(2, 3).t(), flambeau.arange(2)]
    flat = _flatten_dense_tensors(parts)
    assert flat.tolist() == [0, 3, 1, 4, 2, 5, 0, 1]
    for a, b in zip(parts, _unflatten_dense_tensors(flat, parts), strict=True):
        assert a.tolist() == b.tolist()


def test_optimizers_of_others() -> None:
    """One that is written as PyTorch's own are."""
    from flambeau.optim.optimizer import (
        Optimizer,
        ParamsT,
        _default_to_fused_or_foreach,
        _dispatch_sqrt,
        _get_value,
        _use_grad_for_differentiable,
        _view_as_real,
    )

    class Scaled(Optimizer):
        def __init__(self, params: ParamsT, lr: float, differentiable: bool = False) -> None:
            super().__init__(params, {"lr": lr, "differentiable": differentiable})

        @_use_grad_for_differentiable
        def step(self, closure: Any = None) -> None:
            assert flambeau.is_grad_enabled() is self.defaults["differentiable"]
            for group in self.param_groups:
                for p in group["params"]:
                    p.add_(p.grad, alpha=-_get_value(group["lr"]) / _dispatch_sqrt(4.0))

    weight = flambeau.tensor([2.0], requires_grad=True)
    (3 * weight).sum().backward()
    Scaled([weight], lr=flambeau.tensor(0.5)).step()
    assert weight.tolist() == [1.25] and _default_to_fused_or_foreach([weight], False) == (
        False,
        False,
    )
    params, grads = [flambeau.ones(2, dtype=flambeau.complex64)], [flambeau.ones(2) * 1j]
    _view_as_real(params, grads)
    assert params[0].shape == (2, 2) and grads[0].tolist() == [[0, 1], [0, 1]]


def test_divided_arguments() -> None:
    from flambeau.nn.parallel.scatter_gather import is_namedtuple, scatter_kwargs

    x = flambeau.arange(4)
    parts, named = scatter_kwargs((x,), {"y": x + 1}, ["cpu", "cpu"])
    assert [p[0].tolist() for p in parts] == [[0, 1], [2, 3]]
    assert [n["y"].tolist() for n in named] == [[1, 2], [3, 4]]
    assert scatter_kwargs((), {"y": x}, ["cpu", "cpu"])[0] == ((), ())
    assert is_namedtuple(namedtuple("Pair", "a b")(1, 2)) and not is_namedtuple((1, 2))


def test_names_of_layers_that_programs_copy_and_print() -> None:
    from flambeau.nn.modules.module import _addindent
    from flambeau.nn.modules.transformer import _get_clones

    layer = nn.Linear(1, 1)
    first, second = _get_clones(layer, 2)
    assert first is not second is not layer and (first.weight == second.weight).all()
    assert _addindent("a\nb\nc", 4) == "a\n    b\n    c"
    get_enum = nn.functional._Reduction.get_enum
    assert [get_enum(name) for name in ("none", "mean", "sum")] == [0, 1, 2]
    with pytest.raises(ValueError, match="reduction must be 'none', 'mean' or 'sum', got 'max'"):
        get_enum("max")
    with pytest.warns(UserWarning, match="give reduction='none'"):
        assert nn.functional._Reduction.legacy_get_enum(True, False) == 0


def test_places_of_storages() -> None:
    from flambeau.serialization import default_restore_location, location_tag

    storage = flambeau.ones(2).untyped_storage()
    assert default_restore_location(storage, "cpu") is storage
    assert location_tag(default_restore_location(storage, "meta")) == "meta"
    with pytest.raises(pickle.UnpicklingError, match="nowhere"):
        default_restore_location(storage, "nowhere")


def test_pools_and_queues_by_their_modules() -> None:
    from flambeau.multiprocessing.pool import Pool
    from flambeau.multiprocessing.queue import Queue

    context = flambeau.multiprocessing.get_context("fork")
    with Pool(1, context=context) as pool:
        assert pool.map(flambeau.neg, [flambeau.ones(2)])[0].tolist() == [-1, -1]
    assert isinstance(context.Queue(), Queue)


def test_what_builds_of_extensions_ask() -> None:
    from flambeau.utils import cpp_extension
    from flambeau.utils._triton import has_triton

    assert not has_triton() and cpp_extension.is_ninja_available()
    assert not cpp_extension.IS_WINDOWS and cpp_extension.ROCM_HOME is None
    cpp_extension.verify_ninja_availability()
    with pytest.raises(AttributeError, match=r"flambeau\.ops\.load compiles operators"):
        cpp_extension.CUDAExtension  # noqa: B018


def test_marks_for_a_compiler_change_nothing() -> None:
    layer = flambeau.nn.Linear(2, 1)
    x = flambeau.ones(1, 2)
    before = layer(x)
    layer.compile(mode="reduce-overhead")
    with flambeau.compiler.set_stance("force_eager"):
        assert flambeau.equal(layer(x), before)
    assert flambeau.compiler.set_stance("default")(len)([1]) == 1
    assert flambeau.compiler.nested_compile_region(dynamic=True)(len) is len
    with pytest.raises(RuntimeError, match="device xpu is not available"):
        layer.xpu()


def test_preferred_libraries_are_noted() -> None:
    from flambeau.backends import cuda

    assert cuda.preferred_linalg_library("magma") == cuda.preferred_linalg_library() == "magma"
    cuda.preferred_linalg_library("default")
    with pytest.raises(RuntimeError, match="expected one of default, cusolver, magma, got 'cula'"):
        cuda.preferred_linalg_library("cula")
    cuda.enable_cudnn_sdp(False)
    assert not cuda.cudnn_sdp_enabled()
    cuda.enable_cudnn_sdp(True)


def test_the_former_comparison_is_wider() -> None:
    one = flambeau.ones(2)
    flambeau.testing.assert_allclose(one, [1.00005, 1.0])
    flambeau.testing.assert_allclose(flambeau.tensor([float("nan")]), [float("nan")])
    flambeau.testing.assert_allclose(one, one.double())
    for wrong in (one + 0.001, one.to(flambeau.int64) + 1):
        with pytest.raises(AssertionError):
            flambeau.testing.assert_allclose(one, wrong)


def test_bytes_of_storages() -> None:
    memory = flambeau.zeros(2).untyped_storage()
    assert memory.fill_(3).tolist() == [3] * 8 and memory.element_size() == 1
    shared = flambeau.zeros(2)
    shared.untyped_storage().copy_(flambeau.tensor([1.0, 2.0]).untyped_storage())
    assert shared.tolist() == [1, 2] and memory.get_device() is None and not memory.is_cuda
    with pytest.raises(RuntimeError, match="expected 8 bytes, got 4"):
        memory.copy_(flambeau.zeros(1).untyped_storage())
    assert shared.storage().bool().tolist() == [True, True]


def test_dims_have_no_names() -> None:
    x = flambeau.ones(2, 3)
    assert x.names == (None, None) and not x.has_names()
    assert x.rename(None) is x and x.refine_names(None, None) is x
    with pytest.raises(NotImplementedError, match=r"rename\(\): dims have numbers and no names"):
        x.rename("batch", "channel")
    with pytest.raises(NotImplementedError, match=r"align_to\(\)"):
        x.align_to("channel", "batch")

"""Names that other people's libraries ask PyTorch for, and that must answer truthfully."""

from __future__ import annotations

import importlib
import subprocess
import sys

import pytest

import flambeau
from flambeau import _C, nn
from flambeau._subclasses.fake_tensor import is_fake
from flambeau._tensor_str import PRINT_OPTS, _tensor_str, printoptions
from flambeau.distributions.utils import _standard_normal
from flambeau.utils import _pytree as pytree
from flambeau.utils._python_dispatch import TorchDispatchMode

# In a process of its own: there is room for some names, which other tests may have taken.
_NAMED = """
import sys
import pytest
import flambeau

kind = sys.argv[1]
device = flambeau.device(kind)
assert (device.type, str(flambeau.device(f"{kind}:1"))) == (kind, f"{kind}:1")
assert device == flambeau.device(kind) != flambeau.device("cpu")
for call in (lambda: flambeau.ones(2, device=device), lambda: flambeau.ones(2).to(device)):
    with pytest.raises(RuntimeError, match=f"device {kind} is not available"):
        call()
with pytest.raises(RuntimeError, match="unknown device 'gpu'"):
    flambeau.device("gpu")
"""


@pytest.mark.parametrize("kind", ["mps", "xpu"])
def test_devices_that_there_are_not_can_be_named(kind: str) -> None:
    subprocess.run([sys.executable, "-c", _NAMED, kind], check=True)


def test_layouts_that_no_tensor_has() -> None:
    x = flambeau.ones(2)
    assert x.layout not in (flambeau.sparse_bsr, flambeau.sparse_bsc, flambeau.jagged)
    assert flambeau.sparse_bsr != flambeau.sparse_bsc
    assert repr(flambeau.sparse_bsr) == "flambeau.sparse_bsr"
    with pytest.raises(TypeError, match="layout"):
        flambeau.ones(2, layout=flambeau.sparse_bsr)


class _Seen(TorchDispatchMode):
    def __init__(self) -> None:
        super().__init__()
        self.names: list[str] = []

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):  # type: ignore[no-untyped-def]
        self.names.append(str(func))
        return func(*args, **(kwargs or {}))


def test_what_modes_are_asked_about() -> None:
    x = flambeau.tensor([2.0, 1.0])
    with _Seen() as seen:
        x.sort()
        x.sort(stable=True)
        x.double()
    assert seen.names == ["aten.sort.default", "aten.sort.stable", "aten._to_copy.default"]
    values, order = flambeau.ops.aten.sort.stable(x, stable=True, dim=0, descending=False)
    assert (values.tolist(), order.tolist()) == ([1, 2], [1, 0])


def test_numbers_that_might_be_open() -> None:
    assert not isinstance(3, flambeau.SymInt)
    assert (flambeau.sym_max(2, 3), flambeau.sym_min(2, 3.0)) == (3, 2.0)
    assert isinstance(flambeau.sym_min(2, 3.0), float)
    assert flambeau.sym_ite(True, 1, 2) == flambeau.sym_sum([1]) == flambeau.sym_sqrt(1) == 1
    assert flambeau.sym_not(0) is True


def test_transforms_know_that_they_run() -> None:
    assert not _C._are_functorch_transforms_active()
    seen = []

    def called(x: flambeau.Tensor) -> flambeau.Tensor:
        seen.append(_C._are_functorch_transforms_active())
        return x.sum()

    flambeau.func.vmap(called)(flambeau.ones(2, 3))
    flambeau.func.grad(called)(flambeau.ones(3))
    assert seen == [True, True]


def test_what_modules_are_moved_to() -> None:
    device = flambeau.device("cpu")
    assert _C._nn._parse_to("cpu", flambeau.float64) == (device, flambeau.float64, False, None)
    assert _C._nn._parse_to(flambeau.float16)[:2] == (None, flambeau.float16)
    assert _C._nn._parse_to(flambeau.ones(1, dtype=flambeau.float64))[1] == flambeau.float64


def test_trees_by_their_nodes() -> None:
    node = pytree.SUPPORTED_NODES[pytree._get_node_type([1, 2])]
    children, context = node.flatten_fn([1, 2])
    assert node.unflatten_fn(children, context) == [1, 2]
    spec = pytree.TreeSpec(list, context, [pytree.LeafSpec(), pytree.LeafSpec()])
    assert spec == pytree.tree_structure([3, 4])
    assert pytree.tree_unflatten([5, 6], spec) == [5, 6]


@pytest.mark.parametrize(
    ("path", "name", "owner"),
    [
        ("optim.adamw", "AdamW", "optim"),
        ("optim.adamax", "Adamax", "optim"),
        ("profiler.profiler", "schedule", "profiler"),
        ("distributed.constants", "default_pg_timeout", "distributed.distributed_c10d"),
    ],
)
def test_modules_where_programs_look(path: str, name: str, owner: str) -> None:
    here, there = (importlib.import_module(f"flambeau.{each}") for each in (path, owner))
    assert getattr(here, name) is getattr(there, name)


def test_small_ones() -> None:
    assert nn.init._calculate_correct_fan(flambeau.ones(4, 3, 2), "fan_out") == 8
    with pytest.raises(ValueError, match="mode must be 'fan_in' or 'fan_out', got 'fan'"):
        nn.init._calculate_correct_fan(flambeau.ones(4, 3), "fan")
    assert _standard_normal((2, 3), flambeau.float64, None).dtype == flambeau.float64
    assert not is_fake(flambeau.ones(1))
    assert flambeau.Future is flambeau.futures.Future
    assert flambeau.ScriptModule is flambeau.jit.ScriptModule
    assert isinstance(flambeau.Tensor, _C._TensorMeta)
    with printoptions(threshold=7):
        assert PRINT_OPTS.threshold == 7
    assert _tensor_str(flambeau.ones(2), indent=0) == "[1., 1.]"
    flambeau._assert_async(flambeau.tensor(1))
    with pytest.raises(RuntimeError, match="of no sign"):
        flambeau._assert_async(flambeau.tensor(0), "of no sign")

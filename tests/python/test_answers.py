"""What belongs to a compiler, to other hardware or to other libraries answers truthfully."""

from __future__ import annotations

import sys
from collections import OrderedDict, defaultdict, namedtuple
from pathlib import Path
from typing import Any

import pytest

import flambeau
from flambeau import hub, jit
from flambeau.backends import cuda, cudnn, mkldnn
from flambeau.nn.modules.utils import (
    _pair,
    _reverse_repeat_tuple,
    _triple,
    consume_prefix_in_state_dict_if_present,
)
from flambeau.utils import _pytree as pytree


def test_compilers_return_what_they_are_given() -> None:
    layer = flambeau.nn.Linear(2, 2)
    for made in (
        flambeau.compile(layer, mode="max-autotune"),
        flambeau.compile(fullgraph=True)(layer),
        jit.script(layer),
        jit.trace(layer, flambeau.ones(1, 2)),
        jit.freeze(layer.eval()),
        flambeau.compiler.disable(layer),
        jit.ignore(layer),
        jit.ignore(drop=True)(layer),
    ):
        assert made is layer
    with pytest.raises(TypeError, match="expected a module or a function, got int"):
        flambeau.compile(3)
    with pytest.raises(RuntimeError, match="training mode"):
        jit.freeze(flambeau.nn.Linear(1, 1))
    assert jit.wait(jit.fork(max, 1, 2)) == 2
    for kind, value, fits in (
        (list[int], [1, 2], True),
        (list[int], [1, "2"], False),
        (dict[str, int], {"a": 1}, True),
        (tuple[int, str], (1, 2), False),
        (int | None, None, True),
    ):
        assert jit.isinstance(value, kind) is fits


@pytest.mark.parametrize(
    "name",
    [
        "jit.load",
        "onnx.export",
        "export.export",
        "fx.symbolic_trace",
        "distributed.no_such_call",
        "mps.synchronize",
        "sparse.spsolve",
        "quantization.quantize_dynamic",
        "utils.cpp_extension.load",
    ],
)
def test_what_is_not_available_says_so(name: str) -> None:
    module: Any = flambeau
    *path, last = name.split(".")
    for part in path:
        module = getattr(module, part)
    with pytest.raises(AttributeError, match=f"flambeau.{name} is not available: .+"):
        getattr(module, last)


def test_questions() -> None:
    for module in (flambeau.mps, flambeau.xpu, flambeau.mtia):
        assert module.is_available() is False
    for name in ("cudnn", "mkl", "mkldnn", "mps", "openmp", "nnpack", "xnnpack", "opt_einsum"):
        assert getattr(flambeau.backends, name).is_available() is False
    if not flambeau.cuda.is_available():
        assert flambeau.accelerator.current_accelerator() is None
        assert flambeau.accelerator.device_count() == 0
        with pytest.raises(RuntimeError, match="there is no accelerator"):
            flambeau.accelerator.current_stream()


def test_switches() -> None:
    with cudnn.flags(enabled=False, benchmark=True):
        assert cudnn.benchmark and not cudnn.enabled
    assert cudnn.enabled and not cudnn.benchmark
    with pytest.raises(TypeError, match="no switch 'speed'"), cudnn.flags(speed=1):
        pass
    with mkldnn.flags(enabled=False):
        assert not mkldnn.enabled
    with cuda.sdp_kernel(enable_flash=False):
        assert not cuda.flash_sdp_enabled() and cuda.math_sdp_enabled()
    assert cuda.flash_sdp_enabled()
    try:
        flambeau.use_deterministic_algorithms(True, warn_only=True)
        assert flambeau.are_deterministic_algorithms_enabled()
        assert flambeau.get_deterministic_debug_mode() == 1
        flambeau.set_deterministic_debug_mode("error")
        assert not flambeau.is_deterministic_algorithms_warn_only_enabled()
        flambeau.set_float32_matmul_precision("high")
        assert flambeau.get_float32_matmul_precision() == "high"
        with pytest.raises(ValueError, match="highest, high, medium, got 'low'"):
            flambeau.set_float32_matmul_precision("low")
    finally:
        flambeau.set_deterministic_debug_mode(0)
        flambeau.set_float32_matmul_precision("highest")


# Models of folders --------------------------------------------------------------------------------

HUBCONF = """
dependencies = ["flambeau"]
from beside import scale

def double(x, by=2):
    "Twice a number."
    return x * by * scale
"""


def test_hub(tmp_path: Path) -> None:
    (tmp_path / "hubconf.py").write_text(HUBCONF)
    (tmp_path / "beside.py").write_text("scale = 10")
    try:
        assert hub.load(tmp_path, "double", 4, source="local", by=3) == 120
        assert "double" in hub.list(tmp_path, source="local")
        assert hub.help(str(tmp_path), "double", source="local") == "Twice a number."
        with pytest.raises(RuntimeError, match="has no function 'triple'"):
            hub.load(tmp_path, "triple", source="local")
    finally:
        sys.modules.pop("beside", None)
    with pytest.raises(RuntimeError, match="does not run programs from the network"):
        hub.load("owner/repository", "model")
    (tmp_path / "hubconf.py").write_text("dependencies = ['no_such_package']")
    with pytest.raises(RuntimeError, match="missing: no_such_package"):
        hub.list(tmp_path, source="local")
    with pytest.raises(FileNotFoundError):
        hub.list(tmp_path / "nothing", source="local")


def test_state_of_a_url(tmp_path: Path) -> None:
    flambeau.save({"w": flambeau.ones(2)}, tmp_path / "weights.pth")
    kept = hub.load_state_dict_from_url("http://nowhere.invalid/weights.pth", model_dir=tmp_path)
    assert kept["w"].tolist() == [1, 1]
    with pytest.raises(RuntimeError, match=r"other\.pth"):
        hub.load_state_dict_from_url("http://127.0.0.1:1/other.pth", model_dir=tmp_path)


# Trees --------------------------------------------------------------------------------------------

Point = namedtuple("Point", "x y")


def test_trees() -> None:
    tree = {"a": [1, (2, 3)], "b": OrderedDict(c=Point(4, None)), "d": defaultdict(list, e=6)}
    leaves, spec = pytree.tree_flatten(tree)
    assert leaves == [1, 2, 3, 4, None, 6] and spec.num_leaves == 6
    again = pytree.tree_unflatten(leaves, spec)
    assert again == tree and isinstance(again["b"]["c"], Point)
    assert again["d"].default_factory is list
    assert pytree.tree_map(lambda a, b: a + b, [1, {"x": 2}], [3, {"x": 4}]) == [4, {"x": 6}]
    assert pytree.tree_map_only(int, str, [1, "a", (2.0, 3)]) == ["1", "a", (2.0, "3")]
    assert pytree.tree_leaves([1, (2, 3)], is_leaf=lambda v: isinstance(v, tuple)) == [1, (2, 3)]
    assert pytree.tree_all(bool, [1, [2]]) and not pytree.tree_any(callable, [1])
    with pytest.raises(ValueError, match="has 6 leaves, got 1"):
        pytree.tree_unflatten([1], spec)


def test_own_containers() -> None:
    class Box:
        def __init__(self, value: Any) -> None:
            self.value = value

    pytree.register_pytree_node(Box, lambda b: ([b.value], None), lambda v, _: Box(*v))
    assert pytree.tree_map(lambda v: v + 1, Box([1, 2])).value == [2, 3]
    with pytest.raises(ValueError, match="registered already"):
        pytree.register_pytree_node(list, lambda v: (v, None), lambda v, _: v)


# Helpers ------------------------------------------------------------------------------------------


def test_helpers_of_layers() -> None:
    assert _pair(3) == (3, 3) and _triple([1, 2, 3]) == (1, 2, 3)
    assert _reverse_repeat_tuple((1, 2), 2) == (2, 2, 1, 1)
    state = OrderedDict([("module.a", 1), ("b", 2), ("module.c", 3)])
    consume_prefix_in_state_dict_if_present(state, "module.")
    assert list(state.items()) == [("a", 1), ("b", 2), ("c", 3)]


def test_reports_and_logs(tmp_path: Path) -> None:
    from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

    from flambeau.utils.collect_env import get_pretty_env_info
    from flambeau.utils.tensorboard import SummaryWriter

    assert f"flambeau_version: {flambeau.__version__}" in get_pretty_env_info()
    with SummaryWriter(tmp_path) as writer:
        for step in range(3):
            writer.add_scalar("loss", flambeau.tensor(1.0 / (step + 1)), step)
        writer.add_histogram("weights", flambeau.arange(10.0), 1)
        writer.add_image("picture", flambeau.rand(3, 4, 5), 1)
        writer.add_images("pictures", flambeau.rand(2, 1, 4, 5))
        writer.add_text("note", "some words", 2)
        writer.add_scalars("both", {"a": 1, "b": 2}, 0)
        writer.add_hparams({"lr": 0.1}, {"accuracy": 0.5}, run_name="run")
        with pytest.raises(NotImplementedError, match="no graph"):
            writer.add_graph(None)
        with pytest.raises(ValueError, match="no dimensions 'CHW'"):
            writer.add_image("bad", flambeau.rand(4, 5))
    log = EventAccumulator(str(tmp_path)).Reload()
    assert [(e.step, round(e.value, 3)) for e in log.Scalars("loss")] == [
        (0, 1.0),
        (1, 0.5),
        (2, 0.333),
    ]
    histogram = log.Histograms("weights")[0].histogram_value
    assert (histogram.min, histogram.max, histogram.num, histogram.sum) == (0, 9, 10, 45)
    picture, pictures = log.Images("picture")[0], log.Images("pictures")[0]
    assert (picture.height, picture.width, pictures.width) == (4, 5, 10)
    assert {p.name for p in tmp_path.iterdir() if p.is_dir()} == {"both_a", "both_b", "run"}


def test_associative_scan() -> None:
    from flambeau._higher_order_ops.associative_scan import associative_scan

    x = flambeau.arange(12.0).view(3, 4)
    for dim in (0, 1, -1):
        found = associative_scan(lambda a, b: a + b, x, dim)
        assert flambeau.equal(found, x.cumsum(dim))
    pair = associative_scan(
        lambda a, b: (a[0] * b[0], a[1] * b[0] + b[1]), (x + 1, x), 0, reverse=True
    )
    assert pair[0][0].tolist() == [45, 120, 231, 384] and pair[1][2].tolist() == [8, 9, 10, 11]
    with pytest.raises(ValueError, match=r"one size in dim 0: \[3, 4\]"):
        associative_scan(lambda a, b: a, (x, x.t()), 0)

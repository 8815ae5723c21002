"""Modules that PyTorch's documentation names: all import, and say what is not there."""

from __future__ import annotations

import importlib
import subprocess
import sys

import pytest

import flambeau
from flambeau._absent_modules import REASONS


@pytest.mark.parametrize("path", REASONS)
def test_absent_modules_import_and_give_their_reason(path: str) -> None:
    module = importlib.import_module(f"flambeau.{path}")
    with pytest.raises(AttributeError, match="is not available: ") as caught:
        module.anything  # noqa: B018
    assert str(caught.value).startswith(f"flambeau.{path}.anything is")
    assert REASONS[path] in str(caught.value)


def test_only_known_modules_are_found() -> None:
    importlib.import_module("flambeau.ao.quantization.observer")
    with pytest.raises(ImportError, match="cannot import name 'prepare'"):
        from flambeau.ao.quantization import prepare  # noqa: F401
    for path in ("fx.nothing", "ao.quantization.nothing", "quantised", "nn.attention.nothing"):
        with pytest.raises(ModuleNotFoundError, match="No module named"):
            importlib.import_module(f"flambeau.{path}")


def test_as_torch() -> None:
    program = """
from flambeau import run_as_torch
run_as_torch.install()
import torch.ao.quantization, torch.fx.experimental.symbolic_shapes, torch.distributed.rpc
from torch.distributed.elastic.multiprocessing.errors import record
from torch.nn.common_types import _size_2_t
from torch.nn.parallel.scatter_gather import gather
from torch.nn.utils.weight_norm import WeightNorm
import torch
print(record(len)([1]), callable(torch.nn.utils.weight_norm), torch.ao.quantization.__name__)
"""
    run = [sys.executable, "-c", program]
    found = subprocess.run(run, capture_output=True, text=True, check=True).stdout
    assert found.split()[:2] == ["1", "True"]


def test_functions_are_not_hidden_by_modules_of_their_names() -> None:
    for path, name in (
        ("nn.parallel.replicate", "replicate"),
        ("nn.parallel.parallel_apply", "parallel_apply"),
        ("nn.utils.weight_norm", "weight_norm"),
        ("nn.utils.spectral_norm", "spectral_norm"),
    ):
        module = importlib.import_module(f"flambeau.{path}")
        package = importlib.import_module(f"flambeau.{path.rpartition('.')[0]}")
        assert getattr(package, name) is getattr(module, name)


def test_masks_of_attention() -> None:
    from flambeau.nn.attention import bias

    query, key = flambeau.randn(2, 3, 4), flambeau.randn(2, 5, 4)
    attend = flambeau.nn.functional.scaled_dot_product_attention
    first = attend(query, key, key, attn_mask=bias.causal_upper_left(3, 5))
    flambeau.testing.assert_close(first, attend(query, key, key, is_causal=True))
    last = attend(query, key, key, attn_mask=bias.causal_lower_right(3, 5))
    # The last query sees everything.
    flambeau.testing.assert_close(last[:, 2:], attend(query[:, 2:], key, key))
    with pytest.raises(RuntimeError, match="expected two sizes, got 3"):
        bias.causal_upper_left(1, 2, 3)


def test_points_that_fill_a_cube() -> None:
    """Published: J. Bratley, B. Fox, 1988, the first points of every dim; and scipy's."""
    from scipy.stats import qmc

    engine = flambeau.quasirandom.SobolEngine(5, scramble=True, seed=3)
    expected = qmc.Sobol(5, scramble=True, bits=30, rng=3).random(8)
    found = engine.draw_base2(3, dtype=flambeau.float64)
    assert found.tolist() == expected.tolist()
    assert engine.reset().draw(8, dtype=flambeau.float64).tolist() == expected.tolist()
    plain = flambeau.quasirandom.SobolEngine(1)
    assert plain.draw(5).flatten().tolist() == [0, 0.5, 0.75, 0.25, 0.375]
    assert repr(plain) == "SobolEngine(dimension=1)"
    with pytest.raises(ValueError, match="no power of 2 together"):
        plain.draw_base2(3)
    with pytest.raises(ValueError, match="'dimension' must lie between"):
        flambeau.quasirandom.SobolEngine(0)


def test_statements_are_timed() -> None:
    from flambeau.utils.benchmark import Measurement, Timer

    ticks = iter(range(1000))
    timer = Timer("done.append(1)", timer=lambda: next(ticks), globals={"done": (done := [])})
    measured = timer.timeit(40)
    assert len(done) == 42 and measured.raw_times == [1] and measured.median == 1 / 40
    several = Measurement(2, [2.0, 4.0, 6.0, 8.0], "x")
    assert several.times == [1, 2, 3, 4] and several.mean == several.median == 2.5
    assert several.iqr == 1.5
    assert str(several).splitlines()[1:3] == ["  Median: 2.50 s", "  IQR:    1.50 s"]
    before = flambeau.get_num_threads()
    found = Timer("x.exp()", globals={"x": flambeau.ones(10)}).blocked_autorange(min_run_time=0.02)
    assert sum(found.raw_times) >= 0.02 and flambeau.get_num_threads() == before
    with pytest.raises(ValueError, match="'language' must be 'python'"):
        Timer(language="c++")

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
    mask = bias.causal_lower_right(3, 5)
    assert isinstance(mask, bias.CausalBias) and (mask.seq_len_q, mask.seq_len_kv) == (3, 5)
    last = attend(query, key, key, attn_mask=mask)
    assert type(last) is flambeau.Tensor
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
    from flambeau.utils.benchmark import Language, Measurement, TaskSpec, Timer

    ticks = iter(range(1000))
    timer = Timer("done.append(1)", timer=lambda: next(ticks), globals={"done": (done := [])})
    measured = timer.timeit(40)
    assert len(done) == 42 and measured.raw_times == [1] and measured.median == 1 / 40
    several = Measurement(2, [2.0, 4.0, 6.0, 8.0], TaskSpec("x"))
    assert several.times == [1, 2, 3, 4] and several.mean == several.median == 2.5
    assert several.iqr == 1.5
    assert str(several).splitlines()[1:3] == ["  Median: 2.50 s", "  IQR:    1.50 s"]
    before = flambeau.get_num_threads()
    found = Timer("x.exp()", globals={"x": flambeau.ones(10)}).blocked_autorange(min_run_time=0.02)
    assert sum(found.raw_times) >= 0.02 and flambeau.get_num_threads() == before
    with pytest.raises(ValueError, match="'language' must be 'python'"):
        Timer(language="c++")
    with pytest.raises(ValueError, match="'language' must be 'python'"):
        Timer(language=Language.CPP)


def test_measurements_are_merged_and_written() -> None:
    from flambeau.utils.benchmark import Measurement, TaskSpec, select_unit, trim_sigfig

    one, two = TaskSpec("a()", label="calls", sub_label="small"), TaskSpec("b()")
    given = [Measurement(2, [2.0], one), Measurement(1, [5.0], two), Measurement(1, [3.0], one)]
    merged = Measurement.merge(given)
    assert [(m.task_spec, m.times) for m in merged] == [(one, [1.0, 3.0]), (two, [5.0])]
    assert merged[0].title == "calls: small" and merged[0].as_row_name == "small"
    assert merged[0].has_warnings and not merged[1].has_warnings
    assert "the quarters are 50.0 % of the median apart" in str(merged[0])
    assert select_unit(2e-10) == ("ns", 1e-9) and select_unit(1.0) == ("s", 1.0)
    assert trim_sigfig(0.0012345, 3) == 0.00123
    steady = Measurement(1, [1.0, 1.0001, 0.9999] * 10, two)
    scattered = Measurement(1, [1.0, 2.0, 0.5, 1.5], two)
    assert steady.significant_figures == 4 and scattered.significant_figures == 1


def test_tables_of_measurements() -> None:
    from flambeau.utils.benchmark import Compare, Measurement, TaskSpec

    def took(milliseconds: float, function: str, size: int, threads: int) -> Measurement:
        task = TaskSpec("f()", "", "", "Sums", f"[{size}]", function, None, threads)
        return Measurement(10, [milliseconds / 100, milliseconds / 100], task)

    table = Compare([took(1.0, "sum", 8, 2), took(30.0, "sum", 8, 1)])
    table.extend_results([took(2.5, "mean", 8, 1), took(4.0, "mean", 9, 1)])
    assert str(table) == (
        "[---------- Sums ----------]\n"
        "            |  sum   |  mean\n"
        "1 threads: -----------------\n"
        "      [8]   |  30.0  |   2.5\n"
        "      [9]   |        |   4.0\n"
        "2 threads: -----------------\n"
        "      [8]   |   1.0  |\n"
        "\n"
        "Times are in milliseconds (ms).\n"
    )
    table.colorize(rowwise=True)
    rows = str(table).splitlines()
    assert "\033[92m\033[1m 2.5\033[0m" in rows[3] and "\033[31m30.0\033[0m" in rows[3]
    with pytest.raises(ValueError, match="expected Measurements, got int"):
        table.extend_results([3])  # type: ignore[list-item]

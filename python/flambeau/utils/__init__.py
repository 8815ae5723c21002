# mypy: implicit-reexport
"""Utilities; `flambeau.utils.data` loads data, `flambeau.utils.trainer` trains."""

from __future__ import annotations

from flambeau import _lazy

__getattr__, __dir__ = _lazy.submodules(
    globals(),
    (
        "_device",
        "_python_dispatch",
        "_pytree",
        "benchmark",
        "checkpoint",
        "collect_env",
        "cpp_extension",
        "data",
        "deterministic",
        "dlpack",
        "flop_counter",
        "hooks",
        "model_zoo",
        "module_tracker",
        "tensorboard",
        "trainer",
        "viz",
        "weak",
    ),
    {"set_module": "_naming", "swap_tensors": "_swapping"},
)

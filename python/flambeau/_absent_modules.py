"""Modules that PyTorch's documentation names, of what there is not: programs may import them, and
each name in them is an error that gives the reason.
"""

from __future__ import annotations

from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec
from types import ModuleType
from typing import Any

from flambeau import _lazy
from flambeau._absent_classes import WHOLE

_QUANTIZED = "Flambeau has no quantized tensors yet"
_GRAPHS = "Flambeau runs programs and makes no graphs of them"
_CALLS = "processes of a group exchange tensors, and do not call each other's functions"
_PIPES = "PyTorch gave these up; see flambeau.utils.data.DataLoader"
_PARTS = "it looks into parts of PyTorch that Flambeau does not have"
_KERNELS = "Flambeau has one kernel for a task, and none to choose among"

REASONS = {
    "__future__": "modules convert their parameters as they do, without switches",
    "_decomp": _GRAPHS,
    "_guards": _GRAPHS,
    "_logging": "Flambeau has no compiler, whose logs these are",
    "_prims": _GRAPHS,
    "_refs": _GRAPHS,
    "ao.nn": _QUANTIZED,
    "ao.ns": _QUANTIZED,
    "ao.pruning": "Flambeau has no sparse kernels for weights; see flambeau.nn.utils.prune",
    "ao.quantization": _QUANTIZED,
    "backends.xeon": "processes are started by flambeau.distributed.run",
    "classes": "Flambeau loads no classes of TorchScript",
    "compiler.bytecode": _GRAPHS,
    "compiler.config": _GRAPHS,
    "contrib": _PARTS,
    "cuda.jiterator": "kernels are declared; see flambeau.ops.load",
    "cuda.nccl": "tensors of several devices are not exchanged within a process",
    "cuda.tunable": _KERNELS,
    "distributed.autograd": _CALLS,
    "distributed.elastic": "a group of processes has one size; see flambeau.distributed.run",
    "distributed.nn.api": _CALLS,
    "distributed.nn.jit": _CALLS,
    "distributed.pipelining": WHOLE,
    "distributed.rpc": _CALLS,
    "distributed.tensor.parallel": WHOLE,
    "fx.experimental": _GRAPHS,
    "fx.immutable_collections": _GRAPHS,
    "fx.passes": _GRAPHS,
    "mps.event": "Flambeau has no backend for Apple's GPUs",
    "mps.profiler": "Flambeau has no backend for Apple's GPUs",
    "mtia.memory": "Flambeau has no backend for Meta's accelerators",
    "mtia.mtia_graph": "Flambeau has no backend for Meta's accelerators",
    "nativert": _GRAPHS,
    "nn.attention.experimental": _KERNELS,
    "nn.attention.varlen": _KERNELS,
    "nn.backends": _PARTS,
    "nn.cpp": _PARTS,
    "nn.intrinsic": _QUANTIZED,
    "nn.qat": _QUANTIZED,
    "nn.quantizable": _QUANTIZED,
    "nn.quantized": _QUANTIZED,
    "numa": "the system places processes",
    "profiler.itt": "Flambeau does not write for Intel's VTune; see flambeau.profiler",
    "utils.backend_registration": "backends are shared libraries; see the guide's chapter",
    "utils.bottleneck": "see flambeau.profiler",
    "utils.cpp_backtrace": _PARTS,
    "utils.data.backward_compatibility": _PIPES,
    "utils.data.graph": _PIPES,
    "utils.data.graph_settings": _PIPES,
    "utils.hipify": "Flambeau has no backend for AMD's GPUs",
    "utils.jit": _GRAPHS,
    "utils.mobile_optimizer": _GRAPHS,
    "utils.serialization": "files are read as the arguments of flambeau.load say",
    "utils.show_pickle": "see flambeau.load, which runs no code of a file",
    "utils.throughput_benchmark": "see flambeau.utils.benchmark",
    "xpu.memory": "Flambeau has no backend for Intel's GPUs",
}


# Modules below these, for the same reasons. What else is imported from them is no module.
_BELOW = {
    "ao.nn": "intrinsic qat quantizable quantized sparse",
    "ao.ns": "fx",
    "ao.pruning": "scheduler sparsifier",
    "ao.quantization": "backend_config fake_quantize fx observer qconfig qconfig_mapping "
    "quant_type quantization_mappings quantize_fx quantize_jit stubs utils",
    "distributed.elastic": "agent control_plane events metrics rendezvous timer utils",
    "distributed.nn.api": "remote_module",
    "distributed.pipelining": "microbatch schedules stage",
    "distributed.rpc": "api backend_registry constants functions internal options",
    "distributed.tensor.parallel": "api loss style",
    "fx.experimental": "proxy_tensor symbolic_shapes",
    "nn.intrinsic": "modules qat quantized",
    "nn.qat": "dynamic modules",
    "nn.quantizable": "modules",
    "nn.quantized": "dynamic functional modules",
}


# What libraries ask there before they go on, and its answer.
_ANSWERS: dict[str, dict[str, Any]] = {
    "cuda.nccl": {"is_available": lambda tensors: False},
    "fx.experimental.proxy_tensor": {"get_proxy_mode": lambda: None},
}


def reason(name: str) -> str | None:
    """Why a module, `flambeau.ao.quantization.fx`, is not there; None: nobody names it."""
    path = name.removeprefix("flambeau.")
    above, _, last = path.rpartition(".")
    if last in _BELOW.get(above, "").split():
        return REASONS[above]
    return REASONS.get(path)


class Finder(MetaPathFinder, Loader):
    """Finds them for imports, after all others have looked."""

    def find_spec(
        self, name: str, path: Any = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        if reason(name) is None:
            return None
        return ModuleSpec(name, self, is_package=True)

    def create_module(self, spec: ModuleSpec) -> None:
        return None

    def exec_module(self, module: ModuleType) -> None:
        why = reason(module.__name__)
        assert why is not None
        module.__doc__ = f"Not available: {why}."
        found = vars(module)
        found["__all__"] = []
        found.update(_ANSWERS.get(module.__name__.removeprefix("flambeau."), {}))
        found["__getattr__"] = _lazy.unavailable(module.__name__, why)

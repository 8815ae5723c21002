"""Flambeau: tensors, automatic differentiation, neural networks.

The functions and names of this module are PyTorch's, so that a script runs after
`import flambeau as torch`. Operators come from the compiled module `flambeau._C`, generated from
declarations; submodules are imported when they are first used.
"""

# ruff: noqa: E402, F401, F403
# mypy: implicit-reexport
# Names here shadow builtins (float, int, bool, sum, ...): nothing may be computed in this file.
import sys as _sys
import typing as _typing
from math import e, inf, nan, pi

from flambeau import _C
from flambeau._export import public_members as _public_members

if _typing.TYPE_CHECKING:
    from flambeau._C import *

globals().update(_public_members(_C))

from flambeau import _absent_modules as _absent_modules
from flambeau import _compiled_names as _compiled_names
from flambeau import _former_methods as _former_methods
from flambeau import _lazy
from flambeau import _sparse_joins as _sparse_joins
from flambeau import _sparse_parts as _sparse_parts
from flambeau import _storage_methods as _storage_methods
from flambeau import _tensor as _tensor
from flambeau import _torch_dispatch as _torch_dispatch
from flambeau import _torch_function as _torch_function
from flambeau._absent_dtypes import absent_dtypes as _absent_dtypes
from flambeau._asarray import asarray
from flambeau._compressed_tensor import (
    sparse_compressed_tensor,
    sparse_csc_tensor,
    sparse_csr_tensor,
)
from flambeau._dtype_limits import finfo, iinfo
from flambeau._einsum import einsum
from flambeau._former_methods import resize_as_
from flambeau._lobpcg import lobpcg
from flambeau._low_rank import pca_lowrank, svd_lowrank
from flambeau._mapped_files import from_file
from flambeau._matrix_chains import chain_matmul
from flambeau._queries import (
    allclose,
    equal,
    is_complex,
    is_conj,
    is_floating_point,
    is_inference,
    is_neg,
    is_nonzero,
    is_signed,
    is_storage,
    is_tensor,
    numel,
    resolve_conj,
    resolve_neg,
    typename,
)
from flambeau._recurrent import gru, lstm, rnn_relu, rnn_tanh
from flambeau._settings import (
    are_deterministic_algorithms_enabled,
    compiled_with_cxx11_abi,
    get_deterministic_debug_mode,
    get_float32_matmul_precision,
    get_num_interop_threads,
    is_deterministic_algorithms_warn_only_enabled,
    set_deterministic_debug_mode,
    set_float32_matmul_precision,
    set_flush_denormal,
    set_num_interop_threads,
    use_deterministic_algorithms,
)
from flambeau._sparse_tensor import sparse_coo_tensor, spmm
from flambeau._streams import Event, Stream
from flambeau._tensor_str import set_printoptions
from flambeau._typed_tensors import CPU_TYPES as _CPU_TYPES
from flambeau._typed_tensors import set_default_tensor_type
from flambeau._version import __version__
from flambeau.amp import GradScaler, autocast
from flambeau.amp.autocast_mode import is_autocast_available, is_autocast_enabled
from flambeau.autograd import (
    enable_grad,
    inference_mode,
    is_grad_enabled,
    is_inference_mode_enabled,
    no_grad,
    set_grad_enabled,
)
from flambeau.compiler import compile
from flambeau.functional import broadcast_shapes, tensordot
from flambeau.serialization import load, save
from flambeau.storage import TypedStorage
from flambeau.storage import storage_types as _storage_types

newaxis = None  # an index that adds a dim, as in NumPy
has_lapack = True  # SciPy's, on which Flambeau depends
has_openmp = False  # threads are Flambeau's own

globals().update(_CPU_TYPES, **_storage_types(), **_absent_dtypes())

_sys.meta_path.append(_absent_modules.Finder())

if _typing.TYPE_CHECKING:
    from flambeau import (
        __config__,
        _dynamo,
        _higher_order_ops,
        _inductor,
        _ops,
        accelerator,
        amp,
        ao,
        array_api,
        autograd,
        backends,
        compiler,
        cpu,
        cuda,
        datasets,
        distributed,
        distributions,
        export,
        extension,
        fft,
        func,
        futures,
        fx,
        hub,
        interop,
        jit,
        legacy,
        library,
        linalg,
        masked,
        monitor,
        mps,
        mtia,
        multiprocessing,
        nested,
        nn,
        onnx,
        ops,
        optim,
        overrides,
        package,
        profiler,
        quantization,
        quasirandom,
        random,
        return_types,
        signal,
        sparse,
        special,
        storage,
        testing,
        torch_version,
        types,
        utils,
        version,
        xpu,
    )
    from flambeau._higher_order_ops.cond import cond
    from flambeau._symbolic import (
        SymBool,
        SymFloat,
        SymInt,
        sym_float,
        sym_int,
        sym_ite,
        sym_max,
        sym_min,
        sym_not,
        sym_sqrt,
        sym_sum,
    )
    from flambeau._tags import Tag
    from flambeau.accelerator import get_device_module
    from flambeau.amp.former_names import (
        get_autocast_cpu_dtype,
        get_autocast_gpu_dtype,
        is_autocast_cpu_enabled,
        set_autocast_cpu_dtype,
        set_autocast_cpu_enabled,
        set_autocast_gpu_dtype,
    )
    from flambeau.func import vmap
    from flambeau.futures import Future
    from flambeau.jit import ScriptModule
else:
    __getattr__, __dir__ = _lazy.submodules(
        globals(),
        (
            "amp",
            "__config__",
            "_dynamo",
            "_higher_order_ops",
            "_inductor",
            "_ops",
            "accelerator",
            "ao",
            "array_api",
            "autograd",
            "backends",
            "compiler",
            "cpu",
            "cuda",
            "datasets",
            "distributions",
            "distributed",
            "export",
            "extension",
            "fft",
            "func",
            "futures",
            "fx",
            "hub",
            "interop",
            "jit",
            "legacy",
            "library",
            "linalg",
            "masked",
            "monitor",
            "mps",
            "mtia",
            "multiprocessing",
            "nested",
            "nn",
            "onnx",
            "ops",
            "optim",
            "overrides",
            "package",
            "profiler",
            "quantization",
            "quasirandom",
            "random",
            "return_types",
            "signal",
            "sparse",
            "special",
            "storage",
            "testing",
            "torch_version",
            "types",
            "utils",
            "version",
            "xpu",
        ),
        {
            "Future": "futures",
            "Tag": "_tags",
            **dict.fromkeys(
                ("get_autocast_cpu_dtype", "get_autocast_gpu_dtype", "is_autocast_cpu_enabled"),
                "amp.former_names",
            ),
            **dict.fromkeys(
                ("set_autocast_cpu_dtype", "set_autocast_cpu_enabled", "set_autocast_gpu_dtype"),
                "amp.former_names",
            ),
            "PyTorchFileReader": "_compiled_names",
            "ScriptModule": "jit",
            "_assert_async": "_compiled_names",
            **dict.fromkeys(
                ("SymBool", "SymFloat", "SymInt", "sym_float", "sym_int", "sym_ite", "sym_max"),
                "_symbolic",
            ),
            **dict.fromkeys(("sym_min", "sym_not", "sym_sqrt", "sym_sum"), "_symbolic"),
            "cond": "_higher_order_ops.cond",
            "get_device_module": "accelerator",
            "vmap": "func",
        },
        {"_foreach_": "_foreach"},
    )

from flambeau import _installed_backends as _installed_backends

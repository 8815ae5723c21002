"""Flambeau: tensors, automatic differentiation, neural networks.

The functions and names of this module are PyTorch's, so that a script runs after
`import flambeau as torch`. Operators come from the compiled module `flambeau._C`, generated from
declarations; submodules are imported when they are first used.
"""

# ruff: noqa: E402, F401, F403
# mypy: implicit-reexport
# Names here shadow builtins (float, int, bool, sum, ...): nothing may be computed in this file.
import typing as _typing
from math import e, inf, nan, pi

from flambeau import _C
from flambeau._export import public_members as _public_members

if _typing.TYPE_CHECKING:
    from flambeau._C import *

globals().update(_public_members(_C))

from flambeau import _lazy
from flambeau import _tensor as _tensor
from flambeau._dtype_limits import finfo, iinfo
from flambeau._einsum import einsum
from flambeau._low_rank import pca_lowrank, svd_lowrank
from flambeau._matrix_chains import chain_matmul
from flambeau._queries import (
    allclose,
    equal,
    is_complex,
    is_floating_point,
    is_nonzero,
    is_signed,
    is_storage,
    is_tensor,
    numel,
    typename,
)
from flambeau._tensor_str import set_printoptions
from flambeau._version import __version__
from flambeau.autograd import (
    enable_grad,
    inference_mode,
    is_grad_enabled,
    is_inference_mode_enabled,
    no_grad,
    set_grad_enabled,
)
from flambeau.functional import broadcast_shapes, tensordot
from flambeau.serialization import load, save

if _typing.TYPE_CHECKING:
    from flambeau import (
        autograd,
        backends,
        cpu,
        cuda,
        datasets,
        distributions,
        extension,
        fft,
        library,
        linalg,
        multiprocessing,
        nn,
        ops,
        optim,
        random,
        return_types,
        special,
        testing,
        utils,
    )
else:
    __getattr__, __dir__ = _lazy.submodules(
        globals(),
        (
            "autograd",
            "backends",
            "cpu",
            "cuda",
            "datasets",
            "distributions",
            "extension",
            "fft",
            "library",
            "linalg",
            "multiprocessing",
            "nn",
            "ops",
            "optim",
            "random",
            "return_types",
            "special",
            "testing",
            "utils",
        ),
    )

from flambeau import _installed_backends as _installed_backends

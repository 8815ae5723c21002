"""Functions of functions: gradients, products with Jacobians, Jacobians, maps over a dim.

They nest to any depth, and take and return tensors in any nest of tuples, lists and dicts.
"""

from typing import TYPE_CHECKING

from flambeau import _lazy
from flambeau.func.derivatives import grad, grad_and_value, jvp, linearize, vjp
from flambeau.func.jacobians import hessian, jacfwd, jacrev
from flambeau.func.modules import (
    functional_call,
    replace_all_batch_norm_modules_,
    stack_module_state,
)
from flambeau.func.rearrangement import rearrange
from flambeau.func.transforms import debug_unwrap, functionalize
from flambeau.func.vectorize import vmap

__all__ = [
    "debug_unwrap",
    "functional_call",
    "functionalize",
    "grad",
    "grad_and_value",
    "hessian",
    "jacfwd",
    "jacrev",
    "jvp",
    "linearize",
    "rearrange",
    "replace_all_batch_norm_modules_",
    "stack_module_state",
    "vjp",
    "vmap",
]

if not TYPE_CHECKING:
    __getattr__ = _lazy.missing(__name__)

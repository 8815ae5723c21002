"""Runs a program whose normal numbers come from NumPy: the same with every library.

    python same_draws.py PROGRAM

PROGRAM's `torch.randn`, `torch.randn_like` and `torch.nn.init.normal_` are replaced.
"""

import runpy
import sys
from pathlib import Path

import numpy as np
import torch

SOURCE = np.random.default_rng(0)


def normal_like(tensor):
    values = torch.from_numpy(SOURCE.standard_normal(tuple(tensor.shape)))
    return values.to(tensor.dtype)


def randn(*size, requires_grad=False, **options):
    return normal_like(torch.empty(*size, **options)).requires_grad_(requires_grad)


def randn_like(tensor, requires_grad=False, **options):
    return normal_like(torch.empty_like(tensor, **options)).requires_grad_(requires_grad)


def normal_(tensor, mean=0.0, std=1.0, generator=None):
    with torch.no_grad():
        return tensor.copy_(normal_like(tensor) * std + mean)


torch.randn, torch.randn_like, torch.nn.init.normal_ = randn, randn_like, normal_
program = Path(sys.argv[1])
sys.path[0] = str(program.parent)
sys.argv = sys.argv[1:]
runpy.run_path(str(program), run_name="__main__")

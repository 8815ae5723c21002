"""Warnings that entries declare: where they point, and that a program can make errors of them.

That each is given for what its entry says breaks it, `tests/operators/test_operator_errors.py` has.
"""

from __future__ import annotations

import subprocess
import sys
import warnings
from typing import Any

import numpy as np
import pytest
from scipy.special import log_softmax, softmax

import flambeau
from flambeau import nn
from flambeau.nn import functional as F


@pytest.mark.parametrize("function", [F.mse_loss, F.l1_loss, F.smooth_l1_loss, F.huber_loss])
def test_losses_of_two_shapes(function: Any) -> None:
    """The line of the program is named that calls the library, however deep the operator is."""
    x, target = flambeau.randn(3), flambeau.randn(3, 1)
    layer = nn.Sequential(nn.Identity(), _Of(function, target))
    for call in (lambda: function(x, target), lambda: layer(x)):
        with pytest.warns(UserWarning, match="input of shape .* are broadcast") as seen:
            call()
        assert [warning.filename for warning in seen] == [__file__]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        function(x, x)
        with pytest.raises(UserWarning, match="expected one shape"):
            function(x, target)


class _Of(nn.Module):
    """A loss as the last layer."""

    def __init__(self, loss: Any, target: flambeau.Tensor) -> None:
        super().__init__()
        self.loss, self.target = loss, target

    def forward(self, x: flambeau.Tensor) -> Any:
        return self.loss(x, self.target)


@pytest.mark.parametrize("shape", [(), (4,), (2, 3), (2, 3, 4), (2, 3, 4, 5)])
def test_softmax_without_a_dim(shape: tuple[int, ...]) -> None:
    x = np.random.default_rng(0).normal(size=shape)
    dim = 0 if len(shape) in (0, 1, 3) else 1
    given = flambeau.tensor(x)
    for call, wanted in (
        (F.softmax, softmax(x, dim)),
        (F.softmin, softmax(-x, dim)),
        (F.log_softmax, log_softmax(x, dim)),
        (nn.Softmax(), softmax(x, dim)),
        (nn.LogSoftmax(), log_softmax(x, dim)),
    ):
        with pytest.warns(UserWarning, match=f"write dim={dim}"):
            found = call(given)
        np.testing.assert_allclose(found.numpy(), wanted, rtol=1e-12)


def test_the_mean_of_all_elements_is_no_divergence() -> None:
    x, target = flambeau.randn(3, 2).log_softmax(1), flambeau.rand(3, 2)
    with pytest.warns(UserWarning, match="batchmean"):
        F.kl_div(x, target)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        F.kl_div(x, target, reduction="batchmean")


def test_threads_may_be_warned() -> None:
    code = (
        "import threading, warnings, flambeau as f\n"
        "warnings.simplefilter('error')\n"
        "seen = []\n"
        "def run():\n"
        "    try: f.nn.functional.mse_loss(f.ones(3), f.ones(3, 1))\n"
        "    except UserWarning as error: seen.append(error)\n"
        "threads = [threading.Thread(target=run) for _ in range(4)]\n"
        "[t.start() for t in threads]; [t.join() for t in threads]\n"
        "assert len(seen) == 4\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True, timeout=60)


def test_some_are_given_once() -> None:
    """In a process of its own, as others may have been told already."""
    code = (
        "import warnings, flambeau as f\n"
        "x = f.ones(2, 3)\n"
        "def count():\n"
        "    with warnings.catch_warnings(record=True) as seen:\n"
        "        warnings.simplefilter('always')\n"
        "        for _ in range(3): f.cross(x, x)\n"
        "    return len(seen)\n"
        "assert count() == 1\n"
        "assert count() == 0\n"
        "f.set_warn_always(True)\n"
        "assert count() == 3\n"
        "f.set_warn_always(False)\n"
        "assert count() == 0\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True, timeout=60)

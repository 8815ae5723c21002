"""Flambeau and PyTorch in one process: tensors of one memory, PyTorch's modules as layers.

    python tests/parity/interop.py --torch PYTHON

PYTHON: an interpreter of the same version that has PyTorch, and Flambeau on its path. What fails is
printed, and the exit status is then 1.
"""

from __future__ import annotations

import argparse
import copy
import os
import traceback
import warnings
from collections.abc import Callable
from typing import Any

DTYPES = "bool uint8 int8 int16 int32 int64 float16 bfloat16 float32 float64 complex64 complex128"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--torch", help="an interpreter that has PyTorch (default: this one)")
    options = parser.parse_args()
    if options.torch:
        os.execv(options.torch, [options.torch, __file__])
    warnings.simplefilter("ignore")
    failed = 0
    for check in CHECKS:
        try:
            check()
        except Exception:
            failed += 1
            print(f"{check.__name__}:\n{traceback.format_exc()}")
    print(f"{len(CHECKS)} checks, {failed} failed")
    return 1 if failed else 0


def memory_is_shared() -> None:
    import torch

    import flambeau
    from flambeau.interop.torch import from_torch, to_torch

    for name in DTYPES.split():
        theirs = torch.ones(4, 3).to(getattr(torch, name)).t()[:, 1:]
        ours = from_torch(theirs)
        assert ours.dtype == getattr(flambeau, name) and ours.data_ptr() == theirs.data_ptr()
        assert tuple(ours.stride()) == theirs.stride() and tuple(ours.shape) == theirs.shape
        back = to_torch(ours)
        assert back.dtype == theirs.dtype and back.data_ptr() == theirs.data_ptr()
        theirs[0, 0] = 0
        assert ours[0, 0].item() == 0
    tracked = torch.ones(2, requires_grad=True) * 2
    assert not from_torch(tracked).requires_grad
    assert not to_torch(flambeau.ones(2, requires_grad=True) * 2).requires_grad
    turned = torch.tensor([1 + 2j]).conj()  # without memory of its own
    assert from_torch(turned).tolist() == [1 - 2j]
    assert to_torch(flambeau.empty(0, 3)).shape == (0, 3)


def training_is_the_same() -> None:
    import torch

    import flambeau
    from flambeau.interop.torch import TorchModule, from_torch, to_torch

    torch.manual_seed(0)
    parts = torch.nn.Linear(3, 8), torch.nn.BatchNorm1d(8), torch.nn.ReLU(), torch.nn.Linear(8, 2)
    shared = torch.nn.Sequential(*parts)
    alone = copy.deepcopy(shared)
    layer = TorchModule(shared)
    assert list(layer.state_dict()) == list(alone.state_dict())
    ours = flambeau.optim.SGD(layer.parameters(), lr=0.1, momentum=0.9)
    theirs = torch.optim.SGD(alone.parameters(), lr=0.1, momentum=0.9)
    data = torch.randn(16, 3)
    for _ in range(10):
        x = from_torch(data.clone()).requires_grad_()
        loss = layer(x).square().mean()
        ours.zero_grad()
        loss.backward()
        ours.step()
        y = data.clone().requires_grad_()
        expected = alone(y).square().mean()
        theirs.zero_grad()
        expected.backward()
        theirs.step()
        torch.testing.assert_close(to_torch(loss), expected.detach())
        torch.testing.assert_close(to_torch(x.grad), y.grad)
    for name, found in shared.state_dict().items():
        torch.testing.assert_close(found, alone.state_dict()[name])
    layer.eval()
    assert not shared.training and not shared[1].training
    with flambeau.no_grad():
        assert not layer(x).requires_grad


def arguments_may_be_nested() -> None:
    import torch

    import flambeau
    from flambeau.interop.torch import TorchModule

    lstm = TorchModule(torch.nn.LSTM(3, 4))
    start = flambeau.zeros(1, 2, 4), flambeau.zeros(1, 2, 4)
    output, (hidden, cell) = lstm(flambeau.randn(5, 2, 3), start)
    assert hidden.shape == cell.shape == (1, 2, 4)
    (output.sum() + cell.sum()).backward()
    assert lstm.weight_ih_l0.grad.abs().sum() > 0
    embedding = TorchModule(torch.nn.Embedding(5, 3))
    embedding(flambeau.tensor([1, 1])).sum().backward()
    assert embedding.weight.grad.sum(1).tolist() == [0, 6, 0, 0, 0]
    tied = torch.nn.Linear(3, 3)
    twice = TorchModule(torch.nn.Sequential(tied, tied))
    assert len(list(twice.parameters())) == 2
    twice(flambeau.ones(1, 3)).sum().backward()


def gradients_are_those_of_differences() -> None:
    import torch

    import flambeau
    from flambeau.interop.torch import TorchModule

    bilinear = TorchModule(torch.nn.Bilinear(2, 3, 2).double())
    x, y = (flambeau.rand(2, n, dtype=flambeau.float64, requires_grad=True) for n in (2, 3))
    assert flambeau.autograd.gradcheck(bilinear, (x, y))


def mistakes_are_told() -> None:
    import torch

    import flambeau
    from flambeau.interop.torch import TorchModule

    for wrong, said in (
        (lambda: TorchModule(flambeau.nn.Linear(2, 2)), "must be a torch.nn.Module"),
        (lambda: TorchModule(torch.nn.Linear(2, 2)).double(), "convert that, and wrap it again"),
    ):
        try:
            wrong()
        except TypeError as error:
            assert said in str(error), error
        else:
            raise AssertionError(f"nothing was raised: {said}")


CHECKS: list[Callable[[], Any]] = [
    memory_is_shared,
    training_is_the_same,
    arguments_may_be_nested,
    gradients_are_those_of_differences,
    mistakes_are_told,
]

if __name__ == "__main__":
    raise SystemExit(main())

"""Classes under the names that programs which import torch print, import and pickle."""

from __future__ import annotations

import subprocess
import sys

PROGRAM = """
import copy, inspect, pickle, typing
from flambeau import run_as_torch
run_as_torch.install()
import torch
import torch.nn as nn
{body}
"""


def printed(body: str) -> str:
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM.format(body=body)],
        capture_output=True,
        text=True,
        timeout=100,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_types_of_values() -> None:
    found = printed(
        "x = torch.ones(1)\n"
        "for v in (x, x.shape, x.dtype, x.device, x.to_sparse(), nn.Parameter(x)): print(type(v))\n"
        "print(torch.FloatTensor)"
    )
    names = ["torch.Tensor", "torch.Size", "torch.dtype", "torch.device", "torch.Tensor"]
    names += ["torch.nn.parameter.Parameter", "torch.FloatTensor"]
    assert found.splitlines() == [f"<class '{name}'>" for name in names]


def test_layers_are_where_programs_look_for_them() -> None:
    found = printed(
        "for name in ('Linear LazyLinear Conv2d BatchNorm1d InstanceNorm3d Flatten ZeroPad2d '\n"
        "             'PixelUnshuffle ChannelShuffle Unfold Upsample Sequential '\n"
        "             'Embedding').split():\n"
        "    print(getattr(nn, name).__module__.removeprefix('torch.nn.modules.'))\n"
    )
    expected = "linear linear conv batchnorm instancenorm flatten padding pixelshuffle "
    expected += "channelshuffle fold upsampling container sparse"
    assert found.split() == expected.split()


def test_what_is_loaded_later() -> None:
    found = printed(
        "import torch.distributions.normal, torch.optim.lr_scheduler\n"
        "print(torch.distributions.Normal, torch.optim.lr_scheduler.StepLR)\n"
        "print(torch.utils.data.DataLoader, torch.optim.Adam)"
    )
    assert "<class 'torch.distributions.normal.Normal'>" in found
    assert "<class 'torch.optim.lr_scheduler.StepLR'>" in found
    assert "<class 'torch.utils.data.dataloader.DataLoader'>" in found
    assert "<class 'torch.optim.adam.Adam'>" in found


def test_every_name_can_be_imported() -> None:
    found = printed(
        "import importlib, torch.optim, torch.utils.data, torch.distributions\n"
        "spaces = (nn, torch.optim, torch.utils.data, torch.distributions, torch)\n"
        "classes = {c for s in spaces for c in map(s.__dict__.get, dir(s)) if type(c) is type}\n"
        "named = [c for c in classes if c.__module__.startswith('torch')]\n"
        "wrong = [c for c in named\n"
        "         if getattr(importlib.import_module(c.__module__), c.__name__, None) is not c]\n"
        "print(len(named) > 200, wrong)"
    )
    assert found.strip() == "True []"


def test_copies_pickles_and_sources() -> None:
    found = printed(
        "layer = nn.Sequential(nn.Linear(2, 3), nn.ReLU())\n"
        "again = pickle.loads(pickle.dumps(layer))\n"
        "print(torch.equal(again[0].weight, layer[0].weight), copy.deepcopy(again)[1])\n"
        "print(b'torch.nn.modules.linear' in pickle.dumps(layer))\n"
        "print('class Linear' in inspect.getsource(nn.Linear))\n"
        "print(pickle.loads(pickle.dumps(torch.Size([2, 3]))), torch.eye(2).max(0).indices)\n"
    )
    assert found.splitlines() == [
        "True ReLU()",
        "True",
        "True",
        "torch.Size([2, 3]) tensor([0, 1])",
    ]


def test_messages_of_python() -> None:
    found = printed("try: torch.ones(1).nosuch\nexcept AttributeError as error: print(error)")
    assert found.strip() == "'Tensor' object has no attribute 'nosuch'"

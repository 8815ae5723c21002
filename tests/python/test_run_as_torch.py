"""`import torch` as a name of Flambeau: the same modules, versions, errors that say what is not."""

from __future__ import annotations

import subprocess
import sys
import typing
from itertools import pairwise
from pathlib import Path

import pytest

import flambeau
from flambeau.torch_version import TorchVersion


def program(text: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    """Runs a program whose name `torch` is Flambeau."""
    start = "import flambeau.run_as_torch as run; run.install()\n"
    return subprocess.run(
        [sys.executable, "-c", start + text, *arguments],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )


def passes(text: str) -> str:
    done = program(text)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_modules_are_the_same_objects() -> None:
    passes(
        """
import torch, flambeau, sys
import torch.nn as nn
import torch.nn.functional as F
from torch.optim.lr_scheduler import StepLR
from torch.utils.data import DataLoader
import torch.utils.data.dataloader
from torch.nn.modules.linear import Linear
assert torch is flambeau and nn is flambeau.nn and F is flambeau.nn.functional
assert StepLR is flambeau.optim.lr_scheduler.StepLR
assert torch.utils.data.dataloader.DataLoader is DataLoader is flambeau.utils.data.DataLoader
assert Linear is flambeau.nn.Linear is torch.nn.modules.linear.Linear
for name, module in list(sys.modules.items()):
    if name.split(".")[0] == "torch":
        assert module is sys.modules["flambeau" + name[5:]], name
        assert module.__spec__.name.startswith("flambeau"), name
"""
    )


def test_versions() -> None:
    said = passes(
        """
import importlib.metadata, importlib.util, torch
print(torch.__version__)
assert importlib.metadata.version("torch") == torch.__version__ == torch.version.__version__
assert "torch" in importlib.metadata.packages_distributions()
assert importlib.util.find_spec("torch") and importlib.util.find_spec("torch.nn.functional")
assert importlib.util.find_spec("torch.no_such") is None
assert torch.__version__ >= "2.9" and torch.__version__ > (2, 2) and torch.version.cuda is None
"""
    )
    assert said.strip() == f"2.13.0+flambeau.{flambeau.__version__}"


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("import torch; torch.conv9d", ["torch.conv9d is not in Flambeau yet", "conv"]),
        ("import torch.no_such", ["torch.no_such"]),
        ("from torch import conv9d", ["conv9d"]),
        ("import torch; torch.distributed.no_such", ["torch.distributed", "process"]),
        ("import torch; torch.cuda.FloatTensor(3)", ["cuda"]),
    ],
)
def test_missing_names_are_named(text: str, words: list[str]) -> None:
    done = program(text)
    assert done.returncode == 1
    last = done.stderr.strip().splitlines()[-1]
    assert all(word in last for word in words), last


def test_a_library_can_ask_whether_a_name_exists() -> None:
    passes(
        """
import torch
assert not hasattr(torch, "no_such") and not hasattr(torch.distributed, "no_such")
assert torch.distributed.is_available() and not torch.backends.mps.is_available()
"""
    )


SCRIPT = """
import subprocess, sys
import torch
import helper
assert sys.argv[1:] == ["--lr", "0.1"] and __name__ == "__main__"
print(torch.ones(2).sum().item(), helper.value)
child = "import torch; print('child', torch.__version__)"
print(subprocess.run([sys.executable, "-c", child], capture_output=True, text=True).stdout)
from torch import no_such_function_as_relu
"""


def test_texts_name_torch() -> None:
    """Programs read dtypes from their texts: `getattr(torch, str(dtype)[6:])`."""
    passes(
        """
import torch
x = torch.zeros(2, 3, dtype=torch.float64)
assert str(x.dtype) == "torch.float64" and getattr(torch, str(x.dtype)[6:]) is x.dtype
assert str(x.shape) == "torch.Size([2, 3])" and str(x.layout) == "torch.strided"
assert str(torch.channels_last) == "torch.channels_last" and "dtype=torch.float64" in str(x)
"""
    )
    passes("import torch; assert repr(torch.ones(1).max(0)).startswith('torch.return_types.max(')")
    assert str(flambeau.float64) == "flambeau.float64"


def test_the_runner(tmp_path: Path) -> None:
    (tmp_path / "script.py").write_text(SCRIPT)
    (tmp_path / "helper.py").write_text("import torch.nn\nvalue = 5\n")
    command = [sys.executable, "-m", "flambeau.run_as_torch"]
    for arguments, folder in (
        (["script.py"], tmp_path),
        (["-m", "script"], tmp_path),
        ([str(tmp_path / "script.py")], None),
    ):
        done = subprocess.run(
            [*command, *arguments, "--lr", "0.1"], cwd=folder, capture_output=True, text=True
        )
        assert done.stdout.startswith("2.0 5\nchild 2.13.0+flambeau"), done.stderr
        assert done.returncode == 1
        assert "torch.no_such_function_as_relu is not in Flambeau yet" in done.stderr
    assert "SCRIPT" in subprocess.run([*command, "--help"], capture_output=True, text=True).stdout


SPAWNING = """
import torch, torch.multiprocessing as mp
from torch import nn

def work(rank, x):
    x[rank] = torch.__version__.startswith("2.13.0+flambeau") + nn.Linear(1, 1).weight.numel()

if __name__ == "__main__":
    x = torch.zeros(1).share_memory_()
    mp.spawn(work, (x,), nprocs=1)
    print(x.tolist())
"""


def test_spawned_processes_import_torch_too(tmp_path: Path) -> None:
    """They import the program, with the path of the process that starts them."""
    (tmp_path / "script.py").write_text(SPAWNING)
    command = [sys.executable, "-m", "flambeau.run_as_torch", "script.py"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True)
    assert done.stdout == "[2.0]\n", done.stderr


def test_an_imported_torch_is_not_replaced() -> None:
    done = subprocess.run(
        [
            sys.executable,
            "-c",
            "import sys, types; t = types.ModuleType('torch'); sys.modules['torch'] = t\n"
            "from importlib.machinery import ModuleSpec\n"
            "t.__spec__ = ModuleSpec('torch', None, origin='/elsewhere/torch/__init__.py')\n"
            "import flambeau.run_as_torch as r; r.install()",
        ],
        capture_output=True,
        text=True,
    )
    assert "torch was imported already, from /elsewhere" in done.stderr


def test_versions_compare_as_versions() -> None:
    order = ["1.9", "1.10.0", "2.0.0.dev1", "2.0.0a1", "2.0.0rc1", "2.0.0", "2.0.1+cpu", "2.13"]
    versions = [TorchVersion(v) for v in order]
    assert all(a < b and b > a and a <= b for a, b in pairwise(versions))
    assert TorchVersion("2.0.0") == "2.0" == TorchVersion("2.0.0") != "2.0.1"
    assert TorchVersion("2.1.0") >= (2, 1) and not TorchVersion("2.1.0") < (2, 1)
    assert TorchVersion("2.1.0") != "no version"
    with pytest.raises(ValueError, match="no version: 'x'"):
        assert TorchVersion("1.0") < "x"


# What PyTorch's documentation names.
DOCUMENTED = """
accelerator autograd autograd.forward_ad autograd.function autograd.functional autograd.grad_mode
autograd.gradcheck autograd.graph autograd.profiler autograd.variable backends backends.cpu
backends.cuda backends.cudnn backends.mha backends.mkl backends.mkldnn backends.mps backends.nnpack
backends.openmp backends.opt_einsum backends.quantized backends.xnnpack compiler cpu cuda
distributed export fft functional futures fx hub jit library linalg masked monitor mps mtia
multiprocessing nested nn nn.functional nn.init nn.modules nn.parameter nn.utils nn.utils.clip_grad
nn.utils.rnn onnx optim optim.adam optim.lr_scheduler optim.optimizer optim.sgd overrides package
profiler quantization random return_types serialization sparse special storage testing types utils
utils.checkpoint utils.collect_env utils.cpp_extension utils.data utils.data._utils.collate
utils.data.dataloader utils.data.dataset utils.data.distributed utils.data.sampler utils.dlpack
utils.hooks utils.model_zoo utils.tensorboard utils._pytree version xpu
"""
LAYERS = """
activation adaptive batchnorm channelshuffle container conv distance dropout flatten fold
instancenorm lazy linear loss module normalization padding pixelshuffle pooling rnn sparse
transformer upsampling utils
"""


def test_documented_modules_can_be_imported() -> None:
    names = [*DOCUMENTED.split(), *(f"nn.modules.{name}" for name in LAYERS.split())]
    passes("".join(f"import torch.{name}\n" for name in names))


def test_every_layer_is_in_a_module_of_layers() -> None:
    from flambeau.nn import modules

    places = [vars(getattr(modules, name)) for name in LAYERS.split()]
    for name in modules.__all__:
        layer = getattr(flambeau.nn, name)
        if not issubclass(layer, flambeau.nn.Module):
            continue
        assert any(place.get(name) is layer for place in places), name
        assert getattr(modules, name) is layer
    assert isinstance(flambeau.nn.Conv1d(1, 1, 1), modules.conv._ConvNd)
    assert isinstance(flambeau.nn.BatchNorm2d(1), modules.batchnorm._BatchNorm)
    assert not isinstance(flambeau.nn.Conv1d(1, 1, 1), modules.batchnorm._NormBase)


def test_libraries_can_read_the_annotations_of_modules() -> None:
    for kind in (flambeau.nn.Module, flambeau.nn.Linear, flambeau.nn.LSTM):
        assert typing.get_type_hints(kind)["training"] is bool


def test_the_package_that_became_func() -> None:
    """Gradients of each sample, as programs of 2022 take them: of (w x + b)^2."""
    said = passes(
        """
import torch
from functorch import combine_state_for_ensemble, grad, make_functional, vmap
from functorch import make_functional_with_buffers
model = torch.nn.Linear(1, 1)
with torch.no_grad():
    model.weight.fill_(3), model.bias.fill_(1)
f, params = make_functional(model)
sample = grad(lambda params, x: f(params, x).square().sum())
weight, bias = vmap(sample, (None, 0))(params, torch.tensor([[1.0], [2.0]]))
print(weight.flatten().tolist(), bias.flatten().tolist())
f, params, buffers = combine_state_for_ensemble([model, model])
print(vmap(f, (0, 0, None))(params, buffers, torch.ones(1)).tolist(), buffers)
f, params, buffers = make_functional_with_buffers(torch.nn.BatchNorm1d(1))
f(params, buffers, torch.tensor([[1.0], [3.0]]))
print(round(buffers[0].item(), 4), buffers[2].item())  # as the module's own are written
"""
    )
    assert said.splitlines() == ["[8.0, 28.0] [8.0, 14.0]", "[[4.0], [4.0]] ()", "0.2 1"]


def test_settings_of_a_compiler_are_kept() -> None:
    passes(
        """
import torch, torch._dynamo, torch._dynamo.config, torch._inductor.config
torch._inductor.config.coordinate_descent_tuning = True
torch._inductor.config.triton.unique_kernel_names = True
torch._dynamo.config.suppress_errors = True
assert torch._inductor.config.coordinate_descent_tuning and torch._dynamo.config.suppress_errors
assert not isinstance(torch.nn.ReLU(), torch._dynamo.eval_frame.OptimizedModule)
from torch.distributed.fsdp.fully_sharded_data_parallel import FullyShardedDataParallel as Whole
assert Whole is torch.distributed.fsdp.FullyShardedDataParallel
"""
    )

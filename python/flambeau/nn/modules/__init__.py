"""The layers by the modules that PyTorch keeps them in: `nn.modules.batchnorm._BatchNorm`.

Each submodule has the classes themselves. Programs name these modules in imports and in type
checks, and pickles of whole models name the classes so.
"""

from __future__ import annotations

import sys
from importlib import import_module
from importlib.machinery import ModuleSpec
from importlib.util import module_from_spec

from flambeau import nn
from flambeau._export import public_members

# What pickles of attention name the class of its projection.
_FOR_ATTENTION = {"NonDynamicallyQuantizableLinear": "NonDynamicallyQuantizableLinear"}

# A submodule: the files of flambeau.nn that its classes are in, and private names that programs
# import: of classes, and of what prints and copies them.
_PLACES: dict[str, tuple[str, dict[str, str]]] = {
    "activation": ("activation softmax multihead_attention", _FOR_ATTENTION),
    "adaptive": ("adaptive", {}),
    "batchnorm": ("batchnorm lazy_layers", {"_NormBase": "_Norm", "_BatchNorm": "_BatchNorm"}),
    "channelshuffle": ("shapes", {}),
    "container": ("containers parameter_containers", {}),
    "conv": ("conv lazy_layers", {"_ConvNd": "_ConvNd", "_ConvTransposeNd": "_ConvTranspose"}),
    "distance": ("distance", {}),
    "dropout": ("dropout", {"_DropoutNd": "_Dropout"}),
    "flatten": ("shapes", {}),
    "fold": ("upsampling", {}),
    "instancenorm": ("batchnorm lazy_layers", {"_InstanceNorm": "_InstanceNorm"}),
    "lazy": ("lazy parameter", {}),
    "linear": ("linear lazy_layers", _FOR_ATTENTION),
    "loss": ("loss margin_loss linear_loss", {"_Loss": "_Loss", "_WeightedLoss": "_Weighted"}),
    "module": (
        "module module_state global_hooks",
        {
            "_IncompatibleKeys": "IncompatibleKeys",
            "_EXTRA_STATE_KEY_SUFFIX": "EXTRA_STATE",
            "_addindent": "_indented",
        },
    ),
    "normalization": ("normalization response_norm", {}),
    "padding": ("shapes", {}),
    "pixelshuffle": ("shapes", {}),
    "pooling": ("pooling unpooling", {"_MaxPoolNd": "_MaxPool", "_AvgPoolNd": "_AvgPool"}),
    "rnn": ("rnn rnn_cells", {}),
    "sparse": ("embedding embedding_bag", {}),
    "transformer": ("transformer", {"_get_clones": "_copies"}),
    "upsampling": ("upsampling", {}),
}


def _make(place: str) -> None:
    module = module_from_spec(ModuleSpec(f"{__name__}.{place}", None))
    files, private = _PLACES[place]
    sources = [import_module(f"flambeau.nn.{name}") for name in files.split()]
    module.__doc__ = "What is defined in " + ", ".join(source.__name__ for source in sources)
    # Where `inspect` finds the source of most of its classes.
    module.__file__ = sources[0].__file__
    for source in sources:
        vars(module).update(public_members(source))
    for name, ours in private.items():
        setattr(module, name, next(getattr(s, ours) for s in sources if hasattr(s, ours)))
    sys.modules[module.__name__] = globals()[place] = module


for _place in _PLACES:
    _make(_place)

from flambeau.nn.modules import utils as utils  # noqa: E402

_LAYERS = {name: getattr(nn, name) for name in nn.__all__ if isinstance(getattr(nn, name), type)}
_LAYERS = {n: layer for n, layer in _LAYERS.items() if ".parallel." not in layer.__module__}
__all__ = [*_LAYERS]
globals().update(_LAYERS)

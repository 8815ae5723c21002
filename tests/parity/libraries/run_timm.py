"""timm: image models. It imports torchvision, whose compiled part is made for PyTorch: where that
cannot be imported, classes without content stand for what timm names of it.
"""

import enum
import importlib.abc
import importlib.machinery
import sys
import types

import torch
from filled import filled, shown, trained


class StandIn(types.ModuleType):
    __path__ = []

    def __getattr__(self, name):
        if name.startswith("__"):
            raise AttributeError(name)
        if name == "InterpolationMode":
            return enum.Enum(name, "NEAREST BILINEAR BICUBIC BOX HAMMING LANCZOS")
        return type(name, (), {})


class Finder(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    def find_spec(self, name, path=None, target=None):
        if name.split(".")[0] == "torchvision":
            return importlib.machinery.ModuleSpec(name, self)
        return None

    def create_module(self, spec):
        return StandIn(spec.name)

    def exec_module(self, module):
        pass


sys.meta_path.insert(0, Finder())
import timm  # noqa: E402

SIZES = {
    "resnet18": 64,
    "vit_tiny_patch16_224": 224,
    "efficientnet_b0": 64,
    "convnext_atto": 64,
    "mobilenetv3_small_050": 64,
    "swin_tiny_patch4_window7_224": 224,
    "regnetx_002": 64,
    "mixer_s32_224": 224,
    "densenet121": 64,
    "deit_tiny_patch16_224": 224,
}
for name, size in SIZES.items():
    model = filled(timm.create_model(name, num_classes=5)).eval()
    x = torch.sin(torch.arange(2 * 3 * size * size).float()).view(2, 3, size, size)
    shown(name, model(x))
    loss = torch.nn.CrossEntropyLoss()
    trained(name, model, lambda: loss(model(x), torch.tensor([1, 2])), 2)

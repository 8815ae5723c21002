"""timm: ten architectures, among them ResNet, ViT, Swin, ConvNeXt, EfficientNet."""

import torch

import without_torchvision  # noqa: F401  isort: skip
from filled import filled, shown, trained

import timm  # isort: skip

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

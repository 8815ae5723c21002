"""vit-pytorch: eight vision transformers, forward and training."""

import torch

import without_torchvision  # noqa: F401  isort: skip
from filled import filled, shown, trained
from vit_pytorch import SimpleViT, ViT
from vit_pytorch.cait import CaiT
from vit_pytorch.cct import CCT
from vit_pytorch.cvt import CvT
from vit_pytorch.deepvit import DeepViT
from vit_pytorch.pit import PiT
from vit_pytorch.t2t import T2TViT

common = {"dim": 32, "depth": 2, "heads": 2, "mlp_dim": 48, "num_classes": 5}
MODELS = {
    "vit": lambda: ViT(image_size=32, patch_size=8, **common),
    "simple": lambda: SimpleViT(image_size=32, patch_size=8, **common),
    "deep": lambda: DeepViT(image_size=32, patch_size=8, **common),
    "cait": lambda: CaiT(image_size=32, patch_size=8, cls_depth=1, **common),
    "pit": lambda: PiT(image_size=32, patch_size=8, **{**common, "depth": (1, 1)}),
    "t2t": lambda: T2TViT(
        dim=32, image_size=32, depth=2, heads=2, mlp_dim=48, num_classes=5, t2t_layers=((7, 4),)
    ),
    "cct": lambda: CCT(
        img_size=(32, 32), embedding_dim=32, n_conv_layers=1, kernel_size=7, stride=2, padding=3,
        pooling_kernel_size=3, pooling_stride=2, pooling_padding=1, num_layers=2, num_heads=2,
        mlp_ratio=2.0, num_classes=5, positional_embedding="learnable",
    ),
    "cvt": lambda: CvT(num_classes=5, s1_emb_dim=16, s2_emb_dim=16, s3_emb_dim=16, s3_depth=1),
}  # fmt: skip
x = torch.sin(torch.arange(2 * 3 * 32 * 32).float()).view(2, 3, 32, 32)
loss = torch.nn.CrossEntropyLoss()
for name, make in MODELS.items():
    model = filled(make()).eval()
    shown(name, model(x))
    trained(name, model, lambda model=model: loss(model(x), torch.tensor([1, 2])), 2)

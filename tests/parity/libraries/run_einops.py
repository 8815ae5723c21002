"""einops: rearrangements, reductions, packing, layers."""

import torch
from einops import einsum, pack, rearrange, reduce, repeat, unpack
from einops.layers.torch import Rearrange, Reduce
from filled import filled, shown, trained

x = torch.sin(torch.arange(2 * 3 * 8 * 8).float()).view(2, 3, 8, 8)
shown("rearrange", rearrange(x, "b c (h p) (w q) -> b (h w) (p q c)", p=4, q=4))
shown("reduce", reduce(x, "b c (h 2) (w 2) -> b c h w", "max"), reduce(x, "b c h w -> c", "mean"))
shown("repeat", repeat(x, "b c h w -> b c (h k) w", k=2))
shown("einsum", einsum(x, x, "b c h w, b d h w -> b c d"))
packed, shapes = pack([x, x[:, 0]], "b * w")
shown("pack", packed, *unpack(packed, shapes, "b * w"))
model = filled(
    torch.nn.Sequential(
        Rearrange("b c (h p) (w q) -> b (h w) (p q c)", p=4, q=4),
        torch.nn.Linear(48, 8),
        torch.nn.GELU(),
        Reduce("b n c -> b c", "mean"),
    )
)
trained("training", model, lambda: (model(x) - 1).square().mean())

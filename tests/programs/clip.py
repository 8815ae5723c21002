"""A small CLIP (Radford et al., 2021): pictures and words that belong together, in one space."""

from collections import OrderedDict

import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F
from formula import classes, fill, pictures


class QuickGELU(nn.Module):
    def forward(self, x: torch.Tensor):
        return x * torch.sigmoid(1.702 * x)


class ResidualAttentionBlock(nn.Module):
    def __init__(self, d_model: int, n_head: int, attn_mask: torch.Tensor = None):
        super().__init__()
        self.attn = nn.MultiheadAttention(d_model, n_head)
        self.ln_1 = nn.LayerNorm(d_model)
        self.mlp = nn.Sequential(
            OrderedDict(
                [
                    ("c_fc", nn.Linear(d_model, d_model * 2)),
                    ("gelu", QuickGELU()),
                    ("c_proj", nn.Linear(d_model * 2, d_model)),
                ]
            )
        )
        self.ln_2 = nn.LayerNorm(d_model)
        self.attn_mask = attn_mask

    def attention(self, x):
        mask = (
            self.attn_mask.to(dtype=x.dtype, device=x.device)
            if self.attn_mask is not None
            else None
        )
        return self.attn(x, x, x, need_weights=False, attn_mask=mask)[0]

    def forward(self, x):
        x = x + self.attention(self.ln_1(x))
        return x + self.mlp(self.ln_2(x))


class VisionTransformer(nn.Module):
    def __init__(self, size=8, patch=4, width=16, layers=1, heads=2, output=12):
        super().__init__()
        self.conv1 = nn.Conv2d(3, width, kernel_size=patch, stride=patch, bias=False)
        scale = width**-0.5
        self.class_embedding = nn.Parameter(scale * torch.randn(width))
        self.positional_embedding = nn.Parameter(
            scale * torch.randn((size // patch) ** 2 + 1, width)
        )
        self.transformer = nn.Sequential(
            *[ResidualAttentionBlock(width, heads) for _ in range(layers)]
        )
        self.ln_post = nn.LayerNorm(width)
        self.proj = nn.Parameter(scale * torch.randn(width, output))

    def forward(self, x):
        x = self.conv1(x)
        x = x.reshape(x.shape[0], x.shape[1], -1).permute(0, 2, 1)
        first = self.class_embedding.to(x.dtype) + torch.zeros(
            x.shape[0], 1, x.shape[-1], dtype=x.dtype, device=x.device
        )
        x = torch.cat([first, x], dim=1) + self.positional_embedding.to(x.dtype)
        x = self.transformer(x.permute(1, 0, 2)).permute(1, 0, 2)
        return self.ln_post(x[:, 0, :]) @ self.proj


class CLIP(nn.Module):
    def __init__(self, context=5, vocab=10, width=16, output=12):
        super().__init__()
        self.visual = VisionTransformer(output=output)
        mask = torch.empty(context, context)
        mask.fill_(float("-inf"))
        mask.triu_(1)
        self.transformer = nn.Sequential(ResidualAttentionBlock(width, 2, mask))
        self.token_embedding = nn.Embedding(vocab, width)
        self.positional_embedding = nn.Parameter(torch.empty(context, width))
        self.ln_final = nn.LayerNorm(width)
        self.text_projection = nn.Parameter(torch.empty(width, output))
        self.logit_scale = nn.Parameter(torch.ones([]) * np.log(1 / 0.07))

    def encode_text(self, text):
        x = self.token_embedding(text) + self.positional_embedding
        x = self.transformer(x.permute(1, 0, 2)).permute(1, 0, 2)
        x = self.ln_final(x)
        # the features of the end of a text, which has the highest number
        return x[torch.arange(x.shape[0]), text.argmax(dim=-1)] @ self.text_projection

    def forward(self, image, text):
        image, text = self.visual(image), self.encode_text(text)
        image = image / image.norm(dim=1, keepdim=True)
        text = F.normalize(text, dim=1)
        logits = self.logit_scale.exp() * image @ text.t()
        return logits, logits.t()


model = CLIP()
with torch.no_grad():
    scale = model.logit_scale.clone()
fill(model)
with torch.no_grad():
    model.logit_scale.copy_(scale)
images, labels = pictures(0, 48, 4, 3, 8)
texts = torch.zeros(48, 5, dtype=torch.long)
texts[:, 0] = 8
texts[:, 1] = labels + 1
texts[:, 2] = classes(5, 4, 48) + 1
texts[torch.arange(48), 3 + labels % 2] = 9
optimizer = torch.optim.AdamW(
    model.parameters(), lr=5e-3, betas=(0.9, 0.98), eps=1e-6, weight_decay=0.2
)
for epoch in range(10):
    total = 0.0
    for first in range(0, 48, 16):
        batch = slice(first, first + 16)
        per_image, per_text = model(images[batch], texts[batch])
        # pictures of one kind have texts of one kind: each of them is right
        same = (labels[batch][:, None] == labels[batch]).float()
        soft = same / same.sum(1, keepdim=True)
        loss = (F.cross_entropy(per_image, soft) + F.cross_entropy(per_text, soft)) / 2
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        with torch.no_grad():
            model.logit_scale.clamp_(0, np.log(100))
        total += loss.item()
    if epoch % 3 == 0:
        print(f"epoch {epoch} loss {total / 3:.5f} scale {model.logit_scale.exp():.4f}")
model.eval()
with torch.no_grad():
    prompts = torch.tensor([[8, kind + 1, 1, 9 if kind % 2 == 0 else 0, 9] for kind in range(4)])
    probs = model(images, prompts)[0].softmax(dim=-1)
    values, indices = probs.topk(2)
print("zero-shot", round((indices[:, 0] == labels).float().mean().item(), 3))

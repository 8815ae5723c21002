"""A transformer in bfloat16 whose blocks are computed again in backward, with gradients that are
accumulated, unscaled and clipped; some results are kept by a policy.
"""

from functools import partial

import torch
import torch.nn as nn
import torch.nn.functional as F
from formula import classes, fill
from torch.utils.checkpoint import (
    CheckpointPolicy,
    checkpoint,
    checkpoint_sequential,
    create_selective_checkpoint_contexts,
)


class Block(nn.Module):
    def __init__(self, dim, heads):
        super().__init__()
        self.heads = heads
        self.norm1, self.norm2 = nn.LayerNorm(dim), nn.LayerNorm(dim)
        self.qkv, self.proj = nn.Linear(dim, 3 * dim), nn.Linear(dim, dim)
        self.mlp = nn.Sequential(
            nn.Linear(dim, 2 * dim), nn.GELU(approximate="tanh"), nn.Linear(2 * dim, dim)
        )

    def forward(self, x):
        b, t, c = x.shape
        qkv = self.qkv(self.norm1(x)).view(b, t, 3, self.heads, c // self.heads)
        q, k, v = qkv.permute(2, 0, 3, 1, 4).unbind(0)
        y = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        x = x + self.proj(y.transpose(1, 2).reshape(b, t, c))
        return x + F.dropout(self.mlp(self.norm2(x)), 0.0, self.training)


def keep_some(ctx, op, *args, **kwargs):
    name = str(op)
    return (
        CheckpointPolicy.PREFER_SAVE
        if "softmax" in name or "gelu" in name
        else CheckpointPolicy.PREFER_RECOMPUTE
    )


class Model(nn.Module):
    def __init__(self, vocab=11, dim=16, depth=3):
        super().__init__()
        self.tokens, self.places = nn.Embedding(vocab, dim), nn.Embedding(16, dim)
        self.blocks = nn.ModuleList(Block(dim, 4) for _ in range(depth))
        self.head = nn.Sequential(nn.LayerNorm(dim), nn.Linear(dim, vocab))
        self.mode = "plain"

    def forward(self, ids):
        x = self.tokens(ids) + self.places.weight[: ids.shape[1]]
        if self.mode == "sequential":
            x = checkpoint_sequential(list(self.blocks), 2, x, use_reentrant=False)
        else:
            for block in self.blocks:
                if self.mode == "plain":
                    x = block(x)
                elif self.mode == "selective":
                    contexts = partial(create_selective_checkpoint_contexts, keep_some)
                    x = checkpoint(block, x, use_reentrant=False, context_fn=contexts)
                else:
                    x = checkpoint(block, x, use_reentrant=self.mode == "reentrant")
        return self.head(x)


model = fill(Model())
ids = classes(0, 11, 24, 13).cumsum(1) % 11
for mode in ("plain", "recompute", "reentrant", "sequential", "selective"):
    model.mode = mode
    model.zero_grad()
    F.cross_entropy(model(ids[:8, :-1]).flatten(0, 1), ids[:8, 1:].flatten()).backward()
    grads = [p.grad.clone() for p in model.parameters() if p.grad is not None]
    if mode == "plain":
        expected = grads
    for a, b in zip(expected, grads, strict=True):
        torch.testing.assert_close(a, b)
    print(mode, f"{torch.nn.utils.get_total_norm(grads):.4f}")

model.mode = "recompute"
optimizer = torch.optim.AdamW(model.parameters(), lr=3e-3)
scaler = torch.amp.GradScaler("cpu", init_scale=2.0**8)
accumulate = 3
for epoch in range(8):
    running = 0.0
    for i, batch in enumerate(ids.split(8)):
        with torch.autocast("cpu", dtype=torch.bfloat16):
            logits = model(batch[:, :-1])
            loss = F.cross_entropy(logits.flatten(0, 1).float(), batch[:, 1:].flatten())
        running += loss.item()
        scaler.scale(loss / accumulate).backward()
        if (i + 1) % accumulate == 0:
            scaler.unscale_(optimizer)
            nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            scaler.step(optimizer)
            scaler.update()
            optimizer.zero_grad(set_to_none=True)
    if epoch % 3 == 1:
        print(f"epoch {epoch} loss {running / accumulate:.3f} scale {scaler.get_scale()}")

"""A small Mamba: selective state spaces (Gu and Dao, 2023) that remember a token over noise."""

import math

import torch
import torch.nn as nn
import torch.nn.functional as F
from formula import classes, fill
from torch import Tensor


def selective_scan(u: Tensor, delta: Tensor, A: Tensor, B: Tensor, C: Tensor, D: Tensor) -> Tensor:
    """Step by step: u, delta (b, l, d), A (d, n), B, C (b, l, n)."""
    deltaA = torch.exp(torch.einsum("bld,dn->bldn", delta, A))
    deltaB_u = torch.einsum("bld,bln,bld->bldn", delta, B, u)
    state = u.new_zeros(u.shape[0], u.shape[2], A.shape[1])
    ys = []
    for i in range(u.shape[1]):
        state = torch.addcmul(deltaB_u[:, i], deltaA[:, i], state)
        ys.append(torch.einsum("bdn,bn->bd", state, C[:, i]))
    return torch.stack(ys, dim=1) + u * D


def parallel_scan(u, delta, A, B, C, D):
    """The same by running sums in the logarithm of the decay, for all steps at once."""
    log_decay = torch.einsum("bld,dn->bldn", delta, A).cumsum(1)
    weight = (log_decay[:, :, None] - log_decay[:, None]).exp()
    length = torch.arange(u.shape[1])
    weight = weight.masked_fill((length[:, None] < length)[None, :, :, None, None], 0.0)
    inputs = torch.einsum("bld,bln,bld->bldn", delta, B, u)
    return torch.einsum("bijdn,bjdn,bin->bid", weight, inputs, C) + u * D


class RMSNorm(nn.Module):
    def __init__(self, d_model, eps=1e-5):
        super().__init__()
        self.eps, self.weight = eps, nn.Parameter(torch.ones(d_model))

    def forward(self, x):
        return x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + self.eps) * self.weight


class MambaBlock(nn.Module):
    def __init__(self, d_model=16, d_state=4, expand=2, d_conv=3):
        super().__init__()
        self.d_inner, self.dt_rank = expand * d_model, math.ceil(d_model / 8)
        self.d_state = d_state
        self.norm = RMSNorm(d_model)
        self.in_proj = nn.Linear(d_model, 2 * self.d_inner, bias=False)
        self.conv1d = nn.Conv1d(
            self.d_inner, self.d_inner, d_conv, groups=self.d_inner, padding=d_conv - 1
        )
        self.x_proj = nn.Linear(self.d_inner, self.dt_rank + 2 * d_state, bias=False)
        self.dt_proj = nn.Linear(self.dt_rank, self.d_inner)
        A = torch.arange(1, d_state + 1, dtype=torch.float32).repeat(self.d_inner, 1)
        self.A_log = nn.Parameter(torch.log(A))
        self.A_log._no_weight_decay = True
        self.D = nn.Parameter(torch.ones(self.d_inner))
        self.out_proj = nn.Linear(self.d_inner, d_model, bias=False)

    def inputs(self, x):
        x = F.silu(self.conv1d(x.transpose(1, 2))[..., : x.shape[1]].transpose(1, 2))
        delta, B, C = self.x_proj(x).split([self.dt_rank, self.d_state, self.d_state], dim=-1)
        return x, F.softplus(self.dt_proj(delta)), -torch.exp(self.A_log.float()), B, C, self.D

    def forward(self, h):
        x, gate = self.in_proj(self.norm(h)).chunk(2, dim=-1)
        return h + self.out_proj(selective_scan(*self.inputs(x)) * F.silu(gate))


class Mamba(nn.Module):
    def __init__(self, vocab=8, d_model=16, layers=2):
        super().__init__()
        self.embedding = nn.Embedding(vocab, d_model)
        self.layers = nn.ModuleList([MambaBlock(d_model) for _ in range(layers)])
        self.norm_f = RMSNorm(d_model)
        self.lm_head = nn.Linear(d_model, vocab, bias=False)
        self.lm_head.weight = self.embedding.weight

    def forward(self, ids):
        h = self.embedding(ids)
        for layer in self.layers:
            h = layer(h)
        return self.lm_head(self.norm_f(h))


def initialize(model):
    fill(model)
    with torch.no_grad():
        for layer in model.layers:
            layer.A_log.copy_(torch.log(torch.arange(1.0, 5.0)).expand_as(layer.A_log))
            layer.D.fill_(1.0)
            layer.dt_proj.bias.fill_(-2.0)
    return model


model = initialize(Mamba())
print(sum(p.numel() for p in model.parameters()), "parameters")
decay = [p for p in model.parameters() if not getattr(p, "_no_weight_decay", False)]
rest = [p for p in model.parameters() if getattr(p, "_no_weight_decay", False)]
optimizer = torch.optim.AdamW(
    [{"params": decay, "weight_decay": 0.05}, {"params": rest, "weight_decay": 0.0}],
    lr=5e-3,
    betas=(0.9, 0.95),
)
tokens = classes(0, 6, 32, 12) + 2
tokens[:, -1] = 1  # asks for the first token
answers = tokens[:, 0]
for step in range(25):
    logits = model(tokens)[:, -1]
    loss = F.cross_entropy(logits, answers)
    optimizer.zero_grad(set_to_none=True)
    loss.backward()
    norm = nn.utils.clip_grad_norm_(model.parameters(), 1.0)
    optimizer.step()
    if step % 6 == 0:
        print(f"step {step} loss {loss.item():.5f} norm {norm:.4f}")

with torch.inference_mode():
    x = model.layers[0].in_proj(model.embedding(tokens[:3])).chunk(2, dim=-1)[0]
    given = model.layers[0].inputs(x)
    one, all_at_once = selective_scan(*given), parallel_scan(*given)
    torch.testing.assert_close(one, all_at_once, rtol=1e-4, atol=1e-5)

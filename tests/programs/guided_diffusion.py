"""Denoising diffusion with guidance that needs no classifier (Ho and Salimans, 2022), a moving
average of weights, and samples by DDIM steps.
"""

import math

import torch
import torch.nn as nn
import torch.nn.functional as F
from formula import classes, fill
from torch.optim.swa_utils import AveragedModel, get_ema_multi_avg_fn
from torch.utils.data import DataLoader, TensorDataset

STEPS, KINDS = 50, 3


def cosine_betas(steps, s=0.008):
    t = torch.linspace(0, steps, steps + 1, dtype=torch.float64) / steps
    alphas = torch.cos((t + s) / (1 + s) * math.pi * 0.5) ** 2
    alphas = alphas / alphas[0]
    return torch.clip(1 - alphas[1:] / alphas[:-1], 0, 0.999).float()


def extract(values, t, shape):
    return values.gather(-1, t).reshape(t.shape[0], *((1,) * (len(shape) - 1)))


class SinusoidalPosEmb(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.dim = dim

    def forward(self, x):
        half = self.dim // 2
        freq = torch.exp(torch.arange(half, device=x.device) * -(math.log(10000) / (half - 1)))
        args = x[:, None] * freq[None, :]
        return torch.cat((args.sin(), args.cos()), dim=-1)


class Net(nn.Module):
    def __init__(self, dim=24):
        super().__init__()
        self.time = nn.Sequential(SinusoidalPosEmb(dim), nn.Linear(dim, dim), nn.SiLU())
        self.label = nn.Embedding(KINDS + 1, dim)
        self.inp = nn.Linear(2, dim)
        self.mid = nn.ModuleList([nn.Linear(dim, 2 * dim) for _ in range(2)])
        self.norm = nn.ModuleList([nn.LayerNorm(dim) for _ in range(2)])
        self.out = nn.Linear(dim, 2)

    def forward(self, x, t, y):
        condition = self.time(t) + self.label(y)
        h = self.inp(x)
        for layer, norm in zip(self.mid, self.norm):
            scale, shift = layer(F.silu(condition + h)).chunk(2, -1)
            h = h + norm(h) * (1 + scale) + shift
        return self.out(h)


class Diffusion(nn.Module):
    def __init__(self, model):
        super().__init__()
        self.model = model
        betas = cosine_betas(STEPS)
        bars = torch.cumprod(1.0 - betas, dim=0)
        self.register_buffer("betas", betas)
        self.register_buffer("bars", bars, persistent=False)

    def forward(self, x, y, t, noise, drop):
        noisy = extract(self.bars.sqrt(), t, x.shape) * x
        noisy += extract((1 - self.bars).sqrt(), t, x.shape) * noise
        y = torch.where(drop, torch.full_like(y, KINDS), y)
        v = (
            extract(self.bars.sqrt(), t, x.shape) * noise
            - extract((1 - self.bars).sqrt(), t, x.shape) * x
        )
        return F.mse_loss(self.model(noisy, t, y), v, reduction="none").mean(-1).mean()

    @torch.no_grad()
    def sample(self, y, guidance=2.0, stride=10):
        x = torch.randn(len(y), 2)
        times = list(range(STEPS - 1, -1, -stride)) + [-1]
        for now, after in zip(times[:-1], times[1:]):
            t = torch.full((len(y),), now, dtype=torch.long)
            both = self.model(
                x.repeat(2, 1), t.repeat(2), torch.cat([y, torch.full_like(y, KINDS)])
            )
            conditioned, free = both.chunk(2)
            v = torch.lerp(free, conditioned, guidance)
            a = self.bars[now]
            x0 = (a.sqrt() * x - (1 - a).sqrt() * v).clamp_(-3, 3)
            eps = (1 - a).sqrt() * x + a.sqrt() * v
            b = self.bars[after] if after >= 0 else torch.ones(())
            x = b.sqrt() * x0 + (1 - b).sqrt() * eps
        return x


def small(net):
    with torch.no_grad():
        for layer in (*net.mid, net.out):
            layer.weight.mul_(0.2)
    return net


torch.manual_seed(0)
labels = classes(0, KINDS, 192)
centres = torch.tensor([[1.5, 0.0], [-1.0, 1.2], [-1.0, -1.2]])
data = centres[labels] + 0.1 * torch.randn(192, 2)
net = Diffusion(small(fill(Net())))
print(sorted(net.state_dict())[:3], len(list(net.buffers())))
ema = AveragedModel(net, multi_avg_fn=get_ema_multi_avg_fn(0.9), use_buffers=True)
optimizer = torch.optim.AdamW(net.parameters(), lr=1e-2)
schedule = torch.optim.lr_scheduler.OneCycleLR(optimizer, 1e-2, total_steps=120)
loader = DataLoader(TensorDataset(data, labels), batch_size=64, shuffle=False, drop_last=True)
step = 0
for epoch in range(40):
    for x, y in loader:
        t = classes(1000 + step, STEPS, len(x))
        drop = classes(2000 + step, 10, len(x)) == 0
        loss = net(x, y, t, torch.randn_like(x), drop)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        schedule.step()
        ema.update_parameters(net)
        step += 1
    if epoch % 13 == 0:
        print(f"epoch {epoch} loss {loss.item():.5f} lr {schedule.get_last_lr()[0]:.2e}")
wanted = torch.arange(KINDS).repeat_interleave(16)
ema.eval()
samples = ema.module.sample(wanted)
near = torch.cdist(samples, centres).argmin(1)
print("of the right kind:", int((near == wanted).sum()), "averaged", int(ema.n_averaged))
assert (near == wanted).float().mean() > 0.8

"""A class-conditional GAN: spectral norm, projection discriminator, R1 and WGAN-GP penalties."""

import copy

import torch
import torch.nn as nn
import torch.nn.functional as F
from formula import fill, numbers, pictures
from torch import autograd, optim
from torch.nn.utils import spectral_norm


class ResBlockUp(nn.Module):
    def __init__(self, cin, cout, n_classes):
        super().__init__()
        self.bn1 = CondBN(cin, n_classes)
        self.conv1 = nn.Conv2d(cin, cout, 3, 1, 1)
        self.conv2 = nn.Conv2d(cout, cout, 3, 1, 1)
        self.skip = nn.Conv2d(cin, cout, 1)

    def forward(self, x, y):
        h = F.interpolate(F.relu(self.bn1(x, y)), scale_factor=2)
        h = self.conv2(F.relu(self.conv1(h)))
        return h + self.skip(F.interpolate(x, scale_factor=2, mode="nearest"))


class CondBN(nn.Module):
    def __init__(self, c, n):
        super().__init__()
        self.bn = nn.BatchNorm2d(c, affine=False, eps=1e-4)
        self.embed = nn.Embedding(n, c * 2)
        self.embed.weight.data[:, :c].fill_(1.0)
        self.embed.weight.data[:, c:].zero_()

    def forward(self, x, y):
        gamma, beta = self.embed(y).chunk(2, 1)
        return gamma[..., None, None] * self.bn(x) + beta[:, :, None, None]


class G(nn.Module):
    def __init__(self, z=8, ch=8, n=4):
        super().__init__()
        self.lin = nn.Linear(z, ch * 16)
        self.ch = ch
        self.b1 = ResBlockUp(ch, ch, n)
        self.out = nn.Sequential(
            nn.BatchNorm2d(ch),
            nn.LeakyReLU(0.2, inplace=True),
            nn.ConvTranspose2d(ch, 1, 4, 2, 1, bias=False),
            nn.Tanh(),
        )

    def forward(self, z, y):
        return self.out(self.b1(self.lin(z).view(-1, self.ch, 4, 4), y))


class D(nn.Module):
    def __init__(self, ch=8, n=4):
        super().__init__()
        self.body = nn.Sequential(
            spectral_norm(nn.Conv2d(1, ch, 4, 2, 1)),
            nn.LeakyReLU(0.2, True),
            spectral_norm(nn.Conv2d(ch, ch * 2, 4, 2, 1)),
            nn.LeakyReLU(0.2, True),
        )
        self.lin = spectral_norm(nn.Linear(ch * 2, 1))
        self.emb = spectral_norm(nn.Embedding(n, ch * 2))

    def forward(self, x, y):
        h = self.body(x).sum(dim=(2, 3))
        return self.lin(h) + torch.sum(self.emb(y) * h, dim=1, keepdim=True)


def set_uv(m):
    for mod in m.modules():
        for name in ("weight_u", "weight_v"):
            if hasattr(mod, name):
                b = getattr(mod, name)
                b.copy_(F.normalize(torch.arange(1.0, b.numel() + 1).cos(), dim=0, eps=1e-12))


torch.manual_seed(0)
g, d = fill(G()), fill(D())
set_uv(d)
print(d)
ema = copy.deepcopy(g).requires_grad_(False).eval()
opt_g = optim.Adam(g.parameters(), lr=2e-3, betas=(0.0, 0.9))
opt_d = optim.Adam(d.parameters(), lr=2e-3, betas=(0.0, 0.9))
images, labels = pictures(3, 32, 4, 1, 16)
for it in range(6):
    z = numbers(100 + it, 32, 8)
    real = images.clone().requires_grad_()
    dr = d(real, labels)
    df = d(g(z, labels).detach(), labels)
    loss_d = F.relu(1.0 - dr).mean() + F.relu(1.0 + df).mean()
    (grad_real,) = autograd.grad(
        outputs=dr.sum(), inputs=real, create_graph=True, retain_graph=True, only_inputs=True
    )
    r1 = grad_real.pow(2).reshape(grad_real.shape[0], -1).sum(1).mean()
    opt_d.zero_grad(set_to_none=True)
    (loss_d + 0.5 * r1).backward()
    opt_d.step()
    for p in d.parameters():
        p.requires_grad_(False)
    loss_g = -d(g(z, labels), labels).mean()
    opt_g.zero_grad()
    loss_g.backward()
    opt_g.step()
    for p in d.parameters():
        p.requires_grad_(True)
    with torch.no_grad():
        for pe, p in zip(ema.parameters(), g.parameters()):
            pe.lerp_(p, 1 - 0.9)
        for be, b in zip(ema.buffers(), g.buffers()):
            be.copy_(b)
    print(f"[{it}] d {loss_d.item():.4f} g {loss_g.item():.4f} r1 {r1:.5f}")
print(ema(numbers(9, 4, 8), torch.arange(4)).std(), sorted(d.state_dict().keys())[:6])
# wgan-gp
eps = torch.linspace(0, 1, 32).view(32, 1, 1, 1)
fake = g(z, labels).detach()
inter = (eps * images + (1 - eps) * fake).requires_grad_(True)
out = d(inter, labels)
grads = autograd.grad(out, inter, grad_outputs=torch.ones_like(out), create_graph=True)[0]
gp = ((grads.flatten(1).norm(2, dim=1) - 1) ** 2).mean()
gp.backward()
print(gp, d.lin.weight_orig.grad.abs().sum())

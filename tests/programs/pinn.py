"""A network that solves u'' = -u from its derivatives (Raissi et al., 2017)."""

import math

import torch
import torch.nn as nn
from formula import fill


class PINN(nn.Module):
    def __init__(self, layers):
        super().__init__()
        self.linears = nn.ModuleList(nn.Linear(a, b) for a, b in zip(layers, layers[1:]))
        for layer in self.linears:
            nn.init.xavier_normal_(layer.weight.data, gain=1.0)
            nn.init.zeros_(layer.bias.data)

    def forward(self, x):
        for layer in self.linears[:-1]:
            x = torch.tanh(layer(x))
        return self.linears[-1](x)


torch.set_default_dtype(torch.float64)
net = fill(PINN([1, 16, 16, 1]))
t = torch.linspace(0, math.pi / 2, 24).view(-1, 1).requires_grad_(True)
optimizer = torch.optim.Adam(net.parameters(), lr=5e-3)
scheduler = torch.optim.lr_scheduler.ExponentialLR(optimizer, gamma=0.995)
for it in range(120):
    u = net(t)
    du = torch.autograd.grad(u, t, torch.ones_like(u), create_graph=True)[0]
    ddu = torch.autograd.grad(du.sum(), t, create_graph=True)[0]
    residual = ((ddu + u) ** 2).mean()
    bounds = (u[0] ** 2 + (u[-1] - 1) ** 2).sum()
    loss = residual + bounds
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    scheduler.step()
    if it % 20 == 0:
        print("It: %d, Loss: %.3e" % (it, loss.item()))
error = (net(t) - torch.sin(t)).abs().max().item()
print("error %.4f" % error)
assert error < 0.3
jacobian = torch.autograd.functional.jacobian(lambda x: net(x).sum(), t[:3].detach())
assert jacobian.shape == (3, 1)

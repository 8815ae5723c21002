"""Representations from pairs of views (Chen et al., 2020): a contrastive loss, LARS-like groups."""

import copy

import torch
import torch.nn as nn
import torch.nn.functional as F
from formula import fill, numbers, pictures


def nt_xent(z1, z2, temperature=0.5):
    z = F.normalize(torch.cat([z1, z2]), dim=1)
    sim = z @ z.T / temperature
    n = z1.size(0)
    sim = sim.masked_fill(torch.eye(len(z), dtype=torch.bool), float("-inf"))
    targets = torch.cat([torch.arange(n, 2 * n), torch.arange(n)])
    return F.cross_entropy(sim, targets)


encoder = nn.Sequential(
    nn.Conv2d(1, 8, 3, padding=1),
    nn.GroupNorm(2, 8),
    nn.ReLU(),
    nn.AdaptiveAvgPool2d(4),
    nn.Flatten(),
)
projector = nn.Sequential(
    nn.Linear(128, 32, bias=False), nn.BatchNorm1d(32), nn.ReLU(), nn.Linear(32, 16)
)
model = fill(nn.Sequential(encoder, projector))
momentum_model = copy.deepcopy(model)
for p in momentum_model.parameters():
    p.requires_grad_(False)
decay, no_decay = [], []
for name, param in model.named_parameters():
    (no_decay if param.ndim <= 1 or name.endswith(".bias") else decay).append(param)
optimizer = torch.optim.SGD(
    [{"params": decay, "weight_decay": 1e-4}, {"params": no_decay}], lr=0.1, momentum=0.9
)
scheduler = torch.optim.lr_scheduler.OneCycleLR(optimizer, max_lr=0.2, total_steps=12)
images, _ = pictures(0, 32, 4, 1, 12)
for step in range(12):
    view1 = torch.roll(images, step % 3, dims=-1) + 0.1 * numbers(step, *images.shape)
    view2 = images.flip(-1) + 0.1 * numbers(step + 50, *images.shape)
    loss = nt_xent(model(view1), model(view2))
    optimizer.zero_grad(set_to_none=True)
    loss.backward()
    optimizer.step()
    scheduler.step()
    with torch.no_grad():
        for slow, fast in zip(momentum_model.parameters(), model.parameters()):
            slow.lerp_(fast, 0.1)
    if step % 3 == 2:
        print(f"step {step} loss {loss:.4f} lr {scheduler.get_last_lr()[0]:.4f}")
features = model[0](images)
assert features.shape == (32, 128)

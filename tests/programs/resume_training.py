"""Training that stops, and goes on from a file with the same numbers; an average of weights."""

import copy
import os
import random
import tempfile

import numpy as np
import torch
import torch.nn as nn
from formula import fill, numbers


def set_seed(seed):
    random.seed(seed)
    np.random.seed(seed)
    torch.manual_seed(seed)
    torch.cuda.manual_seed_all(seed)
    torch.backends.cudnn.deterministic = True
    torch.backends.cudnn.benchmark = False
    torch.use_deterministic_algorithms(True)


class ModelEMA:
    def __init__(self, model, decay=0.9):
        self.ema = copy.deepcopy(model).eval()
        self.decay = decay
        for p in self.ema.parameters():
            p.requires_grad_(False)

    @torch.no_grad()
    def update(self, model):
        for key, value in self.ema.state_dict().items():
            if value.dtype.is_floating_point:
                value *= self.decay
                value += (1 - self.decay) * model.state_dict()[key].detach()


def build():
    model = fill(nn.Sequential(nn.Linear(6, 16), nn.BatchNorm1d(16), nn.Tanh(), nn.Linear(16, 1)))
    optimizer = torch.optim.Adam(model.parameters(), lr=0.05)
    scheduler = torch.optim.lr_scheduler.ReduceLROnPlateau(optimizer, patience=0, factor=0.5)
    return model, optimizer, scheduler


def train(model, optimizer, scheduler, ema, steps):
    losses = []
    for step in steps:
        batch = torch.from_numpy(np.random.permutation(64)[:32])
        noise = 0.0 * torch.randn(32, 6)
        loss = nn.MSELoss()(model(x[batch] + noise), y[batch])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        scheduler.step(loss.item())
        ema.update(model)
        losses.append(loss.item())
        print("step", step, "loss", losses[-1], "lr", optimizer.param_groups[0]["lr"])
    return losses


x = numbers(0, 64, 6)
y = x.pow(2).sum(1, keepdim=True)
set_seed(0)
parts = build()
ema = ModelEMA(parts[0])
train(*parts, ema, range(5))
with tempfile.TemporaryDirectory() as folder:
    path = os.path.join(folder, "checkpoint.pt")
    state = {name: part.state_dict() for name, part in zip("mos", parts)}
    torch.save(
        {
            **state,
            "torch_rng": torch.get_rng_state(),
            "numpy_rng": np.random.get_state()[1],
            "numpy_place": np.random.get_state()[2],
            "ema": ema.ema.state_dict(),
        },
        path,
    )
    expected = train(*parts, ema, range(5, 10))
    set_seed(123)
    parts = build()
    loaded = torch.load(path, map_location="cpu", weights_only=False)
    for name, part in zip("mos", parts):
        part.load_state_dict(loaded[name])
    torch.set_rng_state(loaded["torch_rng"])
    np.random.set_state(("MT19937", loaded["numpy_rng"], loaded["numpy_place"]))
    ema = ModelEMA(parts[0])
    ema.ema.load_state_dict(loaded["ema"])
    assert train(*parts, ema, range(5, 10)) == expected

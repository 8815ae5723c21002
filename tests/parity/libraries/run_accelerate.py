"""accelerate: a prepared loop in float32 and bfloat16, accumulation, states in files."""

import tempfile

import torch
from accelerate import Accelerator, init_empty_weights
from accelerate.state import AcceleratorState
from accelerate.utils import set_seed
from filled import filled, shown
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

set_seed(0)
x = torch.sin(torch.arange(64 * 4).float()).view(64, 4)
for precision in ("no", "bf16"):
    AcceleratorState._reset_state(True)
    place = Accelerator(cpu=True, gradient_accumulation_steps=2, mixed_precision=precision)
    model = filled(nn.Sequential(nn.Linear(4, 8), nn.GELU(), nn.Linear(8, 1)))
    optimizer = torch.optim.AdamW(model.parameters(), lr=0.01)
    rates = torch.optim.lr_scheduler.LinearLR(optimizer)
    data = DataLoader(TensorDataset(x, x.sum(1, keepdim=True)), batch_size=16)
    model, optimizer, data, rates = place.prepare(model, optimizer, data, rates)
    losses = []
    for _ in range(3):
        for inputs, targets in data:
            with place.accumulate(model):
                loss = nn.functional.mse_loss(model(inputs), targets)
                place.backward(loss)
                if place.sync_gradients:
                    place.clip_grad_norm_(model.parameters(), 1.0)
                optimizer.step()
                rates.step()
                optimizer.zero_grad()
            losses.append(round(place.gather(loss.detach()).item(), 3))
    print(precision, *losses)
    with tempfile.TemporaryDirectory() as folder:
        place.save_state(folder)
        before = model(x).detach()
        filled(model)
        place.load_state(folder)
        print("loads", torch.equal(model(x), before))
        shown(precision, before.float())
with init_empty_weights():
    print(next(nn.Linear(3, 4).parameters()).device)

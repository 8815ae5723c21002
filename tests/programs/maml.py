"""Learning to learn (Finn et al., 2017): gradients through steps of gradients."""

from collections import OrderedDict

import torch
import torch.nn as nn
import torch.nn.functional as F
from formula import fill, numbers


class Regressor(nn.Module):
    def __init__(self):
        super().__init__()
        self.hidden = nn.Linear(1, 24)
        self.out = nn.Linear(24, 1)

    def forward(self, x, params=None):
        params = params or OrderedDict(self.named_parameters())
        x = F.relu(F.linear(x, params["hidden.weight"], params["hidden.bias"]))
        return F.linear(x, params["out.weight"], params["out.bias"])


def adapt(model, x, y, steps, lr, first_order):
    params = OrderedDict(model.named_parameters())
    for _ in range(steps):
        loss = F.mse_loss(model(x, params), y)
        grads = torch.autograd.grad(loss, params.values(), create_graph=not first_order)
        params = OrderedDict((k, p - lr * g) for (k, p), g in zip(params.items(), grads))
    return params


model = fill(Regressor())
meta_optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
x = numbers(0, 4, 20, 1)
amplitude = torch.tensor([0.5, 1.0, 1.5, 2.0]).view(4, 1, 1)
y = amplitude * torch.sin(2 * x)
for iteration in range(20):
    outer_loss = torch.tensor(0.0)
    for task in range(4):
        params = adapt(model, x[task, :10], y[task, :10], 2, 0.05, first_order=iteration % 2 == 1)
        outer_loss += F.mse_loss(model(x[task, 10:], params), y[task, 10:])
    outer_loss.div_(4)
    meta_optimizer.zero_grad()
    outer_loss.backward()
    meta_optimizer.step()
    if iteration % 5 == 0:
        print("iteration {} loss {:.5f}".format(iteration, outer_loss.item()))

"""Parameters by formula, so that a model is the same in every library."""

import torch


def filled(model):
    """Sets parameters to waves that are small enough, but for factors of one; returns the model."""
    with torch.no_grad():
        for number, p in enumerate(model.parameters()):
            if p.dim() > 0 and not bool((p == 1).all()):
                waves = torch.arange(p.numel(), dtype=torch.float64) * 9.7389 + number
                width = p[0].numel() if p.dim() > 1 else 100
                p.copy_((torch.sin(waves) / width**0.5).view(p.shape))
    return model


def shown(name, *tensors):
    """A line of numbers: the mean and the mean square of each tensor."""
    values = [tensor.detach().double() for tensor in tensors]
    print(name, *(f"{v.mean().item():.5f} {v.square().mean().item():.5f}" for v in values))


def trained(name, model, loss_of, steps=3):
    """Trains a little by plain gradient descent; prints the losses."""
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    losses = []
    for _ in range(steps):
        loss = loss_of()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(f"{loss.item():.5f}")
    print(name, *losses)

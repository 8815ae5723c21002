"""Initial values and data that are the same in every library: by formula, and from NumPy."""

import math

import numpy as np
import torch


def fill(model):
    """Sets every parameter to values of a formula, of the size that suits its fan-in."""
    with torch.no_grad():
        for number, p in enumerate(model.parameters()):
            if p.dim() < 2:
                p.copy_(torch.ones_like(p) if p.numel() and p.flatten()[0] == 1 else p * 0)
                continue
            waves = torch.arange(p.numel(), dtype=torch.float64) * 0.7548776662 + number * 0.37
            bound = 1.5 / math.sqrt(p[0].numel())
            p.copy_((torch.sin(waves * 12.9898) * bound).view(p.shape))
    return model


def numbers(seed, *shape):
    """Standard normal float32."""
    values = np.random.RandomState(seed).standard_normal(shape)
    return torch.from_numpy(values.astype(np.float32))


def classes(seed, count, *shape):
    """Random classes as int64."""
    return torch.from_numpy(np.random.RandomState(seed).randint(0, count, shape))


def pictures(seed, count, kinds, channels, size):
    """Images of noise, each with a bright spot where its class says; and the classes."""
    labels = classes(seed, kinds, count)
    images = 0.3 * numbers(seed + 1, count, channels, size, size)
    step = size // kinds
    for i, label in enumerate(labels.tolist()):
        images[i, :, label * step : (label + 1) * step, :step] += 2.0
    return images, labels

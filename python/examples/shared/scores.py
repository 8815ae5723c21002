"""How good results are."""

from __future__ import annotations

import numpy as np

import flambeau
from flambeau import Tensor, nn


def accuracy(model: nn.Module, inputs: Tensor, labels: Tensor) -> float:
    """The share of inputs whose highest score is that of their label."""
    model.eval()
    with flambeau.no_grad():
        return (model(inputs).argmax(1) == labels).float().mean().item()


def frechet_distance(first: Tensor, second: Tensor) -> float:
    """How far apart two sets of images (N, ...) are: the distance of the normal distributions that
    have their means and covariances (D. Dowson, B. Landau, 1982). 0 is the same.
    """
    a, b = (images.flatten(1).double().numpy() for images in (first, second))
    covariances = np.cov(a.T), np.cov(b.T)
    # The trace of the root of a product of covariances: the roots of its eigenvalues, all positive.
    eigenvalues = np.linalg.eigvals(covariances[0] @ covariances[1]).real.clip(min=0)
    means = ((a.mean(0) - b.mean(0)) ** 2).sum()
    both = np.sqrt(eigenvalues).sum()
    return float(means + np.trace(covariances[0] + covariances[1]) - 2 * both)


def decibels(image: Tensor, original: Tensor) -> float:
    """The peak signal-to-noise ratio of images from 0 to 1; more is better."""
    return -10 * (image - original).square().mean().log10().item()

"""captum: nine attributions of a convolutional network."""

import torch
from captum.attr import (
    DeepLift,
    FeatureAblation,
    GuidedBackprop,
    InputXGradient,
    IntegratedGradients,
    LayerConductance,
    LayerGradCam,
    Occlusion,
    Saliency,
)
from filled import filled, shown
from torch import nn

layers = nn.Conv2d(1, 4, 3), nn.ReLU(), nn.Flatten(), nn.Linear(4 * 36, 3)
model = filled(nn.Sequential(*layers)).eval()
x = torch.sin(torch.arange(2 * 64).float()).view(2, 1, 8, 8).requires_grad_()
for method in (Saliency, InputXGradient, IntegratedGradients, DeepLift, GuidedBackprop):
    shown(method.__name__, method(model).attribute(x, target=1))
shown("FeatureAblation", FeatureAblation(model).attribute(x, target=2))
shown("Occlusion", Occlusion(model).attribute(x, (1, 3, 3), strides=2, target=0))
shown("LayerConductance", LayerConductance(model, model[0]).attribute(x, target=1))
shown("LayerGradCam", LayerGradCam(model, model[0]).attribute(x, target=1))

"""A picture whose features look like another's (Gatys et al., 2015)."""

import torch
import torch.nn as nn
import torch.nn.functional as F
from formula import fill, pictures


def gram_matrix(input):
    a, b, c, d = input.size()
    features = input.view(a * b, c * d)
    return torch.mm(features, features.t()).div(a * b * c * d)


class StyleLoss(nn.Module):
    def __init__(self, target_feature):
        super().__init__()
        self.target = gram_matrix(target_feature).detach()

    def forward(self, input):
        self.loss = F.mse_loss(gram_matrix(input), self.target)
        return input


class ContentLoss(nn.Module):
    def __init__(self, target):
        super().__init__()
        self.target = target.detach()

    def forward(self, input):
        self.loss = F.mse_loss(input, self.target)
        return input


class Normalization(nn.Module):
    def __init__(self, mean, std):
        super().__init__()
        self.mean = torch.tensor(mean).view(-1, 1, 1)
        self.std = torch.tensor(std).view(-1, 1, 1)

    def forward(self, img):
        return (img - self.mean) / self.std


cnn = fill(
    nn.Sequential(
        nn.Conv2d(3, 8, 3),
        nn.ReLU(inplace=True),
        nn.MaxPool2d(2),
        nn.Conv2d(8, 8, 3),
        nn.ReLU(inplace=True),
    )
).eval()
for param in cnn.parameters():
    param.requires_grad = False
content_img, style_img = pictures(0, 2, 4, 3, 16)[0].sigmoid().split(1)
model = nn.Sequential(Normalization([0.485, 0.456, 0.406], [0.229, 0.224, 0.225]))
losses = []
i = 0
for layer in cnn.children():
    if isinstance(layer, nn.Conv2d):
        i += 1
        name = "conv_{}".format(i)
    elif isinstance(layer, nn.ReLU):
        name = "relu_{}".format(i)
        layer = nn.ReLU(inplace=False)
    else:
        name = "pool_{}".format(i)
    model.add_module(name, layer)
    if name == "conv_2":
        losses += [ContentLoss(model(content_img)), StyleLoss(model(style_img))]
        model.add_module("content_loss_2", losses[0])
        model.add_module("style_loss_2", losses[1])
input_img = torch.full_like(content_img, 0.5).requires_grad_(True)
optimizer = torch.optim.Adam([input_img], lr=0.01)
for run in range(10):
    with torch.no_grad():
        input_img.clamp_(0, 1)
    optimizer.zero_grad()
    model(input_img)
    loss = losses[0].loss + 1e6 * losses[1].loss
    loss.backward()
    optimizer.step()
    if run % 3 == 0:
        print("run {}: Loss : {:4f}".format(run, loss.item()))
assert all(p.grad is None for p in cnn.parameters())

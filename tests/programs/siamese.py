"""Whether two pictures show the same: two networks that share their weights."""

import random

import torch
import torch.nn as nn
from formula import fill, pictures
from torch.utils.data import DataLoader, Dataset


class Pairs(Dataset):
    def __init__(self, count):
        self.images, self.labels = pictures(0, 64, 4, 1, 12)
        self.groups = {k: (self.labels == k).nonzero().squeeze(1) for k in range(4)}
        self.count = count

    def __len__(self):
        return self.count

    def __getitem__(self, index):
        rng = random.Random(index)
        first = rng.choice(range(64))
        kind = self.labels[first].item()
        if index % 2 == 0:
            second, target = rng.choice(self.groups[kind].tolist()), torch.tensor(1.0)
        else:
            other = rng.choice([k for k in range(4) if k != kind])
            second, target = rng.choice(self.groups[other].tolist()), torch.tensor(0.0)
        return self.images[first], self.images[second], target


class SiameseNetwork(nn.Module):
    def __init__(self):
        super(SiameseNetwork, self).__init__()
        self.features = nn.Sequential(
            nn.Conv2d(1, 8, 3), nn.ReLU(), nn.MaxPool2d(2), nn.Flatten(), nn.Linear(200, 16)
        )
        self.fc = nn.Sequential(nn.Linear(32, 16), nn.ReLU(inplace=True), nn.Linear(16, 1))
        self.sigmoid = nn.Sigmoid()

    def forward_once(self, x):
        return self.features(x)

    def forward(self, input1, input2):
        output = torch.cat((self.forward_once(input1), self.forward_once(input2)), 1)
        return self.sigmoid(self.fc(output))


class ContrastiveLoss(torch.nn.Module):
    def __init__(self, margin=1.0):
        super().__init__()
        self.margin = margin

    def forward(self, x, y, same):
        distance = nn.functional.pairwise_distance(x, y)
        apart = torch.clamp(self.margin - distance, min=0.0)
        return torch.mean(same * distance.pow(2) + (1 - same) * apart.pow(2))


model = fill(SiameseNetwork())
optimizer = torch.optim.Adadelta(model.parameters(), lr=1.0)
criterion, contrastive = nn.BCELoss(), ContrastiveLoss()
for epoch in range(4):
    for batch_idx, (images_1, images_2, targets) in enumerate(DataLoader(Pairs(128), 32)):
        optimizer.zero_grad()
        outputs = model(images_1, images_2).squeeze()
        loss = criterion(outputs, targets)
        one, two = model.forward_once(images_1), model.forward_once(images_2)
        loss = loss + 0.1 * contrastive(one, two, targets)
        loss.backward()
        optimizer.step()
    pred = torch.where(outputs > 0.5, 1, 0)
    print(f"epoch {epoch} loss: {loss.item():.4f} right: {pred.eq(targets).sum().item()}")

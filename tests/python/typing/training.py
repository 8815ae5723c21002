"""A training script as people write it: strict type checkers accept it (test_typing.py)."""

from __future__ import annotations

import argparse
import math
from dataclasses import dataclass

import flambeau as torch
import flambeau.nn.functional as F
from flambeau import Tensor, nn, optim
from flambeau.utils.data import DataLoader, Dataset, TensorDataset, random_split


@dataclass
class Config:
    epochs: int = 2
    batch_size: int = 64
    lr: float = 1e-3
    hidden: int = 64


class Digits(Dataset[tuple[Tensor, Tensor]]):
    """Random images and labels."""

    def __init__(self, count: int) -> None:
        self.images = torch.randn(count, 1, 8, 8)
        self.labels = torch.randint(0, 10, (count,))

    def __len__(self) -> int:
        return len(self.labels)

    def __getitem__(self, index: int) -> tuple[Tensor, Tensor]:
        return self.images[index], self.labels[index]


class Net(nn.Module):
    """Two convolutions and two linear layers."""

    def __init__(self, hidden: int) -> None:
        super().__init__()
        self.conv1 = nn.Conv2d(1, 16, 3, padding=1)
        self.conv2 = nn.Conv2d(16, 32, 3, padding=1)
        self.dropout = nn.Dropout(0.25)
        self.fc1 = nn.Linear(32 * 4 * 4, hidden)
        self.fc2 = nn.Linear(hidden, 10)
        self.scale = nn.Parameter(torch.ones(1))

    def forward(self, x: Tensor) -> Tensor:
        x = F.relu(self.conv1(x))
        x = F.max_pool2d(F.relu(self.conv2(x)), 2)
        x = torch.flatten(self.dropout(x), 1)
        x = F.relu(self.fc1(x))
        return self.fc2(x) * self.scale


def evaluate(
    model: nn.Module, loader: DataLoader[tuple[Tensor, Tensor]], device: torch.device
) -> float:
    model.eval()
    correct = 0
    total = 0
    with torch.no_grad():
        for images, labels in loader:
            images, labels = images.to(device), labels.to(device)
            prediction = model(images).argmax(dim=1)
            correct += int((prediction == labels).sum().item())
            total += labels.size(0)
    return correct / total


def train(config: Config) -> nn.Module:
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    data = Digits(256)
    train_set, test_set = random_split(data, [200, 56])
    loader = DataLoader(train_set, batch_size=config.batch_size, shuffle=True)
    test_loader = DataLoader(test_set, batch_size=config.batch_size)
    model = Net(config.hidden).to(device)
    optimizer = optim.AdamW(model.parameters(), lr=config.lr)
    scheduler = optim.lr_scheduler.CosineAnnealingLR(optimizer, T_max=config.epochs)
    criterion = nn.CrossEntropyLoss()
    for epoch in range(config.epochs):
        model.train()
        running = 0.0
        for images, labels in loader:
            optimizer.zero_grad()
            loss = criterion(model(images.to(device)), labels.to(device))
            loss.backward()
            norm = nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            if not math.isfinite(norm.item()):
                raise RuntimeError("the gradients are not finite")
            optimizer.step()
            running += loss.item()
        scheduler.step()
        print(epoch, running, evaluate(model, test_loader, device))
    torch.save(model.state_dict(), "net.pt")
    model.load_state_dict(torch.load("net.pt", weights_only=True))
    values, indices = torch.max(torch.rand(3, 4), dim=1)
    largest: Tensor = torch.max(torch.rand(3))
    chosen = torch.where(values > 0.5, values, largest)
    print(chosen.shape, indices.dtype, torch.einsum("i,i->", values, values), TensorDataset(chosen))
    return model


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--epochs", type=int, default=2)
    train(Config(epochs=parser.parse_args().epochs))

"""Training and evaluation."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

import flambeau
from flambeau import Tensor, nn, optim
from flambeau.demo.data import Digits
from flambeau.demo.progress import Progress
from flambeau.utils.data import DataLoader, Subset


@dataclass
class History:
    """Per epoch: the mean loss of training, and the shares of right answers."""

    train_loss: list[float] = field(default_factory=list)
    train_accuracy: list[float] = field(default_factory=list)
    test_loss: list[float] = field(default_factory=list)
    test_accuracy: list[float] = field(default_factory=list)


def train(
    model: nn.Module,
    digits: Digits,
    epochs: int,
    batch_size: int,
    learning_rate: float,
    check: Callable[[], None] = lambda: None,
) -> History:
    """Trains with Adam and a cosine schedule; shows progress.

    Args:
        learning_rate: of the first epoch.
        check: called at each step; may raise to end the training.
    """
    loader = DataLoader(digits.train, batch_size, shuffle=True)
    criterion = nn.CrossEntropyLoss()
    optimizer = optim.Adam(model.parameters(), lr=learning_rate)
    schedule = optim.lr_scheduler.CosineAnnealingLR(optimizer, epochs, learning_rate / 100)
    history, place = History(), device_of(model)
    for epoch in range(1, epochs + 1):
        model.train()
        with Progress(f"Epoch {epoch:>{len(str(epochs))}}/{epochs}", len(loader)) as progress:
            total_loss = right = seen = 0.0
            for batch in loader:
                check()
                images, labels = (part.to(place) for part in batch)
                optimizer.zero_grad()
                scores = model(images)
                loss = criterion(scores, labels)
                loss.backward()
                optimizer.step()
                seen += len(labels)
                total_loss += loss.item() * len(labels)
                right += _right(scores, labels)
                progress.advance(f"loss {total_loss / seen:.4f}  accuracy {right / seen:6.2%}")
            schedule.step()
            history.train_loss.append(total_loss / seen)
            history.train_accuracy.append(right / seen)
            test_loss, test_accuracy = evaluate(model, digits.test)
            history.test_loss.append(test_loss)
            history.test_accuracy.append(test_accuracy)
            progress.finish(
                f"loss {history.train_loss[-1]:.4f}  accuracy {history.train_accuracy[-1]:6.2%}  "
                f"test {test_accuracy:6.2%}"
            )
    return history


def _right(scores: Tensor, labels: Tensor) -> int:
    return int((scores.argmax(1) == labels).sum().item())


def device_of(model: nn.Module) -> flambeau.device:
    """Where the model's parameters are."""
    return next(model.parameters()).device


def evaluate(model: nn.Module, dataset: Subset[tuple[Tensor, ...]]) -> tuple[float, float]:
    """(mean loss, share of right answers) without dropout and gradients."""
    model.eval()
    with flambeau.no_grad():
        batch = next(iter(DataLoader(dataset, len(dataset))))
        images, labels = (part.to(device_of(model)) for part in batch)
        scores = model(images)
        loss = nn.functional.cross_entropy(scores, labels)
    return loss.item(), _right(scores, labels) / len(labels)

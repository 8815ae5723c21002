"""The network."""

from __future__ import annotations

from flambeau import Tensor, nn


class DigitNet(nn.Module):
    """Two convolutional blocks and a linear classifier.

    Shapes: input (N, 1, 8, 8), output (N, 10): unnormalized scores of the digits.
    """

    def __init__(self) -> None:
        super().__init__()
        self.features = nn.Sequential(
            nn.Conv2d(1, 32, 3, padding=1),
            nn.BatchNorm2d(32),
            nn.ReLU(),
            nn.MaxPool2d(2),
            nn.Conv2d(32, 64, 3, padding=1),
            nn.BatchNorm2d(64),
            nn.ReLU(),
            nn.MaxPool2d(2),
        )
        self.classifier = nn.Sequential(
            nn.Flatten(), nn.Dropout(0.3), nn.Linear(64 * 2 * 2, 64), nn.ReLU(), nn.Linear(64, 10)
        )

    def forward(self, images: Tensor) -> Tensor:
        return self.classifier(self.features(images))

"""A transformer learns to reverse strings of symbols."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

from shared.options import Seeded, begin, parse

import flambeau
from flambeau import Tensor, nn, optim

SYMBOLS, LENGTH = 8, 8


@dataclass(frozen=True)
class Settings(Seeded):
    steps: Annotated[int, "of training"] = 300
    features: Annotated[int, "of a symbol, a multiple of 4"] = 32


class Reverser(nn.Module):
    """Shapes: input (N, LENGTH) of symbols, output (N, LENGTH, SYMBOLS) of scores."""

    def __init__(self, features: int = 32) -> None:
        super().__init__()
        self.symbols = nn.Embedding(SYMBOLS, features)
        self.places = nn.Parameter(flambeau.randn(LENGTH, features))
        layer = nn.TransformerEncoderLayer(
            features, 4, 64, dropout=0.0, batch_first=True, norm_first=True
        )
        self.encoder = nn.TransformerEncoder(layer, 2, nn.LayerNorm(features))
        self.head = nn.Linear(features, SYMBOLS)

    def forward(self, symbols: Tensor) -> Tensor:
        return self.head(self.encoder(self.symbols(symbols) + self.places))


def main(options: Settings) -> float:
    """Returns the share of new strings that are reversed without a mistake."""
    begin(options)
    model = Reverser(options.features)
    optimizer = optim.AdamW(model.parameters(), lr=3e-3)
    schedule = optim.lr_scheduler.OneCycleLR(optimizer, max_lr=5e-3, total_steps=options.steps)
    for step in range(1, options.steps + 1):
        symbols = flambeau.randint(SYMBOLS, [64, LENGTH])
        optimizer.zero_grad()
        scores = model(symbols)
        wanted = symbols.flip([1])
        loss = nn.functional.cross_entropy(scores.reshape(-1, SYMBOLS), wanted.reshape(-1))
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        if step < options.steps:
            schedule.step()
        if step % 50 == 0:
            print(f"step {step}  loss {loss.item():.4f}")
    model.eval()
    symbols = flambeau.randint(SYMBOLS, [200, LENGTH])
    with flambeau.no_grad():
        right = (model(symbols).argmax(-1) == symbols.flip([1])).all(1).float().mean().item()
    print(f"{right:.1%} of new strings reversed without a mistake")
    return right


if __name__ == "__main__":
    main(parse(Settings, __doc__))

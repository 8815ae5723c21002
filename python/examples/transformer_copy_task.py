"""A transformer learns to reverse strings of symbols."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

from shared.options import Options, begin, parse
from shared.pictures import figure
from shared.progress import Progress

import flambeau
from flambeau import Tensor, nn, optim

SYMBOLS, LENGTH = 8, 8


@dataclass(frozen=True)
class Settings(Options):
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


def as_text(symbols: Tensor) -> str:
    return "".join(chr(ord("A") + symbol) for symbol in symbols.tolist())


def draw(path: Path, model: Reverser, symbols: Tensor, found: Tensor) -> None:
    """Where each place of a string looks, by the heads of both layers: across, to reverse it."""
    with flambeau.no_grad(), figure(path, 2, 4, size=(10, 5.5)) as axes:
        state = model.symbols(symbols[None]) + model.places
        for layer, row in zip(model.encoder.layers, axes, strict=True):
            seen = layer.norm1(state)
            heads = layer.self_attn(seen, seen, seen, average_attn_weights=False)[1][0]
            for each, head in zip(row, heads, strict=True):
                each.imshow(head.numpy(), cmap="Blues", vmin=0, vmax=1)
                each.set_xticks(range(LENGTH), as_text(symbols))
                each.set_yticks(range(LENGTH), as_text(found))
            state = layer(state)


def main(options: Settings) -> float:
    """Returns the share of new strings that are reversed without a mistake."""
    begin(options)
    model = Reverser(options.features)
    optimizer = optim.AdamW(model.parameters(), lr=3e-3)
    schedule = optim.lr_scheduler.OneCycleLR(optimizer, max_lr=5e-3, total_steps=options.steps)
    progress = Progress(options.steps, "reversing strings")
    for step in progress:
        symbols = flambeau.randint(SYMBOLS, [64, LENGTH])
        optimizer.zero_grad()
        scores = model(symbols)
        wanted = symbols.flip([1])
        loss = nn.functional.cross_entropy(scores.reshape(-1, SYMBOLS), wanted.reshape(-1))
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        if step + 1 < options.steps:
            schedule.step()
        progress.report(loss=loss.item())
    model.eval()
    symbols = flambeau.randint(SYMBOLS, [200, LENGTH])
    with flambeau.no_grad():
        found = model(symbols).argmax(-1)
    right = (found == symbols.flip([1])).all(1).float().mean().item()
    for string, answer in zip(symbols[:4], found, strict=False):
        print(f"{as_text(string)} -> {as_text(answer)}")
    print(f"{right:.1%} of new strings reversed without a mistake")
    draw(options.file("transformer_copy_task.png"), model, symbols[0], found[0])
    return right


if __name__ == "__main__":
    main(parse(Settings, __doc__))

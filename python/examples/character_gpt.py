"""A transformer learns to write Python's manual, character by character."""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from dataclasses import dataclass
from typing import Annotated

from shared.data import manual
from shared.options import Options, begin, parse
from shared.progress import Progress

import flambeau
from flambeau import Tensor, nn, optim


@dataclass(frozen=True)
class Settings(Options):
    steps: Annotated[int, "of training"] = 1400
    batch_size: Annotated[int, "windows of text per step"] = 24
    context: Annotated[int, "characters that are seen before each"] = 96
    width: Annotated[int, "features per character"] = 128
    layers: Annotated[int, "of the transformer"] = 2
    learning_rate: Annotated[float, "of AdamW, at most"] = 3e-3
    temperature: Annotated[float, "of the sample: lower is more cautious"] = 0.7
    prompt: Annotated[str, "what the sample begins with"] = "The function "


class Block(nn.Module):
    """Attention to what came before, then a function of each place (A. Radford, 2019)."""

    def __init__(self, width: int, heads: int = 4) -> None:
        super().__init__()
        self.heads = heads
        self.norms = nn.ModuleList(nn.LayerNorm(width) for _ in range(2))
        self.queries_keys_values = nn.Linear(width, 3 * width)
        self.out = nn.Linear(width, width)
        self.function = nn.Sequential(
            nn.Linear(width, 4 * width), nn.GELU(), nn.Linear(4 * width, width)
        )

    def forward(self, x: Tensor) -> Tensor:
        batch, length, width = x.shape
        parts = self.queries_keys_values(self.norms[0](x)).chunk(3, 2)
        q, k, v = (part.unflatten(2, (self.heads, -1)).transpose(1, 2) for part in parts)
        seen = nn.functional.scaled_dot_product_attention(q, k, v, is_causal=True)
        x = x + self.out(seen.transpose(1, 2).reshape(batch, length, width))
        return x + self.function(self.norms[1](x))


class Writer(nn.Module):
    """Scores (N, L, characters) of what follows each place of a text (N, L)."""

    def __init__(self, characters: int, options: Settings) -> None:
        super().__init__()
        width = options.width
        self.characters = nn.Embedding(characters, width)
        self.places = nn.Embedding(options.context, width)
        self.blocks = nn.Sequential(*(Block(width) for _ in range(options.layers)))
        self.head = nn.Sequential(nn.LayerNorm(width), nn.Linear(width, characters))
        for embedding in (self.characters, self.places):
            nn.init.normal_(embedding.weight, std=0.02)

    def forward(self, text: Tensor) -> Tensor:
        places = self.places.weight[: text.shape[1]]
        return self.head(self.blocks(self.characters(text) + places))

    @flambeau.no_grad()
    def write(self, text: Tensor, count: int, context: int, temperature: float) -> Tensor:
        """A text (L,) with `count` characters more."""
        for _ in range(count):
            scores = self(text[None, -context:])[0, -1] / temperature
            text = flambeau.cat([text, flambeau.multinomial(scores.softmax(0), 1)])
        return text


def loss_of(model: Writer, text: Tensor, starts: Tensor, context: int, skipped: int = 0) -> Tensor:
    """The mean cost of a character, in nats, in windows of a text that begin at some places; of
    each window without the first characters.
    """
    windows = text[starts[:, None] + flambeau.arange(context + 1)]
    scores = model(windows[:, :-1])[:, skipped:]
    return nn.functional.cross_entropy(scores.flatten(0, 1), windows[:, skipped + 1 :].flatten())


def bits_by_table(known: str, new: str, length: int = 3) -> float:
    """What a character costs by how often it followed the ones before it in a text."""
    followed: dict[str, Counter[str]] = defaultdict(Counter)
    for place in range(length, len(known)):
        followed[known[place - length : place]][known[place]] += 1
    kinds, bits = len({*known, *new}), 0.0
    for place in range(length, len(new)):
        seen = followed[new[place - length : place]]
        bits -= math.log2((seen[new[place]] + 0.05) / (seen.total() + 0.05 * kinds))
    return bits / (len(new) - length)


def main(options: Settings) -> float:
    """Returns the cost of a character of text that the model has not seen, in bits."""
    begin(options)
    known, new = manual()
    alphabet = sorted({*known, *new})
    numbers = {character: number for number, character in enumerate(alphabet)}
    training, test = (flambeau.tensor([numbers[c] for c in text]) for text in (known, new))
    model = Writer(len(alphabet), options)
    optimizer = optim.AdamW(model.parameters(), lr=options.learning_rate, weight_decay=0.1)
    schedule = optim.lr_scheduler.OneCycleLR(
        optimizer, options.learning_rate, options.steps, pct_start=0.1
    )
    progress = Progress(options.steps, "learning to write")
    for _ in progress:
        starts = flambeau.randint(len(training) - options.context, [options.batch_size])
        loss = loss_of(model, training, starts, options.context)
        optimizer.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        schedule.step()
        progress.report(bits=loss.item() / math.log(2))
    # Of each window the second half, whose characters have some before them.
    half = options.context // 2
    starts = flambeau.arange(0, len(test) - options.context - 1, half)
    with flambeau.no_grad():
        bits = loss_of(model, test, starts, options.context, half).item() / math.log(2)
    prompt = flambeau.tensor([numbers[character] for character in options.prompt])
    written = model.write(prompt, 600, options.context, options.temperature)
    sample = "".join(alphabet[number] for number in written.tolist())
    print(f"a character of new text costs {bits:.2f} bits,")
    print(f"by a table of what followed three characters {bits_by_table(known, new):.2f};")
    print(f"a sample:\n\n{sample}")
    options.file("character_gpt.txt").write_text(sample + "\n", encoding="utf-8")
    return bits


if __name__ == "__main__":
    main(parse(Settings, __doc__))

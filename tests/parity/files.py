"""Files in both directions: what one library saves, the other loads as the same.

    python tests/parity/files.py --torch PYTHON

PYTHON: an interpreter of the same version that has PyTorch. Every content of
`tests/serialization/write_files.py` and random tensors of all dtypes, strides and sharing go from
PyTorch to Flambeau and back; differences are printed, and the exit status is then 1.
"""

from __future__ import annotations

import argparse
import io
import os
import random
import sys
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE.parent / "serialization"))

# Views of PyTorch that are computed when Flambeau loads them have memory of their own then.
LAZY = ("conj", "neg")
# What PyTorch's weights_only refuses, or has no class for.
UNSAFE = ("default_dict", "sets")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--torch", help="an interpreter that has PyTorch (default: this one)")
    parser.add_argument("--random", type=int, default=500, help="how many (%(default)s)")
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    if options.torch:
        arguments = ["--random", str(options.random), "--seed", str(options.seed)]
        os.execv(options.torch, [options.torch, __file__, *arguments])
    warnings.simplefilter("ignore")
    import torch
    from write_files import CONTENTS, DTYPES, of_dtype

    contents: dict[str, Callable[[], Any]] = dict(CONTENTS)
    contents |= {name: (lambda name=name: of_dtype(name)) for name in DTYPES}
    for number in range(options.random):
        chance = random.Random(f"{options.seed} {number}")
        contents[f"random {number}"] = lambda chance=chance: made_at_random(torch, chance, DTYPES)
    wrong = 0
    for name, make in contents.items():
        for said in differences(torch, name, make()):
            wrong += 1
            print(f"{name}: {said}")
    print(f"{len(contents)} contents, {wrong} differences")
    return 1 if wrong else 0


def differences(torch: Any, name: str, value: Any) -> list[str]:
    """What is not the same on the way there, and on the way back."""
    from file_described import described

    import flambeau

    found = []
    for form in ("zip", "legacy"):
        file = io.BytesIO()
        torch.save(value, file, _use_new_zipfile_serialization=form == "zip")
        file.seek(0)
        there = flambeau.load(file)
        own, other = described(value, torch), described(there, flambeau)
        if name in LAZY:
            del other["offset"], other["storage"]
        if own != other:
            found.append(f"{form}: PyTorch has {own}, Flambeau {other}")
        file = io.BytesIO()
        flambeau.save(there, file)
        file.seek(0)
        back = torch.load(file, weights_only=name not in UNSAFE)
        other, own = described(there, flambeau), described(back, torch)
        if own != other:
            found.append(f"back: Flambeau has {other}, PyTorch {own}")
    return found


def made_at_random(torch: Any, chance: random.Random, dtypes: tuple[str, ...]) -> Any:
    """Some tensors, of which some share memory."""
    result = []
    for _ in range(chance.randrange(1, 4)):
        dtype = getattr(torch, chance.choice(dtypes))
        shape = [chance.randrange(4) for _ in range(chance.randrange(4))]
        count = chance.randrange(1, 200)
        memory = torch.tensor([chance.randrange(2) for _ in range(count)]).to(dtype)
        result.append(memory)
        strides = [chance.randrange(4) for _ in shape]
        last = sum((n - 1) * step for n, step in zip(shape, strides, strict=True))
        offset = chance.randrange(max(count - last, 1))
        if 0 in shape or offset + last < count:
            view = memory.as_strided(shape, strides, offset)
            if dtype.is_floating_point and chance.random() < 0.3:
                view = torch.nn.Parameter(view)
            result.append(view)
    return dict(enumerate(result))


if __name__ == "__main__":
    sys.exit(main())

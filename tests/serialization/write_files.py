"""Writes `files/`: what torch.save writes of everything that tensors, parameters and modules are.

    PYTHON tests/serialization/write_files.py

PYTHON has PyTorch; the files here are of 2.13. Each content is written in the zip format and in the
one before; `files/expected.json` says what it is, and which files cannot be read here.
"""

from __future__ import annotations

import json
import warnings
from collections import Counter, OrderedDict, defaultdict
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch
from file_described import described

FOLDER = Path(__file__).parent / "files"
DTYPES = (
    *("float64", "float32", "float16", "bfloat16", "complex128", "complex64"),
    *("int64", "int32", "int16", "int8", "uint8", "bool", "uint16", "uint32", "uint64"),
)


def of_dtype(name: str) -> torch.Tensor:
    dtype = getattr(torch, name)
    if dtype.is_complex:
        return torch.tensor([1.5 - 2j, complex(float("inf"), -0.0), 0], dtype=dtype)
    if dtype.is_floating_point:
        return torch.tensor([1.5, -2, float("nan"), float("-inf"), -0.0, 0], dtype=dtype)
    if dtype == torch.bool:
        return torch.tensor([True, False, True])
    limits = torch.iinfo(dtype)
    return torch.tensor([limits.min, 0, 7, limits.max], dtype=dtype)


def shared() -> Any:
    whole = torch.arange(12.0)
    return {"whole": whole, "part": whole[4:8], "matrix": whole.view(3, 4).t(), "same": whole}


def with_attributes() -> Any:
    tensor, parameter = torch.ones(2), torch.nn.Parameter(torch.ones(2))
    tensor.note, parameter.note = "of a tensor", ["of", "a parameter"]
    return [tensor, parameter]


def optimizer() -> Any:
    torch.manual_seed(0)
    model = torch.nn.Sequential(torch.nn.Linear(2, 3), torch.nn.BatchNorm1d(3))
    optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
    model(torch.randn(4, 2)).sum().backward()
    optimizer.step()
    return {"model": model.state_dict(), "optimizer": optimizer.state_dict(), "epoch": 3}


def nested() -> Any:
    inside = [1, (2, [3, {"four": 5}]), None]
    return {"a": inside, "again": inside, ("tuple", 1): True, 7: {"deep": [[[[[[]]]]]]}}


CONTENTS: dict[str, Callable[[], Any]] = {
    "scalar": lambda: torch.tensor(3.5),
    "empty": lambda: [torch.empty(0), torch.empty(3, 0, 2), torch.empty(0, dtype=torch.int64)],
    "strided": lambda: torch.arange(24).reshape(2, 3, 4).permute(2, 0, 1)[1:, :, ::2],
    "expanded": lambda: torch.tensor([1.0, 2.0]).expand(3, 2),
    "offset": lambda: torch.arange(10)[3:7],
    "shared": shared,
    "conj": lambda: torch.tensor([[1 + 2j, 3 - 4j], [5j, 6]]).t().conj(),
    "neg": lambda: torch.tensor([1 + 2j, 3 - 4j]).conj().imag,
    "requires_grad": lambda: torch.ones(2, requires_grad=True),
    "parameter": lambda: torch.nn.Parameter(torch.arange(3.0), requires_grad=False),
    "buffer": lambda: torch.nn.Buffer(torch.arange(3.0), persistent=False),
    "attributes": with_attributes,
    "state_dict": lambda: torch.nn.GRU(2, 3).state_dict(),
    "optimizer": optimizer,
    "ordered_dict": lambda: OrderedDict(b=1, a=torch.ones(1)),
    "counter": lambda: Counter("abracadabra"),
    "default_dict": lambda: defaultdict(list, a=[torch.ones(1)]),
    "types": lambda: [torch.device("cuda", 1), torch.float16, torch.Size([2, 3])],
    "plain": lambda: [1, -5, 1 << 70, 2.5, 1 - 2j, True, "\u00e9 \U0001f600", b"\0\xff"],
    "sets": lambda: [{1, 2}, frozenset([3])],
    "nested": nested,
}
REFUSED: dict[str, Callable[[], Any]] = {
    "float8": lambda: torch.ones(2).to(torch.float8_e4m3fn),
    "quantized": lambda: torch.quantize_per_tensor(torch.ones(2), 0.1, 0, torch.qint8),
    "module": lambda: torch.nn.Linear(2, 2),
}
REASONS = {
    "float8": "float8_e4m3fn",
    "quantized": "a quantized tensor",
    "module": "torch.nn.modules.linear.Linear",
}


def main() -> None:
    warnings.simplefilter("ignore")
    torch.manual_seed(0)
    FOLDER.mkdir(exist_ok=True)
    contents = {name: (lambda name=name: of_dtype(name)) for name in DTYPES} | CONTENTS
    expected = {}
    for name, make in contents.items():
        value = make()
        for form in ("zip", "legacy"):
            path = FOLDER / f"{name}.{form}.pt"
            torch.save(value, path, _use_new_zipfile_serialization=form == "zip")
            expected[path.name] = described(value, torch)
    torch.save(torch.eye(2).to_sparse(), FOLDER / "sparse.zip.pt")
    refused = {}
    for name, make in REFUSED.items():
        path = FOLDER / f"refused_{name}.zip.pt"
        torch.save(make(), path)
        refused[path.name] = REASONS[name]
    text = json.dumps({"contents": expected, "refused": refused}, indent=1, sort_keys=True)
    (FOLDER / "expected.json").write_text(text + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()

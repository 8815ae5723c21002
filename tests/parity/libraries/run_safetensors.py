"""safetensors: files of tensors and of models with shared weights."""

import tempfile
from pathlib import Path

import torch
from filled import filled, shown
from safetensors import safe_open
from safetensors.torch import load, load_file, load_model, save, save_file, save_model

folder = Path(tempfile.mkdtemp())
tensors = {
    "whole": torch.arange(6).view(2, 3),
    "half": torch.linspace(0, 1, 5).half(),
    "brain": torch.linspace(0, 1, 5).bfloat16(),
    "bool": torch.tensor([True, False]),
    "scalar": torch.tensor(3.5, dtype=torch.float64),
    "empty": torch.zeros(0, 3),
}
save_file(tensors, folder / "a.safetensors", metadata={"format": "pt"})
back = load_file(folder / "a.safetensors")
for name in sorted(tensors):
    print(name, str(back[name].dtype).split(".")[-1], list(back[name].shape))
    shown(name, back[name].float())
    assert torch.equal(back[name], tensors[name])
with safe_open(folder / "a.safetensors", framework="pt") as file:
    print(sorted(file.keys()), file.metadata())
    shown("part", file.get_slice("whole")[:, 1:].float())
shown("bytes", load(save(tensors))["half"].float())

embedding, head = torch.nn.Embedding(7, 4), torch.nn.Linear(4, 7, bias=False)
head.weight = embedding.weight
model = filled(torch.nn.Sequential(embedding, head))
save_model(model, folder / "model.safetensors")
other = torch.nn.Sequential(torch.nn.Embedding(7, 4), torch.nn.Linear(4, 7, bias=False))
other[1].weight = other[0].weight
print(load_model(other, folder / "model.safetensors"))
shown("model", other(torch.tensor([1, 5])))
try:
    save_file({"a": head.weight, "b": embedding.weight}, folder / "b.safetensors")
except RuntimeError as error:
    print("shared", "share memory" in str(error))

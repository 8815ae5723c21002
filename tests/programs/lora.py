"""Low-rank adaptation as a parametrization (Hu et al., 2021): train, merge, remove, share."""

import copy
import math

import torch
from formula import fill, numbers
from torch import nn
from torch.nn.utils import parametrize


class LoRA(nn.Module):
    def __init__(self, features_in, features_out, rank=2, alpha=4.0):
        super().__init__()
        self.A = nn.Parameter(torch.zeros(rank, features_in))
        self.B = nn.Parameter(torch.zeros(features_out, rank))
        self.scale = alpha / rank
        self.enabled = True

    def forward(self, weight):
        if not self.enabled:
            return weight
        return weight + (self.B @ self.A).view(weight.shape) * self.scale

    def extra_repr(self):
        return f"rank={self.A.shape[0]}, scale={self.scale}"


def adapt(model, rank):
    for name, layer in model.named_modules():
        if isinstance(layer, nn.Linear):
            lora = LoRA(layer.in_features, layer.out_features, rank)
            parametrize.register_parametrization(layer, "weight", lora)
    for name, parameter in model.named_parameters():
        parameter.requires_grad_(".A" in name or ".B" in name)
    return model


base = fill(
    nn.Sequential(nn.Linear(6, 12), nn.GELU(), nn.Linear(12, 12), nn.Tanh(), nn.Linear(12, 3))
)
original = copy.deepcopy(base.state_dict())
x = numbers(1, 64, 6)
rotated = x @ torch.linalg.qr(numbers(2, 6, 6))[0]
with torch.no_grad():
    target = base(rotated)

model = adapt(base, rank=2)
print(model)
with torch.no_grad():
    for i, (name, p) in enumerate(model.named_parameters()):
        if name.endswith(".A"):
            p.copy_(torch.cos(torch.arange(p.numel()) * 1.7 + i).view_as(p) / math.sqrt(p.shape[1]))
trainable = [p for p in model.parameters() if p.requires_grad]
total = sum(p.numel() for p in model.parameters())
print(sum(p.numel() for p in trainable), "of", total, "are trained")
optimizer = torch.optim.Adam(trainable, lr=0.03)
for epoch in range(40):
    with parametrize.cached():
        loss = nn.functional.mse_loss(model(x), target)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if epoch % 10 == 0:
        print(f"epoch {epoch} loss {loss.item():.6f}")
print(f"epoch 40 loss {nn.functional.mse_loss(model(x), target).item():.6f}")

for name, value in model.state_dict().items():
    if name.endswith(("original", "bias")):
        plain = name.replace("parametrizations.weight.original", "weight")
        assert torch.equal(value, original[plain]), name
adapted = model(x)
adapter = {k: v for k, v in model.state_dict().items() if ".parametrizations." in k and "0." in k}
for layer in model:
    if parametrize.is_parametrized(layer, "weight"):
        layer.parametrizations.weight[0].enabled = False
        assert torch.equal(layer.weight, layer.parametrizations.weight.original)
        layer.parametrizations.weight[0].enabled = True
        parametrize.remove_parametrizations(layer, "weight", leave_parametrized=True)
assert set(model.state_dict()) == set(original)
torch.testing.assert_close(model(x), adapted)
ranks = [
    torch.linalg.matrix_rank(model[i].weight - original[f"{i}.weight"], tol=1e-4) for i in (0, 2, 4)
]
print("ranks", [int(r) for r in ranks], len(adapter))

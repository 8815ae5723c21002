"""What training loops do beside the loop: groups without decay, accumulated and clipped gradients,
averages of weights over lists, clipping per sample, hooks, surgery on states, pruning, counting the
operators that run.
"""

import copy
from collections import Counter

import torch
import torch.nn as nn
import torch.nn.functional as F
from formula import fill, numbers
from torch.func import functional_call, grad, vmap
from torch.nn.utils import parametrize, prune
from torch.utils._python_dispatch import TorchDispatchMode


class Block(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.norm = nn.LayerNorm(width)
        self.mix = nn.Linear(width, width)

    def forward(self, x):
        return x + F.gelu(self.mix(self.norm(x)))


class Network(nn.Module):
    def __init__(self):
        super().__init__()
        self.inside = nn.Linear(6, 16)
        self.blocks = nn.ModuleList(Block(16) for _ in range(2))
        self.head = nn.Linear(16, 3)

    def forward(self, x):
        x = self.inside(x)
        for block in self.blocks:
            x = block(x)
        return self.head(x)


class Symmetric(nn.Module):
    def forward(self, weight):
        return weight.triu() + weight.triu(1).mT


class Operators(TorchDispatchMode):
    def __init__(self):
        super().__init__()
        self.seen = Counter()

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        self.seen[func] += 1
        return func(*args, **(kwargs or {}))


def groups(model):
    decayed = [p for p in model.parameters() if p.ndim >= 2]
    others = [p for p in model.parameters() if p.ndim < 2]
    return [{"params": decayed, "weight_decay": 0.1}, {"params": others, "weight_decay": 0.0}]


def train(model, x, y):
    optimizer = torch.optim.AdamW(groups(model), lr=1e-2)
    warm = torch.optim.lr_scheduler.LinearLR(optimizer, 0.1, total_iters=5)
    cool = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, 25)
    schedule = torch.optim.lr_scheduler.SequentialLR(optimizer, [warm, cool], milestones=[5])
    average = copy.deepcopy(model).requires_grad_(False)
    norms = []
    handle = model.blocks[0].register_forward_hook(lambda m, i, o: norms.append(o.norm().item()))
    for step in range(30):
        for part_x, part_y in zip(x.chunk(2), y.chunk(2)):
            (F.cross_entropy(model(part_x), part_y, label_smoothing=0.05) / 2).backward()
        norm = nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        optimizer.zero_grad(set_to_none=True)
        schedule.step()
        with torch.no_grad():
            own, other = list(average.parameters()), list(model.parameters())
            torch._foreach_lerp_(own, other, 0.1)
        if step % 10 == 9:
            loss = F.cross_entropy(model(x), y).item()
            print(f"step {step} loss {loss:.4f} norm {norm.item():.3f}")
    handle.remove()
    print(len(norms), f"{norms[0]:.3f}", f"{torch.stack(torch._foreach_norm(own)).sum():.3f}")
    print(f"average: {F.cross_entropy(average(x), y).item():.4f}")
    return average


def clipped_per_sample(model, x, y, most=0.5):
    """The mean of gradients of samples, none of which is longer than `most`."""
    parameters = {name: p.detach() for name, p in model.named_parameters()}

    def loss(parameters, x, y):
        return F.cross_entropy(functional_call(model, parameters, (x[None],)), y[None])

    each = vmap(grad(loss), in_dims=(None, 0, 0))(parameters, x, y)
    lengths = torch.stack([g.flatten(1).norm(dim=1) for g in each.values()]).norm(dim=0)
    factors = (most / lengths).clamp(max=1.0)
    return {n: torch.einsum("n,n...->...", factors, g) / len(x) for n, g in each.items()}


def main():
    model = Network()
    fill(model)
    x, y = numbers(0, 24, 6), torch.arange(24) % 3
    average = train(model, x, y)

    for _ in range(3):
        clipped = clipped_per_sample(model, x, y)
    total = torch.stack([g.norm() for g in clipped.values()]).norm().item()
    assert 0 < total <= 0.5
    print(f"clipped: {total:.4f}")

    state = {f"module.{name}": value for name, value in average.state_dict().items()}
    nn.modules.utils.consume_prefix_in_state_dict_if_present(state, "module.")
    state.pop("head.bias")
    found = model.load_state_dict(state, strict=False)
    assert (found.missing_keys, found.unexpected_keys) == (["head.bias"], [])

    prune.global_unstructured(
        [(b.mix, "weight") for b in model.blocks], pruning_method=prune.L1Unstructured, amount=0.5
    )
    zeros = sum(int((b.mix.weight == 0).sum()) for b in model.blocks)
    assert zeros == 256
    print(f"pruned: {F.cross_entropy(model(x), y).item():.4f}")
    for block in model.blocks:
        prune.remove(block.mix, "weight")
        parametrize.register_parametrization(block.mix, "weight", Symmetric())
        assert torch.equal(block.mix.weight, block.mix.weight.mT)
    assert "blocks.0.mix.parametrizations.weight.original" in model.state_dict()

    aten = torch.ops.aten
    with Operators() as operators:
        z = x.mul(2).sum(0)
        z.pow(2).add_(1)
        x.transpose(0, 1).clone().unbind()
    wanted = [aten.mul.Tensor, aten.sum.dim_IntList, aten.pow.Tensor_Scalar, aten.add_.Tensor]
    wanted += [aten.transpose.int, aten.clone.default, aten.unbind.int]
    assert operators.seen == Counter(wanted), operators.seen


main()

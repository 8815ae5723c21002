"""Code written for TorchScript: annotations, scripted functions and modules, traces."""

from typing import Dict, Final, List, Optional, Tuple

import torch
import torch.jit
import torch.nn as nn
from formula import fill, numbers
from torch import Tensor
from torch.jit import Final as JitFinal


@torch.jit.script
def gelu(x: Tensor) -> Tensor:
    return x * 0.5 * (1.0 + torch.erf(x / 1.41421))


class LSTMCell(torch.jit.ScriptModule):
    __constants__ = ["hidden_size"]

    def __init__(self, input_size, hidden_size):
        super().__init__()
        self.hidden_size = hidden_size
        self.weight_ih = nn.Parameter(torch.randn(4 * hidden_size, input_size))
        self.weight_hh = nn.Parameter(torch.randn(4 * hidden_size, hidden_size))

    @torch.jit.script_method
    def forward(self, input: Tensor, state: Tuple[Tensor, Tensor]) -> Tuple[Tensor, Tensor]:
        hx, cx = state
        gates = torch.mm(input, self.weight_ih.t()) + torch.mm(hx, self.weight_hh.t())
        ingate, forgetgate, cellgate, outgate = gates.chunk(4, 1)
        cy = torch.sigmoid(forgetgate) * cx + torch.sigmoid(ingate) * torch.tanh(cellgate)
        return torch.sigmoid(outgate) * torch.tanh(cy), cy


class Net(nn.Module):
    steps: Final[int]
    names: JitFinal[List[str]]

    def __init__(self, steps: int = 3):
        super().__init__()
        self.steps, self.names = steps, ["h", "c"]
        self.cell = LSTMCell(4, 8)
        self.out = nn.Linear(8, 1)

    def forward(self, x: Tensor, state: Optional[Tuple[Tensor, Tensor]] = None) -> Tensor:
        if state is None:
            zeros = torch.zeros(x.size(0), 8)
            state = (zeros, zeros)
        history = torch.jit.annotate(List[Tensor], [])
        for i in range(self.steps):
            state = self.cell(x[:, i], state)
            history.append(state[0])
        if not torch.jit.is_scripting() and not torch.jit.is_tracing():
            self.note(history)
        return self.out(gelu(history[-1]))

    @torch.jit.unused
    def note(self, history: List[Tensor]) -> Dict[str, int]:
        return {"count": len(history)}

    @torch.jit.ignore
    def debug(self) -> None:
        print("debug")

    @torch.jit.export
    def sized(self) -> int:
        return self.steps


model = torch.jit.script(fill(Net()))
traced = torch.jit.trace(nn.Linear(2, 2), torch.zeros(1, 2))
assert traced(torch.ones(3, 2)).shape == (3, 2) and model.sized() == 3
x = numbers(0, 32, 3, 4)
y = x.sum((1, 2)).unsqueeze(1)
optimizer = torch.optim.Adam(model.parameters(), lr=0.05)
for step in range(16):
    loss = nn.functional.huber_loss(model(x), y)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if step % 5 == 0:
        print("step", step, "loss", loss.item())

"""Files of programs that import the library as torch: pickles name its classes by PyTorch's."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import flambeau

PROGRAM = """
import sys
import torch

model = torch.nn.Sequential(torch.nn.Linear(2, 3), torch.nn.ReLU())
optimizer = torch.optim.SGD(model.parameters(), 0.25)
draws = torch.distributions.Normal(torch.zeros(2), torch.ones(2))
torch.save([model, optimizer, draws], sys.argv[1])
"""


def test_objects_are_read_without_torch(tmp_path: Path) -> None:
    program, file = tmp_path / "program.py", tmp_path / "objects.pt"
    program.write_text(PROGRAM)
    command = [sys.executable, "-m", "flambeau.run_as_torch", str(program), str(file)]
    subprocess.run(command, check=True, timeout=300)
    model, optimizer, draws = flambeau.load(file, weights_only=False)
    assert type(model[0]) is flambeau.nn.Linear
    assert type(optimizer) is flambeau.optim.SGD
    assert optimizer.param_groups[0]["lr"] == 0.25
    assert type(draws) is flambeau.distributions.Normal
    assert draws.mean.tolist() == [0, 0]

"""torchdiffeq: eight solvers, gradients through them and by the adjoint, events."""

import torch
from filled import filled, shown, trained
from torchdiffeq import odeint, odeint_adjoint, odeint_event

times = torch.linspace(0, 2, 5)
start = torch.tensor([[1.0, 0.5], [0.2, -1.0]])


class Field(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.net = torch.nn.Sequential(
            torch.nn.Linear(2, 6), torch.nn.Tanh(), torch.nn.Linear(6, 2)
        )

    def forward(self, t, y):
        return self.net(y) - 0.1 * t * y


field = filled(Field())
for method in ("dopri5", "dopri8", "bosh3", "adaptive_heun", "euler", "rk4", "midpoint"):
    shown(method, odeint(field, start, times, method=method))
shown("adams", odeint(field, start, times, method="explicit_adams", options={"step_size": 0.1}))
wanted = torch.cos(times).view(5, 1, 1)
for name, solve in (("through", odeint), ("adjoint", odeint_adjoint)):
    net = filled(Field())
    trained(name, net, lambda n=net, s=solve: (s(n, start, times) - wanted).square().mean(), 4)


def falls(t, state):
    height, speed = state
    return speed, torch.full_like(speed, -9.8)


ball = (torch.tensor([1.0]), torch.tensor([0.0]))
when, _ = odeint_event(falls, ball, torch.tensor(0.0), event_fn=lambda t, s: s[0][0])
shown("lands", when)

"""A mixture density network (Bishop, 1994) of a relation that is no function, and a flow of
transforms, by torch.distributions; with Adam and LBFGS.
"""

import torch
from formula import fill, numbers
from torch import distributions as D
from torch import nn
from torch.distributions import constraints, transforms


class MDN(nn.Module):
    def __init__(self, hidden=12, kinds=4):
        super().__init__()
        self.hidden = nn.Sequential(nn.Linear(1, hidden), nn.Tanh())
        self.pi, self.mu = nn.Linear(hidden, kinds), nn.Linear(hidden, kinds)
        self.sigma = nn.Linear(hidden, kinds)
        self.spread = nn.Parameter(torch.linspace(-1, 1, kinds))

    def forward(self, x):
        h = self.hidden(x)
        return D.MixtureSameFamily(
            D.Categorical(logits=self.pi(h)),
            D.Normal(self.mu(h) + self.spread, nn.functional.softplus(self.sigma(h)) + 1e-3),
        )


y = torch.linspace(-1, 1, 120).unsqueeze(1)
x = y + 0.3 * torch.sin(2 * torch.pi * y) + 0.02 * numbers(0, 120, 1)
model = fill(MDN())
with torch.no_grad():
    model.spread.copy_(torch.linspace(-1, 1, 4))
optimizer = torch.optim.Adam(model.parameters(), lr=2e-2)
schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, T_max=60, eta_min=1e-3)
for epoch in range(61):
    mixture = model(x)
    loss = -mixture.log_prob(y.squeeze(1)).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    schedule.step()
    if epoch % 20 == 0:
        print(
            f"epoch {epoch} loss {loss.item():.5f} mean {mixture.mean.mean():.5f} "
            f"var {mixture.variance.mean():.5f}"
        )
grid = torch.linspace(-3, 3, 2001)
with torch.no_grad():
    density = model(torch.zeros(1, 1)).log_prob(grid).exp()
    print(f"integral {torch.trapezoid(density, grid):.4f} cdf {model(x[:3]).cdf(y[:3, 0])[1]:.4f}")
assert abs(torch.trapezoid(density, grid).item() - 1) < 1e-2


class Flow(nn.Module):
    def __init__(self):
        super().__init__()
        self.loc, self.log_scale = nn.Parameter(torch.zeros(2)), nn.Parameter(torch.zeros(2))
        self.raw = nn.Parameter(torch.zeros(3))

    def forward(self):
        scale_tril = transforms.LowerCholeskyTransform()(
            torch.stack([self.raw[0], torch.zeros(()), self.raw[1], self.raw[2]]).view(2, 2)
        )
        base = D.MultivariateNormal(torch.zeros(2), scale_tril=scale_tril)
        steps = [
            transforms.TanhTransform(cache_size=1),
            transforms.AffineTransform(self.loc, self.log_scale.exp() + 1.0),
        ]
        return D.TransformedDistribution(base, steps)


data = torch.stack([0.8 * torch.tanh(numbers(1, 80)), 0.5 * torch.tanh(numbers(2, 80))], 1)
flow = Flow()
optimizer = torch.optim.LBFGS(flow.parameters(), lr=0.5, max_iter=10, line_search_fn="strong_wolfe")


def closure():
    optimizer.zero_grad()
    loss = -flow().log_prob(data).mean()
    loss.backward()
    return loss


for step in range(4):
    print(f"flow {optimizer.step(closure).item():.5f}")
fitted = flow()
assert constraints.positive_definite.check(fitted.base_dist.covariance_matrix)
print("covariance", [round(v, 3) for v in fitted.base_dist.covariance_matrix.flatten().tolist()])
standard = D.MultivariateNormal(torch.zeros(2), torch.eye(2))
print(f"divergence {D.kl_divergence(fitted.base_dist, standard):.4f}")

"""gpytorch: Gaussian processes: three kernels, exact; a variational one."""

import gpytorch
import torch
from filled import shown, trained

x = torch.linspace(0, 1, 20)
y = torch.sin(6 * x) + 0.1 * torch.cos(40 * x)
ask = torch.linspace(-0.2, 1.2, 7)


class Exact(gpytorch.models.ExactGP):
    def __init__(self, kernel):
        super().__init__(x, y, gpytorch.likelihoods.GaussianLikelihood())
        self.mean_module, self.covar_module = gpytorch.means.ConstantMean(), kernel

    def forward(self, x):
        means = self.mean_module(x)
        return gpytorch.distributions.MultivariateNormal(means, self.covar_module(x))


KERNELS = {
    "rbf": gpytorch.kernels.RBFKernel(),
    "matern": gpytorch.kernels.MaternKernel(nu=1.5),
    "periodic": gpytorch.kernels.PeriodicKernel() + gpytorch.kernels.LinearKernel(),
}
for name, kernel in KERNELS.items():
    model = Exact(gpytorch.kernels.ScaleKernel(kernel))
    likelihood = gpytorch.mlls.ExactMarginalLogLikelihood(model.likelihood, model)
    model.train()
    trained(name, model, lambda model=model, of=likelihood: -of(model(x), y), 5)
    model.eval()
    with torch.no_grad():
        found = model.likelihood(model(ask))
    shown(name, found.mean, found.variance)


class Variational(gpytorch.models.ApproximateGP):
    def __init__(self):
        points = torch.linspace(0, 1, 6).unsqueeze(-1)
        values = gpytorch.variational.CholeskyVariationalDistribution(6)
        super().__init__(gpytorch.variational.VariationalStrategy(self, points, values))
        self.mean_module = gpytorch.means.ZeroMean()
        self.covar_module = gpytorch.kernels.ScaleKernel(gpytorch.kernels.RBFKernel())

    def forward(self, x):
        means = self.mean_module(x)
        return gpytorch.distributions.MultivariateNormal(means, self.covar_module(x))


torch.manual_seed(0)
model, likelihood = Variational(), gpytorch.likelihoods.BernoulliLikelihood()
model.variational_strategy.variational_params_initialized.fill_(1)
bound = gpytorch.mlls.VariationalELBO(likelihood, model, num_data=20)
trained("variational", model, lambda: -bound(model(x), (y > 0).float()), 5)

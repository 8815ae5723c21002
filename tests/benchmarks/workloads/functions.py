"""Functions of functions: gradients of batches, Jacobians, Hessians."""

from __future__ import annotations

from typing import Any

from workloads.workload import Call, Workload


def _sample_gradients(torch: Any) -> Call:
    nn, func = torch.nn, torch.func
    model = nn.Sequential(nn.Linear(64, 128), nn.ReLU(), nn.Linear(128, 10))
    parameters = {name: p.detach() for name, p in model.named_parameters()}
    x, y = torch.randn(64, 64), torch.randint(0, 10, (64,))

    def loss(values: Any, sample: Any, label: Any) -> Any:
        return nn.functional.cross_entropy(func.functional_call(model, values, (sample,)), label)

    gradients = func.vmap(func.grad(loss), (None, 0, 0))
    return lambda: gradients(parameters, x, y)


def _jacobians(torch: Any) -> Call:
    x, w = torch.randn(32, 5), torch.randn(5, 5)
    jacobian = torch.func.vmap(torch.func.jacrev(lambda row: torch.tanh(w @ row)))
    return lambda: jacobian(x)


def _hessian(torch: Any) -> Call:
    x, w = torch.randn(20), torch.randn(20, 20)
    hessian = torch.func.hessian(lambda v: torch.tanh(w @ v).pow(2).sum())
    return lambda: hessian(x)


def _tangents(torch: Any) -> Call:
    x, w = torch.randn(64, 64), torch.randn(64, 64)
    return lambda: torch.func.jvp(lambda v: torch.tanh(v @ w).sum(), (x,), (x,))


WORKLOADS = (
    Workload("gradients of 64 samples", 1.0, _sample_gradients),
    Workload("vmap(jacrev) of 32x5", 1.0, _jacobians),
    Workload("hessian of 20", 1.0, _hessian),
    Workload("jvp 64x64", 1.0, _tangents),
)

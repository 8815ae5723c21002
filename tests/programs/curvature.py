"""Second derivatives with torch.func: products with Hessians, Gauss-Newton steps by conjugate
gradients, traces by random signs, gradients per example, and the largest eigenvalue.
"""

import torch
from formula import classes, fill, numbers
from torch import nn
from torch.func import functional_call, grad, hessian, jacrev, jvp, vjp, vmap

torch.set_default_dtype(torch.float64)
model = fill(nn.Sequential(nn.Linear(4, 6), nn.Tanh(), nn.Linear(6, 3)))
params = {k: v.detach() for k, v in model.named_parameters()}
x, y = numbers(0, 20, 4).double(), classes(1, 3, 20)


def loss_fn(params, x=x, y=y):
    return nn.functional.cross_entropy(functional_call(model, params, (x,)), y)


def hvp(f, primals, tangents):
    return jvp(grad(f), primals, tangents)[1]


def flat(tree):
    return torch.cat([t.reshape(-1) for t in tree.values()])


def unflat(vector):
    parts = vector.split([p.numel() for p in params.values()])
    return {k: v.view_as(p) for (k, p), v in zip(params.items(), parts)}


def product(vector):
    return flat(hvp(loss_fn, (params,), (unflat(vector),)))


n = sum(p.numel() for p in params.values())
full = hessian(lambda vector: loss_fn(unflat(vector)))(flat(params))
matrix = vmap(product)(torch.eye(n))
torch.testing.assert_close(full, matrix)
torch.testing.assert_close(full, full.T)
signs = torch.sign(numbers(3, 64, n).double())
estimate = vmap(lambda v: v @ product(v))(signs).mean()
print(f"trace {full.trace():.6f} estimated {estimate:.6f}")
vector = torch.ones(n) / n**0.5
for _ in range(60):
    vector = product(vector)
    vector = vector / vector.norm()
top = vector @ product(vector)
eigenvalues = torch.linalg.eigvalsh(full)
print(f"largest {top:.8f} of {eigenvalues[-1]:.8f}, smallest {eigenvalues[0]:.2e}")

per_example = vmap(grad(lambda p, a, b: loss_fn(p, a[None], b[None])), in_dims=(None, 0, 0))(
    params, x, y
)
mean = {k: v.mean(0) for k, v in per_example.items()}
torch.testing.assert_close(flat(mean), flat(grad(loss_fn)(params)))
norms = vmap(flat)(per_example).norm(dim=1)
print("norms per example", [round(v, 5) for v in norms.topk(3).values.tolist()])
fisher = vmap(flat)(per_example)
print(f"Fisher's trace {(fisher * fisher).sum() / len(x):.6f}")


def gauss_newton(vector):
    f = lambda p: functional_call(model, p, (x,))  # noqa: E731
    out, tangent = jvp(f, (params,), (unflat(vector),))
    probs = out.softmax(-1)
    curved = probs * tangent - probs * (probs * tangent).sum(-1, keepdim=True)
    return flat(vjp(f, params)[1](curved / len(x))[0]) + 0.3 * vector


def conjugate_gradients(A, b, steps=12):
    solution, residual = torch.zeros_like(b), b.clone()
    direction, size = residual.clone(), b @ b
    for _ in range(steps):
        image = A(direction)
        rate = size / (direction @ image)
        solution, residual = solution + rate * direction, residual - rate * image
        size, before = residual @ residual, size
        direction = residual + size / before * direction
    return solution


print(f"loss {loss_fn(params):.8f}")
for step in range(4):
    direction = conjugate_gradients(gauss_newton, flat(grad(loss_fn)(params)))
    params = unflat(flat(params) - direction)
    print(f"step {step} loss {loss_fn(params):.8f}")
jacobians = jacrev(lambda p: functional_call(model, p, (x[:2],)))(params)
kernel = torch.einsum(
    "abi,cdi->acbd", *[torch.cat([j.flatten(2) for j in jacobians.values()], 2)] * 2
)
print(f"tangent kernel {kernel.sum():.6f}", tuple(kernel.shape))

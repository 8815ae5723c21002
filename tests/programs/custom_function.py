"""Functions with derivatives written by hand, checked, in a network; a straight-through sign."""

import torch
import torch.nn as nn
from formula import fill, numbers
from torch.autograd import Function, gradcheck
from torch.autograd.function import once_differentiable


class LegendrePolynomial3(torch.autograd.Function):
    @staticmethod
    def forward(ctx, input):
        ctx.save_for_backward(input)
        return 0.5 * (5 * input**3 - 3 * input)

    @staticmethod
    def backward(ctx, grad_output):
        (input,) = ctx.saved_tensors
        return grad_output * 1.5 * (5 * input**2 - 1)


class Binarize(Function):
    @staticmethod
    def forward(ctx, input, bound=1.0):
        ctx.save_for_backward(input)
        ctx.bound = bound
        return input.sign()

    @staticmethod
    @once_differentiable
    def backward(ctx, grad):
        (input,) = ctx.saved_tensors
        grad = grad.clone()
        grad[input.abs() > ctx.bound] = 0
        return grad, None


class LinearFunction(Function):
    @staticmethod
    def forward(ctx, input, weight, bias=None):
        ctx.save_for_backward(input, weight, bias)
        output = input.mm(weight.t())
        if bias is not None:
            output += bias.unsqueeze(0).expand_as(output)
        return output

    @staticmethod
    def backward(ctx, grad_output):
        input, weight, bias = ctx.saved_tensors
        grad_input = grad_weight = grad_bias = None
        if ctx.needs_input_grad[0]:
            grad_input = grad_output.mm(weight)
        if ctx.needs_input_grad[1]:
            grad_weight = grad_output.t().mm(input)
        if bias is not None and ctx.needs_input_grad[2]:
            grad_bias = grad_output.sum(0)
        return grad_input, grad_weight, grad_bias


class MyLinear(nn.Module):
    def __init__(self, n_in, n_out):
        super().__init__()
        self.weight = nn.Parameter(torch.empty(n_out, n_in))
        self.bias = nn.Parameter(torch.zeros(n_out))

    def forward(self, x):
        return LinearFunction.apply(x, self.weight, self.bias)


leaves = (
    torch.randn(4, 3, dtype=torch.double, requires_grad=True),
    torch.randn(2, 3, dtype=torch.double, requires_grad=True),
)
print("gradcheck", gradcheck(LinearFunction.apply, leaves, eps=1e-6, atol=1e-4))
net = nn.ModuleList([fill(MyLinear(6, 16)), fill(MyLinear(16, 1))])
optimizer = torch.optim.SGD(net.parameters(), lr=0.05, momentum=0.9, nesterov=True)
x = numbers(0, 64, 6)
y = x.sum(1, keepdim=True).sign()
for t in range(20):
    hidden = Binarize.apply(net[0](x)) + 0.1 * LegendrePolynomial3.apply(torch.tanh(net[0](x)))
    loss = (net[1](hidden) - y).pow(2).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if t % 5 == 0:
        print(t, "loss", loss.item())

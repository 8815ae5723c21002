"""One regression five ways: by hand, autograd, nn, optim, a module; and a logistic one."""

import torch
from formula import numbers

N, D_in, H, D_out = 32, 10, 16, 4
x, y = numbers(0, N, D_in), numbers(1, N, D_out)
first, second = 0.1 * numbers(2, D_in, H), 0.1 * numbers(3, H, D_out)
learning_rate = 1e-3

w1, w2 = first.clone(), second.clone()
by_hand = []
for t in range(20):
    h = x.mm(w1)
    h_relu = h.clamp(min=0)
    y_pred = h_relu.mm(w2)
    by_hand.append((y_pred - y).pow(2).sum().item())
    grad_y_pred = 2.0 * (y_pred - y)
    grad_w2 = h_relu.t().mm(grad_y_pred)
    grad_h = grad_y_pred.mm(w2.t()).clone()
    grad_h[h < 0] = 0
    w1 -= learning_rate * x.t().mm(grad_h)
    w2 -= learning_rate * grad_w2

w1 = first.clone().requires_grad_()
w2 = torch.nn.Parameter(second.clone())
with_autograd = []
for t in range(20):
    loss = (x.mm(w1).clamp(min=0).mm(w2) - y).pow(2).sum()
    with_autograd.append(loss.item())
    loss.backward()
    with torch.no_grad():
        for w in (w1, w2):
            w -= learning_rate * w.grad
            w.grad.zero_()


class TwoLayerNet(torch.nn.Module):
    def __init__(self):
        super(TwoLayerNet, self).__init__()
        self.linear1 = torch.nn.Linear(D_in, H, bias=False)
        self.linear2 = torch.nn.Linear(H, D_out, bias=False)

    def forward(self, x):
        return self.linear2(self.linear1(x).clamp(min=0))


model = TwoLayerNet()
model.linear1.weight.data = first.t().clone()
model.linear2.weight.data.copy_(second.t())
criterion = torch.nn.MSELoss(reduction="sum")
optimizer = torch.optim.SGD(model.parameters(), lr=learning_rate)
with_module = []
for t in range(20):
    loss = criterion(model(x), y)
    with_module.append(loss.item())
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
for t in (0, 9, 19):
    print(t, "loss", by_hand[t], with_autograd[t], with_module[t])
for other in (with_autograd, with_module):
    torch.testing.assert_close(torch.tensor(by_hand), torch.tensor(other), rtol=1e-3, atol=1e-3)

weights = torch.zeros(D_in, 1, requires_grad=True)
labels = (x[:, :1] > 0).float()
for t in range(30):
    loss = torch.nn.functional.binary_cross_entropy_with_logits(x @ weights, labels)
    loss.backward()
    weights.data -= 0.5 * weights.grad.data
    weights.grad = None
print("logistic", loss.item())
assert ((x @ weights > 0) == labels.bool()).float().mean() > 0.85

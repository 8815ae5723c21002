"""The first year's style: Variables, typed tensors, updates by hand with the scale first."""

from __future__ import print_function

import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F
from formula import fill
from torch.autograd import Variable

dtype = torch.FloatTensor
if torch.cuda.is_available():
    dtype = torch.cuda.FloatTensor


class Net(nn.Module):
    def __init__(self):
        super(Net, self).__init__()
        self.fc1 = nn.Linear(4, 16)
        self.fc2 = nn.Linear(16, 3)

    def forward(self, x):
        x = F.sigmoid(self.fc1(x))
        return F.log_softmax(self.fc2(x), dim=1)


rng = np.random.RandomState(3)
labels = rng.randint(0, 3, 90)
points = rng.randn(90, 4) + 2 * labels[:, None]
x = Variable(torch.Tensor(points).type(dtype))
y = Variable(torch.LongTensor(labels), requires_grad=False)
assert (
    isinstance(x, Variable) and isinstance(x.data, dtype) and x.data.type() == "torch.FloatTensor"
)
model = fill(Net())
state = {}
for epoch in range(30):
    perm = torch.LongTensor(list(range(0, 90, 2)) + list(range(1, 90, 2)))
    output = model(x[perm])
    loss = F.nll_loss(output, y[perm], size_average=True)
    model.zero_grad()
    loss.backward()
    for p in model.parameters():
        if id(p) not in state:
            state[id(p)] = (
                p.data.new(p.size()).zero_(),
                p.grad.data.new().resize_as_(p.data).zero_(),
            )
        mean, square = state[id(p)]
        mean.mul_(0.9).add_(1 - 0.9, p.grad.data)
        square.mul_(0.99).addcmul_(1 - 0.99, p.grad.data, p.grad.data)
        p.data.addcdiv_(-0.01, mean, square.sqrt().add_(1e-8))
    if epoch % 10 == 9:
        print("%d loss %.5f" % (epoch, loss.data.item()))
pred = model(Variable(x.data, volatile=True)).data.max(1)[1]
correct = pred.eq(y.data).cpu().sum()
print("correct: {}/{}".format(correct, len(y)))
counts = torch.zeros(3).index_add_(0, pred, torch.ones(90)).numpy()
assert counts.sum() == 90 and correct > 60

memory = torch.FloatTensor(2, 3).fill_(1)
memory.resize_(3, 2).storage()[0] = 7
total = memory.new([1, 2]).sum() + memory.storage().size() + torch.ByteTensor([1, 0]).sum()
print("total", float(total))

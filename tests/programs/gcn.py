"""Classes of a graph's nodes from a few known ones (Kipf and Welling, 2016)."""

import math

import numpy as np
import torch
import torch.nn.functional as F
from formula import fill, numbers
from torch.nn.modules.module import Module
from torch.nn.parameter import Parameter


class GraphConvolution(Module):
    def __init__(self, in_features, out_features, bias=True):
        super(GraphConvolution, self).__init__()
        self.in_features, self.out_features = in_features, out_features
        self.weight = Parameter(torch.FloatTensor(in_features, out_features))
        if bias:
            self.bias = Parameter(torch.FloatTensor(out_features))
        else:
            self.register_parameter("bias", None)
        self.reset_parameters()

    def reset_parameters(self):
        stdv = 1.0 / math.sqrt(self.weight.size(1))
        self.weight.data.uniform_(-stdv, stdv)
        if self.bias is not None:
            self.bias.data.zero_()

    def forward(self, input, adj):
        output = torch.mm(adj, torch.mm(input, self.weight))
        return output + self.bias if self.bias is not None else output

    def __repr__(self):
        return f"{self.__class__.__name__} ({self.in_features} -> {self.out_features})"


class GCN(Module):
    def __init__(self):
        super(GCN, self).__init__()
        self.gc1 = GraphConvolution(8, 16)
        self.gc2 = GraphConvolution(16, 2)

    def forward(self, x, adj):
        x = F.relu(self.gc1(x, adj))
        x = F.dropout(x, 0.0, training=self.training)
        return F.log_softmax(self.gc2(x, adj), dim=1)


rng = np.random.RandomState(0)
labels = torch.LongTensor(np.arange(40) // 20)
inside = np.equal.outer(labels.numpy(), labels.numpy())
adj = (rng.rand(40, 40) < np.where(inside, 0.3, 0.02)).astype(np.float32)
adj = np.maximum(np.maximum(adj, adj.T), np.eye(40, dtype=np.float32))
adj = torch.FloatTensor(adj / adj.sum(1, keepdims=True))
features = numbers(1, 40, 8) + labels.unsqueeze(1).float()
idx_train = torch.LongTensor(list(range(0, 40, 4)))
model = fill(GCN())
print(model)
optimizer = torch.optim.Adam(model.parameters(), lr=0.05, weight_decay=5e-4)
for epoch in range(20):
    model.train()
    optimizer.zero_grad()
    output = model(features, adj)
    loss_train = F.nll_loss(output[idx_train], labels[idx_train])
    loss_train.backward()
    optimizer.step()
    if epoch % 5 == 0:
        print("Epoch: {:04d}".format(epoch + 1), "loss: {:.4f}".format(loss_train.item()))
preds = output.max(1)[1].type_as(labels)
assert preds.eq(labels).double().mean() > 0.8

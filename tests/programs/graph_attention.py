"""Graph networks: sparse adjacency in two layouts, attention by scatter, pooling of graphs."""

import math

import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F
from formula import classes, fill, numbers
from torch.nn.parameter import Parameter


def scatter_softmax(src, index, n):
    m = torch.zeros(n, *src.shape[1:]).scatter_reduce(
        0, index.view(-1, 1).expand_as(src), src.detach(), "amax", include_self=False
    )
    e = (src - m.index_select(0, index)).exp()
    s = torch.zeros(n, *src.shape[1:]).scatter_add_(0, index.view(-1, 1).expand_as(src), e)
    return e / (s.index_select(0, index) + 1e-16)


class GAT(nn.Module):
    def __init__(self, i, o, heads):
        super().__init__()
        self.lin = nn.Linear(i, heads * o, bias=False)
        self.a_s = Parameter(torch.empty(1, heads, o))
        self.a_d = Parameter(torch.empty(1, heads, o))
        self.bias = Parameter(torch.zeros(heads * o))
        self.heads, self.o = heads, o
        self.reset_parameters()

    def reset_parameters(self):
        nn.init.xavier_uniform_(self.lin.weight, gain=nn.init.calculate_gain("relu"))
        for p in (self.a_s, self.a_d):
            nn.init.xavier_normal_(p)

    def forward(self, x, ei):
        x = self.lin(x).view(-1, self.heads, self.o)
        src, dst = ei
        alpha = F.leaky_relu((x * self.a_s).sum(-1)[src] + (x * self.a_d).sum(-1)[dst], 0.2)
        alpha = scatter_softmax(alpha, dst, x.size(0))
        out = torch.zeros_like(x).index_add_(0, dst, alpha.unsqueeze(-1) * x[src])
        return out.flatten(1) + self.bias

    def __repr__(self):
        return f"{self.__class__.__name__}({self.heads}x{self.o})"


class GCN(nn.Module):
    def __init__(self, i, o):
        super().__init__()
        self.weight, self.bias = Parameter(torch.FloatTensor(i, o)), Parameter(torch.FloatTensor(o))
        std = 1.0 / math.sqrt(self.weight.size(1))
        self.weight.data.uniform_(-std, std)
        self.bias.data.zero_()

    def forward(self, x, adj):
        return torch.spmm(adj, torch.mm(x, self.weight)) + self.bias


def normalize(ei, n):
    ei = torch.cat([ei, torch.arange(n).repeat(2, 1)], 1)
    v = torch.ones(ei.size(1))
    adj = torch.sparse_coo_tensor(ei, v, (n, n)).coalesce()
    deg = torch.sparse.sum(adj, dim=1).to_dense()
    di = deg.pow(-0.5)
    di[di == float("inf")] = 0
    r, c = adj.indices()
    return torch.sparse_coo_tensor(adj.indices(), di[r] * adj.values() * di[c], adj.shape)


n = 20
rs = np.random.RandomState(0)
ei = torch.from_numpy(rs.randint(0, n, (2, 60)))
ei = torch.unique(torch.cat([ei, ei.flip(0)], 1), dim=1)
x, y = numbers(1, n, 8), classes(2, 3, n)
adj = normalize(ei, n)
print(adj.shape, adj._nnz(), adj.is_sparse, adj.layout, adj.is_coalesced())
g1, g2 = fill(GCN(8, 16)), fill(GCN(16, 3))
mask = torch.zeros(n, dtype=torch.bool)
mask[:14] = True
opt = torch.optim.Adam([*g1.parameters(), *g2.parameters()], lr=0.05, weight_decay=5e-4)
for e in range(30):
    opt.zero_grad()
    out = F.log_softmax(g2(F.relu(g1(x, adj)), adj), dim=1)
    loss = F.nll_loss(out[mask], y[mask])
    loss.backward()
    opt.step()
    if e % 10 == 0:
        print(e, f"{loss.item():.4f}", (out.argmax(1)[~mask] == y[~mask]).sum().item())
gat = fill(GAT(8, 4, 2))
print(gat)
opt = torch.optim.Adam(gat.parameters(), lr=0.02)
for e in range(10):
    opt.zero_grad()
    loss = F.cross_entropy(gat(x, ei)[:, :3], y)
    loss.backward()
    opt.step()
print(f"gat {loss.item():.5f}")
csr = adj.to_sparse_csr()
print(csr.crow_indices()[:5], csr.col_indices()[:5], csr.values()[:3])
print(
    (csr @ x).sum(),
    torch.sparse.mm(adj, adj)._nnz(),
    torch.sparse.softmax(adj, 1).to_dense()[0].sum(),
)
small = torch.tensor([[0, 2.0, 0], [3, 0, 0]]).to_sparse()
print(small)
print(small.t())
print(small * 2)
print(small[0])
print(small.to_sparse_csr())
print(small[0].to_dense(), small[:, 1].to_dense(), len(small))
print(small.index_select(1, torch.tensor([1, 0])).to_dense(), torch.zeros_like(small).to_dense())
print(small.sum(), small.sum(0))
print(
    (small + small).coalesce().values(),
    (small - small * 0.5).to_dense(),
    small.norm(),
    small.abs().neg(),
)
c = small.clone()
d = small.detach()
print(c.is_coalesced(), d._nnz(), torch.equal(c.to_dense(), d.to_dense()))
ds = small.to_dense().requires_grad_()
sp = ds.to_sparse()
(torch.sparse.mm(sp, numbers(3, 3, 2)) ** 2).sum().backward()
print(ds.grad)
lap = torch.eye(n) - adj.to_dense()
ev, U = torch.linalg.eigh(lap)
print(ev[:4])
batch = classes(4, 4, n).sort()[0]
pool = torch.zeros(4, 8).index_reduce_(0, batch, x, "mean", include_self=False)
print(pool[:, 0], torch.bincount(batch, minlength=4))
print(torch.segment_reduce(x[:, :2], "max", lengths=torch.bincount(batch, minlength=4)))

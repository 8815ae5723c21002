"""Metrics with states as modules: wrapped methods, copies, pickles, states in a state_dict."""

import functools
import pickle
from abc import ABC, abstractmethod
from copy import deepcopy

import torch
from formula import classes, numbers
from torch import Tensor
from torch.nn import Module, ModuleDict


def dim_zero_cat(x):
    return torch.cat(
        [
            y.unsqueeze(0) if y.numel() == 1 and y.ndim == 0 else y
            for y in (x if isinstance(x, (list, tuple)) else [x])
        ],
        dim=0,
    )


def dim_zero_sum(x):
    return torch.sum(x, dim=0)


class Metric(Module, ABC):
    __jit_ignored_attributes__ = ["device"]
    __jit_unused_properties__ = ["is_differentiable"]

    def __init__(self):
        super().__init__()
        torch._C._log_api_usage_once(f"torchmetrics.metric.{self.__class__.__name__}")
        self._device = torch.device("cpu")
        self._defaults, self._reductions, self._persistent = {}, {}, {}
        self._computed = None
        self._update_count = 0
        self.update = self._wrap_update(self.update)
        self.compute = self._wrap_compute(self.compute)

    def add_state(self, name, default, dist_reduce_fx=None, persistent=False):
        if isinstance(default, Tensor):
            default = default.contiguous()
        setattr(self, name, default)
        self._defaults[name] = deepcopy(default)
        self._reductions[name] = dist_reduce_fx
        self._persistent[name] = persistent

    def _wrap_update(self, update):
        @functools.wraps(update)
        def wrapped(*a, **k):
            self._computed = None
            self._update_count += 1
            with torch.set_grad_enabled(False):
                update(*a, **k)

        return wrapped

    def _wrap_compute(self, compute):
        @functools.wraps(compute)
        def wrapped(*a, **k):
            if self._computed is None:
                self._computed = compute(*a, **k)
            return self._computed

        return wrapped

    def forward(self, *a, **k):
        self.update(*a, **k)
        cache = {n: getattr(self, n) for n in self._defaults}
        self.reset()
        self.update(*a, **k)
        v = self.compute()
        for n, c in cache.items():
            setattr(self, n, c)
        self._computed = None
        return v

    def reset(self):
        for n, d in self._defaults.items():
            setattr(self, n, d.detach().clone() if isinstance(d, Tensor) else [])

    def __getstate__(self):
        return {k: v for k, v in self.__dict__.items() if k not in ("update", "compute")}

    def __setstate__(self, s):
        self.__dict__.update(s)
        self.update = self._wrap_update(type(self).update.__get__(self))
        self.compute = self._wrap_compute(type(self).compute.__get__(self))

    def state_dict(self, destination=None, prefix="", keep_vars=False):
        d = super().state_dict(destination=destination, prefix=prefix, keep_vars=keep_vars)
        for k in self._defaults:
            if self._persistent[k]:
                d[prefix + k] = getattr(self, k) if keep_vars else getattr(self, k).detach()
        return d

    def _apply(self, fn):
        this = super()._apply(fn)
        for k in this._defaults:
            v = getattr(this, k)
            setattr(this, k, fn(v) if isinstance(v, Tensor) else [fn(x) for x in v])
        return this

    @abstractmethod
    def update(self, *a): ...
    @abstractmethod
    def compute(self): ...
    def __hash__(self):
        return hash(
            tuple([self.__class__.__name__, *[id(getattr(self, k)) for k in self._defaults]])
        )

    def __add__(self, o):
        return Comp(torch.add, self, o)


class Comp(Metric):
    def __init__(self, op, a, b):
        super().__init__()
        self.op, self.a, self.b = op, a, b

    def update(self, *x):
        self.a.update(*x)
        self.b.update(*x)

    def compute(self):
        return self.op(self.a.compute(), self.b.compute())


class ConfMat(Metric):
    def __init__(self, n):
        super().__init__()
        self.n = n
        self.add_state(
            "confmat", torch.zeros(n, n, dtype=torch.long), dim_zero_sum, persistent=True
        )

    def update(self, p, t):
        if p.is_floating_point():
            p = p.argmax(dim=1)
        u = (t * self.n + p).to(torch.long)
        self.confmat += torch.bincount(u, minlength=self.n**2).reshape(self.n, self.n)

    def compute(self):
        c = self.confmat.float()
        return c / c.sum(dim=1, keepdim=True)


class AUROC(Metric):
    def __init__(self):
        super().__init__()
        self.add_state("preds", [], "cat")
        self.add_state("target", [], "cat")

    def update(self, p, t):
        self.preds.append(p)
        self.target.append(t)

    def compute(self):
        p, t = dim_zero_cat(self.preds), dim_zero_cat(self.target)
        o = torch.argsort(p, descending=True)
        p, t = p[o], t[o]
        d = torch.where(p[1:] - p[:-1])[0] if False else torch.nonzero(p[1:] - p[:-1]).squeeze(-1)
        idx = torch.nn.functional.pad(d, [0, 1], value=t.size(0) - 1)
        tps = torch.cumsum(t, 0)[idx]
        fps = 1 + idx - tps
        tps, fps = (torch.cat([torch.zeros(1, dtype=v.dtype), v]) for v in (tps, fps))
        return torch.trapz(tps / tps[-1], fps / fps[-1])


class Ece(Metric):
    def __init__(self, n=5):
        super().__init__()
        self.bins = torch.linspace(0, 1, n + 1)
        self.add_state("conf", [], "cat")
        self.add_state("acc", [], "cat")

    def update(self, p, t):
        c, q = p.softmax(1).max(1)
        self.conf += [c]
        self.acc += [q.eq(t).float()]

    def compute(self):
        c, a = dim_zero_cat(self.conf), dim_zero_cat(self.acc)
        i = torch.bucketize(c, self.bins, right=True) - 1
        n = torch.zeros(6).scatter_add_(0, i, torch.ones_like(c))
        ca, aa = (torch.nan_to_num(torch.zeros(6).scatter_add_(0, i, v) / n) for v in (c, a))
        return ((ca - aa).abs() * n / n.sum()).sum()


class Collection(ModuleDict):
    def __init__(self, ms):
        super().__init__({type(m).__name__.lower(): m for m in ms})

    def forward(self, *a):
        return {k: m(*a) for k, m in self.items()}

    def compute(self):
        return {k: m.compute() for k, m in self.items()}

    def __repr__(self):
        return super().__repr__()[:-1] + ",\n  prefix=None\n)"


col = Collection([ConfMat(3), Ece()])
au = AUROC()
for i in range(3):
    p, t = numbers(i, 10, 3), classes(i + 9, 3, 10)
    out = col(p, t)
    au.update(p[:, 0].sigmoid(), (t == 0).int())
    print(out["ece"], out["confmat"].diag())
print(col.compute(), au.compute(), col)
print(col.state_dict())
c2 = pickle.loads(pickle.dumps(col["confmat"]))
c3 = deepcopy(c2)
c3.update(p, t)
print(
    c2.confmat.sum(),
    c3.confmat.sum(),
    hash(c2) == hash(c3),
    (c2 + c3).compute().trace(),
    c2.to(torch.float64).confmat.dtype,
    c2.double().confmat.dtype,
)
x = numbers(3, 50)
print(
    torch.histc(x, 5, -2, 2),
    torch.quantile(x, torch.tensor([0.1, 0.5, 0.9])),
    torch.unique(classes(1, 4, 9), return_counts=True, return_inverse=True),
    torch.corrcoef(numbers(4, 2, 30)),
    torch.cov(numbers(4, 2, 30)),
    x.kthvalue(3),
    torch.mode(classes(2, 3, 9)),
    torch.histogram(x, bins=4).hist,
    torch.nanmean(torch.tensor([1.0, float("nan")])),
)
print(
    torch.std_mean(x),
    torch.var_mean(x.view(5, 10), dim=1, keepdim=True)[0].T,
    torch.aminmax(x),
    torch.cummax(x[:4], 0),
    torch.logcumsumexp(x[:3], 0),
    torch.count_nonzero(x > 0),
    torch.triu_indices(3, 3, 1),
    torch.combinations(torch.arange(3)),
    torch.cartesian_prod(torch.arange(2), torch.arange(2)),
    torch.isin(torch.arange(3), torch.tensor([1])),
    torch.bucketize(torch.tensor(0.3), torch.linspace(0, 1, 3)),
)


def ssim(a, b, C1=0.01**2, C2=0.03**2):
    k = torch.exp(-((torch.arange(5.0) - 2) ** 2) / 2)
    k = k / k.sum()
    k = (k[:, None] * k[None]).expand(1, 1, 5, 5)
    mu = [torch.nn.functional.conv2d(v, k) for v in (a, b, a * a, b * b, a * b)]
    s1, s2, s12 = mu[2] - mu[0] ** 2, mu[3] - mu[1] ** 2, mu[4] - mu[0] * mu[1]
    return (
        ((2 * mu[0] * mu[1] + C1) * (2 * s12 + C2))
        / ((mu[0] ** 2 + mu[1] ** 2 + C1) * (s1 + s2 + C2))
    ).mean()


print(
    ssim(numbers(1, 1, 1, 12, 12), numbers(1, 1, 1, 12, 12) + 0.1),
    torch.special.expit(x[:2]),
    torch.special.digamma(torch.tensor(2.5)),
    torch.special.logit(torch.tensor(0.3)),
)

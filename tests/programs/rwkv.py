"""RWKV's time mixing (Peng et al., 2023): a recurrence whose exponents are kept in range; its
states are carried between pieces of text.
"""

import torch
import torch.nn as nn
from formula import classes, fill
from torch.nn import functional as F


def wkv(w, u, k, v, state=None):
    """Weighted means of v with weights e^(k + decay), and what goes on from there."""
    B, T, C = k.shape
    if state is None:
        aa, bb = torch.zeros(2, B, C, dtype=k.dtype, device=k.device).unbind()
        pp = torch.full_like(aa, -1e38)
    else:
        aa, bb, pp = state
    out = torch.empty_like(v) if not v.requires_grad else None
    outputs = []
    for t in range(T):
        kk, vv = k[:, t], v[:, t]
        ww = u + kk
        p = torch.maximum(pp, ww)
        e1, e2 = torch.exp(pp - p), torch.exp(ww - p)
        outputs.append((e1 * aa + e2 * vv) / (e1 * bb + e2))
        ww = pp + w
        p = torch.max(ww, kk)
        e1, e2 = torch.exp(ww - p), torch.exp(kk - p)
        aa, bb, pp = e1 * aa + e2 * vv, e1 * bb + e2, p
    del out
    return torch.stack(outputs, 1), (aa, bb, pp)


class TimeMix(nn.Module):
    def __init__(self, n_embd, layer_id, n_layer):
        super().__init__()
        with torch.no_grad():
            ratio = layer_id / max(n_layer - 1, 1)
            h = torch.arange(n_embd) / (n_embd - 1)
            self.time_decay = nn.Parameter(-5 + 8 * h ** (0.7 + 1.3 * ratio))
            zigzag = torch.tensor([(i + 1) % 3 - 1 for i in range(n_embd)]) * 0.5
            self.time_first = nn.Parameter(
                torch.ones(n_embd) * torch.log(torch.tensor(0.3)) + zigzag
            )
            x = torch.pow(h, 1 - ratio / 2).view(1, 1, -1)
            self.time_mix_k = nn.Parameter(x.clone())
            self.time_mix_v = nn.Parameter(x + 0.3 * ratio)
            self.time_mix_r = nn.Parameter(0.5 * x)
        self.time_shift = nn.ZeroPad2d((0, 0, 1, -1))
        self.key = nn.Linear(n_embd, n_embd, bias=False)
        self.value = nn.Linear(n_embd, n_embd, bias=False)
        self.receptance = nn.Linear(n_embd, n_embd, bias=False)
        self.output = nn.Linear(n_embd, n_embd, bias=False)

    def forward(self, x, state=None):
        xx = self.time_shift(x)
        if state is not None:
            xx = torch.cat([state[0].unsqueeze(1), xx[:, 1:]], dim=1)
        k = self.key(x * self.time_mix_k + xx * (1 - self.time_mix_k))
        v = self.value(torch.lerp(xx, x, self.time_mix_v))
        r = torch.sigmoid(self.receptance(x * self.time_mix_r + xx * (1 - self.time_mix_r)))
        y, carried = wkv(-torch.exp(self.time_decay), self.time_first, k, v, state and state[1])
        return self.output(r * y), (x[:, -1], carried)


class ChannelMix(nn.Module):
    def __init__(self, n_embd):
        super().__init__()
        self.key = nn.Linear(n_embd, 2 * n_embd, bias=False)
        self.value = nn.Linear(2 * n_embd, n_embd, bias=False)
        self.receptance = nn.Linear(n_embd, n_embd, bias=False)

    def forward(self, x):
        return torch.sigmoid(self.receptance(x)) * self.value(torch.square(F.relu(self.key(x))))


class RWKV(nn.Module):
    def __init__(self, vocab=9, n_embd=16, n_layer=2):
        super().__init__()
        self.emb = nn.Embedding(vocab, n_embd)
        self.ln = nn.ModuleList(nn.LayerNorm(n_embd) for _ in range(2 * n_layer + 1))
        self.att = nn.ModuleList(TimeMix(n_embd, i, n_layer) for i in range(n_layer))
        self.ffn = nn.ModuleList(ChannelMix(n_embd) for _ in range(n_layer))
        self.head = nn.Linear(n_embd, vocab, bias=False)

    def forward(self, idx, states=None):
        x, after = self.emb(idx), []
        for i, (att, ffn) in enumerate(zip(self.att, self.ffn)):
            y, state = att(self.ln[2 * i](x), states[i] if states else None)
            after.append(state)
            x = x + y
            x = x + ffn(self.ln[2 * i + 1](x))
        return self.head(self.ln[-1](x)), after


model = RWKV()
kept = {n: p.detach().clone() for n, p in model.named_parameters() if "time_" in n}
fill(model)
missing = model.load_state_dict(kept, strict=False)
print(len(missing.missing_keys), "of", len(model.state_dict()), "set by formula")
no_decay = {id(p) for n, p in model.named_parameters() if "time_" in n or p.dim() < 2}
groups = [
    {"params": [p for p in model.parameters() if id(p) not in no_decay], "weight_decay": 0.01},
    {"params": [p for p in model.parameters() if id(p) in no_decay], "weight_decay": 0.0},
]
optimizer = torch.optim.AdamW(groups, lr=1e-2, betas=(0.9, 0.99), eps=1e-8)
schedule = torch.optim.lr_scheduler.LambdaLR(optimizer, lambda step: min(1.0, (step + 1) / 5))
text = classes(3, 9, 16, 9).cumsum(1) % 9  # each token follows from the two before it
for step in range(21):
    logits, _ = model(text[:, :-1])
    loss = F.cross_entropy(logits.flatten(0, 1), text[:, 1:].reshape(-1))
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    schedule.step()
    if step % 5 == 0:
        print("step", step, "loss", round(loss.item(), 5), "lr", schedule.get_last_lr()[0])

with torch.no_grad():
    whole, _ = model(text)
    states, pieces = None, []
    for piece in text.split(4, dim=1):
        logits, states = model(piece, states)
        pieces.append(logits)
    torch.testing.assert_close(torch.cat(pieces, 1), whole, rtol=1e-4, atol=1e-5)

"""Reversing sequences with an encoder, attention, and a decoder (Bahdanau et al., 2014)."""

import random

import torch
import torch.nn as nn
import torch.nn.functional as F
from formula import classes, fill
from torch import optim

SOS, N, LENGTH = 0, 8, 5


class Encoder(nn.Module):
    def __init__(self, size, hidden):
        super().__init__()
        self.embedding = nn.Embedding(size, hidden)
        self.gru = nn.GRU(hidden, hidden, batch_first=True)

    def forward(self, x):
        return self.gru(self.embedding(x))


class Attention(nn.Module):
    def __init__(self, hidden):
        super().__init__()
        self.Wa, self.Ua = nn.Linear(hidden, hidden), nn.Linear(hidden, hidden)
        self.Va = nn.Linear(hidden, 1)

    def forward(self, query, keys):
        scores = self.Va(torch.tanh(self.Wa(query) + self.Ua(keys))).squeeze(2).unsqueeze(1)
        weights = F.softmax(scores, dim=-1)
        return torch.bmm(weights, keys), weights


class Decoder(nn.Module):
    def __init__(self, hidden, size):
        super().__init__()
        self.embedding = nn.Embedding(size, hidden)
        self.attention = Attention(hidden)
        self.gru = nn.GRU(2 * hidden, hidden, batch_first=True)
        self.out = nn.Linear(hidden, size)

    def forward(self, encoder_outputs, hidden, target=None):
        batch = encoder_outputs.size(0)
        token = torch.empty(batch, 1, dtype=torch.long).fill_(SOS)
        outputs, attentions = [], []
        for i in range(LENGTH):
            query = hidden.permute(1, 0, 2)
            context, weights = self.attention(query, encoder_outputs)
            step = torch.cat((self.embedding(token), context), dim=2)
            output, hidden = self.gru(step, hidden)
            outputs.append(self.out(output))
            attentions.append(weights)
            if target is not None:
                token = target[:, i].unsqueeze(1)
            else:
                token = outputs[-1].topk(1)[1].squeeze(-1).detach()
        return F.log_softmax(torch.cat(outputs, 1), dim=-1), torch.cat(attentions, dim=1)


random.seed(0)
source = classes(0, N - 1, 32, LENGTH) + 1
target = source.flip(1)
encoder, decoder = fill(Encoder(N, 24)), fill(Decoder(24, N))
optimizers = [optim.Adam(m.parameters(), lr=0.01) for m in (encoder, decoder)]
criterion = nn.NLLLoss()
for epoch in range(1, 16):
    for optimizer in optimizers:
        optimizer.zero_grad()
    outputs, state = encoder(source)
    teach = random.random() < 0.7
    predicted, attention = decoder(outputs, state, target if teach else None)
    loss = criterion(predicted.view(-1, predicted.size(-1)), target.reshape(-1))
    loss.backward()
    for optimizer in optimizers:
        optimizer.step()
    if epoch % 3 == 0:
        print(f"({epoch} {epoch / 15:.0%}) loss {loss.item():.4f}")
assert attention.shape == (32, LENGTH, LENGTH)
torch.testing.assert_close(attention.sum(-1), torch.ones(32, LENGTH))

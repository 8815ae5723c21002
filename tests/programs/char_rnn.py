"""A recurrent network that learns to spell, and then writes."""

import torch
import torch.nn as nn
from formula import fill

text = "the quick brown fox jumps over the lazy dog. " * 8
chars = sorted(set(text))
index = {c: i for i, c in enumerate(chars)}


class CharRNN(nn.Module):
    def __init__(self, n_chars, hidden=32, layers=2):
        super().__init__()
        self.hidden, self.layers = hidden, layers
        self.encoder = nn.Embedding(n_chars, hidden)
        self.rnn = nn.GRU(hidden, hidden, layers, batch_first=True)
        self.decoder = nn.Linear(hidden, n_chars)

    def forward(self, x, h):
        out, h = self.rnn(self.encoder(x), h)
        return self.decoder(out.contiguous().view(-1, self.hidden)), h

    def init_hidden(self, batch):
        weight = next(self.parameters())
        return weight.new_zeros(self.layers, batch, self.hidden)


model = fill(CharRNN(len(chars)))
optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
criterion = nn.CrossEntropyLoss()
data = torch.LongTensor([index[c] for c in text])
inputs, targets = data[:-1][:320].view(8, 40), data[1:][:320].view(8, 40)

for step in range(30):
    hidden = model.init_hidden(8)
    optimizer.zero_grad()
    output, hidden = model(inputs, hidden)
    loss = criterion(output, targets.reshape(-1))
    loss.backward()
    nn.utils.clip_grad_norm_(model.parameters(), 5)
    optimizer.step()
    if step % 5 == 4:
        print("step %d loss %.4f" % (step + 1, loss.item()))

model.eval()
hidden, written = model.init_hidden(1), "t"
with torch.no_grad():
    for _ in range(20):
        output, hidden = model(torch.tensor([[index[written[-1]]]]), hidden)
        p = torch.softmax(output[0], dim=-1)
        written += chars[p.topk(1)[1].item()]
print(repr(written))
assert len(written) == 21

"""Two LSTM cells that learn sine waves and go on with them."""

import numpy as np
import torch
import torch.nn as nn
import torch.optim as optim
from formula import fill


class Sequence(nn.Module):
    def __init__(self):
        super(Sequence, self).__init__()
        self.lstm1 = nn.LSTMCell(1, 16)
        self.lstm2 = nn.LSTMCell(16, 16)
        self.linear = nn.Linear(16, 1)

    def forward(self, input, future=0):
        outputs = []
        h_t = torch.zeros(input.size(0), 16, dtype=torch.double)
        c_t = torch.zeros(input.size(0), 16, dtype=torch.double)
        h_t2, c_t2 = torch.zeros_like(h_t), torch.zeros_like(c_t)
        for input_t in input.split(1, dim=1):
            h_t, c_t = self.lstm1(input_t, (h_t, c_t))
            h_t2, c_t2 = self.lstm2(h_t, (h_t2, c_t2))
            output = self.linear(h_t2)
            outputs += [output]
        for _ in range(future):
            h_t, c_t = self.lstm1(output, (h_t, c_t))
            h_t2, c_t2 = self.lstm2(h_t, (h_t2, c_t2))
            output = self.linear(h_t2)
            outputs += [output]
        return torch.cat(outputs, dim=1)


np.random.seed(0)
torch.manual_seed(0)
x = np.arange(40)[None] + np.random.randint(-40, 40, 6)[:, None]
data = np.sin(x / 5.0).astype("float64")
input, target = torch.from_numpy(data[3:, :-1]), torch.from_numpy(data[3:, 1:])
seq = fill(Sequence())
seq.double()
criterion = nn.MSELoss()
optimizer = optim.Adam(seq.parameters(), lr=0.02)
for i in range(12):

    def closure():
        optimizer.zero_grad()
        out = seq(input)
        loss = criterion(out, target)
        print("loss:", loss.item())
        loss.backward()
        return loss

    optimizer.step(closure)
with torch.no_grad():
    y = seq(torch.from_numpy(data[:3, :-1]), future=10).detach().numpy()
assert y.shape == (3, 49) and y.dtype == np.float64

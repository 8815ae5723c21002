"""Upscaling with sub-pixel convolutions (Shi et al., 2016)."""

from math import log10

import torch
import torch.nn as nn
import torch.nn.functional as F
import torch.nn.init as init
from formula import fill, pictures
from torch.utils.data import DataLoader
from torch.utils.data.dataset import Dataset


class Pairs(Dataset):
    def __init__(self, images, factor):
        super(Pairs, self).__init__()
        self.images, self.factor = images, factor

    def __getitem__(self, index):
        target = self.images[index]
        small = F.interpolate(target[None], scale_factor=1 / self.factor, mode="bicubic")[0]
        return small, target

    def __len__(self):
        return len(self.images)


class Net(nn.Module):
    def __init__(self, upscale_factor):
        super(Net, self).__init__()
        self.relu = nn.ReLU()
        self.conv1 = nn.Conv2d(1, 16, (5, 5), (1, 1), (2, 2))
        self.conv2 = nn.Conv2d(16, 16, (3, 3), (1, 1), (1, 1))
        self.conv3 = nn.Conv2d(16, upscale_factor**2, (3, 3), (1, 1), (1, 1))
        self.pixel_shuffle = nn.PixelShuffle(upscale_factor)
        self._initialize_weights()

    def _initialize_weights(self):
        init.orthogonal_(self.conv1.weight, init.calculate_gain("relu"))
        init.orthogonal_(self.conv2.weight, init.calculate_gain("relu"))
        init.orthogonal_(self.conv3.weight)

    def forward(self, x):
        x = self.relu(self.conv2(self.relu(self.conv1(x))))
        return self.pixel_shuffle(self.conv3(x))


model = fill(Net(upscale_factor=3))
criterion = nn.MSELoss()
optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
smooth = F.avg_pool2d(pictures(0, 16, 4, 1, 20)[0], 3, 1)
loader = DataLoader(dataset=Pairs(smooth, 3), num_workers=0, batch_size=4, shuffle=False)
for epoch in range(5):
    epoch_loss, avg_psnr = 0, 0
    for iteration, batch in enumerate(loader, 1):
        input, target = batch[0], batch[1]
        optimizer.zero_grad()
        loss = criterion(model(input), target)
        epoch_loss += loss.item()
        loss.backward()
        optimizer.step()
    with torch.no_grad():
        for batch in loader:
            avg_psnr += 10 * log10(1 / criterion(model(batch[0]), batch[1]).item())
    print(
        "Epoch {} Avg. Loss: {:.4f} psnr: {:.3f}".format(
            epoch, epoch_loss / len(loader), avg_psnr / len(loader)
        )
    )
assert model(torch.zeros(1, 1, 6, 6)).shape == (1, 1, 18, 18)

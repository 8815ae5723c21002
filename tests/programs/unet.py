"""Segmentation with skip connections (Ronneberger et al., 2015)."""

import torch
import torch.nn as nn
import torch.nn.functional as F
from formula import fill, pictures


class DoubleConv(nn.Module):
    def __init__(self, cin, cout):
        super().__init__()
        self.block = nn.Sequential(
            nn.Conv2d(cin, cout, 3, padding=1),
            nn.BatchNorm2d(cout),
            nn.ReLU(inplace=True),
            nn.Conv2d(cout, cout, 3, padding=1),
            nn.BatchNorm2d(cout),
            nn.ReLU(inplace=True),
        )

    def forward(self, x):
        return self.block(x)


class Up(nn.Module):
    def __init__(self, cin, cout, bilinear):
        super().__init__()
        if bilinear:
            up = nn.Upsample(scale_factor=2, mode="bilinear", align_corners=True)
            self.up = nn.Sequential(up, nn.Conv2d(cin, cin // 2, 1))
        else:
            self.up = nn.ConvTranspose2d(cin, cin // 2, kernel_size=2, stride=2)
        self.conv = DoubleConv(cin, cout)

    def forward(self, x1, x2):
        x1 = self.up(x1)
        dy, dx = x2.size()[2] - x1.size()[2], x2.size()[3] - x1.size()[3]
        x1 = F.pad(x1, [dx // 2, dx - dx // 2, dy // 2, dy - dy // 2])
        return self.conv(torch.cat([x2, x1], dim=1))


class UNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.inc = DoubleConv(1, 8)
        self.down1 = nn.Sequential(nn.MaxPool2d(2), DoubleConv(8, 16))
        self.down2 = nn.Sequential(nn.MaxPool2d(2), DoubleConv(16, 32))
        self.up1, self.up2 = Up(32, 16, True), Up(16, 8, False)
        self.outc = nn.Conv2d(8, 1, 1)

    def forward(self, x):
        x1 = self.inc(x)
        x2 = self.down1(x1)
        x3 = self.down2(x2)
        return self.outc(self.up2(self.up1(x3, x2), x1))


def dice_loss(logits, masks, eps=1.0):
    p = torch.sigmoid(logits).flatten(1)
    t = masks.flatten(1)
    return (1 - (2 * (p * t).sum(1) + eps) / (p.sum(1) + t.sum(1) + eps)).mean()


images = pictures(0, 8, 3, 1, 13)[0]
masks = (images > 1).float()
net = fill(UNet())
optimizer = torch.optim.RMSprop(net.parameters(), lr=1e-3, weight_decay=1e-8, momentum=0.9)
criterion = nn.BCEWithLogitsLoss()
for epoch in range(6):
    pred = net(images)
    loss = criterion(pred, masks) + dice_loss(pred, masks)
    optimizer.zero_grad()
    loss.backward()
    torch.nn.utils.clip_grad_value_(net.parameters(), 0.1)
    optimizer.step()
    print("epoch", epoch, "loss", round(loss.item(), 5))
assert pred.shape == images.shape

"""A small network that learns from a larger one (Hinton et al., 2015), through hooks."""

import torch
import torch.nn as nn
import torch.nn.functional as F
from formula import fill, pictures

images, labels = pictures(0, 64, 4, 1, 8)


def network(width):
    return fill(
        nn.Sequential(
            nn.Flatten(),
            nn.Linear(64, width),
            nn.ReLU(),
            nn.Linear(width, width),
            nn.ReLU(),
            nn.Linear(width, 4),
        )
    )


teacher, student = network(64), network(8)
optimizer = torch.optim.Adam(teacher.parameters(), lr=1e-2)
for _ in range(10):
    optimizer.zero_grad()
    F.cross_entropy(teacher(images), labels, label_smoothing=0.1).backward()
    optimizer.step()
teacher.eval()
for param in teacher.parameters():
    param.requires_grad = False

activations = {}


def keep(name):
    def hook(module, inputs, output):
        activations[name] = output.detach() if name == "teacher" else output

    return hook


handles = [
    teacher[4].register_forward_hook(keep("teacher")),
    student[4].register_forward_hook(keep("student")),
]
regressor = fill(nn.Linear(8, 64))
kd, mse, T = nn.KLDivLoss(reduction="batchmean"), nn.MSELoss(), 4.0
optimizer = torch.optim.Adam([*student.parameters(), *regressor.parameters()], lr=1e-2)
for epoch in range(12):
    student.train()
    with torch.no_grad():
        soft = F.softmax(teacher(images) / T, dim=1)
    logits = student(images)
    loss = T * T * kd(F.log_softmax(logits / T, dim=1), soft) + F.cross_entropy(logits, labels)
    loss = loss + 0.1 * mse(regressor(activations["student"]), activations["teacher"])
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if epoch % 3 == 0:
        print("epoch", epoch, "loss", loss.item())
for handle in handles:
    handle.remove()
activations.clear()
student(images)
assert not activations
print("agree", (student(images).argmax(1) == teacher(images).argmax(1)).sum().item())

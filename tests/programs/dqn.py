"""Q-learning with a replay memory and a target network (Mnih et al., 2015)."""

import math
import random
from collections import deque, namedtuple

import torch
import torch.nn as nn
import torch.nn.functional as F
import torch.optim as optim
from formula import fill

Transition = namedtuple("Transition", ("state", "action", "next_state", "reward"))
random.seed(0)
device = torch.device("cuda" if torch.cuda.is_available() else "cpu")


class ReplayMemory(object):
    def __init__(self, capacity):
        self.memory = deque([], maxlen=capacity)

    def push(self, *args):
        self.memory.append(Transition(*args))

    def sample(self, batch_size):
        return random.sample(self.memory, batch_size)

    def __len__(self):
        return len(self.memory)


class DQN(nn.Module):
    def __init__(self, n_observations, n_actions):
        super(DQN, self).__init__()
        self.layer1 = nn.Linear(n_observations, 32)
        self.layer2 = nn.Linear(32, n_actions)

    def forward(self, x):
        return self.layer2(F.relu(self.layer1(x)))


policy_net, target_net = fill(DQN(5, 2)).to(device), DQN(5, 2).to(device)
target_net.load_state_dict(policy_net.state_dict())
optimizer = optim.AdamW(policy_net.parameters(), lr=1e-2, amsgrad=True)
memory, steps_done = ReplayMemory(1000), 0


def observe(place):
    return F.one_hot(torch.tensor([place]), 5).float()


def select_action(state):
    global steps_done
    threshold = 0.1 + 0.9 * math.exp(-1.0 * steps_done / 60)
    steps_done += 1
    if random.random() > threshold:
        with torch.no_grad():
            return policy_net(state).max(1).indices.view(1, 1)
    return torch.tensor([[random.randrange(2)]], device=device, dtype=torch.long)


def optimize_model():
    if len(memory) < 16:
        return None
    batch = Transition(*zip(*memory.sample(16)))
    mask = torch.tensor(tuple(s is not None for s in batch.next_state), dtype=torch.bool)
    state_batch, action_batch = torch.cat(batch.state), torch.cat(batch.action)
    values = policy_net(state_batch).gather(1, action_batch)
    next_values = torch.zeros(16, device=device)
    with torch.no_grad():
        following = torch.cat([s for s in batch.next_state if s is not None])
        next_values[mask] = target_net(following).max(1).values
    expected = next_values * 0.9 + torch.cat(batch.reward)
    loss = nn.SmoothL1Loss()(values, expected.unsqueeze(1))
    optimizer.zero_grad()
    loss.backward()
    torch.nn.utils.clip_grad_value_(policy_net.parameters(), 100)
    optimizer.step()
    tau = 0.05
    target, current = target_net.state_dict(), policy_net.state_dict()
    for key in current:
        target[key] = current[key] * tau + target[key] * (1 - tau)
    target_net.load_state_dict(target)
    return loss.item()


for episode in range(25):
    place = 2
    for t in range(20):
        state = observe(place)
        action = select_action(state)
        place += 1 if action.item() == 1 else -1
        done = place in (0, 4)
        reward = torch.tensor([1.0 if place == 4 else 0.0], device=device)
        memory.push(state, action, None if done else observe(place), reward)
        latest = optimize_model()
        if done:
            break
    if episode % 5 == 4:
        print("episode", episode, "error", round(latest, 4))
best = policy_net(torch.eye(5)).argmax(1)
print("actions", best[1:4].tolist())
assert best[1:4].tolist() == [1, 1, 1]

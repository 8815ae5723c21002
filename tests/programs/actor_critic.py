"""An actor and a critic that learn to walk down a corridor."""

import argparse
from collections import namedtuple
from itertools import count

import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F
import torch.optim as optim
from formula import fill

parser = argparse.ArgumentParser(description="actor-critic example")
parser.add_argument("--gamma", type=float, default=0.9)
parser.add_argument("--seed", type=int, default=543)
args = parser.parse_args()
torch.manual_seed(args.seed)
rng = np.random.RandomState(args.seed)
SavedAction = namedtuple("SavedAction", ["log_prob", "value"])
eps = np.finfo(np.float32).eps.item()


class Corridor:
    def reset(self):
        self.place = 3
        return self.state()

    def state(self):
        return np.eye(7)[self.place]

    def step(self, action):
        self.place += 1 if action == 1 else -1
        done = self.place in (0, 6)
        return self.state(), float(self.place == 6) - 0.05, done, {}


class Policy(nn.Module):
    def __init__(self):
        super(Policy, self).__init__()
        self.affine1 = nn.Linear(7, 16)
        self.action_head = nn.Linear(16, 2)
        self.value_head = nn.Linear(16, 1)
        self.saved_actions, self.rewards = [], []

    def forward(self, x):
        x = F.relu(self.affine1(x))
        return F.softmax(self.action_head(x), dim=-1), self.value_head(x)


model = fill(Policy())
optimizer = optim.Adam(model.parameters(), lr=1e-2)


def select_action(state):
    state = torch.from_numpy(state).float()
    probs, state_value = model(state)
    # By hand, so that every library draws the same.
    action = int(rng.rand() < probs[1].item())
    model.saved_actions.append(SavedAction(torch.log(probs[action]), state_value))
    return action


def finish_episode():
    R, policy_losses, value_losses, returns = 0, [], [], []
    for r in model.rewards[::-1]:
        R = r + args.gamma * R
        returns.insert(0, R)
    returns = torch.tensor(returns)
    for (log_prob, value), R in zip(model.saved_actions, returns):
        advantage = R - value.item()
        policy_losses.append(-log_prob * advantage)
        value_losses.append(F.smooth_l1_loss(value, torch.tensor([R])))
    optimizer.zero_grad()
    loss = torch.stack(policy_losses).sum() + torch.stack(value_losses).sum()
    loss.backward()
    optimizer.step()
    del model.rewards[:]
    del model.saved_actions[:]


env, running = Corridor(), 0.0
for i_episode in range(60):
    state = env.reset()
    for t in count(1):
        action = select_action(state)
        state, reward, done, _ = env.step(action)
        model.rewards.append(reward)
        if done or t > 50:
            break
    running = 0.1 * float(env.place == 6) + 0.9 * running
    finish_episode()
    if i_episode % 10 == 9:
        print("Episode {}\tLast length: {}\tAverage reward: {:.3f}".format(i_episode, t, running))
assert running > 0.6

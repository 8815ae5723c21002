"""Proximal policy optimization (Schulman et al., 2017) of a cart's position: several environments
at a time, advantages by lambda.
"""

import numpy as np
import torch
import torch.nn as nn
from formula import fill
from torch.distributions import Categorical, Normal
from torch.distributions.kl import kl_divergence


class Cart:
    """Gymnasium's interface: reset and step of a mass that is to stay at 0."""

    def __init__(self, seed):
        self.rng = np.random.RandomState(seed)

    def reset(self):
        self.state, self.time = self.rng.uniform(-1, 1, 2).astype(np.float32), 0
        return self.state.copy(), {}

    def step(self, action):
        force, push = (-1.0, 0.0, 1.0)[action[0]], float(np.clip(action[1], -1, 1))
        self.state[1] = 0.8 * self.state[1] + 0.2 * (force + 0.5 * push)
        self.state[0] += 0.3 * self.state[1]
        self.time += 1
        reward = -float(self.state[0] ** 2) - 0.001 * push**2
        return self.state.copy(), reward, abs(self.state[0]) > 2, self.time >= 20, {}


def layer_init(layer, std=np.sqrt(2), bias_const=0.0):
    torch.nn.init.constant_(layer.bias, bias_const)
    return layer


class Agent(nn.Module):
    def __init__(self):
        super().__init__()
        self.critic = nn.Sequential(
            layer_init(nn.Linear(2, 16)), nn.Tanh(), layer_init(nn.Linear(16, 1), std=1.0)
        )
        self.actor = nn.Sequential(layer_init(nn.Linear(2, 16)), nn.Tanh())
        self.logits = layer_init(nn.Linear(16, 3), std=0.01)
        self.mean = layer_init(nn.Linear(16, 1), std=0.01)
        self.logstd = nn.Parameter(torch.zeros(1, 1))

    def get_value(self, x):
        return self.critic(x)

    def policies(self, x):
        hidden = self.actor(x)
        mean = self.mean(hidden)
        return Categorical(logits=self.logits(hidden)), Normal(
            mean, self.logstd.expand_as(mean).exp()
        )

    def evaluate(self, x, action):
        discrete, continuous = self.policies(x)
        log_prob = discrete.log_prob(action[..., 0].long()) + continuous.log_prob(
            action[..., 1:]
        ).sum(-1)
        entropy = discrete.entropy() + continuous.entropy().sum(-1)
        return log_prob, entropy, self.critic(x).squeeze(-1)


def draw(discrete, continuous, rng):
    """Actions by NumPy's numbers: the inverse of the distribution function."""
    u = torch.from_numpy(rng.uniform(size=(len(discrete.logits), 1)).astype(np.float32))
    first = (discrete.probs.cumsum(-1) < u).sum(-1).clamp_max(2)
    z = torch.from_numpy(rng.standard_normal((len(u), 1)).astype(np.float32))
    return torch.cat([first.unsqueeze(1).float(), continuous.loc + continuous.scale * z], 1)


num_envs, num_steps, gamma, gae_lambda, clip_coef = 8, 20, 0.95, 0.95, 0.2
envs = [Cart(i) for i in range(num_envs)]
rng = np.random.RandomState(7)
agent = fill(Agent())
optimizer = torch.optim.Adam(agent.parameters(), lr=2e-2, eps=1e-5)
obs = torch.zeros((num_steps, num_envs, 2))
actions = torch.zeros((num_steps, num_envs, 2))
logprobs, rewards, dones, values = torch.zeros(4, num_steps, num_envs)
next_obs = torch.Tensor(np.array([env.reset()[0] for env in envs]))
next_done = torch.zeros(num_envs)
returns_of_updates = []
for update in range(1, 31):
    optimizer.param_groups[0]["lr"] = (1.0 - (update - 1.0) / 30) * 2e-2
    for step in range(num_steps):
        obs[step], dones[step] = next_obs, next_done
        with torch.no_grad():
            action = draw(*agent.policies(next_obs), rng)
            logprob, _, value = agent.evaluate(next_obs, action)
            values[step] = value.flatten()
        actions[step], logprobs[step] = action, logprob
        seen = []
        for i, env in enumerate(envs):
            a = action[i].cpu().numpy()
            o, rewards[step, i], terminated, truncated, _ = env.step((int(a[0]), a[1]))
            next_done[i] = float(terminated or truncated)
            seen.append(env.reset()[0] if next_done[i] else o)
        next_obs = torch.tensor(np.stack(seen))
    with torch.no_grad():
        next_value = agent.get_value(next_obs).reshape(1, -1)
        advantages = torch.zeros_like(rewards)
        lastgaelam = 0
        for t in reversed(range(num_steps)):
            nextnonterminal = 1.0 - (next_done if t == num_steps - 1 else dones[t + 1])
            nextvalues = next_value if t == num_steps - 1 else values[t + 1]
            delta = rewards[t] + gamma * nextvalues * nextnonterminal - values[t]
            advantages[t] = lastgaelam = delta + gamma * gae_lambda * nextnonterminal * lastgaelam
        returns = advantages + values
    b = [x.reshape(-1, *x.shape[2:]) for x in (obs, actions, logprobs, advantages, returns, values)]
    b_obs, b_actions, b_logprobs, b_advantages, b_returns, b_values = b
    inds, clipfracs = np.arange(num_steps * num_envs), []
    with torch.no_grad():
        before = agent.policies(b_obs)
    for epoch in range(4):
        rng.shuffle(inds)
        for start in range(0, len(inds), 40):
            mb = inds[start : start + 40]
            newlogprob, entropy, newvalue = agent.evaluate(b_obs[mb], b_actions[mb])
            logratio = newlogprob - b_logprobs[mb]
            ratio = logratio.exp()
            with torch.no_grad():
                approx_kl = ((ratio - 1) - logratio).mean()
                clipfracs += [((ratio - 1.0).abs() > clip_coef).float().mean().item()]
            mb_advantages = b_advantages[mb]
            mb_advantages = (mb_advantages - mb_advantages.mean()) / (mb_advantages.std() + 1e-8)
            pg_loss1 = -mb_advantages * ratio
            pg_loss2 = -mb_advantages * torch.clamp(ratio, 1 - clip_coef, 1 + clip_coef)
            pg_loss = torch.max(pg_loss1, pg_loss2).mean()
            v_clipped = b_values[mb] + torch.clamp(newvalue - b_values[mb], -clip_coef, clip_coef)
            v_loss = (
                0.5
                * torch.max(
                    (newvalue - b_returns[mb]) ** 2, (v_clipped - b_returns[mb]) ** 2
                ).mean()
            )
            total = pg_loss - 0.01 * entropy.mean() + v_loss * 0.5
            optimizer.zero_grad()
            total.backward()
            nn.utils.clip_grad_norm_(agent.parameters(), 0.5)
            optimizer.step()
    with torch.no_grad():
        moved = sum(kl_divergence(p, q).sum() for p, q in zip(before, agent.policies(b_obs)))
    returns_of_updates.append(rewards.sum(0).mean().item())
    y_pred, y_true = b_values.cpu().numpy(), b_returns.cpu().numpy()
    explained = 1 - np.var(y_true - y_pred) / np.var(y_true)
    if update in (1, 5, 9):
        print(f"update {update} return {returns_of_updates[-1]:.3f} kl {moved / len(inds):.4f}")
        print(f"approx {approx_kl:.4f} clipped {np.mean(clipfracs):.2f} explained {explained:.2f}")
assert np.mean(returns_of_updates[-5:]) > np.mean(returns_of_updates[:5]) + 1

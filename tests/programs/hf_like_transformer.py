"""A decoder in the style of current model libraries: rotary positions, grouped keys, a cache."""

from dataclasses import dataclass, field
from typing import Dict, List, Optional, Tuple, Union

import torch
import torch.utils.checkpoint
from formula import classes, fill
from torch import nn
from torch.nn import CrossEntropyLoss


@dataclass
class Config:
    vocab_size: int = 20
    hidden_size: int = 32
    intermediate_size: int = 64
    num_hidden_layers: int = 2
    num_attention_heads: int = 4
    num_key_value_heads: int = 2
    rms_norm_eps: float = 1e-6
    rope_theta: float = 10000.0
    extra: Dict[str, int] = field(default_factory=dict)


@dataclass
class Output:
    loss: Optional[torch.FloatTensor] = None
    logits: torch.FloatTensor = None
    past_key_values: Optional[List[Tuple[torch.FloatTensor]]] = None


class RMSNorm(nn.Module):
    def __init__(self, hidden_size, eps=1e-6):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(hidden_size))
        self.variance_epsilon = eps

    def forward(self, hidden_states):
        input_dtype = hidden_states.dtype
        hidden_states = hidden_states.to(torch.float32)
        variance = hidden_states.pow(2).mean(-1, keepdim=True)
        hidden_states = hidden_states * torch.rsqrt(variance + self.variance_epsilon)
        return self.weight * hidden_states.to(input_dtype)

    def extra_repr(self):
        return f"{tuple(self.weight.shape)}, eps={self.variance_epsilon}"


class RotaryEmbedding(nn.Module):
    inv_freq: torch.Tensor

    def __init__(self, dim, base, device=None):
        super().__init__()
        inv_freq = 1.0 / (base ** (torch.arange(0, dim, 2, dtype=torch.int64).float() / dim))
        self.register_buffer("inv_freq", inv_freq.to(device), persistent=False)

    @torch.no_grad()
    def forward(self, x, position_ids):
        freqs = torch.einsum("bi,j->bij", position_ids.float(), self.inv_freq)
        emb = torch.cat((freqs, freqs), dim=-1)
        return emb.cos().to(dtype=x.dtype), emb.sin().to(dtype=x.dtype)


def rotate_half(x):
    x1, x2 = x.chunk(2, dim=-1)
    return torch.cat((-x2, x1), dim=-1)


def repeat_kv(hidden_states: torch.Tensor, n_rep: int) -> torch.Tensor:
    batch, heads, slen, head_dim = hidden_states.shape
    hidden_states = hidden_states[:, :, None, :, :].expand(batch, heads, n_rep, slen, head_dim)
    return hidden_states.reshape(batch, heads * n_rep, slen, head_dim)


class Attention(nn.Module):
    def __init__(self, config: Config, layer_idx: int):
        super().__init__()
        self.layer_idx = layer_idx
        self.heads, self.kv_heads = config.num_attention_heads, config.num_key_value_heads
        self.head_dim = config.hidden_size // self.heads
        width = self.kv_heads * self.head_dim
        self.q_proj = nn.Linear(config.hidden_size, config.hidden_size, bias=False)
        self.k_proj = nn.Linear(config.hidden_size, width, bias=False)
        self.v_proj = nn.Linear(config.hidden_size, width, bias=False)
        self.o_proj = nn.Linear(config.hidden_size, config.hidden_size, bias=False)

    def forward(self, x, position_embeddings, mask, cache):
        shape = (*x.shape[:-1], -1, self.head_dim)
        q = self.q_proj(x).view(shape).transpose(1, 2)
        k = self.k_proj(x).view(shape).transpose(1, 2)
        v = self.v_proj(x).view(shape).transpose(1, 2)
        cos, sin = (t.unsqueeze(1) for t in position_embeddings)
        q, k = (q * cos) + (rotate_half(q) * sin), (k * cos) + (rotate_half(k) * sin)
        if cache is not None:
            if len(cache) > self.layer_idx:
                k = torch.cat([cache[self.layer_idx][0], k], dim=-2)
                v = torch.cat([cache[self.layer_idx][1], v], dim=-2)
                cache[self.layer_idx] = (k, v)
            else:
                cache.append((k, v))
        k, v = (repeat_kv(t, self.heads // self.kv_heads) for t in (k, v))
        weights = torch.matmul(q, k.transpose(2, 3)) * self.head_dim**-0.5 + mask
        weights = nn.functional.softmax(weights, dim=-1, dtype=torch.float32).to(q.dtype)
        out = torch.matmul(weights, v).transpose(1, 2).contiguous()
        return self.o_proj(out.reshape(*x.shape[:-1], -1))


class Layer(nn.Module):
    def __init__(self, config, index):
        super().__init__()
        self.self_attn = Attention(config, index)
        self.input_layernorm = RMSNorm(config.hidden_size, eps=config.rms_norm_eps)
        self.post_attention_layernorm = RMSNorm(config.hidden_size, eps=config.rms_norm_eps)
        self.gate_proj = nn.Linear(config.hidden_size, config.intermediate_size, bias=False)
        self.up_proj = nn.Linear(config.hidden_size, config.intermediate_size, bias=False)
        self.down_proj = nn.Linear(config.intermediate_size, config.hidden_size, bias=False)
        self.act_fn = nn.SiLU()

    def forward(self, x, positions, mask, cache=None):
        x = x + self.self_attn(self.input_layernorm(x), positions, mask, cache)
        y = self.post_attention_layernorm(x)
        return x + self.down_proj(self.act_fn(self.gate_proj(y)) * self.up_proj(y))


class CausalLM(nn.Module):
    def __init__(self, config: Config):
        super().__init__()
        self.config, self.gradient_checkpointing = config, False
        self.embed_tokens = nn.Embedding(config.vocab_size, config.hidden_size, padding_idx=0)
        self.layers = nn.ModuleList([Layer(config, i) for i in range(config.num_hidden_layers)])
        self.norm = RMSNorm(config.hidden_size, eps=config.rms_norm_eps)
        head_dim = config.hidden_size // config.num_attention_heads
        self.rotary_emb = RotaryEmbedding(head_dim, config.rope_theta)
        self.lm_head = nn.Linear(config.hidden_size, config.vocab_size, bias=False)

    def forward(self, input_ids, labels=None, cache=None) -> Union[Tuple, Output]:
        past = cache[0][0].shape[-2] if cache else 0
        length = input_ids.shape[1]
        position_ids = torch.arange(past, past + length, device=input_ids.device)[None]
        x = self.embed_tokens(input_ids)
        lowest = torch.finfo(x.dtype).min
        mask = torch.full((length, past + length), fill_value=lowest, dtype=x.dtype)
        mask = torch.triu(mask, diagonal=past + 1)[None, None]
        positions = self.rotary_emb(x, position_ids)
        for layer in self.layers:
            if self.gradient_checkpointing and self.training:
                run = torch.utils.checkpoint.checkpoint
                x = run(layer.__call__, x, positions, mask, use_reentrant=False)
            else:
                x = layer(x, positions, mask, cache)
        logits = self.lm_head(self.norm(x)).float()
        loss = None
        if labels is not None:
            shift_logits = logits[..., :-1, :].contiguous()
            shift_labels = labels[..., 1:].contiguous().to(shift_logits.device)
            shift_logits = shift_logits.view(-1, self.config.vocab_size)
            loss = CrossEntropyLoss()(shift_logits, shift_labels.view(-1))
        return Output(loss=loss, logits=logits, past_key_values=cache)


model = fill(CausalLM(Config()))
tokens = classes(0, 20, 4, 12)
optimizer = torch.optim.AdamW(model.parameters(), lr=3e-3, eps=1e-4)
warmup = lambda step: min(1.0, (step + 1) / 5)  # noqa: E731
scheduler = torch.optim.lr_scheduler.LambdaLR(optimizer, warmup)
for step in range(12):
    model.gradient_checkpointing = step % 2 == 1
    out = model(tokens, labels=tokens)
    out.loss.backward()
    norm = nn.utils.clip_grad_norm_(model.parameters(), 1.0)
    optimizer.step()
    scheduler.step()
    optimizer.zero_grad()
    print({"loss": round(out.loss.item(), 4), "grad_norm": round(norm.item(), 3)})
model.eval()
with torch.inference_mode():
    full = model(tokens).logits
    cache = []
    model(tokens[:, :8], cache=cache)
    parts = [model(tokens[:, i : i + 1], cache=cache).logits for i in range(8, 12)]
    torch.testing.assert_close(torch.cat(parts, 1), full[:, 8:], rtol=1e-4, atol=1e-4)

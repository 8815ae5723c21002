"""x-transformers: eight decoders with generation, an encoder, both."""

import torch
from filled import filled, shown, trained
from x_transformers import (
    AutoregressiveWrapper,
    ContinuousTransformerWrapper,
    Decoder,
    Encoder,
    TransformerWrapper,
    XTransformer,
)

ids = (torch.arange(20) * 7 % 31).view(2, 10)
KINDS = {
    "plain": {},
    "rotary": {"rotary_pos_emb": True, "attn_flash": True},
    "norms": {"use_rmsnorm": True, "ff_glu": True, "ff_swish": True, "ff_no_bias": True},
    "alibi": {"alibi_pos_bias": True, "alibi_num_heads": 2},
    "sparse": {"attn_sparse_topk": 4, "attn_pre_talking_heads": True},
    "memory": {"attn_num_mem_kv": 3, "attn_kv_heads": 1},
    "qk": {"attn_qk_norm": True, "residual_attn": True},
    "sandwich": {"sandwich_norm": True, "macaron": True},
}
for name, options in KINDS.items():
    layers = Decoder(dim=16, depth=2, heads=2, attn_dim_head=8, **options)
    model = TransformerWrapper(num_tokens=32, max_seq_len=16, attn_layers=layers)
    wrapped = AutoregressiveWrapper(filled(model)).eval()
    trained(name, wrapped, lambda wrapped=wrapped: wrapped(ids))
    made = wrapped.generate(ids[:, :4], 5, temperature=0.0)
    print(name, made.tolist())
layers = Encoder(dim=16, depth=1, heads=2, attn_dim_head=8)
series = ContinuousTransformerWrapper(dim_in=3, dim_out=2, max_seq_len=16, attn_layers=layers)
shown("series", filled(series)(torch.sin(torch.arange(60).float()).view(2, 10, 3)))
options = {f"{side}_{k}": v for side in ("enc", "dec") for k, v in {
    "num_tokens": 32, "depth": 1, "heads": 2, "max_seq_len": 16, "attn_dim_head": 8
}.items()}  # fmt: skip
both = filled(XTransformer(dim=16, **options))
trained("both", both, lambda: both(ids, ids.flip(1)))

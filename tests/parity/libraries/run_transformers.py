"""transformers: ten decoders with generation and files; BERT and its kin, T5, BART, ViT, CLIP,
Whisper."""

import tempfile

import torch
import transformers as hf
from filled import filled, shown, trained

hf.logging.set_verbosity_error()
small = dict(
    vocab_size=40,
    hidden_size=16,
    intermediate_size=32,
    num_hidden_layers=2,
    num_attention_heads=2,
    max_position_embeddings=32,
)
ids = (torch.arange(14) * 5 % 37 + 2).view(2, 7)


def language_models():
    yield hf.LlamaForCausalLM(hf.LlamaConfig(**small, num_key_value_heads=1))
    yield hf.MistralForCausalLM(hf.MistralConfig(**small, num_key_value_heads=1, sliding_window=4))
    yield hf.Qwen2ForCausalLM(hf.Qwen2Config(**small, num_key_value_heads=1))
    yield hf.GemmaForCausalLM(hf.GemmaConfig(**small, num_key_value_heads=1, head_dim=8))
    yield hf.MixtralForCausalLM(
        hf.MixtralConfig(**small, num_key_value_heads=1, num_local_experts=3)
    )
    yield hf.GPT2LMHeadModel(
        hf.GPT2Config(vocab_size=40, n_embd=16, n_layer=2, n_head=2, n_positions=32)
    )
    yield hf.GPTNeoXForCausalLM(hf.GPTNeoXConfig(**small))
    yield hf.OPTForCausalLM(
        hf.OPTConfig(
            vocab_size=40,
            hidden_size=16,
            num_hidden_layers=2,
            ffn_dim=32,
            num_attention_heads=2,
            max_position_embeddings=32,
            word_embed_proj_dim=16,
        )
    )
    yield hf.BloomForCausalLM(hf.BloomConfig(vocab_size=40, hidden_size=16, n_layer=2, n_head=2))
    yield hf.MambaForCausalLM(
        hf.MambaConfig(vocab_size=40, hidden_size=16, state_size=4, num_hidden_layers=2)
    )


for model in language_models():
    name = type(model).__name__
    filled(model).eval()
    trained(name, model, lambda: model(ids, labels=ids).loss)
    made = model.generate(
        ids[:1], max_new_tokens=4, do_sample=False, pad_token_id=0, eos_token_id=1
    )
    print(name, "generates", made.tolist())
    with tempfile.TemporaryDirectory() as folder:
        model.save_pretrained(folder)
        again = type(model).from_pretrained(folder).eval()
        print(name, "loads", torch.equal(again(ids).logits, model(ids).logits))

encoder = dict(small, hidden_dropout_prob=0.0, attention_probs_dropout_prob=0.0)
mask = torch.ones_like(ids)
mask[1, 5:] = 0
for kind in ("Bert", "Roberta", "Electra", "Deberta"):
    config = getattr(hf, f"{kind}Config")(**encoder)
    model = filled(getattr(hf, f"{kind}ForSequenceClassification")(config)).eval()
    labels = torch.tensor([0, 1])
    trained(kind, model, lambda: model(ids, attention_mask=mask, labels=labels).loss)

t5 = hf.T5Config(
    vocab_size=40, d_model=16, d_kv=8, d_ff=32, num_layers=2, num_heads=2, decoder_start_token_id=0
)
model = filled(hf.T5ForConditionalGeneration(t5)).eval()
trained("T5", model, lambda: model(input_ids=ids, labels=ids).loss)
bart = hf.BartConfig(
    vocab_size=40,
    d_model=16,
    encoder_layers=1,
    decoder_layers=1,
    encoder_attention_heads=2,
    decoder_attention_heads=2,
    encoder_ffn_dim=32,
    decoder_ffn_dim=32,
    max_position_embeddings=32,
)
model = filled(hf.BartForConditionalGeneration(bart)).eval()
trained("Bart", model, lambda: model(input_ids=ids, labels=ids).loss)

pixels = torch.sin(torch.arange(2 * 3 * 16 * 16).float()).view(2, 3, 16, 16)
vit = hf.ViTConfig(
    hidden_size=16,
    num_hidden_layers=2,
    num_attention_heads=2,
    intermediate_size=32,
    image_size=16,
    patch_size=4,
)
shown("ViT", filled(hf.ViTForImageClassification(vit)).eval()(pixels).logits)
text = dict(small, eos_token_id=38, bos_token_id=0)
vision = dict(
    hidden_size=16,
    intermediate_size=32,
    num_hidden_layers=1,
    num_attention_heads=2,
    image_size=16,
    patch_size=4,
)
both = hf.CLIPConfig(text_config=text, vision_config=vision, projection_dim=8)
clip = filled(hf.CLIPModel(both))
shown("CLIP", clip.eval()(input_ids=ids, pixel_values=pixels).logits_per_image)
whisper = hf.WhisperConfig(
    vocab_size=40,
    d_model=16,
    encoder_layers=1,
    decoder_layers=1,
    encoder_attention_heads=2,
    decoder_attention_heads=2,
    encoder_ffn_dim=32,
    decoder_ffn_dim=32,
    num_mel_bins=8,
    max_source_positions=10,
    max_target_positions=16,
    pad_token_id=0,
    bos_token_id=1,
    eos_token_id=2,
    decoder_start_token_id=3,
)
sound = torch.sin(torch.arange(2 * 8 * 20).float()).view(2, 8, 20)
model = filled(hf.WhisperForConditionalGeneration(whisper)).eval()
shown("Whisper", model(input_features=sound, decoder_input_ids=ids % 40).logits)

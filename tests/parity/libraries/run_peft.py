"""peft: LoRA, DoRA and IA3 of a GPT-2: trained, merged, saved, loaded."""

import tempfile

import torch
import transformers as hf
from filled import filled, shown, trained
from peft import IA3Config, LoraConfig, PeftModel, get_peft_model

ids = (torch.arange(14) * 5 % 37 + 2).view(2, 7)


def language_model():
    config = hf.GPT2Config(vocab_size=40, n_embd=16, n_layer=2, n_head=2, n_positions=32)
    return filled(hf.GPT2LMHeadModel(config)).eval()


def moved(model):
    """What begins at zero away from it, so that something is learned."""
    with torch.no_grad():
        for name, p in model.named_parameters():
            if p.requires_grad:
                p.add_(torch.sin(torch.arange(p.numel()).view(p.shape) + len(name)) / 10)
    return model


low_rank = LoraConfig(r=2, lora_alpha=4, target_modules=["c_attn"], lora_dropout=0.0)
for name, config in (
    ("lora", low_rank),
    ("dora", LoraConfig(r=2, target_modules=["c_proj"], use_dora=True)),
    ("ia3", IA3Config(target_modules=["c_attn"], feedforward_modules=[])),
):
    model = moved(filled(get_peft_model(language_model(), config))).eval()
    trained(name, model, lambda model=model: model(input_ids=ids, labels=ids).loss)
    print(name, *model.get_nb_trainable_parameters())
    with tempfile.TemporaryDirectory() as folder:
        model.save_pretrained(folder)
        base = filled(get_peft_model(language_model(), config)).get_base_model()
        print(name, len(list(base.parameters())))
    if name != "ia3":
        whole = model.merge_and_unload()
        shown(name, whole(input_ids=ids).logits)

model = moved(get_peft_model(language_model(), low_rank))
with tempfile.TemporaryDirectory() as folder:
    model.save_pretrained(folder)
    again = PeftModel.from_pretrained(language_model(), folder)
    print("loads", torch.equal(again(input_ids=ids).logits, model.eval()(input_ids=ids).logits))

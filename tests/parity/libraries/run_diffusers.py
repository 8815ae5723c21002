"""diffusers: two U-Nets, an autoencoder, four schedules: training, samples."""

import torch
from diffusers import (
    AutoencoderKL,
    DDIMScheduler,
    DDPMScheduler,
    DPMSolverMultistepScheduler,
    EulerDiscreteScheduler,
    UNet2DConditionModel,
    UNet2DModel,
)
from filled import filled, shown, trained

x = torch.sin(torch.arange(2 * 3 * 16 * 16).float()).view(2, 3, 16, 16)
steps = torch.tensor([3, 40])
small = dict(block_out_channels=(8, 16), layers_per_block=1, norm_num_groups=4)
net = UNet2DModel(
    sample_size=16,
    down_block_types=("DownBlock2D", "AttnDownBlock2D"),
    up_block_types=("AttnUpBlock2D", "UpBlock2D"),
    **small,
)
net = filled(net).eval()
noise = torch.cos(torch.arange(x.numel()).float()).view(x.shape)
schedule = DDPMScheduler(num_train_timesteps=50)
noisy = schedule.add_noise(x, noise, steps)
shown("noise", noisy, net(noisy, steps).sample)
trained("unet", net, lambda: (net(noisy, steps).sample - noise).square().mean())
for kind in (DDIMScheduler, EulerDiscreteScheduler, DPMSolverMultistepScheduler):
    schedule = kind(num_train_timesteps=50)
    schedule.set_timesteps(4)
    sample = noise * schedule.init_noise_sigma
    with torch.no_grad():
        for t in schedule.timesteps:
            sample = schedule.step(net(schedule.scale_model_input(sample, t), t).sample, t, sample)
            sample = sample.prev_sample
    shown(kind.__name__, sample)

text = torch.sin(torch.arange(2 * 5 * 8).float()).view(2, 5, 8)
cross = UNet2DConditionModel(
    sample_size=16,
    in_channels=3,
    out_channels=3,
    down_block_types=("CrossAttnDownBlock2D", "DownBlock2D"),
    up_block_types=("UpBlock2D", "CrossAttnUpBlock2D"),
    cross_attention_dim=8,
    attention_head_dim=4,
    **small,
)
cross = filled(cross).eval()
shown("text", cross(x, steps, text).sample)
trained("text", cross, lambda: (cross(x, steps, text).sample - noise).square().mean(), 2)
coder = AutoencoderKL(
    down_block_types=("DownEncoderBlock2D",) * 2, up_block_types=("UpDecoderBlock2D",) * 2, **small
)
coder = filled(coder).eval()
shown("coder", coder.encode(x).latent_dist.mean, coder(x).sample)

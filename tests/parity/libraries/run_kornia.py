"""kornia: colours, filters, edges, warps, losses, morphology, augmentation."""

import kornia as K
import torch
from filled import shown

x = (torch.sin(torch.arange(2 * 3 * 24 * 24).float() * 0.3).view(2, 3, 24, 24) + 1) / 2
shown("colours", K.color.rgb_to_hsv(x), K.color.rgb_to_lab(x), K.color.rgb_to_grayscale(x))
shown("back", K.color.hsv_to_rgb(K.color.rgb_to_hsv(x)), K.color.lab_to_rgb(K.color.rgb_to_lab(x)))
shown("filters", K.filters.gaussian_blur2d(x, (5, 5), (1.5, 1.5)), K.filters.median_blur(x, (3, 3)))
shown("edges", K.filters.sobel(x), K.filters.laplacian(x, 3), K.filters.canny(x)[0])
shown("rotated", K.geometry.rotate(x, torch.tensor([30.0, -45.0])), K.geometry.hflip(x))
corners = torch.tensor([[[0.0, 0], [23, 0], [23, 23], [0, 23]]]).repeat(2, 1, 1)
moved = corners + torch.tensor([[2.0, 1], [-1, 2], [-2, -1], [1, -2]])
matrix = K.geometry.get_perspective_transform(corners, moved)
shown("warped", matrix, K.geometry.warp_perspective(x, matrix, (20, 20)))
shown("resized", K.geometry.resize(x, (12, 30), antialias=True))
shown("ssim", K.metrics.ssim(x, x.flip(-1), 5), K.losses.ssim_loss(x, x.flip(2), 5))
shown("enhanced", K.enhance.equalize(x), K.enhance.adjust_gamma(x, 0.5), K.enhance.sharpness(x, 2))
shown(
    "opened", K.morphology.opening(x, torch.ones(3, 3)), K.morphology.gradient(x, torch.ones(3, 3))
)
weight = torch.tensor([30.0], requires_grad=True)
(grad,) = torch.autograd.grad(K.geometry.rotate(x[:1], weight).square().sum(), weight)
shown("gradient", grad)
layers = K.augmentation.RandomHorizontalFlip(p=1.0), K.augmentation.CenterCrop((16, 16))
shown("augmented", torch.nn.Sequential(*layers)(x))

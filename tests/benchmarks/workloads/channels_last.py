"""Layers of images whose channels lie next to each other, `memory_format=torch.channels_last`,
forward and with gradients."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from workloads.training import resnet_step
from workloads.workload import Call, Make, Workload, filled, with_gradients

Layer = Callable[..., Any]
IMAGES = (16, 64, 56, 56)
CHANNELS = (64,)


@dataclass(frozen=True)
class Case:
    """`call(torch, x, ...)` of tensors of these shapes; those of images are channels-last."""

    name: str
    call: Layer
    shapes: tuple[tuple[int, ...], ...] = (IMAGES,)

    def make(self, backward: bool) -> Make:
        """The call; `backward`: with gradients of all tensors."""

        def make(torch: Any) -> Call:
            def lies(shape: tuple[int, ...]) -> Any:
                made = filled(torch, *shape)
                return (
                    made.contiguous(memory_format=torch.channels_last) if made.dim() == 4 else made
                )

            given = tuple(lies(shape) for shape in self.shapes)
            if not backward:
                return lambda: self.call(torch, *given)
            leaves = tuple(tensor.requires_grad_() for tensor in given)
            return with_gradients(lambda: self.call(torch, *leaves), leaves)

        return make


def _convolution(
    name: str, images: tuple[int, ...], weight: tuple[int, ...], **options: Any
) -> Case:
    return Case(
        name, lambda torch, x, w: torch.nn.functional.conv2d(x, w, **options), (images, weight)
    )


CASES = (
    Case(
        "batch norm",
        lambda torch, x, w, b: torch.nn.functional.batch_norm(x, None, None, w, b, True),
        (IMAGES, CHANNELS, CHANNELS),
    ),
    Case(
        "group norm",
        lambda torch, x, w, b: torch.nn.functional.group_norm(x, 32, w, b),
        ((2, 320, 32, 32), (320,), (320,)),
    ),
    Case("max pool", lambda torch, x: torch.nn.functional.max_pool2d(x, 3, 2, 1)),
    Case("nearest", lambda torch, x: torch.nn.functional.interpolate(x, scale_factor=2)),
    Case(
        "bilinear",
        lambda torch, x: torch.nn.functional.interpolate(x, scale_factor=2, mode="bilinear"),
        ((8, 64, 28, 28),),
    ),
    Case("zeros around", lambda torch, x: torch.nn.functional.pad(x, (1, 1, 1, 1))),
    Case("joined channels", lambda torch, x, y: torch.cat([x, y], 1), (IMAGES, IMAGES)),
    Case("scaled channels", lambda torch, x, y: x * y, (IMAGES, (16, 64, 1, 1))),
    Case("pixel shuffle", lambda torch, x: torch.nn.functional.pixel_shuffle(x, 2)),
    _convolution("3x3", (8, 64, 56, 56), (64, 64, 3, 3), padding=1),
    _convolution("3x3 stride 2", (8, 64, 56, 56), (128, 64, 3, 3), padding=1, stride=2),
    _convolution("7x7 stride 2", (8, 3, 224, 224), (64, 3, 7, 7), padding=3, stride=2),
    _convolution("1x1 64-256", (8, 64, 56, 56), (256, 64, 1, 1)),
    _convolution("1x1 256-64", (8, 256, 56, 56), (64, 256, 1, 1)),
    _convolution("depthwise 3x3", (8, 96, 56, 56), (96, 1, 3, 3), padding=1, groups=96),
    _convolution("depthwise 7x7", (8, 96, 56, 56), (96, 1, 7, 7), padding=3, groups=96),
    _convolution("groups of 4", (8, 128, 56, 56), (128, 4, 3, 3), padding=1, groups=32),
)

WORKLOADS = (
    *(Workload(f"{c.name} forward", 1.0, c.make(False)) for c in CASES),
    *(Workload(f"{c.name} both", 1.0, c.make(True)) for c in CASES),
    Workload("training ResNet-50", 0.6, resnet_step((3, 4, 6, 3), 4, "channels_last")),
)

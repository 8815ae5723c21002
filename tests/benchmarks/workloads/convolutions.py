"""Convolutions, forward and with gradients."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from workloads.workload import Call, Make, Workload, filled, with_gradients


@dataclass(frozen=True)
class Case:
    """Images [batch, inputs, size, size] and kernels."""

    name: str
    batch: int
    inputs: int
    outputs: int
    size: int
    kernel: int
    stride: int = 1
    padding: int = 0
    dilation: int = 1
    groups: int = 1

    def make(self, dtype: str, backward: bool) -> Make:
        """The call; `backward`: with gradients of images and kernels."""

        def make(torch: Any) -> Call:
            x = filled(torch, self.batch, self.inputs, self.size, self.size, dtype=dtype)
            kernels = self.outputs, self.inputs // self.groups, self.kernel, self.kernel
            weight = filled(torch, *kernels, dtype=dtype)
            conv2d = torch.nn.functional.conv2d

            def forward() -> Any:
                return conv2d(
                    x, weight, None, self.stride, self.padding, self.dilation, self.groups
                )

            if not backward:
                return forward
            leaves = x.requires_grad_(), weight.requires_grad_()
            return with_gradients(forward, leaves)

        return make


CASES = (
    Case("3x3 64", 8, 64, 64, 56, 3, padding=1),
    Case("3x3 256", 8, 256, 256, 14, 3, padding=1),
    Case("3x3 512 at 7", 8, 512, 512, 7, 3, padding=1),
    Case("3x3 stride 2", 8, 64, 128, 56, 3, stride=2, padding=1),
    Case("7x7 stride 2", 8, 3, 64, 224, 7, stride=2, padding=3),
    Case("1x1 64-256", 8, 64, 256, 56, 1),
    Case("1x1 256-64", 8, 256, 64, 56, 1),
    Case("1x1 2048-512", 8, 2048, 512, 7, 1),
    Case("3x3 dilated", 4, 64, 64, 56, 3, padding=2, dilation=2),
    Case("depthwise 3x3", 8, 64, 64, 56, 3, padding=1, groups=64),
    Case("depthwise stride 2", 8, 96, 96, 56, 3, stride=2, padding=1, groups=96),
    Case("depthwise 7x7", 8, 96, 96, 28, 7, padding=3, groups=96),
    Case("1-32 at 28", 64, 1, 32, 28, 3, padding=1),
    Case("16 at 224", 2, 16, 16, 224, 3, padding=1),
    Case("patches 16x16", 8, 3, 768, 224, 16, stride=16),
    Case("5x5 32-64", 16, 32, 64, 14, 5, padding=2),
    Case("4x4 stride 2", 64, 64, 128, 16, 4, stride=2, padding=1),
)


def _transposed(batch: int, inputs: int, outputs: int, size: int, **options: int) -> Make:
    def make(torch: Any) -> Call:
        x = filled(torch, batch, inputs, size, size)
        weight = filled(torch, inputs, outputs, 4, 4)
        return lambda: torch.nn.functional.conv_transpose2d(x, weight, **options)

    return make


def _volumes(torch: Any) -> Call:
    x, weight = filled(torch, 2, 16, 16, 32, 32), filled(torch, 32, 16, 3, 3, 3)
    return lambda: torch.nn.functional.conv3d(x, weight, padding=1)


def _sequences(torch: Any) -> Call:
    x, weight = filled(torch, 16, 64, 1000), filled(torch, 64, 64, 5)
    return lambda: torch.nn.functional.conv1d(x, weight, padding=2)


WORKLOADS = (
    *(Workload(f"{c.name} forward", 1.0, c.make("float32", False)) for c in CASES),
    *(Workload(f"{c.name} both", 1.0, c.make("float32", True)) for c in CASES),
    *(Workload(f"bfloat16 {c.name} forward", 1.0, c.make("bfloat16", False)) for c in CASES[:3]),
    Workload("transposed 4x4 100-512 from 1x1", 1.0, _transposed(64, 100, 512, 1)),
    Workload("transposed 4x4 128-64", 1.0, _transposed(32, 128, 64, 8, stride=2, padding=1)),
    Workload("conv3d 3x3x3", 1.0, _volumes),
    Workload("conv1d 5", 1.0, _sequences),
)

"""torchmetrics: classification, regression, images, collections."""

import torch
from torchmetrics import MeanMetric, MetricCollection
from torchmetrics.classification import (
    BinaryAUROC,
    MulticlassAccuracy,
    MulticlassConfusionMatrix,
    MulticlassF1Score,
)
from torchmetrics.functional.image import peak_signal_noise_ratio
from torchmetrics.regression import MeanSquaredError, PearsonCorrCoef

scores = torch.sin(torch.arange(40).float() * 7).view(10, 4).softmax(1)
target = torch.arange(10) % 4
metrics = MetricCollection([MulticlassAccuracy(4, average="micro"), MulticlassF1Score(4)])
for part in range(2):
    metrics.update(scores[part * 5 : part * 5 + 5], target[part * 5 : part * 5 + 5])
print({name: round(value.item(), 5) for name, value in sorted(metrics.compute().items())})
print("confusion", MulticlassConfusionMatrix(4)(scores, target).tolist())
print("auroc", round(BinaryAUROC()(scores[:, 0], (target == 0).int()).item(), 5))
x, y = scores[:, 0], scores[:, 1]
print(
    "regression",
    round(MeanSquaredError()(x, y).item(), 5),
    round(PearsonCorrCoef()(x, y).item(), 5),
)
print("psnr", round(peak_signal_noise_ratio(x, y, data_range=1.0).item(), 5))
mean = MeanMetric()
mean.update(x)
mean.update(y)
print("mean", round(mean.compute().item(), 5), len(metrics.state_dict()))

"""Loading batches with worker processes, here and in PyTorch.

`python tests/benchmarks/loading.py --torch PYTHON`

Images are copied from one array, so that what is timed is the way of a batch from a worker to the
loop; both libraries run in turns.
"""

from __future__ import annotations

from sharing import main

PROGRAM = """
import sys, time
import FRAMEWORK as torch
from FRAMEWORK.utils.data import DataLoader, Dataset

class Images(Dataset):
    def __init__(self, count, shape):
        self.count, self.images = count, torch.rand(64, *shape)
    def __len__(self):
        return self.count
    def __getitem__(self, index):
        return self.images[index % 64], index % 10

count, shape, batch = {
    "images, 2 workers": (32 * 60, (3, 224, 224), 32),
    "small samples, 2 workers": (64 * 1000, (16,), 64),
}[sys.argv[1]]
loader = DataLoader(Images(count, shape), batch, num_workers=2, persistent_workers=True)
times = []
for _ in range(4):
    start = time.perf_counter()
    total = 0
    for images, labels in loader:
        total += images.reshape(-1)[0].item()
    times.append((time.perf_counter() - start) / (count // batch))
print(sorted(times[1:])[1])
"""
WORKLOADS = {"images, 2 workers": 0.4, "small samples, 2 workers": 0.7}

if __name__ == "__main__":
    main(__doc__ or "", PROGRAM, WORKLOADS)

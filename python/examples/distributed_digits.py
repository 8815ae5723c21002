"""Processes train one network together: each has a part of every batch, gradients are averaged.

Alone it starts its processes itself; `python -m flambeau.distributed.run --nproc-per-node 2` starts
them as well, on several machines if need be.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

from digits_cnn import network
from shared.data import digits
from shared.options import Options, begin, parse
from shared.progress import Progress
from shared.scores import accuracy

import flambeau
import flambeau.distributed as dist
import flambeau.multiprocessing as mp
from flambeau import Tensor, nn, optim
from flambeau.nn.parallel import DistributedDataParallel
from flambeau.utils.data import DataLoader, DistributedSampler, TensorDataset


@dataclass(frozen=True)
class Settings(Options):
    processes: Annotated[int, "that train together"] = 2
    epochs: Annotated[int, "passes through the digits"] = 4
    batch_size: Annotated[int, "digits per step of each process"] = 32
    learning_rate: Annotated[float, "of gradient descent"] = 0.1


def train(o: Settings) -> float:
    """What each process of a group does; returns the share of test images that are read."""
    data = digits()
    flambeau.manual_seed(o.seed)
    # Statistics of all processes, so that all have the same network at the end.
    model = DistributedDataParallel(nn.SyncBatchNorm.convert_sync_batchnorm(network()))
    dataset = TensorDataset(data.images, data.labels)
    sampler = DistributedSampler(dataset, seed=o.seed)
    loader = DataLoader(dataset, o.batch_size, sampler=sampler)
    optimizer = optim.SGD(model.parameters(), lr=o.learning_rate, momentum=0.9)
    epochs = Progress(o.epochs, "epochs") if dist.get_rank() == 0 else range(o.epochs)
    for epoch in epochs:
        sampler.set_epoch(epoch)
        for images, labels in loader:
            loss = nn.functional.cross_entropy(model(images), labels)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
    return accuracy(model.module, data.test_images, data.test_labels)


def started(rank: int, port: int, shares: Tensor, o: Settings) -> None:
    """A process that this program starts."""
    flambeau.set_num_threads(1)
    store = dist.TCPStore("127.0.0.1", port)
    dist.init_process_group("gloo", store=store, rank=rank, world_size=o.processes)
    shares[rank] = train(o)
    dist.destroy_process_group()


def main(options: Settings) -> float:
    """Returns the share of test images that are read."""
    begin(options)
    if dist.is_torchelastic_launched():
        dist.init_process_group("gloo")
        share = train(options)
        rank = dist.get_rank()
        dist.destroy_process_group()
    else:
        shares = flambeau.zeros(options.processes).share_memory_()
        store = dist.TCPStore("127.0.0.1", 0, is_master=True)
        arguments = (store.port, shares, options)
        mp.start_processes(started, arguments, options.processes, start_method="fork")
        assert (shares == shares[0]).all(), "the processes' networks differ"
        share, rank = shares[0].item(), 0
    if rank == 0:
        print(f"{share:.1%} of the digits that it has not seen are read")
    return share


if __name__ == "__main__":
    main(parse(Settings, __doc__))

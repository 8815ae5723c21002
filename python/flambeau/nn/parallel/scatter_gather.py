"""Parts of tensors on several devices, and these together again."""

# mypy: implicit-reexport
from flambeau.nn.parallel.data_parallel import gather, scatter

__all__ = ["gather", "scatter"]

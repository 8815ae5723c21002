"""Parts of tensors on several devices, and these together again."""

from flambeau.nn.parallel.data_parallel import gather as gather
from flambeau.nn.parallel.data_parallel import scatter as scatter

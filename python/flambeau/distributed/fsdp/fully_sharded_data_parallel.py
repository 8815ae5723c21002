"""Where libraries look for the words of this package."""

from __future__ import annotations

from flambeau.distributed.fsdp import FullyShardedDataParallel
from flambeau.distributed.fsdp.api import *  # noqa: F403
from flambeau.distributed.fsdp.api import __all__ as _words

__all__ = [*_words, "FullyShardedDataParallel"]

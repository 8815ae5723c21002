"""Saving objects with tensors to files, and loading them without running code from the file.

`save` writes the format of PyTorch; `load` reads it, the formats that PyTorch wrote before, this
library's own first one, and safetensors. A file that `load` reads with `weights_only=True`, which
is the default, can make tensors, numbers, text and containers of them, and nothing else.
"""

from __future__ import annotations

from flambeau.serialization.allowed import (
    add_safe_globals,
    clear_safe_globals,
    get_safe_globals,
    safe_globals,
)
from flambeau.serialization.inspecting import get_unsafe_globals_in_checkpoint
from flambeau.serialization.loading import load
from flambeau.serialization.locations import (
    default_restore_location,
    location_tag,
    register_package,
)
from flambeau.serialization.mapping import get_default_mmap_options, set_default_mmap_options
from flambeau.serialization.saving import save
from flambeau.serialization.skipping import skip_data

__all__ = [
    "add_safe_globals",
    "clear_safe_globals",
    "default_restore_location",
    "get_default_mmap_options",
    "get_safe_globals",
    "get_unsafe_globals_in_checkpoint",
    "load",
    "location_tag",
    "register_package",
    "safe_globals",
    "save",
    "set_default_mmap_options",
    "skip_data",
]

"""What pickles name as PyTorch does, without PyTorch being there.

Python's pickler writes a name only after importing it. Each name is therefore an object of this
module first, `PICKLED[object]` says what it is in a file.
"""

from __future__ import annotations

from typing import Any

import flambeau
from flambeau.serialization.names import ELEMENTS


class Name:
    """A function or class of a file that need not exist here."""

    def __init__(self, module: str, name: str) -> None:
        self.__module__ = __name__
        self.attribute = f"{module}_{name}".replace(".", "_")
        globals()[self.attribute] = self
        PICKLED[self] = (module, name)

    def __call__(self) -> None:
        """Pickles call only what can be called; nobody calls this."""
        raise NotImplementedError(f"{self.attribute} is only a name")


PICKLED: dict[Any, tuple[str, str]] = {
    flambeau.Tensor: ("torch", "Tensor"),
    flambeau.Size: ("torch", "Size"),
    flambeau.device: ("torch", "device"),
    flambeau.nn.Parameter: ("torch.nn.parameter", "Parameter"),
}
for _member in vars(flambeau).values():
    if isinstance(_member, flambeau.dtype):
        PICKLED[_member] = ("torch", _member.name)

TENSOR = Name("torch._utils", "_rebuild_tensor_v2")
TENSOR_WITH_DTYPE = Name("torch._utils", "_rebuild_tensor_v3")
META_TENSOR = Name("torch._utils", "_rebuild_meta_tensor_no_storage")
SPARSE_TENSOR = Name("torch._utils", "_rebuild_sparse_tensor")
LAYOUT = Name("torch.serialization", "_get_layout")
PARAMETER = Name("torch._utils", "_rebuild_parameter")
PARAMETER_WITH_STATE = Name("torch._utils", "_rebuild_parameter_with_state")
FROM_TYPE = Name("torch._tensor", "_rebuild_from_type_v2")
BYTES = Name("torch.storage", "UntypedStorage")
# By the name of the dtype.
STORAGES = {dtype: Name("torch", f"{prefix}Storage") for prefix, dtype in ELEMENTS.items()}


def imported(obj: Any) -> tuple[str, str]:
    """The module and name of an object of `PICKLED`, as Python imports it."""
    if isinstance(obj, Name):
        return obj.__module__, obj.attribute
    if isinstance(obj, type):
        return obj.__module__, obj.__qualname__
    return "flambeau", obj.name

"""Taking over the objects of other libraries: asarray()."""

from __future__ import annotations

from typing import Any

import flambeau
from flambeau._C import Tensor, UntypedStorage
from flambeau._values import brief


def asarray(
    obj: Any,
    *,
    dtype: Any = None,
    device: Any = None,
    copy: bool | None = None,
    requires_grad: bool = False,
) -> Tensor:
    """A tensor of an object, whose memory is shared where that can be.

    Args:
        obj: a tensor, an array, an object with DLPack or the buffer protocol, a storage, a number,
            or nested sequences of numbers.
        dtype: None: that of the object; of bytes: the default dtype.
        device: None: that of the object.
        copy: True: always; False: never; None: where the memory cannot be shared.
        requires_grad: of the result.

    Raises:
        ValueError: copy is False, and there must be a copy.

    Example:
        >>> flambeau.asarray([[1, 2], [3, 4]], dtype=flambeau.float32)
        tensor([[1., 2.],
                [3., 4.]])
    """
    made = _shared(obj, dtype, device)
    shares = made is not None
    if made is None:
        made = flambeau.as_tensor(obj, dtype=dtype, device=device)
    moved = made.to(device=made.device if device is None else device, dtype=dtype or made.dtype)
    if copy is False and (not shares or moved is not made):
        raise ValueError(f"asarray(): {brief(type(obj).__name__)} cannot be taken without a copy")
    if copy and moved is made and shares:
        moved = moved.clone()
    return moved if not requires_grad else moved.detach().requires_grad_()


def _shared(obj: Any, dtype: Any, device: Any) -> Tensor | None:
    """The object's memory as a tensor; None: it has none that can be shared."""
    if isinstance(obj, Tensor):
        return obj
    if isinstance(obj, UntypedStorage):
        kind = dtype or flambeau.get_default_dtype()
        return obj._view(kind, 0, [obj.nbytes() // kind.itemsize], [1])
    if hasattr(obj, "__array_interface__"):
        return flambeau.as_tensor(obj)
    if hasattr(obj, "__dlpack__"):
        return flambeau.from_dlpack(obj)
    if isinstance(obj, bytes | bytearray | memoryview):
        kind = dtype or flambeau.get_default_dtype()
        return flambeau.frombuffer(obj, dtype=kind) if len(obj) else flambeau.empty(0, dtype=kind)
    return None

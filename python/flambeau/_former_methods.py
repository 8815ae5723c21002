"""Methods of Tensor that programs of former years call, and those about memory.

Importing this module attaches them to the compiled type.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from typing import Any

import flambeau
from flambeau import _typed_tensors, storage
from flambeau._C import Tensor
from flambeau._dim_order import dim_order
from flambeau._queries import is_conj, is_neg, resolve_conj, resolve_neg
from flambeau._shown_name import shown_name
from flambeau._values import brief


def _new(self: Tensor, *args: Any, device: Any = None) -> Tensor:
    """Tensor(*args) with the dtype and device of this tensor: new(2, 3), new([1, 2])."""
    return _typed_tensors.make("Tensor.new", self.dtype, device or self.device, args)


def _type(self: Tensor, dtype: Any = None, non_blocking: bool = False) -> Any:
    """Without an argument the name of the tensor's type, else the tensor converted to a dtype, or
    to a type: type("torch.LongTensor"), type(flambeau.LongTensor).
    """
    if dtype is None:
        module = f"{shown_name()}{'.cuda' * self.is_cuda}{'.sparse' * self.is_sparse}"
        return f"{module}.{self.dtype._tensor_type}Tensor"
    kind = _typed_tensors.tensor_type(dtype)
    if kind is not None:
        device = "cuda" if kind.is_cuda else "cpu"
        place = self.device if self.device.type == device else device
        return self.to(device=place, dtype=kind.dtype, non_blocking=non_blocking)
    if isinstance(dtype, str):
        raise ValueError(f"Tensor.type(): unknown type {brief(dtype)}")
    return self.to(dtype, non_blocking=non_blocking)


def _storage(self: Tensor) -> storage.TypedStorage:
    """All the memory behind the tensor, as elements of its dtype."""
    return storage.storage_of(self)


def _storage_type(self: Tensor) -> type[storage.TypedStorage]:
    """FloatStorage, for instance."""
    return getattr(flambeau, f"{self.dtype._tensor_type}Storage")


def _set(
    self: Tensor,
    source: Any = None,
    storage_offset: int = 0,
    size: Sequence[int] | None = None,
    stride: Sequence[int] | None = None,
) -> Tensor:
    """Makes the tensor look at other memory.

    Args:
        source: a tensor of the same dtype, or a storage; None: no memory.
        storage_offset, size, stride: which elements of it; without size: all of a storage, those
            of a tensor.

    Returns:
        The tensor itself.

    Raises:
        RuntimeError: the dtypes differ, or the tensor requires grad while gradients are recorded.
    """
    if self.requires_grad and flambeau.is_grad_enabled():
        raise RuntimeError("Tensor.set_(): the tensor requires grad; call it under no_grad()")
    if source is None:
        source = flambeau.empty(0, dtype=self.dtype, device=self.device)
    if not isinstance(source, Tensor):
        source = storage.TypedStorage(
            wrap_storage=source.untyped() if isinstance(source, storage.TypedStorage) else source,
            dtype=self.dtype,
        ).tensor()
    if source.dtype is not self.dtype:
        raise RuntimeError(
            f"Tensor.set_(): expected memory of {self.dtype}, got a tensor of {source.dtype}"
        )
    if size is not None:
        if stride is None:
            stride = flambeau.empty(size, device="meta").stride()
        source = source.untyped_storage()._view(source.dtype, storage_offset, size, stride)
    self.data = source.detach()
    return self


def _is_set_to(self: Tensor, tensor: Tensor) -> bool:
    """Whether both look at the same elements of the same memory in the same order."""
    return (
        self.untyped_storage().data_ptr() == tensor.untyped_storage().data_ptr()
        and self.storage_offset() == tensor.storage_offset()
        and self.shape == tensor.shape
        and self.stride() == tensor.stride()
    )


def resize_as_(input: Tensor, the_template: Tensor, *, memory_format: Any = None) -> Tensor:
    """resize_() to the shape of another tensor.

    Args:
        input: what is resized, in place.
        the_template: the tensor whose shape it gets.
        memory_format: accepted: elements lie by rows.

    Returns:
        `input`.

    Example:
        >>> flambeau.resize_as_(flambeau.arange(6), flambeau.zeros(2, 2))
        tensor([[0, 1],
                [2, 3]])
    """
    return input.resize_(the_template.shape)


def _resize(self: Tensor, *sizes: Any) -> Tensor:
    """Deprecated: `reshape`, that warns."""
    warnings.warn("Tensor.resize() is deprecated: write reshape()", stacklevel=2)
    shape = flambeau.Size(sizes[0] if len(sizes) == 1 and not isinstance(sizes[0], int) else sizes)
    if shape.numel() != self.numel():
        raise RuntimeError(
            f"Tensor.resize(): {tuple(shape)} has {shape.numel()} elements, the tensor of shape "
            f"{tuple(self.shape)} {self.numel()}; resize_() changes how many there are"
        )
    return self.contiguous().view(shape)


def _resize_as(self: Tensor, tensor: Tensor) -> Tensor:
    """Deprecated: `resize(tensor.shape)`."""
    return _resize(self, *tensor.shape)


def _apply(self: Tensor, callable: Callable[[Any], Any]) -> Tensor:
    """Replaces each element by callable(element), one by one; returns self. Slow."""
    return _map_elements("apply_", self, (), callable)


def _map(self: Tensor, tensor: Tensor, callable: Callable[[Any, Any], Any]) -> Tensor:
    """Replaces each element by callable(element, its one in `tensor`); returns self. Slow."""
    return _map_elements("map_", self, (tensor.expand_as(self),), callable)


def _map2(self: Tensor, x: Tensor, y: Tensor, callable: Callable[[Any, Any, Any], Any]) -> Tensor:
    """Replaces each element by callable(element, that in x, that in y); returns self. Slow."""
    others = (x.expand_as(self), y.expand_as(self))
    return _map_elements("map2_", self, others, callable)


def _is_pinned(self: Tensor, device: Any = None) -> bool:
    """False: no tensor is in memory that a device reads by itself."""
    return False


def _pin_memory(self: Tensor, device: Any = None) -> Tensor:
    """Refused: copies to devices need no pinned memory here.

    Raises:
        RuntimeError: always.
    """
    raise RuntimeError("Tensor.pin_memory(): there is no pinned memory, use the tensor as it is")


def _map_elements(
    name: str, self: Tensor, others: tuple[Tensor, ...], function: Callable[..., Any]
) -> Tensor:
    if self.device.type != "cpu":
        raise TypeError(f"Tensor.{name}(): the tensor is on {self.device}, expected one on the CPU")
    columns = [x.detach().reshape(-1).tolist() for x in (self, *others)]
    values = [function(*row) for row in zip(*columns, strict=True)]
    return self.copy_(flambeau.tensor(values, dtype=self.dtype).view(self.shape))


def _false(doc: str) -> property:
    return property(lambda self: False, doc=doc)


def _record_stream(self: Tensor, stream: Any) -> None:
    """Work in a stream of CUDA uses the tensor: its memory is reused only after it.

    Raises:
        NotImplementedError: if the tensor is of another device, whose memory no stream holds.
    """
    if not self.is_cuda:
        raise NotImplementedError(
            f"Tensor.record_stream(): expected a tensor of cuda, got one of {self.device}"
        )
    stream.record_stream(self)


def _xpu(self: Tensor, device: Any = None, **keywords: Any) -> Tensor:
    """RuntimeError: there is no backend for Intel's GPUs."""
    raise RuntimeError("Tensor.xpu(): there is no backend for xpu")


def _index(self: Tensor, positions: Any, dims: Any = None) -> Tensor:
    """self[positions], as the first releases called it.

    Raises:
        TypeError: with `dims`, PyTorch binds dims that are objects, which Flambeau has none of.
    """
    if dims is not None:
        raise TypeError("Tensor.index(): there are no dims that are objects; use einsum")
    return self[positions]


def _has_names(self: Tensor) -> bool:
    """False: dims have no names."""
    return False


def _unnamed(op: str) -> Callable[..., Tensor]:
    def refuse(self: Tensor, *names: Any, **renamed: Any) -> Tensor:
        if not renamed and all(name is None for name in names):
            return self
        raise NotImplementedError(
            f"Tensor.{op}(): dims have numbers and no names; use movedim, permute or einops"
        )

    refuse.__name__ = op
    refuse.__doc__ = (
        "The tensor itself where all names are None; NotImplementedError for others: dims have no "
        "names."
    )
    return refuse


def _chalf(self: Tensor, memory_format: Any = None) -> Tensor:
    """TypeError: no tensors have the dtype complex32."""
    raise TypeError("Tensor.chalf(): there are no tensors of dtype complex32; use cfloat()")


_MEMBERS: dict[str, Any] = {
    "new": _new,
    "type": _type,
    "storage": _storage,
    "_typed_storage": _storage,
    "storage_type": _storage_type,
    "set_": _set,
    "is_set_to": _is_set_to,
    "resize_as_": resize_as_,
    "resize": _resize,
    "resize_as": _resize_as,
    "dim_order": dim_order,
    "apply_": _apply,
    "map_": _map,
    "map2_": _map2,
    "is_pinned": _is_pinned,
    "pin_memory": _pin_memory,
    "record_stream": _record_stream,
    "xpu": _xpu,
    "index": _index,
    "__rdiv__": Tensor.__rtruediv__,
    "chalf": _chalf,
    "is_conj": is_conj,
    "is_neg": is_neg,
    "resolve_conj": resolve_conj,
    "resolve_neg": resolve_neg,
    "is_mps": _false("False: there is no backend for Apple's GPUs."),
    "is_xpu": _false("False: there is no backend for Intel's GPUs."),
    "is_xla": _false("False: there is no backend for XLA."),
    "is_ipu": _false("False: there is no backend for Graphcore's processors."),
    "is_hpu": _false("False: there is no backend for Gaudi."),
    "is_maia": _false("False: there is no backend for Maia."),
    "is_mtia": _false("False: there is no backend for Meta's accelerators."),
    "is_vulkan": _false("False: there is no backend for Vulkan."),
    "is_mkldnn": _false("False: layouts are plain."),
    "is_quantized": _false("False: there are no quantized tensors."),
    "is_nested": _false("False: there are no nested tensors."),
    "volatile": _false("False: no_grad() is what keeps operations from being recorded."),
    "name": property(lambda self: None, doc="None: tensors have no names."),
    "names": property(lambda self: (None,) * self.ndim, doc="None for each dim: none has a name."),
    "has_names": _has_names,
    **{op: _unnamed(op) for op in ("rename", "rename_", "refine_names", "align_to", "align_as")},
}

for _name, _member in _MEMBERS.items():
    setattr(Tensor, _name, _member)

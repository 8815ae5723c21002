"""The former names of tensors by the type of their elements: FloatTensor, cuda.LongTensor,
sparse.FloatTensor.

Each makes tensors as `Tensor(...)` does, is a type of which such tensors are instances, and has
their methods.
"""

from __future__ import annotations

from typing import Any

import flambeau
from flambeau import _C
from flambeau._C import Tensor
from flambeau._shown_name import shown_name
from flambeau._values import brief
from flambeau.storage import TypedStorage


class TypedTensor(type):
    """The type of FloatTensor and so on."""

    dtype: Any
    _place: str  # "cpu" or "cuda"
    layout = _C.strided

    def __call__(cls, *args: Any, device: Any = None) -> Tensor:
        return make(cls._name, cls.dtype, device or cls._place, args)

    def __instancecheck__(cls, instance: object) -> bool:
        return (
            isinstance(instance, Tensor)
            and instance.dtype is cls.dtype
            and instance.device.type == cls._place
            and instance.layout is cls.layout
        )

    def __getattr__(cls, name: str) -> Any:
        """A method of the tensors: FloatTensor.add(x, y)."""
        return method_of_tensors(cls.__name__, name)

    @property
    def is_cuda(cls) -> bool:
        """Whether such tensors lie on a CUDA device."""
        return cls._place == "cuda"

    @property
    def _name(cls) -> str:
        return f"{'cuda.' * cls.is_cuda}{'sparse.' * cls._is_sparse}{cls.__name__}"

    @property
    def _is_sparse(cls) -> bool:
        return cls.layout is _C.sparse_coo

    def __repr__(cls) -> str:
        return f"<class '{shown_name()}.{cls._name}'>"


class SparseTypedTensor(TypedTensor):
    """The type of sparse.FloatTensor and so on."""

    layout = _C.sparse_coo

    def __call__(cls, *args: Any, device: Any = None) -> Tensor:
        """sparse.FloatTensor(indices, values, size), or of a size: one that holds nothing."""
        place = device or cls._place
        if not args or all(_is_size(a) for a in args):
            args = (flambeau.Size(args or (0,)),)
        if len(args) > 1 and isinstance(args[1], Tensor) and args[1].dtype is not cls.dtype:
            raise TypeError(f"{cls._name}(): expected values of {cls.dtype}, got {args[1].dtype}")
        return flambeau.sparse_coo_tensor(*args, dtype=cls.dtype, device=place)


def method_of_tensors(kind: str, name: str) -> Any:
    """What former programs call as a method of a type of tensors.

    Raises:
        AttributeError: tensors have none of that name.
    """
    if name.startswith("__") or not hasattr(Tensor, name):
        raise AttributeError(f"type object '{kind}' has no attribute '{name}'", name=name)
    return getattr(Tensor, name)


def make(name: str, dtype: Any, device: Any, args: tuple[Any, ...]) -> Tensor:
    """A tensor as the former constructors make it.

    Args:
        name: of the constructor, for messages.
        dtype, device: of the tensor.
        args: nothing: no elements; sizes (ints or a Size): elements that are not set; a sequence or
            an array: its elements; a tensor or a storage: what shares its memory.

    Raises:
        TypeError: for a tensor of another dtype or device, and for anything else.
    """
    if not args or all(_is_size(a) for a in args):
        return flambeau.empty(args or (0,), dtype=dtype, device=device)
    if len(args) != 1:
        raise TypeError(f"{name}(): expected sizes or one sequence of data, got {brief(args)}")
    (data,) = args
    device = flambeau.device(device)
    if isinstance(data, flambeau.Size):
        return flambeau.empty(data, dtype=dtype, device=device)
    if isinstance(data, TypedStorage):
        data = data.tensor()
    if isinstance(data, Tensor):
        if data.dtype is not dtype or data.device.type != device.type:
            raise TypeError(
                f"{name}(): expected a tensor of {dtype} on {device}, got one of {data.dtype} on "
                f"{data.device}; use its method to()"
            )
        return data.detach()
    if isinstance(data, float | complex | str | bytes) or not hasattr(data, "__len__"):
        raise TypeError(f"{name}(): expected sizes or a sequence of data, got {brief(data)}")
    return flambeau.tensor(data).to(device=device, dtype=dtype)


def _is_size(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


_EXAMPLE = """

Example:
    >>> flambeau.{0}([0, 1]).dtype, flambeau.{0}(2, 3).shape  # elements; sizes
    ({1}, flambeau.Size([2, 3]))
    >>> isinstance(flambeau.ones(1, dtype={1}), flambeau.{0})
    True
"""

_SPARSE_EXAMPLE = """

Example:
    >>> flambeau.sparse.{}(2, 3).shape
    flambeau.Size([2, 3])
"""


def _types(place: str, kind: type[TypedTensor] = TypedTensor) -> dict[str, TypedTensor]:
    found = {}
    sparse = kind is SparseTypedTensor
    module = "flambeau.sparse" if sparse else "flambeau" if place == "cpu" else "flambeau.cuda"
    examples = {"flambeau": _EXAMPLE, "flambeau.sparse": _SPARSE_EXAMPLE}
    for dtype in dict.fromkeys(d for d in vars(_C).values() if isinstance(d, _C.dtype)):
        name = f"{dtype._tensor_type}Tensor"
        found[name] = kind(
            name,
            (),
            {
                "dtype": dtype,
                "_place": place,
                "__module__": module,
                "__doc__": f"Makes {'sparse ' * sparse}tensors of {dtype} on {place}, or on "
                "`device`, one of that kind." + examples.get(module, "").format(name, dtype),
            },
        )
    return found


CPU_TYPES = _types("cpu")
CUDA_TYPES = _types("cuda")
SPARSE_TYPES = _types("cpu", SparseTypedTensor)


def tensor_type(kind: Any) -> TypedTensor | None:
    """What a type or its name, "torch.cuda.FloatTensor", stands for; None: it is no such name."""
    if isinstance(kind, TypedTensor):
        return kind
    if not isinstance(kind, str):
        return None
    module, _, name = kind.rpartition(".")
    places = {"torch": CPU_TYPES, "flambeau": CPU_TYPES, "": CPU_TYPES}
    places |= {"torch.cuda": CUDA_TYPES, "flambeau.cuda": CUDA_TYPES}
    return places.get(module, {}).get(name)


def set_default_tensor_type(t: Any) -> None:
    """Sets the default dtype, and the default device.

    Args:
        t: FloatTensor or cuda.FloatTensor, for instance, or such a name.

    Raises:
        TypeError: it is no type of tensors of floats.

    Example:
        >>> flambeau.set_default_tensor_type(flambeau.DoubleTensor)
        >>> flambeau.ones(2)
        tensor([1., 1.])
        >>> flambeau.ones(2).dtype
        flambeau.float64
        >>> flambeau.set_default_tensor_type("torch.FloatTensor")
    """
    kind = tensor_type(t)
    if kind is None or not kind.dtype.is_floating_point:
        raise TypeError(
            f"set_default_tensor_type(): expected a type of tensors of floats, got {brief(t)}"
        )
    flambeau.set_default_dtype(kind.dtype)
    flambeau.set_default_device("cuda" if kind.is_cuda else None)

"""Values as Python text: plausible ones for a declared type, and hostile ones."""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Sequence
from functools import cache
from typing import Any

import numpy as np
from fuzz_entries import declarations
from fuzz_text import lines

from flambeau.codegen.model.entries import Base, Type

Draw = random.Random

# Integers at and beyond the limits of what holds them.
LIMITS = (
    "2**31-1", "2**31", "-2**31", "-2**31-1", "2**32", "2**33", "2**40", "2**61", "2**62",
    "2**62+1", "2**63-1", "-2**62", "-2**63+1", "-2**63", "2**63", "-2**63-1", "2**64-1", "2**64",
    "10**30", "-10**400", "65", "127", "128", "255", "256", "-129", "1000", "65536", "2**20+1",
)  # fmt: skip
# The least ones tell most, as strides, sizes, dims and counts.
SMALL = (*(str(i) for i in range(-6, 10)), "-1", "-1", "0", "0", "0", "1", "1", "2")
NUMBERS = (
    "0.0", "-0.0", "0.5", "-1.5", "1.0", "2.0", "1e-8", "1e-45", "5e-324", "1e38", "3.5e38",
    "1e308", "-1e308", "inf", "-inf", "nan", "65504.0", "65536.0", "2.0**63", "-2.0**63", "1e19",
    "1j",
    "complex(nan, inf)", "10**400", "True", "False",
)  # fmt: skip
# Of no type that anything asks for, and objects that misbehave when they are looked at.
STRANGE = lines(
    r"""
    None
    ''
    'x'
    b'ab'
    bytearray(3)
    {}
    {'a': 1}
    set()
    {1, 2}
    ()
    []
    [[]]
    [None]
    ...
    slice(None)
    slice(2**63, None, -1)
    range(3)
    range(2**62)
    iter([1, 2])
    (i for i in (1, 2))
    object()
    int
    float
    len
    np
    type
    lambda *a: 1
    NotImplemented
    '\0'
    '\ud800'
    'x' * 100000
    memoryview(b'abcd')
    flambeau.float32
    flambeau.device('cpu')
    flambeau.Size([2])
    flambeau.Generator()
    np.int64(1)
    np.float32(1.5)
    np.bool_(True)
    np.array(2)
    np.array([1, 2])
    np.array(['a'])
    np.array([None])
    np.zeros((2, 0))
    np.datetime64('2020')
    np.zeros(3, 'f4,i4')
    np.arange(6.)[::-1]
    np.zeros((2, 3), order='F').T
    flambeau.tensor(1)
    flambeau.tensor([])
    flambeau.tensor([True])
    flambeau.tensor(nan)
    flambeau.ones(2, 3)
    flambeau.ones(1, dtype=flambeau.complex64)
    flambeau.ones(2, device='meta')
    flambeau.ones(2).to_sparse()
    flambeau.tensor(2**62)
    flambeau.tensor([2**63 - 1])
    type('I', (), {'__index__': lambda s: 2**70})()
    type('I', (), {'__index__': lambda s: -1})()
    type('I', (), {'__index__': lambda s: 1 / 0})()
    type('I', (), {'__float__': lambda s: 'x'})()
    type('L', (list,), {'__len__': lambda s: 2**40})([1])
    type('L', (list,), {'__iter__': lambda s: 1 / 0})([1, 2])
    type('S', (), {'__len__': lambda s: 3, '__getitem__': lambda s, i: s})()
    type('S', (), {'__len__': lambda s: -1, '__getitem__': lambda s, i: 1})()
    type('T', (flambeau.Tensor,), {})
    flambeau.Tensor
    cyclic()
    deep(100)
    deep(100000)
    [1] * 65
    [1] * 1000
    [0] * 64
    (2**31,) * 3
    (-1,) * 2
    [float('nan')]
    [True, 1.5]
    ['a', 'b']
    [[1], [1, 2]]
    [1, 'a']
    """
)
SHAPES = (
    "()", "(0,)", "(1,)", "(2,)", "(3,)", "(5,)", "(7,)", "(64,)", "(2, 3)", "(3, 2)", "(3, 3)",
    "(1, 3)", "(3, 1)", "(0, 3)", "(3, 0)", "(2, 3, 4)", "(1, 2, 1)", "(4, 0, 2)", "(2, 2, 2, 2)",
    "(1, 3, 6, 7)", "(2, 3, 4, 4)", "(1, 1, 1, 5)", "(2, 1, 3, 1, 2)", "(1,) * 12", "(2,) * 8",
    "(1,) * 63", "(1,) * 64", "(33, 17)", "(130,)", "(1, 1000)", "(300, 5)", "(16, 16)",
)  # fmt: skip
HOSTILE_SHAPES = (
    "(-1,)", "(2, -1)", "(-2**63,)", "(2**31,)", "(2**40,)", "(2**62,)", "(2**63-1,)", "(2**63,)",
    "(2**40, 0)", "(0, 2**62)", "(2**40, 0, 0, 1)", "(2**31, 2**31)", "(2**33, 2**31, 0)",
    "(2**62, 4)", "(1,) * 65", "(0,) * 65", "(2,) * 62", "(2, None)", "(1.5,)", "('a',)",
    "(2**32, 2**32)", "(3, True)", "cyclic()",
)  # fmt: skip
DEVICES = ("'cpu'", "'meta'", "'cuda'", "'cuda:99'", "'cpu:1'", "''", "'x'", "-1", "0", "'\\0'",
           "'cpu:' + '9' * 30", "flambeau.device('cpu')", "None")  # fmt: skip
FORMATS = ("contiguous_format", "preserve_format", "channels_last", "channels_last_3d")
STRINGS = ("''", "'x'", "'mean'", "'sum'", "'none'", "'\\0'", "'é\\ud800'", "'a' * 70000", "b'sum'")
BOOLS = ("True", "False", "None", "0", "1", "2", "'x'", "flambeau.tensor(True)", "1.0")


@cache
def dtype_names() -> tuple[str, ...]:
    return tuple(d.name for d in declarations().dtypes)


@cache
def categories() -> dict[str, str]:
    return {d.name: d.category for d in declarations().dtypes}


def integer(draw: Draw, hostile: bool) -> str:
    return draw.choice(LIMITS if hostile else SMALL)


def number(draw: Draw, hostile: bool) -> str:
    if hostile:
        return draw.choice((*NUMBERS, *LIMITS))
    return draw.choice(("0", "1", "2", "0.5", "-1.5", "3", "True", "2.0"))


def shape(draw: Draw, hostile: bool) -> str:
    return draw.choice(HOSTILE_SHAPES if hostile else SHAPES)


def dtype(draw: Draw, hostile: bool) -> str:
    if hostile and draw.random() < 0.4:
        return draw.choice(
            ("float", "int", "complex", "bool", "np.float32", "'float32'", "7", "str")
        )
    return f"flambeau.{draw.choice(dtype_names())}"


def integers(draw: Draw, hostile: bool, length: int | None) -> str:
    """A list of integers, of a wrong length or with a wrong member if hostile."""
    size = length if length is not None else draw.choice((0, 1, 1, 2, 2, 3, 4))
    if not hostile:
        if length is not None and draw.random() < 0.3:
            return integer(draw, False)
        return listed(draw, [integer(draw, False) for _ in range(size)])
    way = draw.randrange(6)
    if way == 0:
        return draw.choice(STRANGE)
    if way == 1:
        size = max(0, size + draw.choice((-2, -1, 1, 2)))
    if way == 2:
        size = draw.choice((12, 64, 65, 1000))
    items = [integer(draw, draw.random() < 0.2) for _ in range(size)]
    if items and way >= 3:
        items[draw.randrange(len(items))] = (
            integer(draw, True) if way < 5 else draw.choice(("None", "1.5", "'a'", "[1]", "nan"))
        )
    return listed(draw, items)


def listed(draw: Draw, items: Sequence[str]) -> str:
    if draw.random() < 0.5:
        return f"[{', '.join(items)}]"
    return f"({', '.join(items)}{',' if len(items) == 1 else ''})"


# Tensors -----------------------------------------------------------------------------------------


def tensor(draw: Draw, hostile: bool, wanted: str | None = None, sizes: str | None = None) -> str:
    """A tensor; `wanted`: its dtype; `sizes`: its shape."""
    if hostile and sizes is None and draw.random() < 0.4:
        return draw.choice(_odd_tensors())
    name = wanted or (
        "float32" if draw.random() < 0.5 else "float64" if draw.random() < 0.3 else None
    )
    name = name or draw.choice(dtype_names())
    if hostile and sizes is None and draw.random() < 0.1:
        size = draw.choice(("2**31", "2**40", "2**62", "2**62, 2", "2**31, 2**31", "0, 2**40"))
        return f"flambeau.empty({size}, dtype=flambeau.{name}, device='meta')"
    base = filled(draw, sizes or shape(draw, False), name)
    if hostile and draw.random() < 0.25:
        base = extreme(draw, name)
    return laid_out(draw, base) if draw.random() < (0.6 if hostile else 0.25) else base


def filled(draw: Draw, sizes: str, name: str) -> str:
    """Ordinary elements."""
    category = categories()[name]
    suffix = "" if name == "float32" else f", dtype=flambeau.{name}"
    if category in ("float", "complex"):
        return f"flambeau.randn({sizes}{suffix})"
    if category == "bool":
        return f"(flambeau.randn({sizes}) > 0)"
    suffix = "" if name == "int64" else suffix
    low = 0 if category == "unsigned" else draw.choice((-3, 0, 0))
    return f"flambeau.randint({low}, {draw.choice((2, 4, 7))}, {sizes}{suffix})"


def extreme(draw: Draw, name: str) -> str:
    """A few elements at the ends of what the dtype holds."""
    category = categories()[name]
    if category == "bool":
        return "flambeau.from_numpy(np.array([0, 1, 2, 255], 'u1').view(bool))"
    pool: tuple[str, ...] = ("nan", "inf", "-inf", "-0.0", "1e38", "1e-45", "0.0", "1.0", "-1.0")
    if category in ("signed", "unsigned"):
        bits = next(d.size for d in declarations().dtypes if d.name == name) * 8
        signed = category == "signed"
        top, bottom = (2 ** (bits - 1) - 1, -(2 ** (bits - 1))) if signed else (2**bits - 1, 0)
        pool = (str(top), str(bottom), str(top - 1), str(bottom + 1), "0", "1")
    items = ", ".join(draw.choice(pool) for _ in range(draw.randint(1, 5)))
    return f"flambeau.tensor([{items}], dtype=flambeau.{name})"


def laid_out(draw: Draw, base: str) -> str:
    """Another layout of a tensor."""
    whole = f"({base})" if " * " in base and not base.startswith("(") else base
    return draw.choice(_LAYOUTS).replace("{}", whole)


_LAYOUTS = lines(
    r"""
    {}.T
    {}.mT
    {}[..., ::2]
    {}[1:]
    {}[..., 1:]
    {}.unsqueeze(0)
    {}.unsqueeze(-1)
    {}.transpose(0, -1)
    (lambda t: t.expand(3, *t.shape))({})
    {}.flip(0)
    {}.detach()
    {}.reshape(-1)[:4]
    {}.reshape(-1)
    {}.select(0, 0)
    {}[:0]
    {}[..., :0]
    {}.clone().requires_grad_()
    {}.movedim(0, -1)
    {}.squeeze()
    {}[..., :1]
    {}.to('meta')
    {}.to_sparse()
    {}.to_sparse(1)
    {}.conj()
    {}.contiguous()
    {}.mean()
    {}.sum(0)
    {}.repeat(2, 1)
    {}.neg()
    {}.sub(0.5).relu()
    """
)


@cache
def _odd_tensors() -> tuple[str, ...]:
    """Overlapping, offset, empty and huge tensors, foreign bytes."""
    return lines(
        r"""
        flambeau.ones(1).expand(4)
        flambeau.ones(3, 1).expand(3, 5)
        flambeau.ones(()).expand(2, 2)
        flambeau.arange(6.).as_strided((3, 3), (1, 1))
        flambeau.arange(6.).as_strided((2, 2), (0, 3), 1)
        flambeau.arange(12.).view(3, 4)[1:, 1:]
        flambeau.arange(24.).view(2, 3, 4)[:, ::2, 1::2]
        flambeau.empty_strided((2, 3), (1, 2)).fill_(1)
        flambeau.empty_strided((3, 2), (7, 3)).fill_(1)
        flambeau.empty(0)
        flambeau.empty(0, 2**40)
        flambeau.empty(2**31, 0)
        flambeau.empty(0, 3, 0)
        flambeau.empty(0, dtype=flambeau.int64)
        flambeau.tensor([])
        flambeau.tensor(3.)
        flambeau.tensor(2)
        flambeau.tensor(True)
        flambeau.tensor(1j)
        flambeau.tensor(nan)
        flambeau.from_numpy(np.array([0, 1, 2, 255], 'u1').view(bool))
        flambeau.from_numpy(np.full((3, 3), 7, 'u1').view(bool))
        flambeau.from_numpy(np.arange(6.).reshape(2, 3).T)
        flambeau.from_numpy(np.zeros((2, 0)))
        flambeau.from_numpy(np.broadcast_to(np.ones(1), (3, 2)))
        flambeau.from_numpy(np.frombuffer(bytes(25), 'u1')[1:].view('i4'))
        flambeau.sparse_coo_tensor([[0, 1, 1], [2, 0, 0]], [1., 2., 3.], (2, 3))
        flambeau.sparse_coo_tensor([[0, 1, 1], [2, 0, 0]], [1., 2., 3.], (2, 3)).requires_grad_()
        flambeau.sparse_coo_tensor([[1, 0]], flambeau.ones(2, 3), (2, 3)).coalesce()
        flambeau.sparse_coo_tensor([[0], [0]], [1], (2**31, 2**31))
        flambeau.sparse_coo_tensor([[0]], [True], (1,))
        flambeau.sparse_coo_tensor((0, 2**40))
        flambeau.tensor(2.).to_sparse()
        flambeau.ones(2, 3).to_sparse(0)
        flambeau.randn(2, 3, device='meta')
        flambeau.empty(2**40, device='meta')
        flambeau.ones(1).expand(2**40)[:3]
        flambeau.ones(1).expand(2**62)[5:7]
        flambeau.randint(0, 5, (300000,))
        flambeau.zeros(300000, dtype=flambeau.int64)
        flambeau.randn(70000)
        flambeau.randn(300, 301)
        flambeau.randn((1,) * 20)
        flambeau.nn.Parameter(flambeau.ones(2, 3))
        flambeau.ones(3, requires_grad=True)
        flambeau.ones(3, requires_grad=True) * 2
        flambeau.ones(3, requires_grad=True).detach()
        flambeau.tensor([-1, 0, 1])
        flambeau.tensor([2**62, -2**62])
        flambeau.tensor([0, 99])
        flambeau.tensor([-2**63, 2**63 - 1])
        flambeau.tensor([nan, inf, -inf])
        flambeau.randn((2,) * 12)
        flambeau.ones((1,) * 64)
        """
    )


# By type -----------------------------------------------------------------------------------------


def of_type(draw: Draw, declared: Type, hostile: bool) -> str:
    """A value for a declared type; a hostile one may be of another type."""
    if hostile and draw.random() < 0.3:
        return draw.choice(STRANGE)
    if declared.optional and draw.random() < 0.2:
        return "None"
    if declared.base is Base.TENSOR:
        if declared.is_list:
            count = draw.choice((0, 1, 70) if hostile else (1, 2, 3))
            size = shape(draw, False)
            items = [
                tensor(draw, hostile and draw.random() < 0.5, sizes=size if count < 70 else "(2,)")
                for _ in range(count)
            ]
            return listed(draw, items)
        if declared.or_scalar and draw.random() < 0.4:
            return number(draw, hostile)
        return tensor(draw, hostile)
    if declared.is_list and declared.base is Base.INT:
        if hostile and declared.list_length is None and draw.random() < 0.4:
            return shape(draw, True)
        return integers(draw, hostile, declared.list_length)
    return _SCALARS[declared.base](draw, hostile)


_SCALARS: dict[Base, Callable[[Draw, bool], str]] = {
    Base.SCALAR: number,
    Base.INT: integer,
    Base.FLOAT: number,
    Base.BOOL: lambda draw, hostile: draw.choice(BOOLS if hostile else BOOLS[:2]),
    Base.STR: lambda draw, hostile: draw.choice(STRINGS if hostile else STRINGS[2:5]),
    Base.DTYPE: dtype,
    Base.DEVICE: lambda draw, hostile: draw.choice(DEVICES if hostile else DEVICES[:2]),
    Base.GENERATOR: lambda draw, hostile: draw.choice(("None", "flambeau.Generator()")),
    Base.MEMORY_FORMAT: lambda draw, hostile: f"flambeau.{draw.choice(FORMATS)}",
}

# What a parameter of a function written by hand seems to want: a word of its name or annotation.
_GUESSES: tuple[tuple[str, Callable[[Draw, bool], str]], ...] = (
    ("Sequence[Tensor", lambda d, h: of_type(d, Type(Base.TENSOR, is_list=True), h)),
    ("Tensor", tensor),
    ("dtype", dtype),
    ("device", _SCALARS[Base.DEVICE]),
    ("bool", _SCALARS[Base.BOOL]),
    ("Sequence[int", lambda d, h: integers(d, h, None)),
    ("float", number),
    ("int", integer),
    ("str", _SCALARS[Base.STR]),
    ("input", tensor),
    ("weight", tensor),
    ("other", tensor),
    ("grad", tensor),
    ("inplace", _SCALARS[Base.BOOL]),
    ("size", lambda d, h: d.choice((integer(d, h), integers(d, h, 2), shape(d, h)))),
    ("dim", lambda d, h: d.choice((integer(d, h), integers(d, h, None)))),
    ("key", lambda d, h: index(d, h)),
)


def guessed(draw: Draw, name: str, hint: str, hostile: bool) -> str:
    """A value for a parameter that is not declared."""
    if "layers" in name:  # many of them are much work that was asked for
        return draw.choice(("1", "2", "3", "0", "-1", "None", "1.5", "'2'"))
    if hostile and draw.random() < 0.4:
        return draw.choice(STRANGE)
    for text in (hint, name):
        for word, value in _GUESSES:
            if text and word in text:
                return value(draw, hostile)
    ways = (tensor, integer, number, lambda d, h: d.choice(STRANGE))
    return draw.choice(ways)(draw, hostile)


def index(draw: Draw, hostile: bool) -> str:
    """What stands between brackets."""
    count = draw.choice((1, 1, 2, 2, 3, 5 if hostile else 3))
    items = [_index_item(draw, hostile and draw.random() < 0.5) for _ in range(count)]
    return items[0] if count == 1 and draw.random() < 0.7 else f"({', '.join(items)},)"


def _index_item(draw: Draw, hostile: bool) -> str:
    way = draw.randrange(7)
    if way == 0:
        return draw.choice(("None", "...", "True", "False", "slice(None)"))
    if way == 1:
        return integer(draw, hostile)
    if way == 2:
        bounds = [draw.choice(("None", integer(draw, hostile))) for _ in range(2)]
        step = draw.choice(LIMITS if hostile else ("None", "1", "2", "3"))
        return f"slice({', '.join(bounds)}, {step})"
    if way == 3:
        size = draw.choice(("(2,)", "()", "(0,)", "(2, 1)", "(3,)"))
        low = "-9" if hostile else draw.choice(("0", "-1"))
        return f"flambeau.randint({low}, {'2**40' if hostile else '2'}, {size})"
    if way == 4:
        return f"(flambeau.randn({shape(draw, False)}) > 0)"
    if way == 5:
        return integers(draw, hostile, None)
    return draw.choice(STRANGE) if hostile else "slice(None)"


# Arrays of samples -------------------------------------------------------------------------------


# Numbers that random ones hardly are: zero, and equal.
_COARSE = (0.0, 0.0, 0.0, 1.0, 1.0, -1.0, 0.5)


def array_text(draw: Draw, array: Any, dtype_name: str | None = None) -> str:
    """A tensor like a sample's array: its values where they are few and whole, else its kind."""
    array = np.asarray(array)
    sizes = _shape_text(array.shape)
    kind = array.dtype.kind
    if (kind in "iub" and array.size <= 24) or array.size <= 2:
        name = dtype_name or {"b": "bool", "f": "float32", "c": "complex64"}.get(kind, "int64")
        suffix = f", dtype=flambeau.{name}"
        text = f"flambeau.tensor({_plain(array.tolist())}{suffix})"
        return text if array.size or array.ndim == 1 else f"flambeau.empty({sizes}{suffix})"
    if kind == "b":
        return f"(flambeau.rand({sizes}) > 0.5)"
    if kind in "iu":
        suffix = f", dtype=flambeau.{dtype_name}" if dtype_name else ""
        return f"flambeau.randint({array.min()}, {int(array.max()) + 1}, {sizes}{suffix})"
    name = dtype_name or {"f": draw.choice(("float32", "float64")), "c": "complex64"}[kind]
    suffix = "" if name == "float32" else f", dtype=flambeau.{name}"
    if kind == "f" and array.size <= 24 and draw.random() < 0.2:
        numbers = np.array([draw.choice(_COARSE) for _ in range(array.size)]).reshape(array.shape)
        numbers = np.abs(numbers) if array.min() >= 0 else numbers
        return f"flambeau.tensor({_plain(numbers.tolist())}{suffix})"
    if kind == "f" and array.size and array.min() >= 0:
        shift = " + 0.5" if array.min() > 0.4 else ""
        largest = array.max(initial=0, where=np.isfinite(array))
        scale = f" * {math.ceil(largest)}" if largest > 2 else ""
        text = f"flambeau.rand({sizes}{suffix}){scale}{shift}"
        text = f"({text})" if scale or shift else text
    else:
        text = f"flambeau.randn({sizes}{suffix})"
    transposed = array.ndim > 1 and array.size > 1 and not array.flags.c_contiguous
    if transposed and array.flags.f_contiguous:
        return text.replace(sizes, _shape_text(array.shape[::-1]), 1) + ".T"
    return text


def _shape_text(sizes: Sequence[int]) -> str:
    return f"({', '.join(map(str, sizes))}{',' if len(sizes) == 1 else ''})"


def _plain(value: Any) -> str:
    return repr(value)  # `nan` and `inf` are names where the text is run

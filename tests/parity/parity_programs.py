"""Index expressions, and programs of views and in-place writes."""

from __future__ import annotations

from fuzz_text import lines
from parity_values import DTYPES, SHAPES, Draw, text_of

Parts = tuple[tuple[str, ...], tuple[str, ...], tuple[str, ...]]


def index_program(draw: Draw) -> Parts:
    """x[index], or x[index] = value; then a gradient of it."""
    shape = draw.choice([s for s in SHAPES if len(s) > 0] if draw.random() < 0.95 else SHAPES)
    gradient = draw.random() < 0.5
    dtype = draw.choice(("float64", "float32")) if gradient else draw.choice(DTYPES)
    statements = [f"x = {text_of(shape, _kind(dtype), draw.randrange(50), dtype)}"]
    leaves = []
    if gradient:
        statements.append("x.requires_grad_()")
        leaves.append("x")
    index = _index(draw, shape)
    if draw.random() < 0.5:
        return (*statements, f"r = x[{index}]"), ("r",), tuple(leaves)
    value_dtype = dtype if draw.random() < 0.7 else draw.choice(DTYPES)
    statements.append("z = x.clone()")
    if draw.random() < 0.4:
        value = draw.choice(("1", "2.5", "True", "-3", "nan"))
    else:
        of = draw.choice(((), (1,), shape[-1:], shape, (draw.choice((1, 2, 3)),)))
        statements.append(f"v = {text_of(of, _kind(value_dtype), draw.randrange(50), value_dtype)}")
        if gradient and value_dtype.startswith("float"):
            statements.append("v.requires_grad_()")
            leaves.append("v")
        value = "v"
    statements.append(f"z[{index}] = {value}")
    statements.append("r = z * 1")
    return tuple(statements), ("r",), tuple(leaves)


def _kind(dtype: str) -> str:
    if dtype == "bool":
        return "b"
    if dtype.startswith("complex"):
        return "c"
    return "f" if "float" in dtype else "i:0:9"


def _index(draw: Draw, shape: tuple[int, ...]) -> str:
    """An index that mostly fits."""
    items: list[str] = []
    dim = 0
    has_ellipsis = False
    lists = draw.choice(((2,), (3,), (2, 1), (1, 3), (0,), ()))
    while dim < len(shape) and draw.random() < 0.8:
        size = shape[dim]
        way = draw.randrange(9)
        if way == 0 and size > 0:
            items.append(str(draw.randint(-size, size - 1)))
        elif way in (1, 2):
            items.append(_slice(draw, size))
        elif way == 3 and not has_ellipsis:
            has_ellipsis = True
            items.append("...")
            dim = draw.randint(dim, len(shape)) - 1
        elif way == 4:
            items.append("None")
            continue
        elif way == 5 and size > 0:
            dtype = draw.choice(("int64", "int64", "int32", "uint8"))
            low = 0 if dtype == "uint8" else -size
            if dtype == "uint8":
                dtype = "int16" if draw.random() < 0.8 else "int64"
            items.append(text_of(lists, f"i:{low}:{size}", draw.randrange(50), dtype))
        elif way == 6:
            count = 2 if draw.random() < 0.3 and dim + 1 < len(shape) else 1
            items.append(text_of(shape[dim : dim + count], "b", draw.randrange(50)))
            dim += count - 1
        elif way == 7 and size > 0:
            items.append(str([draw.randint(-size, size - 1) for _ in range(draw.randint(1, 3))]))
        elif way == 8 and draw.random() < 0.3:
            items.append(draw.choice(("True", "False")))
            continue
        else:
            items.append(":")
        dim += 1
    if not items:
        return draw.choice(("...", "None", ":" if shape else "()", "()"))
    return ", ".join(items)


def _slice(draw: Draw, size: int) -> str:
    start = draw.choice(("", str(draw.randint(-size - 2, size + 2))))
    stop = draw.choice(("", str(draw.randint(-size - 2, size + 2))))
    step = draw.choice(("", "", ":1", ":2", ":3"))
    return f"{start}:{stop}{step}"


# Views and in-place writes -----------------------------------------------------------------------

_VIEWS = lines(
    r"""
    {v} = {x}.T
    {v} = {x}.mT
    {v} = {x}[0]
    {v} = {x}[..., 0]
    {v} = {x}[1:]
    {v} = {x}[..., ::2]
    {v} = {x}.view(-1)
    {v} = {x}.reshape(-1)
    {v} = {x}.flatten()
    {v} = {x}.transpose(0, -1)
    {v} = {x}.unsqueeze(0)
    {v} = {x}.squeeze()
    {v} = {x}.detach()
    {v} = {x}.diagonal()
    {v} = {x}.narrow(0, 0, 1)
    {v} = {x}.expand(2, *{x}.shape)
    {v} = {x}.chunk(2)[0]
    {v} = {x}.split(1)[-1]
    {v} = {x}.unbind(0)[0]
    {v} = {x}.movedim(0, -1)
    {v} = {x}.unfold(0, 2, 1)
    {v} = {x}.select(-1, 0)
    {v} = {x}.data
    {v} = {x}.as_strided((2,), (1,))
    {v} = {x}.unflatten(0, (1, -1))
    {v} = {x}.permute(*range({x}.dim()))
    {v} = {x}.real
    {v} = {x}.swapaxes(0, -1)
    {v} = {x}.contiguous()
    {v} = {x}.clone()
    {v} = {x}.tensor_split(2)[0]
    {v} = {x}[None]
    {v} = {x}.view_as({x})
    """
)
_WRITES = lines(
    r"""
    {x}.add_(1)
    {x}.mul_(2)
    {x}.mul_({y})
    {x}.copy_({y})
    {x}.zero_()
    {x}.fill_(3)
    {x}[0] = {y}
    {x}[...] = 2
    {x}[..., 0] = 5
    {x}[{x} > 0] = 1
    {x} += {y}
    {x} -= 0.5
    {x} *= {x}
    {x}.exp_()
    {x}.sigmoid_()
    {x}.tanh_()
    {x}.relu_()
    {x}.clamp_(-1, 1)
    {x}.pow_(2)
    {x}.neg_()
    {x}.masked_fill_({x} < 0, 7)
    {x}[1:] = {x}[:-1].clone()
    {x}.t_()
    {x}.sub_({y})
    {x}.index_fill_(0, lib.tensor([0]), 4)
    {x}.fill_diagonal_(2)
    {x}.div_(2)
    {x}.sin_()
    {x}[::2].mul_(3)
    {x}.abs_()
    """
)
_MAKES = lines(
    r"""
    {v} = {x} * {y}
    {v} = {x} + 1
    {v} = {x}.exp()
    {v} = {x}.sum()
    {v} = {x}.sum(0)
    {v} = {x}.sigmoid()
    {v} = {x} ** 2
    {v} = lib.cat([{x}, {x}])
    {v} = {x}.cumsum(0)
    {v} = lib.where({x} > 0, {x}, {y})
    {v} = {x}.tanh()
    {v} = {x}.mean()
    {v} = {x} * {x}
    """
)


def view_program(draw: Draw) -> Parts:
    """Some tensors, views of them, writes into these. Statements may fail, in both alike."""
    shape = draw.choice(((3,), (4,), (2, 3), (3, 3), (2, 2, 3), (1, 3), (2,), (0, 2), ()))
    gradient = draw.random() < 0.6
    dtype = "float64" if gradient else draw.choice(("float32", "int64", "float16", "complex64"))
    statements = [
        f"p = {text_of(shape, _kind(dtype), 1, dtype)}",
        f"q = {text_of(shape, _kind(dtype), 2, dtype)}",
    ]
    names = ["a", "b"]
    if gradient:
        statements += ["p.requires_grad_()"] + (
            ["q.requires_grad_()"] if draw.random() < 0.5 else []
        )
        statements += ["a = p * 1", "b = q * 2"]
    else:
        statements += ["a = p.clone()", "b = q"]
    for number in range(draw.randint(2, 8)):
        group = draw.choices((_VIEWS, _WRITES, _MAKES), (5, 5, 2))[0]
        fresh = f"v{number}"
        template = draw.choice(group)
        x, y = draw.choice(names), draw.choice(names)
        statements.append(template.format(x=x, y=y, v=fresh))
        if template.startswith("{v}"):
            names.append(fresh)
    ends = " + ".join(f"({name} * {name}).sum()" for name in names[-3:])
    statements.append(f"r = {ends}" if gradient else "r = a")
    return tuple(statements), (*names, "r"), ("p", "q") if gradient else ()

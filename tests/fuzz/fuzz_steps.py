"""Programs of several steps on few tensors: views, exports to NumPy and DLPack while the tensor
changes, in-place writes, hooks, gradients.
"""

from __future__ import annotations

import fuzz_values as values
from fuzz_text import lines
from fuzz_values import Draw

# {x}, {y}: tensors made so far. {n}: an export. {v}: a fresh name. {i}: an index. {s}: a shape.
# {o}: a tensor of its own; {k}: a small integer.
_VIEWS = lines(
    r"""
    {v} = {x}[{i}]
    {v} = {x}.view({s})
    {v} = {x}.T
    {v} = {x}.detach()
    {v} = {x}.data
    {v} = {x}.expand(2, *{x}.shape)
    {v} = {x}.as_strided({s}, {s})
    {v} = {x}.unbind(0)[0]
    {v} = {x}.reshape(-1)[::2]
    {v} = {x}.flatten()
    {v} = {x}.unfold(0, 2, 1)
    {v} = {x}.diagonal()
    {v} = {x}.split(1)[0]
    {v} = {x}.chunk(2)[-1]
    {v} = {x}.real
    {v} = {x}.view(flambeau.int8)
    {v} = {x}.narrow(0, {k}, {k})
    {v} = {x}.squeeze()
    {v} = flambeau.nn.Parameter({x})
    {v} = {x}.requires_grad_()
    {v} = {x}.movedim(0, -1)
    """
)
_EXPORTS = lines(
    r"""
    {n} = {x}.numpy()
    {n} = {x}.detach().numpy()
    {n} = np.asarray({x})
    {n} = memoryview({x})
    {n} = np.from_dlpack({x})
    {v} = flambeau.from_dlpack({x})
    {n} = {x}.__dlpack__()
    {n} = {x}.detach().numpy()[::-1]
    {n} = memoryview({x}.detach())
    {n} = {x}.untyped_storage()
    {v} = flambeau.from_numpy({n})
    {v} = flambeau.as_tensor({n})
    {v} = flambeau.tensor({n})
    {v} = flambeau.from_dlpack({n})
    {v} = flambeau.frombuffer({n})
    {n} = iter({x})
    {n} = {x}.tolist()
    {n} = pickle.dumps({x})
    {v} = pickle.loads({n})
    {n} = bytes({n})
    {n} = np.array({n}, copy=False)
    {n} = {x}.__dlpack__(max_version=(1, 0))
    {n} = np.full({s}, 3, 'u1').view(bool)
    {n} = bytearray(24)
    {v} = copy.deepcopy({x})
    """
)
_CHANGES = lines(
    r"""
    {x}.data = {o}
    {x}.data = {y}
    flambeau.add({y}, 1, out={x})
    flambeau.mul({o}, 1, out={x})
    flambeau.add({o}, 1, out={x}[:0])
    {x}.add_({y})
    {x}[{i}] = {y}
    {x}[{i}] = {k}
    {x}.copy_({y})
    {x}.zero_()
    {x}[{i}].mul_(2)
    {x}.t().add_(1)
    {x}.detach_()
    flambeau.sort({x}, out=({x}, {y}))
    {x}.untyped_storage().resize_({k})
    {x}.resize_({s})
    {x}.set_({y})
    {n}[...] = 7
    {n}.resize({s})
    {n} += 1
    {n}.release()
    del {n}
    {x} = {y}
    {x} = {x} * 2
    {x} += {y}
    {x} = {x}.to(flambeau.float64)
    {x}.exp_()
    {x}.requires_grad = True
    {x}.requires_grad_(False)
    {x}.grad = {y}
    {x}.grad = None
    {x}.grad = {x}
    {x}.grad.zero_()
    {x}.retain_grad()
    {x}.data.mul_(3)
    del {x}
    {x}.__dict__.update(a={x})
    {x}.name = {y}
    {x}.data = {x}.data.to(flambeau.float16)
    {x}.sigmoid_()
    {x}.clamp_(0, 1)
    {x}.unsqueeze(0).pow_(2)
    {x}.transpose(0, -1).tanh_()
    """
)
_USES = lines(
    r"""
    {v} = {x} + {y}
    {v} = ({x} * {y}).sum()
    {v} = {x}.exp()
    {v} = {x} @ {y}
    {v} = flambeau.cat([{x}, {y}])
    {v} = flambeau.where({x} > 0, {x}, {y})
    {v} = {x}[{y} > 0]
    {v} = {x}.masked_select({y} > 0)
    {v} = {x}.sum().backward()
    {x}.backward({y})
    {x}.backward(flambeau.ones_like({x}), retain_graph=True)
    {x}.sum().backward(create_graph=True)
    {v} = flambeau.autograd.grad({x}.sum(), {y}, allow_unused=True)[0]
    str({x})
    repr({n})
    {v} = flambeau.autograd.grad({x}, {y}, {x}, create_graph=True)[0]
    gc.collect()
    {x}.register_hook(lambda g: g * 2)
    {x}.register_hook(lambda g: {x})
    {y}.register_hook(lambda g: None)
    {x}.register_hook(lambda g: {x}.data.zero_())
    {n}.sum()
    bytes({n})
    next({n})
    {x}.grad_fn.next_functions
    {x}.grad_fn(1)
    {v} = {x}.grad
    type({x}.grad_fn).__new__(type({x}.grad_fn))
    {x}.__setstate__({n})
    {x}._backward_hooks
    {x}.grad_fn.metadata
    hash({x})
    {x} in {y}
    {x}.__dlpack__(max_version={k})
    {x}.__dlpack__(stream={k})
    {x}.__dlpack__(dl_device=(1, {k}))
    {x}.grad_fn.register_hook(lambda *a: {x})
    {v} = flambeau.autograd.functional.jvp(lambda t: t * t, {x}, {y})[1]
    {v} = {x}.cumsum(0)
    """
)
_SHARES = ((_VIEWS, 5), (_EXPORTS, 3), (_CHANGES, 6), (_USES, 6))


def steps(draw: Draw) -> list[str]:
    """Statements, each over what the earlier ones made. A statement may fail: the others go on."""
    tensors = ["a", "b"]
    exports: list[str] = []
    statements = [f"a = {_own(draw)}", f"b = {_own(draw)}"]
    for number in range(draw.randint(2, 9)):
        group = draw.choices([g for g, _ in _SHARES], [share for _, share in _SHARES])[0]
        template = draw.choice(group)
        if "{n}" in template and not template.startswith("{n} = ") and not exports:
            template = draw.choice(_EXPORTS[:6])
        fresh = f"v{number}"
        makes_export = template.startswith("{n} = ")
        export = f"n{number}" if makes_export else draw.choice(exports or ["None"])
        if makes_export and template.count("{n}") > 1:
            template = template.replace("{n}", draw.choice(exports or ["None"]))
            template = template.replace(template.split(" = ")[0], "{n}", 1)
        statements.append(
            template.format(
                x=draw.choice(tensors),
                y=draw.choice(tensors),
                n=export,
                v=fresh,
                i=values.index(draw, draw.random() < 0.15),
                s=values.shape(draw, draw.random() < 0.1),
                o=_own(draw),
                k=values.integer(draw, draw.random() < 0.1),
            )
        )
        if "{v} = " in template:
            tensors.append(fresh)
        if makes_export:
            exports.append(export)
    # What was exported is read when all has changed.
    return statements + [f"bytes({export})" for export in exports]


def _own(draw: Draw) -> str:
    if draw.random() < 0.1:
        return values.tensor(draw, True)
    size = draw.choice(("2", "3", "2, 3", "3, 3", "0", "2, 1, 3", "1", "300"))
    return draw.choice(
        (
            f"flambeau.randn({size})",
            f"flambeau.randn({size})",
            f"flambeau.randn({size}, requires_grad=True)",
            f"flambeau.ones({size}, requires_grad=True) * 2",
            f"flambeau.ones({size}, dtype=flambeau.float64)",
            "flambeau.arange(6).view(2, 3)",
            f"flambeau.zeros({size}, dtype=flambeau.bool)",
        )
    )

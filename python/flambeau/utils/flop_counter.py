"""How many additions and multiplications a program takes: `FlopCounterMode`."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Mapping
from typing import Any

from flambeau import Tensor, nn
from flambeau._C import _overrides
from flambeau._ops import OpOverload, OpOverloadPacket
from flambeau._values import brief
from flambeau.func._batching_table import overloads_of
from flambeau.func._formulas import evaluated
from flambeau.utils._python_dispatch import TorchDispatchMode
from flambeau.utils._pytree import tree_map
from flambeau.utils.module_tracker import ModuleTracker

__all__ = ["FlopCounterMode", "register_flop_formula"]

Formula = Callable[..., int]

flop_registry: dict[Any, Formula] = {}
"""Operators -> what counts a call, from its arguments and `out_val`, its results."""


def register_flop_formula(targets: Any, get_raw: bool = False) -> Callable[[Formula], Formula]:
    """Decorates a function that counts the operations of calls of operators.

    Args:
        targets: an operator such as `flambeau.ops.aten.bmm`, or a list of them.
        get_raw: the function gets the arguments, and results as `out_val`; else shapes in place of
            tensors, and those of the results as `out_shape`.

    Raises:
        ValueError: a target is no operator, or counted already.

    Example:
        >>> from flambeau.utils.flop_counter import FlopCounterMode, register_flop_formula
        >>> @register_flop_formula(flambeau.ops.aten.digamma)
        ... def digamma_flop(self_shape, *args, out_shape=None, **kwargs):
        ...     return 10 * self_shape.numel()
        >>> with FlopCounterMode(display=False) as counter:
        ...     _ = flambeau.ones(3).digamma()
        >>> counter.get_total_flops()
        30
    """

    listed = list(targets) if isinstance(targets, list | tuple) else [targets]
    for target in listed:
        if not isinstance(target, OpOverloadPacket):
            raise ValueError(
                "register_flop_formula(): targets must be operators such as "
                f"flambeau.ops.aten.bmm, got {brief(target)}"
            )
        if target in flop_registry:
            raise ValueError(f"register_flop_formula(): {target} is counted already")

    def register(formula: Formula) -> Formula:
        counted = formula if get_raw else shape_wrapper(formula)
        flop_registry.update(dict.fromkeys(listed, counted))
        return formula

    return register


def shape_wrapper(formula: Formula) -> Formula:
    """A formula over shapes, as one over tensors."""

    def shape(value: Any) -> Any:
        return value.shape if isinstance(value, Tensor) else value

    def count(*args: Any, out_val: Any = None, **kwargs: Any) -> int:
        args, kwargs, out_shape = tree_map(shape, (args, kwargs, out_val))
        return formula(*args, out_shape=out_shape, **kwargs)

    return count


def flops_of(
    func: OpOverload,
    args: Any,
    kwargs: Any,
    result: Any,
    registry: Mapping[Any, Formula] = flop_registry,
) -> int:
    """The operations of a call that has computed `result`: by a registered formula, or by what is
    declared."""
    formula = registry.get(func.overloadpacket)
    if formula is not None:
        return formula(*args, **kwargs, out_val=result)
    return _declared(func, args, kwargs, result)


def _declared(func: OpOverload, args: Any, kwargs: Any, result: Any) -> int:
    """By what the declaration of an operator says; 0 where it says nothing."""
    called = func.called
    found = called.overload.entry.get("flops")
    if found is None:
        return 0
    names, formula = found
    bound = _overrides.bind(called.function, args, {**called.chosen, **kwargs})
    assert bound is not None and overloads_of(called.function)
    results = result if isinstance(result, tuple | list) else (result,)
    return int(evaluated(formula, {**bound[2], **dict(zip(names, results, strict=False))}))


class FlopCounterMode(TorchDispatchMode):
    """A context that counts the floating-point operations of what runs in it, backward too.

    Counted are products (`mm`, `linear`, `matmul`, ...), convolutions, attention, recurrences and
    the gradients of these: an addition and a multiplication for each pair of elements that are
    multiplied, as declarations say; and what `register_flop_formula` adds. What an operator is
    composed of is counted in its place.

    Args:
        mods: taken for programs that give it; modules are found as they run.
        depth: how deep the modules of the table are.
        display: whether a table is printed at the end.
        custom_mapping: operators -> formulas, beside those that are registered.

    Example:
        >>> net = flambeau.nn.Linear(8, 4)
        >>> with flambeau.utils.flop_counter.FlopCounterMode(display=False) as counter:
        ...     net(flambeau.ones(2, 8)).sum().backward()
        >>> counter.get_total_flops()  # 2 * 2 * 8 * 4, forward and for the weight's gradient
        256
    """

    def __init__(
        self,
        mods: nn.Module | list[nn.Module] | None = None,
        depth: int = 2,
        display: bool = True,
        custom_mapping: Mapping[Any, Formula] | None = None,
    ) -> None:
        self.depth = depth
        self.display = display
        self.mod_tracker = ModuleTracker()
        self.flop_counts: dict[str, dict[Any, int]] = defaultdict(lambda: defaultdict(int))
        self.flop_registry = {
            **flop_registry,
            **{
                target: formula if getattr(formula, "_get_raw", False) else shape_wrapper(formula)
                for target, formula in (custom_mapping or {}).items()
            },
        }

    def get_total_flops(self) -> int:
        """All of them."""
        return sum(self.flop_counts["Global"].values())

    def get_flop_counts(self) -> dict[str, dict[Any, int]]:
        """Modules, as ModuleTracker names them -> operators -> operations."""
        return {name: dict(counts) for name, counts in self.flop_counts.items()}

    def get_table(self, depth: int | None = None) -> str:
        """A line for each module and each of its operators.

        Args:
            depth: how deep modules are; None: as it was given to the counter.
        """
        depth = self.depth if depth is None else depth
        total = self.get_total_flops()
        rows = [("Module", "FLOP", "% Total")]
        for name in sorted(self.flop_counts, key=lambda n: (n != "Global", n)):
            level = 0 if name == "Global" else name.count(".") + 1
            if level > depth:
                continue
            counts = self.flop_counts[name]
            rows.append(_row(" " * level + name, sum(counts.values()), total))
            rows += [_row(f"{' ' * level} - {op}", n, total) for op, n in counts.items()]
        widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
        lines = [
            "  ".join([row[0].ljust(widths[0]), row[1].rjust(widths[1]), row[2].rjust(widths[2])])
            for row in rows
        ]
        return "\n".join([lines[0], "  ".join("-" * width for width in widths), *lines[1:]])

    def __enter__(self) -> FlopCounterMode:
        self.flop_counts.clear()
        self.mod_tracker.__enter__()
        super().__enter__()
        return self

    def __exit__(self, *exception: Any) -> None:
        super().__exit__(*exception)
        self.mod_tracker.__exit__(*exception)
        if self.display:
            print(self.get_table())

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        kwargs = kwargs or {}
        result = func(*args, **kwargs)
        count = flops_of(func, args, kwargs, result, self.flop_registry)
        if count:
            for name in self.mod_tracker.parents:
                self.flop_counts[name][func.overloadpacket] += count
        return result


def _row(name: str, count: int, total: int) -> tuple[str, str, str]:
    share = 100 * count / total if total else 0.0
    return name, _shown(count), f"{share:.2f}%"


def _shown(count: int) -> str:
    """With three decimals, in the largest unit that leaves a whole part."""
    for unit, size in (("T", 10**12), ("B", 10**9), ("M", 10**6), ("K", 10**3)):
        if count >= size:
            return f"{count / size:.3f}{unit}"
    return str(count)

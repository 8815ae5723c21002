"""The form of an operator that writes its results into tensors that the caller gives."""

from __future__ import annotations

from flambeau.codegen.model.entries import Kind, Operator
from flambeau.codegen.model.facts import is_factory
from flambeau.codegen.plan.cpp_types import cpp_name

_OUT = "out"


def out_returns(operator: Operator) -> str:
    """`OP_out` in C++ returns the tensors that it is given."""
    returned = ", ".join("const Tensor&" for _ in out_names(operator))
    return returned if len(out_names(operator)) == 1 else f"std::tuple<{returned}>"


def out_parameters(operator: Operator) -> str:
    """A tensor per result, before the operator's own arguments."""
    return ", ".join(f"const Tensor& {out}" for out in out_names(operator))


def is_plain(operator: Operator) -> bool:
    """Whether there is one result, which may be converted, and `out` says nothing of it."""
    results = operator.signature.visible_results
    has_kernel_of_elements = operator.kind in (Kind.POINTWISE, Kind.REDUCTION)
    is_fixed = results[0].dtype is not None and not has_kernel_of_elements
    return len(results) == 1 and not is_fixed and not is_factory(operator)


def out_names(operator: Operator) -> list[str]:
    """What the tensors are called in C++."""
    results = operator.signature.visible_results
    return [_OUT] if len(results) == 1 else [f"{_OUT}_{r.name}" for r in results]


def writing_lines(operator: Operator) -> list[str]:
    """Computes the results, checks where they go, and writes them."""
    outs, results = out_names(operator), operator.signature.visible_results
    tensors = ", ".join(cpp_name(a.name) for a in operator.tensor_arguments)
    told = f'any_requires_grad(tracked_), forms::any_has_tangent(tracked_), "{operator.name}"'
    lines = [f"const auto tracked_ = forms::tracked({tensors});"]
    lines += [f"check_out({out}, forms::{told});" for out in outs]
    lines.append("const GradMode no_grad(false);")
    arguments = [cpp_name(a.name) for a in operator.signature.arguments]
    if is_factory(operator):
        lines.append(f'check_made_for({_OUT}, dtype, device, "{operator.name}");')
        made = {"dtype": f"{_OUT}.dtype()", "device": f"{_OUT}.device()"}
        arguments = [made.get(name, name) for name in arguments]
    call = f"ops::{operator.identifier}({', '.join(arguments)})"
    values = [call]
    if len(outs) > 1:
        values = [cpp_name(r.name) for r in results]
        lines.append(f"const auto [{', '.join(values)}] = {call};")
    pairs = ", ".join(
        f"{{{out}, {value}{', true' if result.dtype else ''}}}"
        for out, value, result in zip(outs, values, results, strict=True)
    )
    returned = outs[0] if len(outs) == 1 else f"{{{', '.join(outs)}}}"
    return [*lines, f'write_out({{{pairs}}}, "{operator.name}");', f"return {returned};"]

"""Each kind of operator has the keys that it is made from, complete, and none that it ignores."""

from __future__ import annotations

from flambeau.codegen.check.report import Context, Report
from flambeau.codegen.formula.functions import load_functions
from flambeau.codegen.formula.nodes import Expression, calls, free_names
from flambeau.codegen.model.entries import (
    ANY_BACKEND,
    NEEDED_KEYS,
    ON_HOST,
    REFUSED_KEYS,
    Base,
    BatchRule,
    KernelFile,
    Kind,
    Operator,
    Result,
)
from flambeau.codegen.plan.allocation import goes_to_a_tensor
from flambeau.codegen.plan.backward import has_node
from flambeau.codegen.text.source import did_you_mean, one_of


def check_kind(report: Report, context: Context) -> None:
    """Report keys that the kind lacks or ignores, and formulas that are missing."""
    operator = report.operator
    entry = operator.entry
    for key in NEEDED_KEYS[operator.kind]:
        if entry is not None and entry.key(key) is None and not _has_default(operator, key):
            report.error(f"a {operator.kind.value} operator needs '{key}'", "kind")
    for key in REFUSED_KEYS[operator.kind]:
        if entry is not None and entry.key(key) is not None:
            message = f"a {operator.kind.value} operator has no '{key}'"
            report.error(message, key, key=True)
    if operator.kind is Kind.POINTWISE:
        _check_targets(report)
    _check_reduction(report)
    _check_shape(report)
    _check_views(report)
    _check_results_have_dtypes(report)
    _check_variants(report)
    _check_spare(report)
    _check_random(report)
    _check_kernels(report, context)
    _check_autocast(report)
    _check_node_name(report)
    _check_overwrites(report)
    _check_results(report)
    _check_batching(report)


def _has_default(operator: Operator, key: str) -> bool:
    """A shape is known for folds, and not needed where nothing is allocated; what has no kernel is
    computed by a body.
    """
    if key == "kernel":
        return operator.body is not None
    return key == "shape" and (operator.shape is not None or not operator.signature.results)


def _check_autocast(report: Report) -> None:
    """A converted argument is another tensor: it shares no memory with the one that was given."""
    operator = report.operator
    if operator.autocast is None:
        return
    if operator.kind is Kind.VIEW or any(a.type.mutable for a in operator.tensor_arguments):
        message = "'autocast' would convert a tensor whose own memory is meant"
        report.error(message, "autocast", key=True)


def _check_node_name(report: Report) -> None:
    operator = report.operator
    if operator.grad_fn is None:
        return
    if has_node(operator):
        if not operator.grad_fn.name:
            report.error("'grad_fn' lacks a name for 'default'", "grad_fn", key=True)
        return
    results = operator.signature.visible_results
    if operator.kind is not Kind.COMPOSITE or any(r.is_list for r in results) or not results:
        report.error(
            "its calls are no nodes of autograd, which could be called so", "grad_fn", key=True
        )


def _check_overwrites(report: Report) -> None:
    operator = report.operator
    has_kernel = operator.kind is Kind.STRUCTURED and bool(operator.kernels)
    is_written = has_kernel and "inplace" in operator.variants and goes_to_a_tensor(operator)
    if operator.overwrites and not is_written:
        message = "'overwrites' is for kernels of one result that have a form in place"
        report.error(message, "overwrites", key=True)


def _check_results(report: Report) -> None:
    operator = report.operator
    if operator.plain_results and (
        len(operator.signature.visible_results) < 2 or operator.internal
    ):
        report.error("users get no several results of it, which had names", "results", key=True)


def _check_batching(report: Report) -> None:
    operator = report.operator
    if operator.batch_rule is BatchRule.BODY and operator.body is None:
        report.error("'batch: body' needs a body", "batch", key=True)
    is_silent = operator.batching is None and operator.batch_rule is BatchRule.BODY
    if is_silent and operator.kernels and operator.tensor_arguments and not operator.package:
        report.error(
            "there is a kernel and a body: say by 'batch' how vmap computes it",
            "kernel",
            key=True,
            hint="'leading', 'joined' and formulas call the kernel; 'body' is slower",
        )


def check_arguments_read(report: Report) -> None:
    """Report arguments that no formula mentions."""
    operator = report.operator
    if operator.kind is Kind.POINTWISE and operator.expressions:
        skipped = [part for pair in operator.skip_when for part in pair]
        _check_all_read(report, [*operator.expressions.values(), *skipped], "'expr'")
    if operator.body is not None:
        values = [value for _, value in operator.body_lets]
        _check_all_read(report, [operator.body, *values], "'body'")
    _check_numbers_read(report)


def _check_targets(report: Report) -> None:
    operator = report.operator
    if not operator.expressions:
        return
    mutable = [a.name for a in operator.signature.arguments if a.type.mutable]
    for target in [*(r.name for r in operator.signature.results), *mutable]:
        if target not in operator.expressions:
            report.error(f"'expr' has no formula for '{target}'", "expr", key=True)


def _check_all_read(report: Report, formulas: list[Expression], where: str) -> None:
    read = frozenset[str]().union(*(free_names(f) for f in formulas))
    for argument in report.operator.tensor_arguments:
        is_written = argument.type.mutable and argument.name in report.operator.expressions
        if argument.name not in read and not is_written:
            message = f"the tensor '{argument.name}' is not mentioned in {where}"
            report.at(argument.span, message)


_FOR_COMPATIBILITY = "accepted for compatibility"
_NOT_READ = (Base.TENSOR, Base.GENERATOR, Base.DTYPE, Base.DEVICE)


def _check_numbers_read(report: Report) -> None:
    """An argument that no formula reads would be accepted and ignored."""
    operator, rule, fold = report.operator, report.operator.shape, report.operator.reduce
    if operator.kind is Kind.STRUCTURED or (rule is not None and rule.geometry is not None):
        return  # read by C++ that is written by hand
    formulas = [*operator.expressions.values(), *(v for _, v in operator.body_lets)]
    formulas += [part for pair in operator.skip_when for part in pair]
    formulas += [c.require for c in operator.constraints]
    if operator.body is not None:
        formulas.append(operator.body)
    if fold is not None:
        formulas += [fold.init, fold.step, fold.combine, fold.finish]
    if rule is not None:
        formulas += [*rule.shapes.values(), *(value for _, value in rule.lets)]
        formulas += [f for f in (rule.strides, rule.offset) if f is not None]
    if not formulas:
        return
    read = frozenset[str]().union(*(free_names(f, constants=True) for f in formulas))
    for argument in operator.signature.arguments:
        if _FOR_COMPATIBILITY in operator.doc.arguments.get(argument.name, ""):
            continue
        if argument.name not in read and argument.type.base not in _NOT_READ:
            message = f"no formula reads the argument '{argument.name}'"
            report.at(argument.span, message, aside=True)


def _check_reduction(report: Report) -> None:
    operator = report.operator
    if operator.kind is not Kind.REDUCTION:
        return
    if len(operator.tensor_arguments) != 1:
        report.at(operator.span, "a reduction folds exactly one tensor")
    if len(operator.signature.results) != 1:
        report.at(operator.span, "a reduction has exactly one result", "declare it structured")


def _check_shape(report: Report) -> None:
    operator, rule = report.operator, report.operator.shape
    if rule is None or rule.dynamic or rule.geometry is not None:
        return
    for result in operator.signature.results:
        if result.name not in rule.shapes:
            report.error(f"'shape' has no formula for '{result.name}'", "shape", key=True)
    if rule.offset is not None and operator.kind is not Kind.VIEW:
        report.error("only a view has 'offset'", "shape", "offset", key=True)
    for word, names in (("by_columns", rule.by_columns), ("format_of", rule.format_of)):
        if names and operator.kind is not Kind.STRUCTURED:
            report.error(f"only a structured operator has '{word}'", "shape", word, key=True)
    if rule.strides is not None and operator.kind not in (Kind.VIEW, Kind.STRUCTURED):
        message = "only a view and a structured operator have 'strides'"
        report.error(message, "shape", "strides", key=True)


def _check_views(report: Report) -> None:
    operator, rule = report.operator, report.operator.shape
    is_view = operator.kind is Kind.VIEW
    for result in operator.signature.results:
        if is_view and result.view_of is None:
            hint = f"write `view({_first(operator)}) {result.name}`"
            report.at(operator.span, f"'{result.name}' of a view operator must be a view", hint)
        elif not is_view and result.view_of is not None:
            message = f"'{result.name}' is a view, but the operator is {operator.kind.value}"
            report.error(message, "kind")
    if rule is not None and rule.geometry is not None and not is_view:
        report.error("only a view has a geometry", "shape", "geometry", key=True)
    if rule is not None and rule.dynamic and operator.kind is not Kind.STRUCTURED:
        report.error("only a structured operator has a dynamic shape", "shape")


def _first(operator: Operator) -> str:
    tensors = operator.tensor_arguments
    return tensors[0].name if tensors else "self"


def _check_results_have_dtypes(report: Report) -> None:
    """Without a tensor to follow, the result's dtype is declared or is an argument."""
    operator = report.operator
    arguments = {a.name for a in operator.signature.arguments}
    if operator.kind is Kind.COMPOSITE or operator.tensor_arguments or "dtype" in arguments:
        return
    for result in operator.signature.results:
        if result.dtype is None and result.name not in operator.dtypes.results:
            message = f"no tensor argument gives '{result.name}' its dtype"
            report.at(operator.span, message, f"declare it: `dtypes: {{{result.name}: ...}}`")


def _check_variants(report: Report) -> None:
    operator = report.operator
    first = operator.signature.arguments[0] if operator.signature.arguments else None
    is_method = first is not None and first.type.is_tensor
    visible = operator.signature.visible_results
    problems = {
        "method": None if is_method else "needs a tensor as first argument",
        "inplace": _inplace_problem(operator, is_method, len(visible)),
        "out": _out_problem(visible),
        "list": None if any(a.type.mutable for a in operator.tensor_arguments) else _LIST,
    }
    for variant in sorted(operator.variants):
        problem = problems.get(variant)
        if problem is not None:
            report.error(f"the variant '{variant}' {problem}", "variants")


_LIST = "needs a Tensor(mut) argument"


def _out_problem(results: tuple[Result, ...]) -> str | None:
    if not results:
        return "needs a result"
    return "needs results that are tensors" if any(r.is_list for r in results) else None


def _inplace_problem(operator: Operator, is_method: bool, results: int) -> str | None:
    if not is_method:
        return "needs a tensor as first argument"
    if operator.name.endswith("_"):
        return "is what an operator called NAME_ is already"
    if operator.kind is Kind.REDUCTION:
        return "makes no sense for a reduction"
    listed = any(r.is_list for r in operator.signature.results)
    return "needs exactly one result" if results != 1 or listed else None


def _check_spare(report: Report) -> None:
    operator = report.operator
    if operator.signature.spares_results and operator.kind is not Kind.STRUCTURED:
        report.at(operator.span, "only a structured operator has spare results", "write `hidden`")


def _check_random(report: Report) -> None:
    operator = report.operator
    drawn = frozenset[str]().union(*(calls(e) for e in operator.expressions.values()))
    draws = bool(drawn & load_functions().random) or operator.kind is not Kind.POINTWISE
    if operator.random is not None and not draws:
        report.error("'random' is declared, but 'expr' draws no number", "random")
    generators = [a for a in operator.signature.arguments if a.type.base.value == "Generator"]
    if operator.random is not None and not generators:
        hint = "add `*, Generator? generator=None`"
        report.at(operator.span, "a random operator needs a Generator argument", hint)


def _check_kernels(report: Report, context: Context) -> None:
    operator = report.operator
    serving = {"cpu", ANY_BACKEND} & operator.kernels.keys()
    if operator.kind is Kind.STRUCTURED and operator.kernels and not serving:
        message = f"a structured operator needs a kernel for cpu, or for '{ANY_BACKEND}' backend"
        report.error(message, "kernel", key=True)
    if operator.body is not None and ANY_BACKEND in operator.kernels:
        message = f"a kernel for '{ANY_BACKEND}' backend leaves nothing to the body"
        report.error(message, "body", key=True)
    if operator.on_host and "cpu" not in operator.kernels:
        message = f"'{ANY_BACKEND}: {ON_HOST}' needs a kernel for cpu"
        report.error(message, "kernel", ANY_BACKEND)
    if context.kernels is not None:
        _check_package_kernels(report, context.kernels)
        return
    if context.native is None:
        return
    known = [b.name for b in context.declarations.backends]
    for kernel in _files(operator):
        if not (context.native / kernel.backend / kernel.file).is_file():
            message = f"native/{kernel.backend}/{kernel.file} does not exist"
            hint = None if kernel.backend in known else f"backends are {one_of(known)}"
            report.error(message, "kernel", kernel.backend, hint=hint)


def _files(operator: Operator) -> list[KernelFile]:
    """The kernels that have files of their own."""
    return [k for k in operator.kernels.values() if (k.backend, k.file) != (ANY_BACKEND, ON_HOST)]


def _check_package_kernels(report: Report, files: frozenset[str]) -> None:
    """A package keeps its kernels in one folder."""
    for kernel in _files(report.operator):
        if kernel.file not in files:
            message = f"there is no kernel file '{kernel.file}'"
            report.error(message, "kernel", kernel.backend, hint=did_you_mean(kernel.file, files))

"""Type stubs of the extension module: its generated functions and methods, and the written rest."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from flambeau.codegen.model.entries import Base, Declarations, Operator
from flambeau.codegen.plan.documentation import help_text
from flambeau.codegen.plan.number_slots import BINARY_SLOTS, COMPARISONS, UNARY_SLOTS
from flambeau.codegen.plan.python_signature import (
    INTERNAL_NAMESPACE,
    WORDS,
    Annotation,
    Form,
    PythonSignature,
    forms,
    places,
    python_names,
    python_signature,
    result_name,
)
from flambeau.codegen.write.files import TEMPLATES, Sink

Overload = tuple[Operator, Form]
LIBRARY = "flambeau._C"
PREFIX = "_"  # of every name in annotations: members have names such as `float` and `dtype`
_BUILTINS = ("bool", "complex", "float", "int", "list", "slice", "str", "tuple")
_RESULT = re.compile(r"-> (_(?!Tensor\b|tuple\b|Any\b)\w+)")
_BINARY_METHODS = {
    "+": "add",
    "-": "sub",
    "*": "mul",
    "/": "truediv",
    "//": "floordiv",
    "%": "mod",
    "**": "pow",
    "@": "matmul",
    "&": "and",
    "|": "or",
    "^": "xor",
    "<<": "lshift",
    ">>": "rshift",
}
_COMPARISON_METHODS = {"<": "lt", "<=": "le", "==": "eq", "!=": "ne", ">": "gt", ">=": "ge"}
_UNARY_METHODS = {"neg": "neg", "pos": "pos", "abs": "abs", "invert": "invert"}


@dataclass(frozen=True, slots=True)
class Definition:
    """The signatures of one name, as lines of a stub."""

    name: str
    overloads: tuple[str, ...]  # "(self, ...) -> _Tensor"
    doc: str = ""  # what help() shows, which editors show from here

    def body(self, depth: int) -> str:
        """The docstring and the end of a definition, so many levels deep."""
        if not self.doc:
            return " ..."
        margin = "    " * (depth + 1)
        text = self.doc.replace("\\", r"\\").replace('"""', r"\"\"\"")
        lines = textwrap.indent(text, margin).lstrip()
        return f'\n{margin}"""{lines}\n{margin}"""'


@dataclass(frozen=True, slots=True)
class ResultClass:
    """A named tuple that operators return."""

    name: str
    fields: tuple[tuple[str, str], ...]


def emit_stubs(declarations: Declarations, sink: Sink) -> None:
    """stubs/ of the generated folder, laid out as the package is."""
    namespaces = dict.fromkeys(_namespaces(declarations))
    functions = {n: _functions(declarations, n) for n in namespaces}
    generated = _without(functions.get("", []), "extension.pyi.jinja")
    names = dict.fromkeys(n for d in declarations.dtypes for n in (d.name, *d.aliases))
    names |= dict.fromkeys(["Tensor", *_written("extension.pyi.jinja")])
    names |= dict.fromkeys(f.name for f in generated)
    sink.render(
        "extension.pyi.jinja",
        "stubs/_C/__init__.pyi",
        builtin_names=_BUILTINS,
        dtypes=declarations.dtypes,
        results=_result_classes(declarations),
        methods=_without(_methods(declarations), "tensor.pyi.jinja"),
        slots=_slots(declarations),
        functions=generated,
        public_names=[n for n in names if not n.startswith("_")],
        submodules=sorted({n.split(".")[0] for n in namespaces if n} | {"_autograd", "_overrides"}),
    )
    for internal in ("autograd", "overrides", "profiler"):
        sink.render(f"{internal}.pyi.jinja", f"stubs/_C/_{internal}.pyi")
    _modules(sink, functions, LIBRARY)


def emit_package_stubs(declarations: Declarations, sink: Sink) -> None:
    """stubs/ of a package. Stubs cannot add to a class of another module: what is bound as a method
    of Tensor is typed as a function only.
    """
    namespaces = dict.fromkeys(["", *_namespaces(declarations)])
    functions = {n: _functions(declarations, n) for n in namespaces}
    results = _result_classes(declarations)
    sink.render(
        "package.pyi.jinja",
        "stubs/_C/__init__.pyi",
        builtin_names=_BUILTINS,
        results=results,
        functions=functions[""],
        children=sorted({n.split(".")[0] for n in namespaces if n}),
    )
    _modules(sink, functions, f"{declarations.package}._C")


def _modules(sink: Sink, functions: Mapping[str, Sequence[Definition]], home: str) -> None:
    """A stub per namespace, below the extension module `home`."""
    namespaces = list(functions)
    parents = {n.rpartition(".")[0] for n in namespaces if "." in n}
    for namespace in namespaces:
        if not namespace:
            continue
        children = sorted(n.rpartition(".")[2] for n in namespaces if n.startswith(f"{namespace}."))
        path = namespace.replace(".", "/") + ("/__init__" if namespace in parents else "")
        _module(sink, path, functions[namespace], namespace, children, home)
    for parent in sorted(parents - set(namespaces)):
        children = sorted(n.rpartition(".")[2] for n in namespaces if n.startswith(f"{parent}."))
        _module(sink, f"{parent.replace('.', '/')}/__init__", [], parent, children, home)


def _without(definitions: Sequence[Definition], template: str) -> list[Definition]:
    """The definitions that a template does not write out by hand."""
    written = set(_written(template))
    if template == "tensor.pyi.jinja":
        text = (TEMPLATES / template).read_text(encoding="utf-8")
        written |= set(re.findall(r"^    (?:def )?(\w+)[(:]", text, re.MULTILINE))
    return [d for d in definitions if d.name not in written]


def _written(template: str) -> list[str]:
    """What a template defines at its top level."""
    text = (TEMPLATES / template).read_text(encoding="utf-8")
    return re.findall(r"^(?:def |class )?(\w+)[(:]", text, re.MULTILINE)


def _module(
    sink: Sink,
    path: str,
    functions: Sequence[Definition],
    namespace: str,
    children: Sequence[str],
    home: str,
) -> None:
    sink.render(
        "namespace.pyi.jinja",
        f"stubs/_C/{path}.pyi",
        builtin_names=_BUILTINS,
        functions=functions,
        namespace=namespace,
        namespace_results=sorted(
            {word for f in functions for line in f.overloads for word in _RESULT.findall(line)}
        ),
        children=children,
        home=home,
    )


def _namespaces(declarations: Declarations) -> Iterator[str]:
    """The namespaces of functions, and of methods alone the one they are declared in."""
    for operator in declarations.own:
        yield INTERNAL_NAMESPACE if operator.internal else operator.namespace
        for form in forms(operator):
            yield from (p.namespace for p in places(operator, form) if not form.is_method)


def _functions(declarations: Declarations, namespace: str) -> list[Definition]:
    """The functions of a namespace, under their names and aliases."""
    found: dict[str, list[Overload]] = {}
    for operator in declarations.own:
        for form in forms(operator):
            for place in () if form.is_method else places(operator, form):
                if place.namespace == namespace:
                    found.setdefault(place.name, []).append((operator, form))
    return [_definition(name, overloads) for name, overloads in found.items()]


def _methods(declarations: Declarations) -> list[Definition]:
    """The generated methods of Tensor."""
    found: dict[str, list[Overload]] = {}
    for operator in declarations.own:
        for form in forms(operator):
            for name in python_names(operator, form) if form.is_method else ():
                found.setdefault(name, []).append((operator, form))
    return [_definition(name, overloads) for name, overloads in found.items()]


def _definition(name: str, overloads: Sequence[Overload]) -> Definition:
    lines: dict[str, None] = {}
    # Types do not tell layouts apart: a signature stands for those of all.
    strided = [pair for pair in overloads if not pair[0].is_for_layouts]
    for operator, form in strided or overloads[:1]:
        signature = python_signature(operator, form, name)
        lines[_line(signature)] = None
        if signature.packs:
            lines[_packed(signature)] = None
        if signature.spreads:
            lines[_line(_as_list(signature))] = None
    signatures = [python_signature(o, form, name) for o, form in overloads]
    chosen = next((s for s in signatures if any(p.chooses for p in s.parameters)), None)
    if chosen is not None:
        lines[_undecided(chosen)] = None
    return Definition(name, tuple(lines), help_text(overloads, name))


def _undecided(signature: PythonSignature) -> str:
    """The call where what chooses between overloads is known at run time alone."""
    parameters = tuple(
        replace(p, annotation=Annotation((WORDS[Base.BOOL],))) if p.chooses else p
        for p in signature.parameters
    )
    text = replace(signature, parameters=parameters).text(PREFIX)[len(signature.name) :]
    return f"{text} -> {PREFIX}Any"


def _line(signature: PythonSignature) -> str:
    text = signature.text(PREFIX)[len(signature.name) :]
    return f"{text} -> {_returns(signature)}"


def _as_list(signature: PythonSignature) -> PythonSignature:
    """`meshgrid(tensors: Sequence[Tensor])`, where its signature has `*tensors: Tensor`."""
    parameters = tuple(
        replace(p, argument=None) if p.is_spread else p for p in signature.parameters
    )
    return replace(signature, parameters=parameters)


def _packed(signature: PythonSignature) -> str:
    """`view(self, *size: int)`."""
    parts = ["self"] if signature.is_method else []
    positional = next(p for p in signature.parameters if not p.keyword_only)
    parts.append(f"*{positional.name}: {PREFIX}int")
    parts += [p.text(PREFIX) for p in signature.parameters if p.keyword_only]
    return f"({', '.join(parts)}) -> {_returns(signature)}"


def _returns(signature: PythonSignature) -> str:
    if signature.fields:
        return result_class(signature.returns.rpartition(".")[2], signature.fields)
    return signature.returns.replace("tuple[", "_tuple[").replace("Tensor", "_Tensor")


def result_class(name: str, fields: Sequence[str]) -> str:
    """The stub's name of a named tuple: overloads differ in their fields."""
    return f"_{name}_{'_'.join(fields)}"


def _result_classes(declarations: Declarations) -> list[ResultClass]:
    found: dict[str, ResultClass] = {}
    for operator in declarations.own:
        for form in forms(operator):
            fields = python_signature(operator, form).fields
            if not fields:
                continue
            name = result_class(result_name(operator.namespace, operator.name), fields)
            types = [
                "_tuple[_Tensor, ...]" if r.is_list else "_Tensor"
                for r in operator.signature.visible_results
            ]
            found[name] = ResultClass(name, tuple(zip(fields, types, strict=True)))
    return list(found.values())


def _slots(declarations: Declarations) -> list[Definition]:
    """Python's operators."""
    tokens = {o.operator: o for o in reversed(declarations.own) if o.operator is not None}
    found: list[Definition] = []
    for token in BINARY_SLOTS:
        if token not in tokens:
            continue
        other = _operand(tokens[token])
        method = _BINARY_METHODS[token]
        line = f"(self, other: {other}) -> _Tensor"
        found += [Definition(f"__{method}__", (line,)), Definition(f"__r{method}__", (line,))]
        if "inplace" in tokens[token].variants:
            found.append(Definition(f"__i{method}__", (line,)))
    for token in COMPARISONS:
        if token in tokens:
            # object's own == takes any object and returns bool.
            line = f"(self, other: {_operand(tokens[token])}) -> _Tensor"
            found.append(Definition(f"__{_COMPARISON_METHODS[token]}__", (line,)))
    for token in UNARY_SLOTS:
        if token in tokens:
            found.append(Definition(f"__{_UNARY_METHODS[token]}__", ("(self) -> _Tensor",)))
    return found


def _operand(operator: Operator) -> str:
    second = operator.signature.arguments[1].type
    return "_Tensor | _Number" if second.or_scalar or second.base is Base.SCALAR else "_Tensor"

"""Pages of the Python library, from its docstrings: one per module and one per class."""

from __future__ import annotations

import importlib
import inspect
import pkgutil
from dataclasses import dataclass, field
from types import ModuleType
from typing import Any

import flambeau
from flambeau.codegen.plan.markdown import code, escaped
from flambeau.codegen.plan.python_signature import forms, places, python_names
from flambeau.codegen.write.docs import Page
from flambeau.docs.arguments import shared_by
from flambeau.docs.computed_by import operators_of
from flambeau.docs.docstrings import summary_of, to_markdown
from flambeau.docs.examples import shown_by
from flambeau.docs.signatures import signatures_of
from flambeau.docs.topics import by_topic

FOLDER = "library"
_WITHOUT_PAGES = ("flambeau.codegen", "flambeau.demo", "flambeau.docs")


@dataclass
class Library:
    """What is public and where it is described."""

    modules: dict[str, ModuleType]
    homes: dict[int, str] = field(default_factory=dict)  # id of a class -> "flambeau.nn.Linear"
    operators: dict[int, str] = field(default_factory=dict)  # id of a function -> operator's page
    methods: dict[str, str] = field(default_factory=dict)  # name of a method -> operator's page
    formulas: dict[str, str] = field(default_factory=dict)  # operator's page -> LaTeX
    computed_by: dict[str, list[str]] = field(default_factory=dict)  # a layer -> operators' pages


def described(pages: list[Page]) -> Library:
    """Everything that is public.

    Args:
        pages: of the operators.
    """
    library = Library(public_modules())
    _find_operators(library, pages)
    _find_classes(library)
    return library


def layers_of_operators(library: Library) -> dict[str, str]:
    """What the pages of operators say beside what is declared: their layers, by file name."""
    layers: dict[str, list[str]] = {}
    for name, pages in library.computed_by.items():
        for page in pages:
            layers.setdefault(page, []).append(name)
    return {
        f"operators/{page}.md": "\n## Layers\n\n{.names}\n"
        + " ".join(f"[{code(_short(n))}](../{FOLDER}/{n}.md)" for n in names)
        + "\n"
        for page, names in layers.items()
    }


def _short(name: str) -> str:
    return name.removeprefix("flambeau.")


def library_pages(library: Library) -> dict[str, str]:
    """Markdown by file name."""
    found = {f"{FOLDER}/index.md": _index(library)}
    for name, module in library.modules.items():
        found[f"{FOLDER}/{name}.md"] = _module_page(name, module, library)
    for name in library.homes.values():
        found[f"{FOLDER}/{name}.md"] = _class_page(name, library)
    return found


def public_modules() -> dict[str, ModuleType]:
    """The modules that say in `__all__` what they offer, unless their package offers all of it."""
    found = {"flambeau": flambeau}
    for info in sorted(pkgutil.walk_packages(flambeau.__path__, "flambeau."), key=lambda i: i.name):
        hidden = any(part.startswith("_") for part in info.name.split("."))
        if hidden or info.name.startswith(_WITHOUT_PAGES):
            continue
        module = importlib.import_module(info.name)
        parent = importlib.import_module(info.name.rpartition(".")[0])
        names = getattr(module, "__all__", None)
        if names and any(getattr(parent, n, None) is not getattr(module, n) for n in names):
            found[info.name] = module
    return found


def public_names(module: ModuleType) -> list[str]:
    """What a module offers, without its submodules."""
    names = getattr(module, "__all__", None) or sorted(n for n in vars(module) if n[0] != "_")
    return [n for n in names if not inspect.ismodule(getattr(module, n))]


def _find_operators(library: Library, pages: list[Page]) -> None:
    for page in pages:
        if formula := page.overloads[0].doc.math:  # others are of other layouts and dtypes
            library.formulas[page.name] = formula
        for operator in (overload.doc.operator for overload in page.overloads):
            for form in forms(operator):
                if form.is_method:
                    library.methods |= dict.fromkeys(python_names(operator, form), page.name)
                    continue
                for place in places(operator, form):
                    path = ".".join(filter(None, ("flambeau", place.namespace)))
                    function = getattr(importlib.import_module(path), place.name, None)
                    if function is not None:
                        library.operators[id(function)] = page.name


def _find_classes(library: Library) -> None:
    for name, module in library.modules.items():
        for member in public_names(module):
            value = getattr(module, member)
            if inspect.isclass(value) and str(value.__module__).startswith("flambeau"):
                home = library.homes.setdefault(id(value), f"{name}.{member}")
                if found := operators_of(value, library.operators):
                    library.computed_by[home] = found


# Pages --------------------------------------------------------------------------------------------


def _index(library: Library) -> str:
    lines = ["# Library", "", "{.lead}", "Everything that is written in Python or C++ by hand. "]
    lines[-1] += "Operators have [pages of their own](../operators/index.md)."
    lines.append("")
    for name, module in library.modules.items():
        lines += [f"[{code(name)}]({name}.md)", f": {escaped(summary_of(module.__doc__))}", ""]
    tree = [f"{name}" for name in library.modules]
    return "\n".join([*lines, *_toctree(tree)])


def _toctree(names: list[str]) -> list[str]:
    return ["```{toctree}", ":hidden:", "", *names, "```", ""]


def _module_page(name: str, module: ModuleType, library: Library) -> str:
    classes, functions, operators, values = _sorted_members(module, library)
    lines = [f"# {escaped(name)}", "", "{.eyebrow}", "[Library](index.md)", "", "{.lead}"]
    text = to_markdown(module.__doc__ or "")
    lines += [text, ""]
    homes = dict(classes)
    for topic, members in by_topic(name, module, list(homes)).items():
        lines += [f"## {topic}", ""]
        for member in members:
            about = escaped(summary_of(getattr(module, member).__doc__))
            lines += [f"[{code(member)}]({homes[member]}.md)", f": {about}", ""]
    if functions:
        lines += ["## Functions", ""]
        for member in functions:
            function, full = getattr(module, member), f"{name}.{member}"
            more = _shared_arguments(function, module) + _example_link(member, name, module)
            lines += _function(function, full, "py:function", more=more)
    if operators:
        lines += ["## Operators", "", "{.names}"]
        lines += [" ".join(f"[{code(m)}](../operators/{page}.md)" for m, page in operators), ""]
    if values:
        lines += ["## Values", "", "{.names}", " ".join(code(m) for m in values), ""]
    own = [home for member, home in classes if home == f"{name}.{member}"]
    return "\n".join([*lines, *(_toctree(own) if own else [])])


def _sorted_members(
    module: ModuleType, library: Library
) -> tuple[list[tuple[str, str]], list[str], list[tuple[str, str]], list[str]]:
    """Classes with their pages, functions, operators with their pages, other values."""
    classes, functions, operators, values = [], [], [], []
    for member in public_names(module):
        value = getattr(module, member)
        if id(value) in library.operators:
            operators.append((member, library.operators[id(value)]))
        elif id(value) in library.homes:
            classes.append((member, library.homes[id(value)]))
        elif inspect.isroutine(value) and value.__doc__:
            functions.append(member)
        elif not inspect.isroutine(value):
            values.append(member)
    return classes, functions, operators, values


def _class_page(name: str, library: Library) -> str:
    space, _, short = name.rpartition(".")
    cls = getattr(library.modules[space], short)
    lines = [f"# {escaped(short)}", "", "{.eyebrow}"]
    lines += [f"[Library](index.md) / [{escaped(space)}]({space}.md)", ""]
    lines += _directive("py:class", _constructor(cls, name), _bases(cls, library))
    module = library.modules[space]
    lines += [to_markdown(cls.__doc__ or ""), _shared_arguments(cls, module)]
    lines += [_example_link(short, space, module)]
    lines += _operators_of_class(cls, name, library)
    methods, properties, operators = _class_members(cls, library)
    if properties:
        lines += ["## Attributes", ""]
        for member in properties:
            about = to_markdown(inspect.getattr_static(cls, member).__doc__ or "")
            lines += _directive("py:attribute", [f"{name}.{member}"], about)
    if methods:
        lines += ["## Methods", ""]
        for member in methods:
            static = isinstance(inspect.getattr_static(cls, member), staticmethod)
            full = f"{name}.{member}"
            lines += _function(getattr(cls, member), full, "py:method", not static)
    if operators:
        lines += ["## Operators", "", "{.names}"]
        lines += [" ".join(f"[{code(m)}](../operators/{page}.md)" for m, page in operators), ""]
    return "\n".join(lines)


def _operators_of_class(cls: type, name: str, library: Library) -> list[str]:
    """What computes a layer: its operators, and the formula of a single one."""
    pages = library.computed_by.get(name, [])
    if not pages:
        return []
    links = ", ".join(f"[{code(page)}](../operators/{page}.md)" for page in pages)
    lines = [f"Computed by {links}.", ""]
    if len(pages) == 1 and pages[0] in library.formulas and "Equations:" not in (cls.__doc__ or ""):
        lines += ["$$", library.formulas[pages[0]], "$$", ""]
    return lines


def _constructor(cls: type, name: str) -> list[str]:
    return [s.removesuffix(" -> None") for s in signatures_of(cls, name)[:1]]


def _bases(cls: type, library: Library) -> str:
    """Links to the base classes that have pages."""
    found = [library.homes[id(b)] for b in cls.__bases__ if id(b) in library.homes]
    return "".join(f"Bases: [{code(home)}]({home}.md)\n" for home in found)


def _class_members(
    cls: type, library: Library
) -> tuple[list[str], list[str], list[tuple[str, str]]]:
    """Documented methods, attributes and, of tensors, operators; what bases on pages of their own
    describe is left to them."""
    methods, properties, operators = [], [], []
    described = [base for base in cls.__mro__[1:] if id(base) in library.homes]
    for member in sorted(n for n in dir(cls) if not n.startswith("_")):
        value = inspect.getattr_static(cls, member)
        owner = next(c for c in cls.__mro__ if member in vars(c))
        if cls is flambeau.Tensor and member in library.methods:
            operators.append((member, library.methods[member]))
        elif any(hasattr(base, member) for base in described) or owner.__module__ == "builtins":
            continue
        elif inspect.isroutine(getattr(cls, member, None)) and value.__doc__:
            methods.append(member)
        elif (isinstance(value, property) or inspect.isgetsetdescriptor(value)) and value.__doc__:
            properties.append(member)
    return methods, properties, operators


def _shared_arguments(value: Any, module: ModuleType) -> str:
    """Those that the docstring of the module describes for all."""
    names: dict[str, list[str]] = {}  # by what is said of them
    for name, text in shared_by(value, module).items():
        names.setdefault(text, []).append(name)
    entries = "".join(f"    {', '.join(alike)}: {text}\n" for text, alike in names.items())
    return to_markdown(f"Args:\n{entries}") + "\n" if names else ""


def _example_link(name: str, space: str, module: ModuleType) -> str:
    """Where the example is, if it stands elsewhere."""
    shown = shown_by(name, module)
    if shown is None or shown == name:
        return ""
    if shown == "":
        return f"[Example]({space}.md)\n"
    return f"Example: {{any}}`{space}.{shown}`\n"


def _function(
    function: Any, name: str, directive: str, is_method: bool = False, more: str = ""
) -> list[str]:
    bound = inspect.ismethod(function)  # a class method has lost its first parameter already
    signatures = signatures_of(function, name, drop_first=is_method and not bound)
    about = to_markdown(function.__doc__ or "")
    return _directive(directive, signatures, f"{about}\n{more}")


def _directive(directive: str, signatures: list[str], body: str) -> list[str]:
    """The description under the last signature; the others stand above it."""
    lines = []
    # `nn.Module` without more is that of today.
    options = [":no-index:"] if signatures[-1].startswith("flambeau.legacy.") else []
    for signature in signatures[:-1]:
        lines += [f"```{{{directive}}} {signature}", ":no-index:", "```", ""]
    fence = "`````"
    lines += [f"{fence}{{{directive}}} {signatures[-1]}", *options, "", body.rstrip(), fence, ""]
    return lines

"""Pages of the Python library, from its docstrings: one per module and one per class."""

from __future__ import annotations

import importlib
import inspect
import pkgutil
from dataclasses import dataclass, field
from types import ModuleType

import flambeau
from flambeau.codegen.plan.markdown import code, escaped
from flambeau.codegen.plan.python_signature import forms, places, python_names
from flambeau.codegen.write.docs import Page
from flambeau.docs.blocks import example_link, function_block, shared_arguments
from flambeau.docs.class_page import Kin, Members, class_page, members_of
from flambeau.docs.computed_by import operators_of
from flambeau.docs.docstrings import summary_of, to_markdown
from flambeau.docs.links import Reader, Targets
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
    classes = {name: _class_of(name, library) for name in library.homes.values()}
    members = {
        name: members_of(cls, library.homes, library.methods) for name, cls in classes.items()
    }
    targets = _targets(library, members)
    functions = _functions_by_file(library)
    for name, module in library.modules.items():
        found[f"{FOLDER}/{name}.md"] = _module_page(name, module, library, targets)
    for name, cls in classes.items():
        reader = Reader(targets, library.modules[name.rpartition(".")[0]], cls, cls)
        layers = "\n".join(_operators_of_class(cls, name, library))
        page = class_page(
            cls, name, reader, members[name], layers, _kin(name, cls, classes, functions)
        )
        found[f"{FOLDER}/{name}.md"] = page
    return found


def _class_of(name: str, library: Library) -> type:
    space, _, short = name.rpartition(".")
    found: type = getattr(library.modules[space], short)
    return found


def _targets(library: Library, members: dict[str, Members]) -> Targets:
    """What names in docstrings may link to."""
    targets = Targets(library.homes, library.operators)
    for name, module in library.modules.items():
        for function in _sorted_members(module, library)[1]:
            targets.functions.setdefault(id(getattr(module, function)), f"{name}.{function}")
    targets.members |= {name: found.names() for name, found in members.items()}
    return targets


def _kin(name: str, cls: type, classes: dict[str, type], functions: dict[str, list[str]]) -> Kin:
    """What has to do with a class: of its file, or else of its module, what neither derives from
    it, nor it from that.
    """
    derived = [other for other, value in classes.items() if cls in value.__bases__]
    strangers = {
        other: value
        for other, value in classes.items()
        if cls not in value.__mro__ and value not in cls.__mro__
    }
    beside = [o for o, value in strangers.items() if value.__module__ == cls.__module__]
    functions_beside = functions.get(cls.__module__, [])
    if not beside and not functions_beside:
        space = name.rpartition(".")[0]
        beside = [o for o in strangers if o.rpartition(".")[0] == space]
    return Kin(derived, beside, functions_beside)


def _functions_by_file(library: Library) -> dict[str, list[str]]:
    """Names of the functions that have a place, each once."""
    found: dict[str, list[str]] = {}
    seen: set[int] = set()
    for name, module in library.modules.items():
        for member in _sorted_members(module, library)[1]:
            function = getattr(module, member)
            if id(function) not in seen and inspect.isfunction(function):
                seen.add(id(function))
                found.setdefault(function.__module__, []).append(f"{name}.{member}")
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


def _module_page(name: str, module: ModuleType, library: Library, targets: Targets) -> str:
    classes, functions, operators, values = _sorted_members(module, library)
    lines = [f"# {escaped(name)}", "", "{.eyebrow}", "[Library](index.md)", "", "{.lead}"]
    reader = Reader(targets, module)
    lines += [reader.linked(to_markdown(module.__doc__ or "")), ""]
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
            more = shared_arguments(function, module) + example_link(member, name, module)
            reader.own = function
            lines += function_block(function, full, "py:function", reader, more=more)
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

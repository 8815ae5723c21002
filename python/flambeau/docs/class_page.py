"""The page of a class: how it is made, what it has, what it has from its bases, who derives."""

from __future__ import annotations

import enum
import inspect
import re
from collections.abc import Mapping
from dataclasses import dataclass

import flambeau
from flambeau.codegen.plan.markdown import code, escaped
from flambeau.docs.blocks import (
    directive,
    example_link,
    function_block,
    shared_arguments,
    words_of,
)
from flambeau.docs.docstrings import summary_of, to_markdown
from flambeau.docs.links import Reader, Targets, role
from flambeau.docs.signatures import signatures_of


@dataclass(frozen=True)
class Members:
    """What is documented of a class; what bases on pages of their own describe is left to them."""

    methods: list[str]
    attributes: list[str]
    operators: list[tuple[str, str]]  # of tensors, with their pages

    def names(self) -> list[str]:
        """Of what has a place on the page."""
        return sorted([*self.attributes, *self.methods])


@dataclass(frozen=True)
class Kin:
    """Classes that derive from one, and classes and functions that are written beside it."""

    derived: list[str]
    beside: list[str]
    functions: list[str]


def members_of(cls: type, homes: Mapping[int, str], operators: Mapping[str, str]) -> Members:
    """The members of a class.

    Args:
        cls: the class.
        homes: names of the classes that have pages, by their ids.
        operators: pages of the methods of tensors that are declared.
    """
    found = Members([], [], [])
    described = [base for base in cls.__mro__[1:] if id(base) in homes]
    for member in sorted(n for n in dir(cls) if not n.startswith("_")):
        value = inspect.getattr_static(cls, member)
        owner = next(c for c in cls.__mro__ if member in vars(c))
        if cls is flambeau.Tensor and member in operators:
            found.operators.append((member, operators[member]))
        elif any(hasattr(base, member) for base in described) or owner.__module__ == "builtins":
            continue
        elif inspect.isroutine(getattr(cls, member, None)) and value.__doc__:
            found.methods.append(member)
        elif (isinstance(value, property) or inspect.isgetsetdescriptor(value)) and value.__doc__:
            found.attributes.append(member)
    return found


def class_page(
    cls: type,
    name: str,
    reader: Reader,
    members: Members,
    layers: str,
    kin: Kin,
) -> str:
    """The page in Markdown.

    Args:
        cls, name: the class, "flambeau.nn.Linear".
        reader: makes links of names in docstrings.
        members: what is documented of it.
        layers: which operators compute it, in Markdown.
        kin: other classes on pages of their own.
    """
    space, _, short = name.rpartition(".")
    module, targets = reader.module, reader.targets
    signatures = [s.removesuffix(" -> None") for s in signatures_of(cls, name)[:1]]
    text = to_markdown(cls.__doc__ or "") + "\n" + shared_arguments(cls, module)
    lines = [f"# {escaped(short)}", "", "{.eyebrow}"]
    lines += [f"[Library](index.md) / [{escaped(space)}]({space}.md)", ""]
    lines += directive("py:class", signatures, _bases(cls, targets))
    lines += [reader.linked(text, words_of(signatures)), example_link(short, space, module)]
    lines += [layers, *_summary(cls, name, members, reader), *_inherited(cls, targets)]
    if members.attributes:
        lines += ["## Attributes", ""]
    for member in members.attributes:
        about = to_markdown(inspect.getattr_static(cls, member).__doc__ or "")
        lines += directive("py:attribute", [f"{name}.{member}"], reader.linked(about))
    if members.methods:
        lines += ["## Methods", ""]
    for member in members.methods:
        static = isinstance(inspect.getattr_static(cls, member), staticmethod)
        full = f"{name}.{member}"
        lines += function_block(getattr(cls, member), full, "py:method", reader, not static)
    if members.operators:
        lines += ["## Operators", "", "{.names}"]
        links = [f"[{code(m)}](../operators/{page}.md)" for m, page in members.operators]
        lines += [" ".join(links), ""]
    others = [role(f"{n.removeprefix('flambeau.')}()", n) for n in kin.functions]
    lines += _named("Derived classes", _links(kin.derived))
    return "\n".join([*lines, *_named("See also", _links(kin.beside) + others)])


def _links(classes: list[str]) -> list[str]:
    return [f"[{code(name.removeprefix('flambeau.'))}]({name}.md)" for name in classes]


def _named(title: str, links: list[str]) -> list[str]:
    return [f"## {title}", "", "{.names}", " ".join(links), ""] if links else []


def _bases(cls: type, targets: Targets) -> str:
    """Links to the base classes that have pages."""
    found = [targets.homes[id(b)] for b in cls.__bases__ if id(b) in targets.homes]
    return "".join(f"Bases: [{code(home)}]({home}.md)\n" for home in found)


def _summary(cls: type, name: str, members: Members, reader: Reader) -> list[str]:
    """A table of values, attributes and methods, these with their first sentences."""
    values = list(cls) if issubclass(cls, enum.Enum) else []
    if not members.names() and not values:
        return []
    lines = ["## Summary", "", "| member | what it is |", "|:--|:--|"]
    lines += [f"| {code(value.name)} | {code(repr(value.value))} |" for value in values]
    for member in [*members.attributes, *members.methods]:
        about = summary_of(inspect.getattr_static(cls, member).__doc__)
        about = re.sub(r"(?<=\w[^.]\.) .*", "", about)
        shown = f"{member}()" if member in members.methods else member
        lines.append(f"| {role(shown, f'{name}.{member}')} | {reader.linked(escaped(about))} |")
    return [*lines, ""]


def _inherited(cls: type, targets: Targets) -> list[str]:
    """What bases on pages of their own describe: links to it."""
    lines = []
    for base in cls.__mro__[1:]:
        home = targets.homes.get(id(base))
        if home is not None and (names := targets.members.get(home)):
            links = " ".join(role(member, f"{home}.{member}") for member in names)
            lines += [f"From [{code(home)}]({home}.md):", "", "{.names}", links, ""]
    return ["## Inherited", "", *lines] if lines else []

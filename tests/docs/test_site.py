"""The pages of the site: links, formulas, plots, that nothing is fetched from elsewhere."""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path
from urllib.parse import unquote, urlsplit

from flambeau._command_line import parser
from flambeau.codegen.read.loader import library_declarations
from flambeau.codegen.write.docs import Page, pages
from flambeau.docs.class_page import members_of
from flambeau.docs.library import described, public_modules, public_names

_LINK = re.compile(r"""<[^>]*?\s(?:href|src)=["']([^"']*)["']""")
_ID = re.compile(r"""\s(?:id|name)=["']([^"']+)["']""")
_FETCHED = re.compile(
    r"""<(?:script|img|iframe|source)[^>]*?\ssrc=["'](https?:)?//"""
    r"""|<link[^>]*rel=["']stylesheet["'][^>]*href=["'](https?:)?//"""
)


@cache
def text(file: Path) -> str:
    return file.read_text(encoding="utf-8")


@cache
def anchors(file: Path) -> frozenset[str]:
    return frozenset(_ID.findall(text(file)))


def html_files(site: Path) -> list[Path]:
    return sorted(site.rglob("*.html"))


def test_every_link_leads_somewhere(site: Path) -> None:
    dead = []
    checked = 0
    for file in html_files(site):
        for link in _LINK.findall(text(file)):
            parts = urlsplit(link.replace("&amp;", "&"))
            if parts.scheme or parts.netloc:
                continue
            target = (file.parent / unquote(parts.path)).resolve() if parts.path else file
            checked += 1
            is_page = target.suffix == ".html" and target.is_file()
            if not target.is_file() or (
                parts.fragment and is_page and unquote(parts.fragment) not in anchors(target)
            ):
                dead.append(f"{file.relative_to(site)}: {link}")
    assert checked > 20_000
    assert not dead, "\n".join(sorted(set(dead))[:40])


def test_nothing_is_fetched_from_elsewhere(site: Path) -> None:
    """The site works without a network: scripts, styles, fonts and pictures are its own."""
    found = [str(f.relative_to(site)) for f in html_files(site) if _FETCHED.search(text(f))]
    assert not found
    for style in site.rglob("*.css"):
        assert not re.search(r"url\([\"']?(https?:)?//|@import", text(style)), style


def test_operator_pages(site: Path) -> None:
    """Formulas are MathML; the plot, the errors and the place of the entry are there."""
    found = pages(library_declarations())
    assert len(found) > 500
    for page in found:
        _check(page, site)


def _check(page: Page, site: Path) -> None:
    shown = text(site / "operators" / f"{page.name}.html")
    for overload in page.overloads:
        doc = overload.doc
        formulas = len(doc.gradients) + (doc.math is not None)
        assert shown.count('display="block"') >= formulas
        assert doc.location in shown
        assert ("<figure" in shown) >= overload.curve
        for error in doc.errors:
            assert error.name in shown
    plain = re.sub(r"<[^>]+>", "", re.sub(r"<details.*?</details>", "", shown, flags=re.DOTALL))
    assert not re.search(r"\\(frac|mathrm|operatorname|left|begin)\b", plain)
    assert "{.type}" not in plain and "{operator-plot}" not in plain


def test_every_public_name_is_described(site: Path) -> None:
    """Modules, classes, functions: what the library offers stands on its page."""
    for name, module in public_modules().items():
        shown = text(site / "library" / f"{name}.html")
        for member in public_names(module):
            value = getattr(module, member)
            if callable(value) and value.__doc__:
                assert f">{member}<" in shown or f"{name}.{member}" in shown, f"{name}.{member}"


def test_pages_of_classes(site: Path) -> None:
    """Each has an example, or leads to one, a table of its members, and links to other pages."""
    library = described(pages(library_declarations()))
    assert len(library.homes) > 700
    wrong = []
    for name in library.homes.values():
        space, _, short = name.rpartition(".")
        cls = getattr(library.modules[space], short)
        found = re.search(
            r"<article.*</article>", text(site / "library" / f"{name}.html"), re.DOTALL
        )
        assert found is not None, name
        shown = found[0]
        members = members_of(cls, library.homes, library.methods).names()
        table = re.search(r'<section id="summary">.*?</table>', shown, re.DOTALL)
        for member in members:
            if table is None or not re.search(rf">{member}(\(\))?</span>", table[0]):
                wrong.append(f"{name}: no {member} in its summary")
        if "highlight-pycon" not in shown and not re.search(r">Example<|Example: <a", shown):
            wrong.append(f"{name}: no example")
        links = {link for link in _LINK.findall(shown) if link.partition("#")[0] != f"{name}.html"}
        if all(link[0] == "#" or link in ("index.html", f"{space}.html") for link in links):
            wrong.append(f"{name}: no link to another page")
        plain = re.sub(r"<(pre|code|math)\b.*?</\1>", "", shown, flags=re.DOTALL)
        if re.search(r"\{[.\w:]+\}|```|\]\(|:no-index:", re.sub(r"<[^>]+>", "", plain)):
            wrong.append(f"{name}: markup")
        if re.search(r"<h2>(?:(?!<h2>).)*</h2>\s*</section>", shown, re.DOTALL):
            wrong.append(f"{name}: an empty section")
    assert not wrong, "\n".join(wrong)


def test_default_folder() -> None:
    assert parser().parse_args(["docs", "build"]).folder == Path("site")

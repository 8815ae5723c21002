"""Directives of the reference pages: plots of functions, declarations, links to sources."""

from __future__ import annotations

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.util.docutils import SphinxDirective

from flambeau.codegen.plan.documentation import entry_text
from flambeau.codegen.read.loader import library_declarations
from flambeau.docs.curves import curves_of
from flambeau.docs.drawing import miniature, picture


def _raw(text: str) -> nodes.raw:
    return nodes.raw("", text, format="html")


class OperatorPlot(SphinxDirective):
    """`{operator-plot} silu`: the function and its derivative; `:small:` for lists."""

    required_arguments = 1
    option_spec = {"small": lambda value: True}  # noqa: RUF012

    def run(self) -> list[nodes.Node]:
        name = self.arguments[0]
        try:
            curves = curves_of(name)
        except (LookupError, ValueError) as error:
            raise self.error(str(error)) from error
        if "small" in self.options:
            return [_raw(miniature(curves))]
        return [_raw(picture(curves, name.partition(".")[0]))]


class OperatorEntry(SphinxDirective):
    """`{operator-entry} silu`: the declaration as it stands in its file."""

    required_arguments = 1

    def run(self) -> list[nodes.Node]:
        name = self.arguments[0]
        found = [o for o in library_declarations().operators if o.full_name == name]
        if not found:
            raise self.error(f"there is no operator {name!r}")
        text = entry_text(found[0])
        return [nodes.literal_block(text, text, language="yaml")]


class DeclaredAt(SphinxDirective):
    """`{declaration} FILE:LINE`: what an operator's entry says, folded."""

    required_arguments = 1
    has_content = True

    def run(self) -> list[nodes.Node]:
        file, _, line = self.arguments[0].partition(":")
        family = file.rpartition("/")[2].removesuffix(".yaml")
        page = f"../declarations/{family}.html#L{line}"
        place = f'<a class="place" href="{page}">{self.arguments[0]}</a>'
        inner = nodes.container()
        self.state.nested_parse(self.content, self.content_offset, inner)
        opening = f'<p>Declared in {place}.</p><details class="entry"><summary>The entry</summary>'
        return [_raw(opening), *inner.children, _raw("</details>")]


def setup(app: Sphinx) -> dict[str, bool]:
    app.add_directive("operator-plot", OperatorPlot)
    app.add_directive("operator-entry", OperatorEntry)
    app.add_directive("declaration", DeclaredAt)
    return {"parallel_read_safe": True, "parallel_write_safe": True}

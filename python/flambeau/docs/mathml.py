"""Formulas as MathML, written when the site is built: no script, and no request to anybody.

The font is a part of STIX Two Math, which comes with the package ziamath.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from docutils import nodes
from latex2mathml.converter import convert
from sphinx.application import Sphinx

FONT = "stix-two-math.woff"
_NAMED = re.compile(r"\\(arg|erf)(?![a-zA-Z])")
# Letters and signs that formulas are made of: Latin, Greek, letterlike, arrows, operators, italics.
_CHARACTERS = (
    *(range(0x20, 0x7F), range(0xA0, 0x100), range(0x391, 0x3F6), range(0x2010, 0x2045)),
    *(range(0x2061, 0x2065), range(0x2100, 0x2150), range(0x2190, 0x2200), range(0x2200, 0x2300)),
    *(range(0x2308, 0x230C), range(0x27E6, 0x27F0), range(0x1D434, 0x1D468)),
    *(range(0x1D49C, 0x1D4D0), range(0x1D538, 0x1D56C), range(0x1D6FC, 0x1D71C)),
)


def mathml(latex: str, display: str = "inline") -> str:
    """A `<math>` element.

    Raises:
        ValueError: if a command is not understood.
    """
    # The converter knows `split`, which is the same, and leaves what `aligned` says as it stands.
    known = _NAMED.sub(r"\\operatorname{\1}", latex).replace("{aligned}", "{split}")
    text = convert(known, display=display)
    unknown = re.search(r"\\[a-zA-Z]+|<mi>&</mi>", text)
    if unknown:
        raise ValueError(f"the formula {latex!r} has the command {unknown[0]}, which is unknown")
    return text


def _inline(self: Any, node: nodes.math) -> None:
    self.body.append(mathml(node.astext()))
    raise nodes.SkipNode


def _display(self: Any, node: nodes.math_block) -> None:
    self.body.append(self.starttag(node, "div", CLASS="math"))
    self.body.append(mathml(node.astext(), "block"))
    self.body.append("</div>\n")
    raise nodes.SkipNode


def _write_font(app: Sphinx, exception: Exception | None) -> None:
    if exception is not None:
        return
    # Imported late: only the end of a build needs them.
    import ziamath
    from fontTools import subset

    source = Path(ziamath.__file__).parent / "fonts" / "STIXTwoMath-Regular.ttf"
    options = subset.Options(flavor="woff", layout_features=["*"], notdef_outline=True)
    with subset.load_font(str(source), options) as font:
        subsetter = subset.Subsetter(options)
        subsetter.populate(unicodes=[c for part in _CHARACTERS for c in part])
        subsetter.subset(font)
        subset.save_font(font, str(Path(app.outdir) / "_static" / FONT), options)


def setup(app: Sphinx) -> dict[str, bool]:
    app.add_html_math_renderer("mathml", (_inline, None), (_display, None))
    app.connect("build-finished", _write_font)
    return {"parallel_read_safe": True, "parallel_write_safe": True}

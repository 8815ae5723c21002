# mypy: implicit-reexport
"""Special functions: what the declarations put into the namespace `special`, and functions of the
main namespace that PyTorch lists here too."""

from __future__ import annotations

from typing import TYPE_CHECKING

from flambeau import _C
from flambeau._export import names_of, public_members

if TYPE_CHECKING:
    from flambeau._C.special import *  # noqa: F403

globals().update(public_members(_C.special))

_SHARED = (
    *(
        "digamma",
        "erf",
        "erfc",
        "erfinv",
        "exp2",
        "expm1",
        "log1p",
        "logit",
        "logsumexp",
        "polygamma",
    ),
    *("round", "sinc", "xlogy"),
)
globals().update({name: getattr(_C, name) for name in _SHARED})
expit = _C.sigmoid
gammaln = _C.lgamma
psi = _C.digamma

if not TYPE_CHECKING:
    __all__ = names_of(globals())

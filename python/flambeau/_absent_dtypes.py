"""Dtypes and layouts that PyTorch has and no tensor here has: programs compare with them, and name
them.
"""

from __future__ import annotations

from flambeau._shown_name import shown_name

ABSENT_DTYPES = (
    *("float8_e4m3fn", "float8_e4m3fnuz", "float8_e5m2", "float8_e5m2fnuz", "float8_e8m0fnu"),
    *("float4_e2m1fn_x2", "complex32", "bits8", "bits16", "bits1x8", "bits2x4", "bits4x2"),
    *(f"{sign}int{bits}" for sign in ("", "u") for bits in range(1, 8)),
)
ABSENT_QUANTIZED = ("qint8", "qint32", "quint8", "quint4x2", "quint2x4")


ABSENT_LAYOUTS = ("sparse_bsr", "sparse_bsc", "jagged", "_mkldnn")


# Largest number, step above 1, smallest normal number: Micikevicius et al., "FP8 Formats for Deep
# Learning" (2022), the variants with an unsigned zero (fnuz) by Noune et al. (2022).
_LIMITS = {
    "float8_e4m3fn": (448.0, 2.0**-3, 2.0**-6),
    "float8_e4m3fnuz": (240.0, 2.0**-3, 2.0**-7),
    "float8_e5m2": (57344.0, 2.0**-2, 2.0**-14),
    "float8_e5m2fnuz": (57344.0, 2.0**-2, 2.0**-15),
}


class AbsentDType:
    """The name of a dtype that no tensor has. What makes tensors refuses it.

    Attributes:
        name: without the module.
        limits: of floats of 8 bits, their largest, the step above 1, the smallest normal one.
    """

    def __init__(self, name: str) -> None:
        self.name = name
        self.limits = _LIMITS.get(name)

    def __repr__(self) -> str:
        return f"{shown_name()}.{self.name}"

    def __reduce__(self) -> str:
        return self.name


class AbsentLayout(AbsentDType):
    """The name of a layout that no tensor has."""


def absent_dtypes() -> dict[str, AbsentDType]:
    """All of them, by name; layouts too."""
    dtypes = {name: AbsentDType(name) for name in (*ABSENT_DTYPES, *ABSENT_QUANTIZED)}
    return dtypes | {name: AbsentLayout(name) for name in ABSENT_LAYOUTS}

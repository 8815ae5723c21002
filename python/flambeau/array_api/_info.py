"""What a program may ask about the namespace."""

from __future__ import annotations

from typing import Any

import flambeau
from flambeau.array_api._dtypes import isdtype

# Unsigned integers above 8 bits can be stored, converted, sorted and summed; there is no
# arithmetic of them.
_DTYPES = (
    flambeau.bool,
    *(flambeau.int8, flambeau.int16, flambeau.int32, flambeau.int64, flambeau.uint8),
    *(flambeau.float32, flambeau.float64, flambeau.complex64, flambeau.complex128),
)


class ArrayNamespaceInfo:
    """Devices, dtypes and capabilities."""

    def capabilities(self) -> dict[str, Any]:
        """What arrays can do that the standard leaves open."""
        return {"boolean indexing": True, "data-dependent shapes": True, "max dimensions": 64}

    def default_device(self) -> flambeau.device:
        """Where arrays are made."""
        return flambeau.get_default_device()

    def default_dtypes(self, *, device: Any = None) -> dict[str, flambeau.dtype]:
        """The dtypes of arrays for which none is given."""
        real = flambeau.get_default_dtype()
        return {
            "real floating": real,
            "complex floating": flambeau.promote_types(real, flambeau.complex64),
            "integral": flambeau.int64,
            "indexing": flambeau.int64,
        }

    def dtypes(self, *, device: Any = None, kind: Any = None) -> dict[str, flambeau.dtype]:
        """Names and dtypes, of a kind as `isdtype` knows them; None: all."""
        return {
            str(dtype).rpartition(".")[2]: dtype
            for dtype in _DTYPES
            if kind is None or isdtype(dtype, kind)
        }

    def devices(self) -> list[flambeau.device]:
        """Those that arrays can be on."""
        count = flambeau.cuda.device_count()
        return [flambeau.device("cpu"), *(flambeau.device("cuda", i) for i in range(count))]

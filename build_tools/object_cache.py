"""What ccache is told, where the compiler goes through it: trees and builds share objects."""

from __future__ import annotations

import os
from pathlib import Path


def compile_environment(root: Path) -> dict[str, str]:
    """The environment of ninja for sources below `root`; what the user set is kept."""
    return {
        # What it must not mind to keep objects of units that were given compiled headers.
        "CCACHE_SLOPPINESS": "pch_defines,time_macros",
        "CCACHE_PCH_EXTSUM": "1",
        # Files are known by where they lie in a tree, not by where the tree lies.
        "CCACHE_BASEDIR": str(root),
        "CCACHE_NOHASHDIR": "1",
        **os.environ,
    }

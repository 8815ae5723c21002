"""Where files that can be made again are kept between processes."""

from __future__ import annotations

import os
from pathlib import Path


def user_cache() -> Path:
    """The variable FLAMBEAU_CACHE, or `flambeau` in the user's cache folder."""
    given = os.environ.get("FLAMBEAU_CACHE")
    base = os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache")
    return Path(given) if given else Path(base) / "flambeau"

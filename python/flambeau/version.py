"""Versions: of the library, and of what it was built with. None stands for what it has not."""

from __future__ import annotations

from flambeau._version import __version__ as __version__

cuda: str | None = None
hip: str | None = None
rocm: str | None = None
xpu: str | None = None
git_version = "unknown"
debug = False

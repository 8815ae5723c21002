"""Building the site."""

from __future__ import annotations

import gc
import importlib.util
import tempfile
from pathlib import Path

_PACKAGES = {"sphinx": "Sphinx", "furo": "furo", "myst_parser": "myst-parser"}
_PACKAGES |= {"sphinx_copybutton": "sphinx-copybutton", "ziamath": "ziamath"}


class DocsError(Exception):
    """Something that the user can put right; the message says how."""


def build_site(folder: Path, work: Path | None = None, jobs: str = "1") -> None:
    """Writes the site into `folder`.

    Args:
        folder: is made if it is not there; pages of an earlier build are replaced.
        work: keeps intermediate files, so that the next build reads only what changed.
        jobs: processes, a number or "auto". Passing pages between them costs Sphinx as much as two
            save.

    Raises:
        DocsError: if a package is missing or Sphinx has found something wrong, which it has
            printed.
    """
    missing = [p for module, p in _PACKAGES.items() if importlib.util.find_spec(module) is None]
    if missing:
        raise DocsError(f"{', '.join(missing)} missing: pip install 'flambeau[docs]'")
    if folder.exists() and not folder.is_dir():
        raise DocsError(f"{folder} is not a folder")
    if work is not None:
        _build(folder, work, jobs)
        return
    with tempfile.TemporaryDirectory(prefix="flambeau-docs-") as temporary:
        _build(folder, Path(temporary), jobs)


def _build(folder: Path, work: Path, jobs: str) -> None:
    # Imported late: the rest of the command line needs none of it.
    from sphinx.cmd.build import build_main

    from flambeau.docs.sources import write_sources

    source = write_sources(work)
    options = [
        "-a",
        "-b",
        "html",
        "-q",
        "-W",
        "--keep-going",
        "-j",
        jobs,
        "-d",
        str(work / "doctrees"),
    ]
    # Millions of nodes live: to look at them often takes a fifth of the time.
    before = gc.get_threshold()
    gc.set_threshold(100_000, 20, 50)
    try:
        status = build_main([*options, str(source), str(folder)])
    finally:
        gc.set_threshold(*before)
    if status != 0:
        raise DocsError("the site has mistakes (above)")

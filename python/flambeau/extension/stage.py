"""A folder of links to a build's files: importing from the project's own folder."""

from __future__ import annotations

import shutil
from pathlib import Path

from flambeau.extension.building import Built


def stage_links(built: Built) -> Path:
    """Makes the folder anew; returns what to put on PYTHONPATH."""
    package = built.folder / "package"
    if package.exists():
        shutil.rmtree(package)
    for source, name in built.files():
        target = package / name
        target.parent.mkdir(parents=True, exist_ok=True)
        target.symlink_to(source)
    return package

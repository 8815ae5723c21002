"""A folder of links to a build's files: importing from the project's own folder."""

from __future__ import annotations

import shutil
import tomllib
from pathlib import Path

from flambeau.extension.building import Built
from flambeau.extension.project import CONFIGURATION


def stage_links(built: Built) -> Path:
    """Makes the folder anew; returns what to put on PYTHONPATH."""
    package = built.folder / "package"
    if package.exists():
        shutil.rmtree(package)
    for source, name in built.files():
        target = package / name
        target.parent.mkdir(parents=True, exist_ok=True)
        target.symlink_to(source)
    _write_entry_points(built, package)
    return package


def _write_entry_points(built: Built, package: Path) -> None:
    """As an installer does, so that the package is found by them: a backend by its name."""
    file = built.project.root / CONFIGURATION
    if not file.exists():
        return
    project = tomllib.loads(file.read_text(encoding="utf-8")).get("project", {})
    groups = project.get("entry-points", {})
    if not groups:
        return
    module = built.project.module
    folder = package / f"{module}-0.dist-info"
    folder.mkdir(parents=True, exist_ok=True)
    name = f"Metadata-Version: 2.1\nName: {project.get('name', module)}\nVersion: 0\n"
    (folder / "METADATA").write_text(name, encoding="utf-8")
    lines = []
    for group, points in groups.items():
        lines += [f"[{group}]", *(f"{point} = {place}" for point, place in points.items()), ""]
    (folder / "entry_points.txt").write_text("\n".join(lines), encoding="utf-8")

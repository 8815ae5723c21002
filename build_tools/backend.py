"""The build backend: hatchling, with metadata that is known before anything is compiled.

Under pip, hatchling defines no `prepare_metadata_*`, as build hooks may change the dependencies:
pip then builds a whole wheel to read what it depends on. Flambeau's hook does not change them.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from hatchling.build import (
    build_editable,
    build_sdist,
    build_wheel,
    get_requires_for_build_editable,
    get_requires_for_build_sdist,
    get_requires_for_build_wheel,
)
from hatchling.builders.constants import EDITABLES_REQUIREMENT
from hatchling.builders.wheel import WheelBuilder

__all__ = [
    "build_editable",
    "build_sdist",
    "build_wheel",
    "get_requires_for_build_editable",
    "get_requires_for_build_sdist",
    "get_requires_for_build_wheel",
    "prepare_metadata_for_build_editable",
    "prepare_metadata_for_build_wheel",
]

Settings = dict[str, Any] | None


def prepare_metadata_for_build_wheel(
    metadata_directory: str, config_settings: Settings = None
) -> str:
    """Writes METADATA as the wheel will have it; returns the name of its folder."""
    return _write_metadata(Path(metadata_directory), ())


def prepare_metadata_for_build_editable(
    metadata_directory: str, config_settings: Settings = None
) -> str:
    """The same of an editable install."""
    config = WheelBuilder(os.getcwd()).config
    exact = not config.dev_mode_dirs and config.dev_mode_exact
    return _write_metadata(Path(metadata_directory), (EDITABLES_REQUIREMENT,) if exact else ())


def _write_metadata(folder: Path, further: tuple[str, ...]) -> str:
    builder = WheelBuilder(os.getcwd())
    target = folder / f"{builder.artifact_project_id}.dist-info"
    target.mkdir(exist_ok=True)
    text = builder.config.core_metadata_constructor(builder.metadata, extra_dependencies=further)
    (target / "METADATA").write_text(text, encoding="utf-8")
    return target.name

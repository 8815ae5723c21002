"""The wheel of a project: hatchling writes it, the compilers fill it."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface
from hatchling.builders.plugin.interface import IncludedFile
from hatchling.builders.wheel import WheelBuilder

from flambeau._build.compiler import BuildError
from flambeau.codegen.text.source import DeclarationError
from flambeau.extension.building import Built, build
from flambeau.extension.project import read_project
from flambeau.extension.stage import stage_links


class _Operators(BuildHookInterface):  # type: ignore[type-arg]
    """Builds before the wheel is packed and adds the results to it."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        built = build(read_project(Path(self.root)))
        build_data["pure_python"] = False
        build_data["infer_tag"] = True
        if version == "editable":
            build_data["force_include_editable"] = _editable(built)
        else:
            build_data["force_include"].update({str(file): name for file, name in built.files()})


def _editable(built: Built) -> dict[str, str]:
    """A file that puts the folder of links on sys.path."""
    name = f"_{built.project.module}_editable.pth"
    path = built.folder / name
    path.write_text(f"{stage_links(built)}\n", encoding="utf-8")
    return {str(path): name}


class _Builder(WheelBuilder):
    """A wheel with nothing but what the hook adds: its Python files are among that."""

    def get_build_hooks(self, directory: str) -> dict[str, Any]:
        hooks = super().get_build_hooks(directory)
        hooks["flambeau"] = _Operators(
            self.root,
            {},
            self.config,
            self.metadata,
            directory,
            self.PLUGIN_NAME,
            self.app,
        )
        return hooks

    def recurse_selected_project_files(self) -> Iterable[IncludedFile]:
        return ()


def write_wheel(root: Path, folder: str, version: str) -> str:
    """Builds a project and writes its wheel into `folder`; returns the file's name. Mistakes end
    the process with a message: a build backend has nobody to catch them.
    """
    try:
        path = next(_Builder(str(root)).build(directory=folder, versions=[version]))
    except (BuildError, DeclarationError) as error:
        sys.exit(f"flambeau: {error}")
    return os.path.basename(path)

"""Lets hatchling's wheel carry what the compilers made."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from build_tools import build as building
from build_tools.shared.compiler import BuildError
from build_tools.stage import package_files, stage_links


class NativeBuildHook(BuildHookInterface):  # type: ignore[type-arg]
    """Builds before the wheel is packed and adds the results to it."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        try:
            result = building.build()
        except BuildError as error:
            sys.exit(f"flambeau: {error}")
        build_data["pure_python"] = False
        build_data["infer_tag"] = True
        root = building.ROOT
        if version == "editable":
            folder = stage_links(root, result.folder, result.generated)
            pth = result.folder / "flambeau_editable.pth"
            pth.write_text(f"{folder}\n")
            build_data["force_include_editable"] = {str(pth): "flambeau_editable.pth"}
            return
        for source, name in package_files(root, result.folder, result.generated):
            build_data["force_include"][str(source)] = name

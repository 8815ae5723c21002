"""Lets hatchling's wheel carry what the compilers made.

With FLAMBEAU_WHEEL=1 in the environment the wheel is one for other machines: it has the loops of
all instruction sets, holds to what older systems' libraries have, and its tag says which these are.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from build_tools import build as building
from build_tools.portability import platform_tag
from build_tools.shared.compiler import BuildError
from build_tools.stage import package_files, stage_links


class NativeBuildHook(BuildHookInterface):  # type: ignore[type-arg]
    """Builds before the wheel is packed and adds the results to it."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        wheel = os.environ.get(building.WHEEL_VARIABLE, "0")
        if wheel not in ("0", "1"):
            sys.exit(f'flambeau: {building.WHEEL_VARIABLE}: expected "0" or "1", got "{wheel}"')
        try:
            result = building.build(wheel=wheel == "1")
            if wheel == "1":
                libraries = sorted((result.folder / "lib").glob("*.so"))
                build_data["tag"] = f"{python_tag()}-{platform_tag(libraries)}"
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


def python_tag() -> str:
    """The interpreter's, and its ABI's, as cp313-cp313."""
    name = f"cp{sys.version_info.major}{sys.version_info.minor}"
    return f"{name}-{name}{sys.abiflags}"

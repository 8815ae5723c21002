"""Looking up what a cross reference means, once for each name.

Sphinx looks through all objects for each type of each signature that it does not know by its full
name, such as `int`: a sixth of the time that a build took.
"""

from __future__ import annotations

from typing import Any

from sphinx.application import Sphinx
from sphinx.domains.python import ObjectEntry, PythonDomain
from sphinx.environment import BuildEnvironment

Found = list[tuple[str, ObjectEntry]]


class RememberingDomain(PythonDomain):
    """Python's domain, which keeps what it found."""

    def __init__(self, env: BuildEnvironment) -> None:
        super().__init__(env)
        self._found: dict[tuple[Any, ...], Found] = {}

    def find_obj(
        self,
        env: BuildEnvironment,
        modname: str,
        classname: str,
        name: str,
        type: str | None,
        searchmode: int = 0,
    ) -> Found:
        asked = (modname, classname, name, type, searchmode)
        # While pages are read, objects are still added.
        key = (len(self.objects), *asked)
        if key not in self._found:
            self._found[key] = super().find_obj(env, *asked)
        return list(self._found[key])


def setup(app: Sphinx) -> dict[str, bool]:
    app.add_domain(RememberingDomain, override=True)
    return {"parallel_read_safe": True, "parallel_write_safe": True}

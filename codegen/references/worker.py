"""The process that calls references. It is started as a script, by process.py.

A request is a file and its version, the name of a function in it, and its arguments; an answer is
the value, or what was raised and where.
"""

from __future__ import annotations

import importlib
import pdb
import pickle
import resource
import sys
import traceback
import warnings
from functools import cache
from multiprocessing.connection import Connection
from pathlib import Path
from types import FrameType, ModuleType
from typing import Any

MEMORY = 4 << 30  # bytes
VALUE, RAISED, WAITS = "value", "raised", "waits"


def main(descriptor: int) -> None:
    """Answers requests until there are no more."""
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    resource.setrlimit(resource.RLIMIT_FSIZE, (0, 0))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    sys.dont_write_bytecode = True
    warnings.simplefilter("ignore")  # of overflow and the like, as for references that are text
    connection = Connection(descriptor)

    def stop(*_: Any, **__: Any) -> None:
        """`breakpoint()`: whoever waits for the answer waits for the user."""
        connection.send_bytes(pickle.dumps((WAITS,)))
        caller: FrameType | None = sys._getframe().f_back
        pdb.Pdb().set_trace(caller)

    sys.breakpointhook = stop
    while True:
        try:
            path, version, name, arguments, keywords = pickle.loads(connection.recv_bytes())
        except EOFError:
            return
        try:
            function = getattr(_module(path, version), name)
            sent = pickle.dumps((VALUE, function(*arguments, **keywords)))
        except Exception as error:
            sent = pickle.dumps(_raised(error, Path(path).parent))
        connection.send_bytes(sent)


@cache
def _module(path: str, _: int) -> ModuleType:
    """The module in a file, of one version; its folder is a package, so that files can import each
    other.
    """
    folder = Path(path).parent
    package = f"references_{abs(hash(str(folder)))}"
    for known in [name for name in sys.modules if name.startswith(f"{package}.")]:
        del sys.modules[known]
    found = ModuleType(package)
    found.__path__ = [str(folder)]
    sys.modules[package] = found
    importlib.invalidate_caches()
    return importlib.import_module(f"{package}.{Path(path).stem}")


def _raised(error: Exception, folder: Path) -> tuple[Any, ...]:
    """What was raised, and the last place in the references that it passed."""
    text = f"{type(error).__name__}: {error}"
    if isinstance(error, SyntaxError):
        return RAISED, text, error.filename or "", error.lineno or 1
    frames = traceback.extract_tb(error.__traceback__)
    inside = [frame for frame in frames if Path(frame.filename).parent == folder.resolve()]
    last = inside[-1] if inside else None
    return RAISED, text, last.filename if last else "", (last.lineno if last else None) or 1


if __name__ == "__main__":
    main(int(sys.argv[1]))

"""Calls of references in a limited process (worker.py), which is started when one is called first
and again when it ended.
"""

from __future__ import annotations

import atexit
import io
import multiprocessing
import os
import pickle
import signal
import subprocess
import sys
import threading
from collections.abc import Mapping, Sequence
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

from flambeau.codegen.formula.sandbox import FailedError
from flambeau.codegen.references import worker

SECONDS = 10.0  # that a call may take
_LIBRARIES_THREADS = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")
_DATA = {
    ("numpy", "ndarray"),
    ("numpy", "dtype"),
    *(
        (f"numpy.{core}.multiarray", f)
        for core in ("core", "_core")
        for f in ("_reconstruct", "scalar")
    ),
    *((f"numpy.{core}.numeric", "_frombuffer") for core in ("core", "_core")),
    ("builtins", "complex"),
    ("builtins", "range"),
}


class _Reader(pickle.Unpickler):
    """Reads numbers, text, lists and arrays: an answer runs no code here."""

    def find_class(self, module: str, name: str) -> Any:
        if (module, name) not in _DATA and not module.startswith("numpy.dtypes"):
            raise FailedError(f"a reference gives arrays and numbers, no {module}.{name}")
        return super().find_class(module, name)


class Process:
    """The process, and the pipe to it."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._owner = 0  # a fork of ours starts its own
        self._running: subprocess.Popen[bytes] | None = None
        self._pipe: Connection | None = None

    def call(
        self,
        path: Path,
        version: int,
        name: str,
        arguments: Sequence[Any],
        keywords: Mapping[str, Any],
    ) -> Any:
        """What the function of a version of the file returns. FailedError where it does not."""
        with self._lock:
            pipe = self._connected()
            try:
                request = (str(path), version, name, tuple(arguments), dict(keywords))
                pipe.send_bytes(pickle.dumps(request))
                kind, *answer = self._answer(pipe)
            except (EOFError, OSError):
                raise FailedError(f"'{name}' ended its process ({self._ending()})") from None
        if kind == worker.RAISED:
            text, file, line = answer
            shown = str(path) if Path(file) == path.resolve() else file
            raise FailedError(text, (shown, line) if file else None)
        return answer[0]

    def _answer(self, pipe: Connection) -> Any:
        """The answer; a debugger that waits for its user is waited for."""
        seconds: float | None = SECONDS
        while True:
            if not pipe.poll(seconds):
                self.end()
                raise FailedError(f"takes longer than {SECONDS:g} s")
            answer = _Reader(io.BytesIO(pipe.recv_bytes())).load()
            if answer[0] != worker.WAITS:
                return answer
            seconds = None

    def _connected(self) -> Connection:
        alive = self._running is not None and self._running.poll() is None
        if self._pipe is None or not alive or self._owner != os.getpid():
            ours, theirs = multiprocessing.Pipe()
            environment = {k: v for k, v in os.environ.items() if k != "LD_PRELOAD"}
            environment |= dict.fromkeys(_LIBRARIES_THREADS, "1")
            command = [sys.executable, "-P", str(Path(worker.__file__)), str(theirs.fileno())]
            self._running = subprocess.Popen(command, pass_fds=[theirs.fileno()], env=environment)
            theirs.close()
            self._pipe, self._owner = ours, os.getpid()
        return self._pipe

    def _ending(self) -> str:
        assert self._running is not None
        code = self._running.wait()
        return signal.Signals(-code).name if code < 0 else f"exit status {code}"

    def end(self) -> None:
        """Ends the process, if it is ours."""
        if self._running is not None and self._owner == os.getpid():
            self._running.kill()
            self._running.wait()
        self._running = self._pipe = None


PROCESS = Process()
atexit.register(PROCESS.end)

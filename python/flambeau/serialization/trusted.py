"""Reading pickles of trusted files: with Python's own unpickler, which runs what they name."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import partial
from typing import Any

from flambeau.serialization import names
from flambeau.serialization.stream import Stream
from flambeau.serialization.tensors import Tensors


class _Bytes:
    """A stream as the file that an unpickler reads."""

    def __init__(self, stream: Stream) -> None:
        self._stream = stream

    def read(self, count: int) -> bytes:
        return self._stream.take(min(count, self._stream.left))

    def readline(self) -> bytes:
        return self._stream.line() + b"\n"


class _Context:
    """What constructors need, where nothing is checked."""

    def __init__(self, tensors: Tensors) -> None:
        self.tensors = tensors

    def spend(self, work: int) -> None:
        pass

    def fill(self, target: dict[Any, Any], pairs: Sequence[tuple[Any, Any]]) -> None:
        for key, value in pairs:
            target[key] = value

    def extend(self, target: set[Any], items: Sequence[Any]) -> None:
        target.update(items)


def load(
    stream: Stream,
    persistent: Callable[[Any], Any],
    tensors: Tensors,
    encoding: str,
    pickle_module: Any,
) -> Any:
    """The object of the pickle that begins here."""
    context = _Context(tensors)

    class Unpickler(pickle_module.Unpickler):  # type: ignore[misc]
        def find_class(self, module: str, name: str) -> Any:
            full = f"{module}.{name}"
            if full == "torch._tensor._rebuild_from_type_v2":
                return partial(_from_type, context)
            found = names.known(full) if module.startswith(("torch", "flambeau")) else None
            if found is None:
                return self._imported(module, name)
            if not isinstance(found, names.Constructor):
                return found
            if found.value is not None:
                return found.value
            return lambda *given: found.build(context, given, None, False)

        def _imported(self, module: str, name: str) -> Any:
            """Ours, where a program that imports us as torch has written it."""
            package, _, rest = module.partition(".")
            if package == "torch":
                with suppress(ImportError, AttributeError):
                    return super().find_class(f"flambeau.{rest}".rstrip("."), name)
            return super().find_class(module, name)

        def persistent_load(self, pid: Any) -> Any:
            return persistent(pid)

    return Unpickler(_Bytes(stream), encoding=encoding).load()


def _from_type(
    context: _Context, function: Callable[..., Any], kind: Any, given: Any, state: Any
) -> Any:
    return names.of_type(context, function(*given), kind, state)

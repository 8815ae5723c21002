"""Declarations that are compiled when a program runs.

What was compiled before is imported from the cache. The generator is imported only where there is
something to compile.
"""

from __future__ import annotations

import hashlib
import importlib.machinery
import importlib.util
import os
import shutil
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from types import ModuleType

import flambeau.cuda
from flambeau import _C
from flambeau._version import __version__
from flambeau.ops._cache import Made, cached
from flambeau.ops._source import Source, read_source

PREFIX = "flambeau.ops.loaded"  # of the names of the modules
# Where it is imported from: in a tree, a folder of links to what it is made of.
_FLAMBEAU = Path(__file__).absolute().parent.parent
_loaded: dict[Path, ModuleType] = {}  # by folder


def load(
    declarations: str | os.PathLike[str],
    kernels: Sequence[str | os.PathLike[str]] = (),
    *,
    name: str | None = None,
    check_formulas: bool = True,
    cuda: bool | None = None,
    verbose: bool = False,
) -> ModuleType:
    """Compiles operators and imports them; what is in the cache is only imported.

        >>> curves = flambeau.ops.load('''
        ... - op: "softclip(Tensor self, float limit=1) -> Tensor result"
        ...   kind: pointwise
        ...   dtypes: {self: float}
        ...   expr: "limit * tanh(self / limit)"
        ...   derivative: auto
        ... ''')
        >>> curves.softclip(flambeau.tensor([-3.0, 0.5]), 2.0)
        tensor([-1.8103,  0.4898])

    The entries are those of the library's own declarations: all kinds, gradients, forward mode,
    methods of Tensor with `variants: [function, method]`. They may refer to all operators of the
    library. Documentation and tests may be left out; references and samples that are there are
    used to check gradients before anything is compiled, which needs SciPy.

    Args:
        declarations: the text (it has line breaks), or the path of a YAML file.
        kernels: C++ and CUDA files with the kernels of structured operators, named in entries by
            their file names, `kernel: {cpu: dyad.cpp, cuda: dyad.cu}`. They include the generated
            declarations as `kernels/NAME/FILE.h` and `kernels/NAME/FILE_cuda.h`, FILE being the
            YAML file's stem, or NAME for text.
        name: how the operators are called together: in messages, in the names of their kernels'
            tables, and as NAME above. Default: the file's stem, or "operators".
        check_formulas: whether gradients are compared with finite differences.
        cuda: whether to compile kernels for CUDA too, with nvcc; default: where there is a device.
        verbose: whether to print what is compiled.

    Returns:
        A module with the operators as functions.

    Compiling takes a few seconds and a C++ compiler (`CXX`, g++ 12 or newer). It is done for this
    processor's instruction set, in the folder `cache_folder()`, in one process at a time; programs
    that start at once share one compilation. An entry of the cache is used as long as declarations,
    kernels, the headers that these include, Flambeau and the compiler are the same.

    Raises:
        flambeau.ops.DeclarationError: for mistakes in declarations; the message shows their places.
        flambeau.ops.CompileError: for C++ that does not compile; the message shows the lines of the
            declarations and kernels.
        OSError: for a file that cannot be read, and a cache that cannot be written.
        ValueError: for a name that is no identifier.
    """
    source = read_source(declarations, kernels, name)
    with_cuda = flambeau.cuda.is_available() if cuda is None else cuda
    digest = _digest(source, check_formulas, with_cuda)

    def compile_into(folder: Path) -> Made:
        from flambeau.extension.runtime import compile_source

        if verbose:
            print(f"flambeau.ops.load: compiling {source.file} in {folder}", flush=True)
        return compile_source(source, folder, check_formulas, with_cuda)

    folder = cached(digest, compile_into)
    if folder not in _loaded:
        _loaded[folder] = _import(source.name, folder / f"{source.name}.so")
    return _loaded[folder]


def _digest(source: Source, check_formulas: bool, cuda: bool) -> str:
    """Names everything that the result depends on, but headers, which are known once it is made."""
    state = hashlib.sha256()
    parts: list[bytes | str] = [source.name, source.file, source.text, f"{check_formulas} {cuda}"]
    for file in source.kernels:
        parts += [str(file), file.read_bytes()]
    parts += [__version__, *_library_state(), _compiler_state("CXX", "g++")]
    if cuda:
        parts.append(_compiler_state("NVCC", "nvcc"))
    parts += [sys.implementation.cache_tag or "", _C._cpu_capability()]
    for part in parts:
        data = part.encode() if isinstance(part, str) else part
        state.update(len(data).to_bytes(8, "little") + data)
    return state.hexdigest()[:32]


def _library_state() -> Iterator[str]:
    """The generator and the library, by sizes and times of their files: reading all of them would
    take longer than the rest of a load.
    """
    for folder in ("codegen", "declarations", "extension", "_build", "lib"):
        for path, _, files in os.walk(_FLAMBEAU / folder):
            if not path.endswith("__pycache__"):
                for file in sorted(files):
                    status = os.stat(os.path.join(path, file))
                    yield f"{file}:{status.st_size}:{status.st_mtime_ns}"


def _compiler_state(variable: str, default: str) -> str:
    """The compiler's path, size and time; empty where there is none: the cache needs none."""
    found = shutil.which(os.environ.get(variable, default))
    if found is None:
        return ""
    status = os.stat(found)
    return f"{os.path.realpath(found)}:{status.st_size}:{status.st_mtime_ns}"


def _import(name: str, path: Path) -> ModuleType:
    """The extension module in a file."""
    full_name = f"{PREFIX}.{name}"
    loader = importlib.machinery.ExtensionFileLoader(full_name, str(path))
    spec = importlib.util.spec_from_file_location(full_name, path, loader=loader)
    assert spec is not None
    module = importlib.util.module_from_spec(spec)
    loader.exec_module(module)
    return module

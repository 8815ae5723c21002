"""Models that folders offer in a `hubconf.py`, and files of weights.

A program is never fetched from the network: clone a repository, and load it as a local folder.
"""

from __future__ import annotations

import hashlib
import importlib.util
import os
import re
import sys
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any
from urllib.parse import urlparse

from flambeau._values import brief
from flambeau.datasets.downloads import download
from flambeau.serialization import load as load_file

__all__ = [
    "download_url_to_file",
    "get_dir",
    "help",
    "list",
    "load",
    "load_state_dict_from_url",
    "set_dir",
]

HASH_REGEX = re.compile(r"-([a-f0-9]{8,})\.")
_folder: str | None = None


def get_dir() -> str:
    """The folder of downloaded files: what set_dir() was given, else `hub` in $TORCH_HOME, else
    `torch/hub` in the user's cache folder.

    Example:
        >>> before = flambeau.hub.get_dir()
        >>> flambeau.hub.set_dir("~/models")
        >>> "~" in flambeau.hub.get_dir()
        False
        >>> flambeau.hub.set_dir(before)
    """
    return _folder or str(Path(_get_torch_home()) / "hub")


def _get_torch_home() -> str:
    """$TORCH_HOME, else `torch` in the user's cache folder. Libraries ask for it by this name."""
    cache = os.environ.get("XDG_CACHE_HOME", "~/.cache")
    return str(Path(os.environ.get("TORCH_HOME", f"{cache}/torch")).expanduser())


def set_dir(d: str | os.PathLike[str]) -> None:
    """Sets the folder of downloaded files.

    Args:
        d: the folder; `~` is the user's.

    Example:
        >>> import tempfile
        >>> before = flambeau.hub.get_dir()
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     flambeau.hub.set_dir(folder)
        ...     flambeau.hub.get_dir() == folder
        True
        >>> flambeau.hub.set_dir(before)
    """
    global _folder
    _folder = str(Path(d).expanduser())


def load(
    repo_or_dir: str | os.PathLike[str],
    model: str,
    *args: Any,
    source: str = "github",
    trust_repo: Any = None,
    force_reload: bool = False,
    verbose: bool = True,
    skip_validation: bool = False,
    **kwargs: Any,
) -> Any:
    r"""Calls a function of a folder's `hubconf.py`, whose code runs.

    Args:
        repo_or_dir: the folder.
        model: the name of the function.
        args, kwargs: of the function.
        source: "local".
        trust_repo, force_reload, verbose, skip_validation: of downloads, of which there are none.

    Returns:
        What the function returns.

    Raises:
        RuntimeError: source is "github"; or the folder lacks a package or the function.

    Example:
        >>> import pathlib, tempfile
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     code = "def line(slope=1):\n    'A line.'\n    return slope"
        ...     _ = pathlib.Path(folder, "hubconf.py").write_text(code)
        ...     flambeau.hub.load(folder, "line", slope=3, source="local")
        3
    """
    return _entry(_hubconf(repo_or_dir, source), model)(*args, **kwargs)


def list(
    github: str | os.PathLike[str],
    force_reload: bool = False,
    skip_validation: bool = False,
    trust_repo: Any = None,
    verbose: bool = True,
    source: str = "github",
) -> Any:
    r"""The names of the functions of a folder's `hubconf.py`; source is to be "local".

    Args:
        github: the folder.
        source: "local".
        force_reload, skip_validation, trust_repo, verbose: accepted.

    Example:
        >>> import pathlib, tempfile
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     code = "def line(slope=1):\n    'A line.'\n    return slope"
        ...     _ = pathlib.Path(folder, "hubconf.py").write_text(code)
        ...     flambeau.hub.list(folder, source="local")
        ['line']
    """
    module = _hubconf(github, source)
    return [n for n, f in vars(module).items() if callable(f) and not n.startswith("_")]


def help(
    github: str | os.PathLike[str],
    model: str,
    force_reload: bool = False,
    skip_validation: bool = False,
    trust_repo: Any = None,
    source: str = "github",
) -> str | None:
    r"""The docstring of a function of a folder's `hubconf.py`; source is to be "local".

    Args:
        github: the folder.
        model: the function.
        source: "local".
        force_reload, skip_validation, trust_repo: accepted.

    Example:
        >>> import pathlib, tempfile
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     code = "def line(slope=1):\n    'A line.'\n    return slope"
        ...     _ = pathlib.Path(folder, "hubconf.py").write_text(code)
        ...     flambeau.hub.help(folder, "line", source="local")
        'A line.'
    """
    return _entry(_hubconf(github, source), model).__doc__


def _hubconf(folder: str | os.PathLike[str], source: str) -> ModuleType:
    if source == "github":
        raise RuntimeError(
            f"hub: flambeau does not run programs from the network: clone {folder} and pass the "
            "folder with source='local'"
        )
    if source != "local":
        raise ValueError(f"hub: source must be 'local', got {brief(source)}")
    path = Path(folder) / "hubconf.py"
    if not path.is_file():
        raise FileNotFoundError(f"hub: there is no {path}")
    spec = importlib.util.spec_from_file_location("hubconf", path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    # It imports what lies beside it.
    sys.path.insert(0, str(path.parent))
    try:
        spec.loader.exec_module(module)
    finally:
        sys.path.remove(str(path.parent))
    needed = [
        name
        for name in getattr(module, "dependencies", ())
        if name not in sys.modules and importlib.util.find_spec(name) is None
    ]
    if needed:
        raise RuntimeError(f"hub: {path} needs packages that are missing: {', '.join(needed)}")
    return module


def _entry(module: ModuleType, name: str) -> Callable[..., Any]:
    found = getattr(module, name, None)
    if not callable(found):
        raise RuntimeError(f"hub: {module.__file__} has no function {name!r}")
    return found


def download_url_to_file(
    url: str, dst: str | os.PathLike[str], hash_prefix: str | None = None, progress: bool = True
) -> None:
    """Fetches a file.

    Args:
        url: where it is.
        dst: the file to make.
        hash_prefix: what the SHA-256 of the file begins with.
        progress: show a bar.

    Raises:
        RuntimeError: there is no connection, or the file is another one, which is removed.

    Example:
        >>> import hashlib, pathlib, tempfile
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     here, copy = pathlib.Path(folder, "here"), pathlib.Path(folder, "copy")
        ...     _ = here.write_text("abc")
        ...     digits = hashlib.sha256(b"abc").hexdigest()[:8]
        ...     download_url_to_file(here.as_uri(), copy, digits, progress=False)
        ...     copy.read_text()
        'abc'
    """
    path = Path(dst)
    path.unlink(missing_ok=True)
    download(url, path, progress=progress)
    if hash_prefix is None:
        return
    with path.open("rb") as file:
        digest = hashlib.file_digest(file, "sha256").hexdigest()
    if not digest.startswith(hash_prefix):
        path.unlink()
        raise RuntimeError(
            f"hub: the file from {url} has the SHA-256 {digest}, which does not begin with "
            f"{hash_prefix}"
        )


def load_state_dict_from_url(
    url: str,
    model_dir: str | os.PathLike[str] | None = None,
    map_location: Any = None,
    progress: bool = True,
    check_hash: bool = False,
    file_name: str | None = None,
    weights_only: bool = True,
) -> Any:
    """What a file of the network holds, which is kept, and fetched once.

    Args:
        url: where it is.
        model_dir: where it is kept; None: `checkpoints` in get_dir().
        map_location, weights_only: see flambeau.load.
        progress: show a bar.
        check_hash: compare the file's SHA-256 with the digits in its name, as in
            `resnet18-5c106cde.pth`.
        file_name: what it is called; None: as in the url.

    Example:
        >>> import pathlib, tempfile
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     path = pathlib.Path(folder, "layer.pth")
        ...     flambeau.save(flambeau.nn.Linear(2, 3).state_dict(), path)
        ...     kept = path.with_name("kept")
        ...     state = load_state_dict_from_url(path.as_uri(), kept, progress=False)
        ...     sorted(state), (kept / "layer.pth").exists()
        (['bias', 'weight'], True)
    """
    folder = Path(get_dir()) / "checkpoints" if model_dir is None else Path(model_dir)
    folder.mkdir(parents=True, exist_ok=True)
    name = file_name or os.path.basename(urlparse(url).path)
    path = folder / name
    if not path.exists():
        digits = HASH_REGEX.search(name) if check_hash else None
        download_url_to_file(url, path, digits[1] if digits else None, progress)
    return load_file(path, map_location=map_location, weights_only=weights_only)

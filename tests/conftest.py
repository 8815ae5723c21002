"""Options and fixtures of the whole suite."""

from __future__ import annotations

import gc
import os
import sys
from collections.abc import Generator
from pathlib import Path

import pytest

from flambeau.codegen.read.no_collection import no_collection

pytest_plugins = ["grouped_cases"]

# The only reasons for which a test is skipped: what a machine may lack. What a test is not for is
# not collected.
ENVIRONMENT = (
    "there is no C++ compiler",
    "there is no nvcc",
    "no CUDA device",
    "there is a device of CUDA",
    "there is a driver of CUDA",
    "of device memory",
    "there is no OpenCL",
    "there are no OpenCL headers",
    "is not installed",
    "SciPy is not built with OpenBLAS",
    "this system has no fork",
    "there is one processor",
    "only root can become somebody else",
    "the address sanitizer takes terabytes of address space",
    "the library was not built from this tree",
    "the tests run without the sources",
)


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--update-golden",
        action="store_true",
        help="write the expected files of tests/codegen/golden anew",
    )


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Generator[None, object, object]:
    """Nothing that is collected is garbage: to look for some takes a third of the time."""
    with no_collection():
        return (yield)


@pytest.fixture
def empty_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A cache without compiled operators; what was read of the library is found in it."""
    from flambeau._build.user_cache import user_cache

    read, folder = user_cache() / "declarations", tmp_path / "cache"
    read.mkdir(parents=True, exist_ok=True)
    folder.mkdir()
    (folder / read.name).symlink_to(read)
    monkeypatch.setenv("FLAMBEAU_CACHE", str(folder))
    return folder


@pytest.fixture(scope="module", autouse=True)
def _young_heap() -> None:
    """What is there before the tests of a file stays: no collection of garbage looks at it."""
    gc.collect()
    gc.freeze()


def _refuse_skip(report: pytest.TestReport | pytest.CollectReport) -> None:
    """Makes a failure of what is skipped for another reason."""
    if not report.skipped or hasattr(report, "wasxfail"):
        return
    reason = str(report.longrepr[2] if isinstance(report.longrepr, tuple) else report.longrepr)
    if not any(known in reason for known in ENVIRONMENT):
        report.outcome = "failed"
        report.longrepr = f"{reason}: tests are skipped for what the machine lacks alone"


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport() -> Generator[None, pytest.TestReport, pytest.TestReport]:
    report = yield
    _refuse_skip(report)
    return report


@pytest.hookimpl(wrapper=True)
def pytest_make_collect_report() -> Generator[None, pytest.CollectReport, pytest.CollectReport]:
    report = yield
    _refuse_skip(report)
    return report


@pytest.fixture(scope="session")
def shared_folder(tmp_path_factory: pytest.TempPathFactory, worker_id: str) -> Path:
    """A folder that the processes of one run share."""
    own = tmp_path_factory.getbasetemp()
    folder = (own if worker_id == "master" else own.parent) / "shared"
    folder.mkdir(exist_ok=True)
    return folder


@pytest.fixture
def shell(tmp_path: Path) -> dict[str, str]:
    """An environment in which `flambeau` is the library that is tested."""
    command = tmp_path / "bin" / "flambeau"
    command.parent.mkdir()
    command.write_text(f'#!/bin/sh\nexec {sys.executable} -m flambeau "$@"\n')
    command.chmod(0o755)
    return {**os.environ, "PATH": f"{command.parent}:{os.environ['PATH']}"}

"""Tables of one run stand beside those of others."""

from __future__ import annotations

import importlib.util
import re
from pathlib import Path
from types import ModuleType

import pytest

ROOT = Path(__file__).resolve().parents[2]
SOURCE = ROOT / "tests/benchmarks/page.py"
PAGES = ROOT / "python/docs/guide/processors"


@pytest.fixture(scope="module")
def page() -> ModuleType:
    spec = importlib.util.spec_from_file_location("benchmark_page", SOURCE)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_a_run_replaces_what_it_measured(page: ModuleType, tmp_path: Path) -> None:
    page.write(tmp_path, "B (family 2)", "2 threads.", {"sorting": "| old |", "basics": "| b |"})
    page.write(tmp_path, "A (family 1)", "1 thread.", {"sorting": "| a |"})
    page.write(tmp_path, "B (family 2)", "4 threads.", {"sorting": "| new |"})
    assert page.read(tmp_path) == {
        "A (family 1)": {"sorting": "1 thread.\n\n| a |"},
        "B (family 2)": {"basics": "2 threads.\n\n| b |", "sorting": "4 threads.\n\n| new |"},
    }
    # Writing again what is there changes nothing.
    text = (tmp_path / "a_family_1.md").read_text()
    page.write(tmp_path, "A (family 1)", "1 thread.", {"sorting": "| a |"})
    assert (tmp_path / "a_family_1.md").read_text() == text


def test_a_page_without_a_processor_is_refused(page: ModuleType, tmp_path: Path) -> None:
    (tmp_path / "a.md").write_text("Measured\n")
    with pytest.raises(ValueError, match="begins with no heading"):
        page.write(tmp_path, "A", "1 thread.", {"sorting": "| a |"})


def test_the_guide_holds_a_processor(page: ModuleType) -> None:
    """Each of its tables has ratios and their mean."""
    pages = page.read(PAGES)
    assert pages
    for groups in pages.values():
        assert groups
        for table in groups.values():
            assert "threads" in table.splitlines()[0]
            assert re.search(r"ratios: to PyTorch \d\.\d\d", table.splitlines()[-1])


def test_the_readme_holds_the_means_of_the_guide(page: ModuleType, tmp_path: Path) -> None:
    readme = (ROOT / "README.md").read_text()
    path = tmp_path / "README.md"
    path.write_text(readme)
    page.write_summary(path, page.read(PAGES))
    assert path.read_text() == readme


def test_means_are_those_of_the_last_lines(page: ModuleType) -> None:
    table = "2 threads.\n\n| w | r |\n| --- | --- |\n| x | 1 |\n| y | 2 |\n\nto PyTorch 0.25."
    assert page.summary({"A": {"basics": table, "sorting": table[:-1] + ", to NumPy 0.50."}}) == (
        "| processor | group | workloads | to PyTorch | to NumPy |\n"
        "| --- | --- | ---: | ---: | ---: |\n"
        "| A | basics | 2 | 0.25 |  |\n"
        "|  | sorting | 2 | 0.25 | 0.50 |\n"
    )

"""`flambeau docs build` where it cannot work; docstrings as Markdown."""

from __future__ import annotations

from importlib import util
from pathlib import Path

import pytest

import flambeau
from flambeau._command_line import main
from flambeau.codegen.plan.markdown import code, escaped
from flambeau.docs.docstrings import summary_of, to_markdown
from flambeau.docs.signatures import signatures_of


def test_missing_package(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    monkeypatch.setattr(util, "find_spec", lambda name: None if name == "furo" else object())
    assert main(["docs", "build", str(tmp_path / "site")]) == 1
    assert capsys.readouterr().err == (
        "flambeau docs: furo missing: pip install 'flambeau[docs]'\n"
    )
    assert not (tmp_path / "site").exists()


def test_folder_is_a_file(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    file = tmp_path / "site"
    file.touch()
    assert main(["docs", "build", str(file)]) == 1
    assert "is not a folder" in capsys.readouterr().err


def test_docstring_as_markdown() -> None:
    text = """What it does, with *stars* and `code`.

    Args:
        first, second: two things that
            go on.
        *rest: more.

    Raises:
        ValueError: if |x| > 1.

    Shapes: input (N, C).

    >>> 1 + 1
    2
    """
    assert to_markdown(text) == (
        "What it does, with \\*stars\\* and `code`.\n\n"
        "{.section}\nArguments\n\n"
        "`first`, `second`\n: two things that go on.\n\n`*rest`\n: more.\n\n"
        "{.section}\nRaises\n\n`ValueError`\n: if \\|x\\| \\> 1.\n\n"
        "**Shapes**: input (N, C).\n\n"
        "```pycon\n>>> 1 + 1\n2\n```\n"
    )


def test_summary() -> None:
    assert summary_of("One\nline.\n\nMore.") == "One line."
    assert summary_of(None) == ""


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("a_b", "a\\_b"),
        ("`a_b` c_d", "`a_b` c\\_d"),
        ("{x}", "\\{x\\}"),
        ("$x$ #1", "\\$x\\$ \\#1"),
    ],
)
def test_escaped(text: str, shown: str) -> None:
    assert escaped(text) == shown


def test_code_with_backticks() -> None:
    assert code("a") == "`a`"
    assert code("a`b") == "`` a`b ``"


def test_signatures() -> None:
    def function(first: int, *, second: str | None = None, **rest: object) -> bool:
        return bool(first and second and rest)

    expected = "f(first: int, *, second: str | None = None, **rest: object) -> bool"
    assert signatures_of(function, "f") == [expected]


def test_signatures_of_compiled_functions() -> None:
    """What tells no signature at run time has one in the stub."""
    assert signatures_of(flambeau.Tensor.size, "flambeau.Tensor.size") == [
        "flambeau.Tensor.size(dim: None=None) -> flambeau.Size",
        "flambeau.Tensor.size(dim: int) -> int",
    ]

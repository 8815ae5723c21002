"""Hostile text for the loader, the parsers and the evaluators.

Whatever is written in a declaration, the answer is a list of mistakes, in time: no other exception
than DeclarationError (EvaluationError for values), no hang, no crash.

    python tests/codegen/fuzz.py --cases 100000
"""

from __future__ import annotations

import argparse
import re
import signal
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import replace
from functools import cache
from pathlib import Path
from types import FrameType
from typing import Any

import numpy as np
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from flambeau.codegen.check.registry import run_checks
from flambeau.codegen.check.report import Context
from flambeau.codegen.check.samples import sample_value
from flambeau.codegen.formula.differentiate import gradient
from flambeau.codegen.formula.evaluate import EvaluationError, Evaluator, UnavailableError
from flambeau.codegen.formula.functions import load_functions
from flambeau.codegen.formula.parse import Language, parse_source
from flambeau.codegen.formula.to_latex import to_latex
from flambeau.codegen.formula.to_numpy import ElementEvaluator
from flambeau.codegen.read.loader import Loaded, declaration_files, load, load_texts, with_index
from flambeau.codegen.read.signature import parse_signature
from flambeau.codegen.text.folders import default_folder, yaml_files
from flambeau.codegen.text.source import DeclarationError, Diagnostics, Span, Text

SECONDS = 10.0  # of the processor, that a case may take
TABLES = ("dtypes", "backends", "common")


class HangError(BaseException):
    """A case takes too long. No handler of exceptions swallows it."""


@contextmanager
def in_time() -> Iterator[None]:
    """Raise HangError in a block that takes too long."""

    def interrupt(number: int, frame: FrameType | None) -> None:
        raise HangError(f"more than {SECONDS} s")

    previous = signal.signal(signal.SIGPROF, interrupt)
    signal.setitimer(signal.ITIMER_PROF, SECONDS)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.signal(signal.SIGPROF, previous)


# What is tried ------------------------------------------------------------------------------------


@cache
def library() -> Loaded:
    return load(declaration_files(default_folder()), Diagnostics())


@cache
def tables() -> dict[str, str]:
    folder = default_folder()
    return {f"declarations/{t}.yaml": (folder / f"{t}.yaml").read_text() for t in TABLES}


def try_file(text: str) -> None:
    """Load and check a file of declarations; every mistake can be printed."""
    with in_time():
        diagnostics = Diagnostics()
        loaded = load_texts({**tables(), "fuzz.yaml": text}, diagnostics)
        operators = (*library().declarations.operators, *loaded.declarations.operators)
        declarations = with_index(replace(loaded.declarations, operators=operators))
        context = Context.of(replace(loaded, declarations=declarations))
        context = replace(context, files=frozenset({"fuzz.yaml"}))
        diagnostics.extend(run_checks(context))
        lines = text.replace("\r\n", "\n").replace("\r", "\n").split("\n")
        for diagnostic in diagnostics:
            rendered = diagnostic.render()
            assert "\x1b" not in rendered and "\x00" not in rendered
            span = diagnostic.span
            if span.file == "fuzz.yaml":
                assert 1 <= span.line <= len(lines) + 1 and span.column >= 1, rendered


def try_signature(text: str) -> None:
    """Parse a signature; a sound one prints itself and parses again."""
    with in_time(), suppress(DeclarationError):
        located = Text(text, Span("fuzz.yaml", 1, 1, max(len(text), 1)))
        diagnostics = Diagnostics()
        signature = parse_signature(located, ("bool", "int64", "float32"), diagnostics)
        assert signature.name.isascii()
        for argument in signature.arguments:
            assert re.fullmatch(r"[A-Za-z_]\w*", argument.name, re.ASCII)


def try_formula(text: str) -> None:
    """Parse, print, differentiate and evaluate a formula and a reference."""
    values = {"self": np.array([[0.5, -1.0], [2.0, 0.0]]), "x": np.arange(4), "n": 3, "s": "mean"}
    with in_time():
        with suppress(DeclarationError):
            tree = parse_source(text)
            assert parse_source(str(tree)) == tree
            with suppress(DeclarationError):
                to_latex(tree)
            with suppress(DeclarationError):
                gradient(tree, "self")
            with suppress(EvaluationError), np.errstate(all="ignore"):
                ElementEvaluator(values, load_functions())(tree)
        with suppress(DeclarationError, EvaluationError, UnavailableError):
            tree = parse_source(text, Language.REFERENCE)
            with np.errstate(all="ignore"):
                Evaluator(values)(tree)


def try_sample(text: str) -> None:
    """Evaluate a sample; what comes out is a plain value."""
    with in_time(), suppress(DeclarationError, EvaluationError, UnavailableError):
        value = sample_value(text, 0)
        assert not isinstance(value, np.ndarray) or value.dtype.kind not in "OV"


# What it is tried with ----------------------------------------------------------------------------


@cache
def entries() -> list[str]:
    """The entries of the library, as they are written, each below its family's head."""
    found = []
    for file in yaml_files(default_folder()):
        parts = re.split(r"(?m)^(?=- )", file.read_text(encoding="utf-8"))[1:]
        is_head = parts[0].startswith("- family:")
        head = re.sub(r"(?<=family: )\w+", "fuzz", parts.pop(0)) if is_head else ""
        found += [head + part for part in parts]
    return sorted(found, key=len)


@cache
def words() -> list[str]:
    """What declarations are made of, and what attackers write."""
    inside = {w for entry in entries() for w in re.findall(r"\w+|[^\w\s]+|\s+", entry)}
    hostile = [
        *("__import__('os')", ".__class__", "lambda: 0", "9**9**9", "randn(10**9)", "1e999", "-0"),
        *("'", '"', "{", "}", "[", "]", "(", ")", "\t", "\n", "\n- ", "\n  ", "&a ", "*a", "!!x "),
        *("<<: ", "---\n", "|\n", ">\n", "? ", "# ", "%", "@", "`", "\\", "\x00", "\x1b", "\u202e"),
        *("\ud7ff", "é", "ﬀ", "𝟙", "[" * 200, "(" * 200, "-" * 300, "x" * 5000, "0" * 5000, "../"),
        *(
            "np.load('x')",
            "np.ones(10**10)",
            "[0] * 10**9",
            "np.power(9**30, 9**9)",
            "x.astype('O')",
        ),
        *(
            "[a for a in range(9999) for b in range(9999)]",
            "np.arange(0, 1, 1e-12)",
            "sum([[1]], [])",
        ),
    ]
    return sorted(inside) + hostile * 8


def edited(text: str, edits: list[tuple[int, int, str]]) -> str:
    """The text after some edits: at a place, how much is removed, what is inserted."""
    for place, removed, inserted in edits:
        start = place % (len(text) + 1)
        text = text[:start] + inserted + text[start + removed :]
    return text


def edits() -> st.SearchStrategy[list[tuple[int, int, str]]]:
    removed = st.one_of(st.just(0), st.integers(0, 30))
    inserted = st.one_of(st.just(""), st.sampled_from(words()))
    return st.lists(st.tuples(st.integers(0, 5000), removed, inserted), min_size=1, max_size=4)


def files() -> st.SearchStrategy[str]:
    """Entries of the library, edited."""
    several = st.lists(st.sampled_from(entries()), min_size=1, max_size=2).map("".join)
    return st.builds(edited, several, edits())


def soup() -> st.SearchStrategy[str]:
    """Words in any order, and random text."""
    pieces = st.lists(st.sampled_from(words()), max_size=30).map("".join)
    return st.one_of(pieces, st.text(max_size=80))


def signatures() -> st.SearchStrategy[str]:
    heads = [m[1] for e in entries() if (m := re.search(r'- (?:op|helper): "(.*)"', e))]
    return st.one_of(st.builds(edited, st.sampled_from(heads), edits()), soup())


def formulas() -> st.SearchStrategy[str]:
    """Sentences of the formula language, formulas of the library, edited."""
    written = sorted({m for e in entries() for m in re.findall(r'"([^"\n]+)"', e)})
    return st.one_of(_sentences(), st.builds(edited, st.sampled_from(written), edits()), soup())


def listed(text: str) -> list[str]:
    return text.split()


def _sentences() -> st.SearchStrategy[str]:
    leaves = st.sampled_from(
        listed("self x n s grad 0 1 2.5 -1 1j inf nan None True [] () self.shape np.pi 'mean' '%d'")
    )
    names = sorted(load_functions()) + listed(
        "np.where np.sum np.pad np.tile np.zeros np.outer np.linalg.inv math.prod len range randn"
        " max sum str"
    )
    operators = listed("+ - * / // % ** @ & | << >> < == and or is in")

    def larger(part: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
        return st.one_of(
            st.builds("({} {} {})".format, part, st.sampled_from(operators), part),
            st.builds("({} {})".format, st.sampled_from(["-", "+", "~", "not"]), part),
            st.builds(
                "{}({})".format, st.sampled_from(names), st.lists(part, max_size=3).map(", ".join)
            ),
            st.builds("({} if {} else {})".format, part, part, part),
            st.builds("{}[{}]".format, part, part),
            st.builds("{}[{}:{}]".format, part, part, part),
            st.builds("[{} for i in {}]".format, part, part),
            st.builds("[{}, {}]".format, part, part),
            st.builds("(lambda a: {})({})".format, part, part),
            st.builds(
                "{}.{}({})".format,
                part,
                st.sampled_from(["sum", "reshape", "repeat", "astype"]),
                part,
            ),
        )

    return st.recursive(leaves, larger, max_leaves=12)


# Running ------------------------------------------------------------------------------------------

# name -> (how, with what, the share of the cases)
TARGETS: dict[str, tuple[Callable[[str], Any], Callable[[], st.SearchStrategy[str]], float]] = {
    "files": (try_file, files, 0.25),
    "text": (try_file, soup, 0.1),
    "signatures": (try_signature, signatures, 0.2),
    "formulas": (try_formula, formulas, 0.3),
    "samples": (try_sample, formulas, 0.15),
}


def fuzz(target: str, cases: int, *, repeatable: bool = False) -> None:
    """Run one target; the smallest case that fails is shown.

    A repeatable run always tries the same cases.
    """
    attempt, strategy, share = TARGETS[target]
    checks = list(HealthCheck)
    options = settings(
        max_examples=max(int(cases * share), 1),
        deadline=None,
        database=None,
        derandomize=repeatable,
        suppress_health_check=checks,
        report_multiple_bugs=False,
    )
    options(given(strategy())(attempt))()


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--cases", type=int, default=100_000, help="how many in all (%(default)s)")
    parser.add_argument("--target", choices=list(TARGETS), help="only one of the targets")
    options = parser.parse_args()
    for target in [options.target] if options.target else TARGETS:
        started = time.perf_counter()
        fuzz(target, options.cases)
        cases = int(options.cases * TARGETS[target][2])
        print(f"{target}: {cases} cases in {time.perf_counter() - started:.0f} s", flush=True)


if __name__ == "__main__":
    sys.path.insert(0, str(Path(__file__).parent))
    main()

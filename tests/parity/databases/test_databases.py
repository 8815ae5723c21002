"""What `python tests/parity databases` does without PyTorch: rules, numbers, counts, reports."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
import yaml
from db_names import counted, readable
from db_numbers import kinds, wrong_places
from db_page import BEGIN, END, merged, write_page
from db_report import data, readable_causes, table
from db_tally import Failure, Part, causes, state, symptom

RULES = yaml.safe_load((Path(__file__).parent / "wanted_databases.yaml").read_text("utf-8"))


def test_wanted_differences_are_few() -> None:
    assert len(RULES) <= 20


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule["reason"])
def test_a_rule_says_where_and_why(rule: dict[str, str]) -> None:
    assert rule["reason"]
    assert {"name", "kind", "detail", "text"} & rule.keys()
    assert rule.keys() <= {"name", "kind", "detail", "text", "reason"}


# Numbers -----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("expected", "got", "words"),
    [
        ([1.0, np.nan], [1.0, 2.0], "number for nan"),
        ([1.0, np.inf], [1.0, -np.inf], "inf for inf"),
        ([1.0, 1e30], [1.1, 1e30], "number for number"),
        ([0.0, 3.0], [0.0, 0.0], "zero for number"),
        ([1 + 1j, 2.0], [1 - 1j, 2.0], "number for number"),
    ],
)
def test_a_difference_is_seen(expected: list[complex], got: list[complex], words: str) -> None:
    arrays = np.array(expected), np.array(got)
    wrong = wrong_places(*arrays, 1e-6)
    assert int(wrong.sum()) == 1
    assert kinds(arrays[0][wrong], arrays[1][wrong]) == words


def test_integers_are_exact() -> None:
    assert wrong_places(np.array([2**60]), np.array([2**60 + 1]), 1.0) is not None


def test_a_part_is_as_exact_as_its_number() -> None:
    expected = np.array([0.5 + 1000j, 1 + 1j])
    assert wrong_places(expected, expected + np.array([0.0005, 0]), 1e-6) is None
    assert wrong_places(expected, expected + np.array([0.005, 0]), 1e-6) is not None
    assert wrong_places(expected, expected + np.array([0, 0.0005]), 1e-6) is not None


def test_sums_that_cancel_may_differ_by_rounding() -> None:
    expected = np.array([1000.0, 2000.0, 0.001])
    assert wrong_places(expected, expected + 0.0005, 1e-6) is None
    assert wrong_places(expected, expected + 0.05, 1e-6) is not None


# Counting ----------------------------------------------------------------------------------------


def failing(entry: str, said: str, category: str = "forward") -> Part:
    failure = Failure(said, f"float32 {entry}(x)", "a result", said, 2)
    return Part("op_db", entry, category, "float32", {"pass": 1, "fail": 2}, [failure])


def test_one_cause_of_many_entries() -> None:
    parts = [
        failing("nn.functional.first", "raises TypeError: first(): argument 3 must be int"),
        failing("second[variant]", "raises TypeError: second(): argument 1 must be int", "dtypes"),
        failing("third", "raises ValueError: third: is empty"),
    ]
    found = causes(parts)
    assert [len(cause.entries) for cause in found] == [2, 1]
    assert found[0].count == 4
    assert set(found[0].categories) == {"forward", "dtypes"}


def test_kinds_of_dtypes_stay_in_symptoms() -> None:
    assert symptom("dtype: complex64 for float32", "entry") == "dtype: complex for float32"


def test_states_of_an_entry() -> None:
    assert state({"pass": 5, "fail": 1, "missing": 1}) == "fail"
    assert state({"pass": 5, "missing": 1}) == "missing"
    assert state({"pass": 5, "wanted": 1}) == "pass"
    assert state({"skipped": 3}) == "skipped"


def test_the_report_holds_every_count() -> None:
    lacking = Part("op_db", "third", "method", "float32", {"missing": 3}, [], {"no third": 3})
    parts = [failing("first", "raises ValueError: is empty"), lacking]
    whole = json.loads(json.dumps(data(parts, {"seconds": 1})))
    assert whole["entries"]["first"]["categories"]["forward"]["fail"] == 2
    assert whole["entries"]["third"]["state"] == "missing"
    assert whole["missing"] == {"no third": ["third"]}
    assert "2 entries: 1 fail, 1 missing" in table(parts)
    assert "first(x): expected a result" in readable_causes(parts)


def test_names_by_namespace(tmp_path: Path) -> None:
    (tmp_path / "some.txt").write_text("torch.Tensor\ntorch.no_such\ntorch.nn.Linear\n")
    (names,) = counted(tmp_path)
    assert names.asked == {"torch": 2, "torch.nn": 1}
    assert names.missing == {"torch": ["no_such"]}
    assert "names of some: 2 of 3" in readable([names])


# The page ----------------------------------------------------------------------------------------


def report_of(parts: list[Part], path: Path) -> Path:
    about = {"seconds": 2, "torch": "9.9", "date": "2030-01-02"}
    path.write_text(json.dumps(data(parts, about)))
    return path


def test_the_page_holds_what_the_shards_found(tmp_path: Path) -> None:
    good = Part("module_db", "nn.Good", "module", "float32", {"pass": 4, "wanted": 1})
    first = report_of([good], tmp_path / "1.json")
    second = report_of([failing("bad", "raises ValueError: a | b")], tmp_path / "2.json")
    page = tmp_path / "page.md"
    page.write_text(f"before\n{BEGIN}\nold\n{END}\nafter\n")
    write_page(page, merged([first, second]))
    text = page.read_text()
    assert text.startswith("before\n") and text.endswith("\nafter\n") and "old" not in text
    assert "on 2030-01-02 against PyTorch 9.9" in text
    assert "| operators | 1 | 0 | 0 | 1 | 0 | 0 |" in text
    assert "| modules | 1 | 1 | 0 | 0 | 0 | 0 |" in text
    assert "| module | 1 | 0 | 5 | 4 | 0 | 0 | 1 |" in text
    assert "| `bad` | forward | raises ValueError: a \\| b |" in text


def test_the_page_names_what_is_missing(tmp_path: Path) -> None:
    path = report_of([failing("bad", "raises ValueError")], tmp_path / "1.json")
    whole = merged([path])
    asked = {"torch": 3, "torch.fft": 2}
    whole["names"] = {"some": {"asked": asked, "missing": {"torch": ["b", "a"]}}}
    page = tmp_path / "page.md"
    page.write_text(f"{BEGIN}{END}")
    write_page(page, whole)
    assert "names of `some`: 3 of 5; 1 of 2 namespaces are whole" in page.read_text()
    assert "| `torch` | 3 | 1 | `a`, `b` |" in page.read_text()


def test_what_was_run_again_counts(tmp_path: Path) -> None:
    bad = report_of([failing("bad", "raises ValueError")], tmp_path / "1.json")
    mended = Part("op_db", "bad", "forward", "float32", {"pass": 3})
    again = report_of([mended], tmp_path / "2.json")
    whole = merged([bad, again])
    assert whole["entries"]["bad"]["state"] == "pass"
    page = tmp_path / "page.md"
    page.write_text(f"{BEGIN}{END}")
    write_page(page, whole)
    assert "PyTorch 9.9; 1 entries were run again after mends." in page.read_text()
    assert "Every entry passes." in page.read_text()


def test_a_page_without_marks_is_refused(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text("nothing")
    with pytest.raises(ValueError, match="marks"):
        write_page(page, {"entries": {}})

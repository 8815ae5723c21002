"""500 calls with good and bad arguments break nothing; and the fuzzer finds what there is."""

from __future__ import annotations

import re

import pytest
from fuzz_calls import Program, prepare, program
from fuzz_entries import declarations, entries
from fuzz_judge import judge_death
from fuzz_planted import HOLES, ROOT
from fuzz_reduce import Reducer
from fuzz_report import lines, readable
from fuzz_supervisor import alone, fuzzing, run
from fuzz_worker import Finding

from flambeau.codegen.plan.python_signature import forms, python_names

CALLS = 500
SEED = 9


@pytest.fixture(scope="module", autouse=True)
def prepared() -> None:
    prepare()


# What no call may do. The other kinds of findings are for who runs the fuzzer itself.
BROKEN = ("signal", "exit", "sanitizer", "SystemError", "InternalError")


def test_calls_break_nothing() -> None:
    def make(number: int) -> Program:
        return program(SEED, number)

    tally = run(fuzzing(make), range(CALLS), jobs=2, batch=250)
    found = [line for line in lines(tally, make, 2, True, False) if line.kind in BROKEN]
    assert not found, readable(found, {"seed": SEED})
    assert tally.calls == CALLS
    # Arguments are mostly plausible: what is refused at the door says little about what is behind.
    assert tally.worked > CALLS / 3


def test_every_form_of_every_operator_is_called() -> None:
    called = {(entry.operator.full_name, entry.form) for entry in entries() if entry.operator}
    for operator in declarations().own:
        for form in forms(operator):
            assert python_names(operator, form)
            assert (operator.full_name, form) in called


def test_programs_do_not_depend_on_what_came_before() -> None:
    first = [program(3, number).text for number in range(50)]
    assert first == [program(3, number).text for number in reversed(range(50))][::-1]
    assert first != [program(4, number).text for number in range(50)]


def attempt(*statements: str, name: str = "flambeau.add") -> Finding:
    """What the fuzzer says of a program."""
    words = (name.split(".")[-1],)
    found = alone(Program(statements, name, words), growth=True)
    assert len(found) == 1
    return found[0]


# Each is a mistake of one kind, made in Python.
MISTAKES = {
    "signal": "import os; os.kill(os.getpid(), 11)",
    "exit": "import os; os._exit(3)",
    "hang": "while True: pass",
    "SystemError": "raise SystemError('a slot returned NULL')",
    "InternalError": "raise type('InternalError', (Exception,), {})('x')",
    "exception": "assert False, 'add'",
    "empty message": "raise RuntimeError('')",
    "internal words": "raise RuntimeError('add: vector::_M_range_check')",
    "nameless": "raise RuntimeError('something is wrong')",
}


@pytest.mark.parametrize("kind", MISTAKES)
def test_a_mistake_is_found(kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("fuzz_supervisor.HANG", 1.5)
    found = attempt(MISTAKES[kind])
    assert found.kind == kind
    assert found.statements == (MISTAKES[kind],)


def test_planted_holes_are_where_checks_stand() -> None:
    """Each names one line of the tree, with a condition that a build for fuzzing can ignore."""
    if not (ROOT / "native").is_dir():
        pytest.skip("the tests run without the sources")
    places = {hole.place for hole in HOLES}
    assert len(places) == len(HOLES) == 20
    for place in places:
        file, line = place.rsplit(":", 1)
        text = (ROOT / file).read_text(encoding="utf-8").splitlines()[int(line) - 1]
        assert re.search(r"\bcheck\(|FLAMBEAU_UNLIKELY\(", text), place


def test_a_good_call_is_no_finding() -> None:
    good = Program(("r = flambeau.ones(2).add(1)",), "Tensor.add", ("add",))
    refused = Program(("r = flambeau.ones(2).add(flambeau.ones(3))",), "Tensor.add", ("add",))
    assert alone(good) == alone(refused) == []


def test_the_rest_of_a_batch_is_run() -> None:
    def make(number: int) -> Program:
        text = "import os; os.abort()" if number % 3 == 1 else "r = flambeau.ones(2)"
        return Program((text,), "flambeau.ones", ("ones",))

    tally = run(fuzzing(make), range(10), jobs=2, batch=5)
    assert [tally.calls, tally.worked] == [10, 7]
    assert sorted(finding.number for finding in tally.findings) == [1, 4, 7]


def test_a_finding_is_reduced() -> None:
    statements = (
        "a = flambeau.randn(2, 3).T",
        "b = flambeau.ones(7)",
        "r = [a.add(1, alpha=2), np.ctypeslib.ctypes.string_at(b.shape[0] * 0)][0]",
    )
    finding = attempt(*statements)
    reduced = Reducer(finding, ("add",)).run()
    assert finding.kind == "signal"
    assert reduced == "np.ctypeslib.ctypes.string_at(0)"


@pytest.mark.parametrize(
    ("said", "kind", "detail"),
    [
        (
            "==1==ERROR: AddressSanitizer: heap-buffer-overflow on address 0x60\n"
            "    #0 0x7f in memcpy (/lib/libasan.so.8+0x3)\n"
            "    #1 0x7f in flambeau::pool(long) /there/native/cpu/nn/pool.cpp:47\n",
            "sanitizer",
            "heap-buffer-overflow at native/cpu/nn/pool.cpp:47",
        ),
        (
            "declarations/reduce/scan.yaml (cumsum):9:3: runtime error: "
            "signed integer overflow: 2 * 5\n",
            "sanitizer",
            "signed integer overflow: N * N at declarations/reduce/scan.yaml (cumsum):9",
        ),
        (
            "native/cpu/blocks.h:22: assertion failed: d < sizes.size()\n"
            "==1==ERROR: AddressSanitizer: ABRT on unknown address\n"
            "    #4 0x7f in flambeau::cpu::DimBlocks(long) native/cpu/blocks.h:22\n"
            "    #5 0x7f in scan_dense<Sum> native/cpu/reduce/cumulative.simd.cpp:100\n",
            "assertion",
            "d < sizes.size() at native/cpu/reduce/cumulative.simd.cpp:100",
        ),
        ("Fatal Python error: Segmentation fault", "signal", "SIGSEGV Fatal Python error: "),
    ],
)
def test_last_words_are_understood(said: str, kind: str, detail: str) -> None:
    judgement = judge_death("SIGSEGV", said)
    assert judgement.kind == kind
    assert judgement.detail.startswith(detail)

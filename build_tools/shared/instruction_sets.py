"""The instruction sets that loops over elements are compiled for, of each kind of processor.

This is the one list of them: the flags of the compilers, the names that C++ knows
(instruction_sets.h, which the generator writes), what a processor must have, and FLAMBEAU_CPU.
"""

from __future__ import annotations

import platform
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain

from .compiler import BuildError


@dataclass(frozen=True)
class InstructionSet:
    """A set, which contains those before it; `needs`: words of /proc/cpuinfo, and what tells C++
    whether a processor has what they stand for.
    """

    name: str
    flags: str = ""
    needs: Mapping[str, str] = field(default_factory=dict)


def _x86(*words: str, **renamed: str) -> dict[str, str]:
    """`renamed`: those that the compiler has another name for."""
    names = {word: word for word in words} | renamed
    return {word: f'__builtin_cpu_supports("{name}")' for word, name in names.items()}


def _arm(register: str, *words: str) -> dict[str, str]:
    """Bits of the first or the second word in which Linux describes a processor."""
    test = "(getauxval(AT_{0}) & {0}_{1}) != 0"
    return {word: test.format(register, word.upper()) for word in words}


_AVX2 = _x86("avx2", "fma", "bmi2", "f16c", "movbe", bmi1="bmi", abm="lzcnt")
_AVX512 = _x86("avx512f", "avx512bw", "avx512cd", "avx512dq", "avx512vl")
_ARM_FP16 = _arm("HWCAP", "asimdhp", "asimddp")
_ARM_BF16 = _arm("HWCAP2", "bf16", "i8mm")
# By the machine, as compilers and `platform.machine` name it; the smallest set comes first.
MACHINES: Mapping[str, tuple[InstructionSet, ...]] = {
    "x86_64": (
        InstructionSet("baseline"),
        InstructionSet("avx2", "-march=x86-64-v3", _AVX2),
        InstructionSet("avx512", "-march=x86-64-v4 -mprefer-vector-width=512", _AVX2 | _AVX512),
    ),
    "aarch64": (  # NEON is part of the baseline
        InstructionSet("baseline"),
        InstructionSet("armv8_2", "-march=armv8.2-a+fp16+dotprod", _ARM_FP16),
        InstructionSet("armv8_6", "-march=armv8.6-a+fp16", _ARM_FP16 | _ARM_BF16),
    ),
}


def instruction_sets(machine: str | None = None) -> tuple[InstructionSet, ...]:
    """Those of a machine, this one by default; BuildError where Flambeau does not know it."""
    name = machine or platform.machine()
    if name not in MACHINES:
        known = " and ".join(MACHINES)
        raise BuildError(f"Flambeau is written for the processors {known}, not for {name}.")
    return MACHINES[name]


def flags_of(machine: str | None = None) -> dict[str, str]:
    """The flags of each set, by its name."""
    return {one.name: one.flags for one in instruction_sets(machine)}


def without_flags(built: Iterable[str], machine: str | None = None) -> str:
    """What tells C++ which of a machine's sets have no loops."""
    missing = (one.name for one in instruction_sets(machine) if one.name not in set(built))
    return " ".join(f"-DFLAMBEAU_WITHOUT_{name.upper()}" for name in missing)


def header() -> str:
    """The text of instruction_sets.h."""
    lines = [
        "// Generated from build_tools/shared/instruction_sets.py. Do not edit.",
        "#pragma once",
    ]
    for place, (machine, sets) in enumerate(MACHINES.items()):
        lines += ["", f"#{'el' if place else ''}if defined(__{machine}__)", *_machine(sets)]
    lines += ["", "#else", '#error "Flambeau does not know this processor"', "#endif"]
    return "\n".join(lines) + "\n"


def _machine(sets: Sequence[InstructionSet]) -> list[str]:
    lines = ["", "/// X(name, whether the processor has it)"]
    lines += _macro("FLAMBEAU_FOR_EACH_INSTRUCTION_SET(X)", chain.from_iterable(map(_known, sets)))
    for one in sets:
        word = one.name.upper()
        lines += [f"#ifndef FLAMBEAU_WITHOUT_{word}"]
        lines += [f"#define FLAMBEAU_IN_{word}(...) namespace {one.name} {{ __VA_ARGS__ }}"]
        lines += [f"#define FLAMBEAU_WITH_{word}(BEFORE, ...) , BEFORE {one.name} __VA_ARGS__"]
        lines += ["#else", f"#define FLAMBEAU_IN_{word}(...)"]
        lines += [f"#define FLAMBEAU_WITH_{word}(BEFORE, ...)", "#endif"]
    words = [one.name.upper() for one in sets]
    lines += ["/// What stands in the namespace of each set that loops were compiled for."]
    inside = (f"FLAMBEAU_IN_{word}(__VA_ARGS__)" for word in words)
    lines += _macro("FLAMBEAU_IN_EACH_SET(...)", inside)
    lines += ["/// The names of these sets, each with what is given around it, after a comma."]
    listed = (f"FLAMBEAU_WITH_{word}(BEFORE, __VA_ARGS__)" for word in words)
    lines += _macro("FLAMBEAU_EACH_SET(BEFORE, ...)", listed)
    return lines


def _known(one: InstructionSet) -> list[str]:
    """X of a set: each condition is a line."""
    tests = " &&\n    ".join(one.needs.values()) or "true"
    return f"X({one.name}, {tests})".splitlines()


def _macro(head: str, body: Iterable[str]) -> list[str]:
    """The definition of a macro in several lines."""
    lines = [f"#define {head}", *(f"  {line}" for line in body)]
    return [*(f"{line} \\" for line in lines[:-1]), lines[-1]]

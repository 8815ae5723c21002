"""The report: a table of categories, the causes of failures, all of it as JSON."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import asdict
from typing import Any

from db_tally import OUTCOMES, Part, by_entry, causes, missing_names, state, summed

_EXAMPLES = 6


def table(parts: Sequence[Part]) -> str:
    """Entries and cases by category."""
    entries: dict[str, Counter[str]] = {}
    for of_entry in by_entry(parts).values():
        for category, found in of_entry.items():
            entries.setdefault(category, Counter())[state(summed(found))] += 1
    head = "".join(f"{word:>9}" for word in OUTCOMES)
    lines = [f"{'':20}{'entries':>45}{'cases':>45}", f"{'category':20}{head}{head}"]
    for category, counts in entries.items():
        cases = summed(part for part in parts if part.category == category)
        row = [counts[word] for word in OUTCOMES] + [cases.get(word, 0) for word in OUTCOMES]
        lines.append(f"{category:20}" + "".join(f"{number:9}" for number in row))
    whole = Counter(entry_state(found) for found in by_entry(parts).values())
    lines.append(f"{len(by_entry(parts))} entries: " + _counted(whole))
    return "\n".join(lines)


def entry_state(categories: dict[str, list[Part]]) -> str:
    """An entry passes where all that can be asked of it passes."""
    return state(dict(Counter(state(summed(parts)) for parts in categories.values())))


def _counted(counts: Counter[str]) -> str:
    return ", ".join(f"{counts[word]} {word}" for word in OUTCOMES if counts[word])


def readable_causes(parts: Sequence[Part]) -> str:
    """Failures by cause, then names that are missing, the most frequent first."""
    lines = ["== causes of failures: entries, cases, what is seen"]
    for cause in causes(parts):
        names = sorted(cause.entries)
        more = f" and {len(names) - _EXAMPLES} more" if len(names) > _EXAMPLES else ""
        lines.append(f"{len(names):4} {cause.count:6} {cause.symptom}")
        lines.append(f"            in {_most(cause.categories)}")
        lines.append(f"            {', '.join(names[:_EXAMPLES])}{more}")
        lines.append(f"            {cause.example}")
    lines.append("\n== missing names: entries that ask for them")
    for name, entries in missing_names(parts).items():
        lines.append(f"{len(entries):4} {name}: {', '.join(sorted(entries)[:_EXAMPLES])}")
    wanted: Counter[str] = Counter()
    for part in parts:
        wanted.update(part.wanted)
    lines.append("\n== wanted: cases, why")
    lines += [f"{count:6} {reason}" for reason, count in wanted.most_common()]
    return "\n".join(lines)


def _most(counts: Counter[str]) -> str:
    return ", ".join(f"{name} {count}" for name, count in counts.most_common())


def data(parts: Sequence[Part], about: dict[str, Any]) -> dict[str, Any]:
    """Everything, for programs."""
    entries = {}
    for name, categories in by_entry(parts).items():
        entries[name] = {
            "database": next(iter(categories.values()))[0].database,
            "state": entry_state(categories),
            "categories": {c: _category(found) for c, found in categories.items()},
        }
    found = [
        {
            "symptom": cause.symptom,
            "entries": sorted(cause.entries),
            "cases": cause.count,
            "categories": dict(cause.categories),
            "example": cause.example,
        }
        for cause in causes(parts)
    ]
    names = {name: sorted(asking) for name, asking in missing_names(parts).items()}
    return {"about": about, "entries": entries, "causes": found, "missing": names}


def _category(parts: Iterable[Part]) -> dict[str, Any]:
    listed = list(parts)
    counts = summed(listed)
    failures = [failure for part in listed for failure in part.failures]
    failures.sort(key=lambda failure: len(failure.call))
    missing = sorted({name for part in listed for name in part.missing})
    return {
        "state": state(counts),
        **counts,
        **({"failures": [asdict(failure) for failure in failures]} if failures else {}),
        **({"lacks": missing} if missing else {}),
    }

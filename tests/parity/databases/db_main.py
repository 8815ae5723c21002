"""Proves operators, modules and optimizers by the inputs of PyTorch's own tests.

    python tests/parity databases --torch PYTHON --report databases.json

PYTHON: an interpreter of the same version that has PyTorch, PyYAML, Jinja2, SciPy and expecttest.
Its databases of tests (op_db, module_db, optim_db) give the inputs; both libraries run them in
children. Prints a table of categories; the causes of failures go to FILE_causes.txt. The exit
status is 1 where something fails that wanted_databases.yaml does not explain. Shards may be run
apart; `--page` writes what their reports hold into the guide:

    python tests/parity databases --page python/docs/guide/parity.md REPORT...
"""

from __future__ import annotations

import argparse
import json
import os
import re
import sys
import time
from datetime import UTC, datetime
from pathlib import Path

HERE = Path(__file__).parent


def main() -> int:
    parser = argparse.ArgumentParser(prog="python tests/parity databases", description=__doc__,
                                     formatter_class=argparse.RawTextHelpFormatter)  # fmt: skip
    parser.add_argument("--torch", help="an interpreter that has PyTorch (default: this one)")
    parser.add_argument("--ops", default="", help="a pattern of entries' names")
    parser.add_argument("--shard", default="1/1", help="I/N: the I-th of N parts (%(default)s)")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1)
    parser.add_argument("--report", type=Path, help="a JSON file; the causes go beside it")
    parser.add_argument("--names", type=Path, help="a folder of lists of public names, *.txt")
    parser.add_argument("--page", type=Path, help="writes tables of reports into a page")
    parser.add_argument("reports", nargs="*", type=Path, help="what --page reads")
    options = parser.parse_args(sys.argv[2:])
    if bool(options.page) != bool(options.reports):
        parser.error("--page needs reports, which nothing else reads")
    sys.path[:0] = [str(HERE), str(HERE.parent), str(HERE.parents[1] / "fuzz")]
    if options.page:
        from db_page import merged, write_page

        write_page(options.page, merged(options.reports))
        return 0
    if options.torch:
        arguments = [a for i, a in enumerate(sys.argv[1:])
                     if a != "--torch" and sys.argv[i] != "--torch"]  # fmt: skip
        os.execv(options.torch, [options.torch, str(HERE.parent), *arguments])
    return report(options)


def report(options: argparse.Namespace) -> int:
    """Runs what the options ask for; 1 where something fails."""
    import torch
    from db_names import counted, readable
    from db_report import data, readable_causes, table
    from db_run import every_unit, judged
    from parity_wanted import load

    started = time.monotonic()
    part, parts = map(int, options.shard.split("/"))
    units = [unit for unit in every_unit() if re.search(options.ops, unit.name)]
    chosen = sorted({unit.name for unit in units})[part - 1 :: parts]
    units = [unit for unit in units if unit.name in set(chosen)]
    if not units:
        raise SystemExit(f"no entry matches {options.ops!r}")
    found = judged(units, options.jobs, load(HERE, ("wanted_databases.yaml",)))
    print(table(found))
    names = counted(options.names) if options.names else []
    if names:
        print(readable(names))
    about = {"seconds": round(time.monotonic() - started), "ops": options.ops,
             "shard": options.shard, "torch": torch.__version__,
             "date": datetime.now(UTC).date().isoformat()}  # fmt: skip
    print(f"{about['seconds']} s")
    if options.report:
        whole = data(found, about)
        whole["names"] = {n.file: {"asked": n.asked, "missing": n.missing} for n in names}
        options.report.write_text(json.dumps(whole, indent=1), encoding="utf-8")
        beside = options.report.with_name(f"{options.report.stem}_causes.txt")
        beside.write_text(f"{table(found)}\n\n{readable_causes(found)}\n", encoding="utf-8")
    else:
        print(readable_causes(found))
    return 1 if any(part.counts.get("fail") for part in found) else 0

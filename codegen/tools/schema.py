"""Print the JSON Schema of declarations, which gives editors completion, hover text and checks.

The library's is declarations/schema.json, where the first line of every file of declarations points
an editor with a YAML language server to it. For a folder of your own, write it there:

  schema declarations/schema.json
"""

from __future__ import annotations

import argparse
from pathlib import Path

from flambeau.codegen.tools.common import OK

NAME = "schema"
HELP = "print or write the JSON Schema of declarations, for editors"


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("file", nargs="?", type=Path, metavar="FILE", help="write it there")


def run(options: argparse.Namespace) -> int:
    from flambeau.codegen.tools.json_schema import schema_text

    text = schema_text()
    if options.file is None:
        print(text, end="")
        return OK
    options.file.parent.mkdir(parents=True, exist_ok=True)
    options.file.write_text(text, encoding="utf-8")
    print(f"wrote {options.file}")
    return OK

"""Write everything that is derived from the declarations into a folder.

Nothing is done where the folder was written from the same declarations by the same generator.
Files that do not change are left alone, those of an earlier run that are no longer generated are
removed. A folder that holds other files is refused.
"""

from __future__ import annotations

import argparse
import time
from pathlib import Path

from flambeau.codegen.read.loader import declaration_files, load_texts, read_files
from flambeau.codegen.text.source import Diagnostics
from flambeau.codegen.tools.common import OK, add_folder, folder_of
from flambeau.codegen.tools.place import UsageError

NAME = "emit"
HELP = "write the generated files"


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("folder", type=Path, metavar="DIR", help="where to write")
    add_folder(parser)


def run(options: argparse.Namespace) -> int:
    # The templates are not needed by other commands.
    from flambeau.codegen.write.current import emitted_state, forget, is_current, remember
    from flambeau.codegen.write.everything import emit_everything
    from flambeau.codegen.write.files import foreign_files

    foreign = foreign_files(options.folder)
    if foreign:
        more = f" and {len(foreign) - 1} more" if len(foreign) > 1 else ""
        raise UsageError(
            f"{options.folder} holds files that were not generated ({foreign[0]}{more}): "
            "delete it, or give a folder of its own"
        )
    started = time.perf_counter()
    files = declaration_files(folder_of(options))
    diagnostics = Diagnostics()
    texts = read_files(files, diagnostics)
    state = emitted_state(texts)
    if is_current(options.folder, state):
        seconds = time.perf_counter() - started
        print(f"emitted before, seen in {seconds:.2f} s: 0 files changed")
        return OK
    forget(options.folder)
    declarations = load_texts(texts, diagnostics).declarations
    diagnostics.raise_if_any()
    output = emit_everything(declarations, options.folder)
    remember(options.folder, state)
    seconds = time.perf_counter() - started
    count = len(declarations.operators)
    print(f"{count} operators emitted in {seconds:.2f} s: {len(output.changed)} files changed")
    return OK

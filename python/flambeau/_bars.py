"""Progress bars on standard output."""

from __future__ import annotations

import shutil
import sys
from collections.abc import Callable
from typing import Any


def progress_bar(text: Callable[[], str] = str, **options: Any) -> Any:
    """A bar of tqdm, whose formats may contain `{text}`: what `text()` gives when it is drawn.

    Args:
        text: called at most as often as the bar is drawn.
        options: those of tqdm.
    """
    # Here: a process without a bar needs no tqdm.
    from tqdm import tqdm

    class Bar(tqdm):  # type: ignore[misc]
        monitor_interval = 0  # no thread: worker processes are forked while there is a bar

        @property
        def format_dict(self) -> dict[str, Any]:
            return {**super().format_dict, "text": text()}

    size = shutil.get_terminal_size()
    return Bar(**options, file=sys.stdout, ncols=size.columns - 1, nrows=size.lines)

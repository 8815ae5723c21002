"""The command `flambeau`, also `python -m flambeau`."""

from __future__ import annotations

import sys

from flambeau._command_line import main

if __name__ == "__main__":
    sys.exit(main())

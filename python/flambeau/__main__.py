"""The command `flambeau`, also `python -m flambeau`."""

from __future__ import annotations

import sys

from flambeau.demo.command import main

if __name__ == "__main__":
    sys.exit(main())

"""The former name of `flambeau.distributed.run`: `python -m flambeau.distributed.launch`."""

from __future__ import annotations

from flambeau.distributed.run import main

__all__ = ["main"]

if __name__ == "__main__":
    main()

"""Entry point of `python -m flambeau.codegen`."""

import sys

from flambeau.codegen.tools.cli import main

sys.exit(main())

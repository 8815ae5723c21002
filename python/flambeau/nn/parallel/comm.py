"""What tensors on several devices are given to each other by: of `flambeau.cuda.comm`."""

# mypy: implicit-reexport
from flambeau.cuda.comm import *  # noqa: F403

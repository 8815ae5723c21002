"""Found in place of PyTorch by processes that a program under flambeau.run_as_torch starts."""

from flambeau.run_as_torch import install

install()

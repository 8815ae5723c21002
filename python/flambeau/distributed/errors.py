"""What goes wrong between processes."""

from __future__ import annotations


class DistError(RuntimeError):
    """An error of `flambeau.distributed`."""


class DistBackendError(DistError):
    """A collective or a message failed."""


class DistNetworkError(DistError):
    """A connection could not be made, or broke."""


class DistStoreError(DistError):
    """A store did not answer as expected, above all: a key was not set in time."""


class QueueEmptyError(DistStoreError):
    """A queue of a store is empty."""

"""What goes wrong between processes."""

from __future__ import annotations


class DistError(RuntimeError):
    """An error of `flambeau.distributed`.

    Example:
        >>> import datetime
        >>> store = flambeau.distributed.HashStore()
        >>> try:
        ...     store.wait(["address"], datetime.timedelta(milliseconds=1))
        ... except flambeau.distributed.DistError as error:
        ...     print(type(error).__name__)
        DistStoreError
    """


class DistBackendError(DistError):
    """A collective or a message failed.

    Example:
        >>> group = flambeau.distributed.new_group()
        >>> flambeau.distributed.destroy_process_group(group)
        >>> group.check_open("all_reduce")
        Traceback (most recent call last):
            ...
        flambeau.distributed.errors.DistBackendError: all_reduce: the process group was destroyed
    """


class DistNetworkError(DistError):
    """A connection could not be made, or broke.

    Example:
        >>> store = flambeau.distributed.TCPStore("localhost", 0, is_master=True)
        >>> flambeau.distributed.TCPStore("localhost", store.port, is_master=True)
        Traceback (most recent call last):
            ...
        flambeau.distributed.errors.DistNetworkError: listening on ...Address already in use...
    """


class DistStoreError(DistError):
    """A store did not answer as expected, above all: a key was not set in time.

    Example:
        >>> import datetime
        >>> store = flambeau.distributed.HashStore()
        >>> store.wait(["address"], datetime.timedelta(milliseconds=1))
        Traceback (most recent call last):
            ...
        flambeau.distributed.errors.DistStoreError: ...
    """


class QueueEmptyError(DistStoreError):
    """A queue of a store is empty.

    Example:
        >>> store = flambeau.distributed.HashStore()
        >>> store.queue_pop("tasks", block=False)
        Traceback (most recent call last):
            ...
        flambeau.distributed.errors.QueueEmptyError: ...
    """

"""Streams and events of any device: of CUDA those of `flambeau.cuda`; of other backends the one
queue that each device has; the CPU's work is done in order, when its call returns, so there is
nothing to wait for and no event to record.
"""

from __future__ import annotations

from typing import Any

import flambeau
from flambeau import _C


def _place(device: Any) -> Any:
    """The device, or the accelerator's where there is one."""
    if device is not None:
        return flambeau.device(device)
    return flambeau.device("cuda" if flambeau.cuda.is_available() else "cpu")


class Stream:
    """A queue of work on a device.

    Args:
        device: None: the accelerator, or the CPU where there is none.
        priority: of CUDA: negative numbers come first.

    Raises:
        RuntimeError: if the device is not available.

    Example:
        >>> stream = flambeau.Stream("cpu")
        >>> stream.query()  # work of the CPU is done when its call returns
        True
    """

    stream_id = 0

    def __new__(cls, device: Any = None, *, priority: int = 0) -> Any:
        place = _place(device)
        if place.type == "cuda":
            return flambeau.cuda.Stream(place, priority)
        made = super().__new__(cls)
        made.device = place
        return made

    device: Any

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Stream) and self.device == other.device

    def __hash__(self) -> int:
        return hash((Stream, self.device))

    def __repr__(self) -> str:
        return f"Stream(device={self.device})"

    def __enter__(self) -> flambeau.Stream:
        return self

    def __exit__(self, *details: object) -> None:
        return None

    def query(self) -> bool:
        """Whether all work so far is done."""
        return _C._is_queue_done(self.device)

    def synchronize(self) -> None:
        """Waits until all work so far is done."""
        _C._wait_for_queue(self.device)

    def is_capturing(self) -> bool:
        """False: work on this device is not captured."""
        return False

    def wait_event(self, event: flambeau.Event) -> None:
        """Later work starts after the event: of this device it does anyway, for that of another one
        the host waits.

        Raises:
            TypeError: if it is no event, or one of CUDA.
        """
        if not isinstance(event, Event):
            raise TypeError(
                f"Stream.wait_event(): expected an event of {self.device}, got "
                f"{type(event).__name__}"
            )
        if event.device != self.device:
            event.synchronize()

    def record_event(self, event: Any = None) -> Any:
        """Marks the end of the work so far, with a new event unless one is given.

        Raises:
            RuntimeError: if the device has no queue: it has no events.
        """
        event = event or Event(self.device)
        event.record(self)
        return event

    def wait_stream(self, stream: Any) -> None:
        """Later work starts after what `stream` holds now; RuntimeError as of `record_event`."""
        self.wait_event(stream.record_event())


class Event:
    """A point in a stream's work. Of CUDA it is one of `flambeau.cuda`.

    Args:
        device: None: the accelerator, or the CPU where there is none.
        enable_timing: whether time can be measured between two.
        blocking, interprocess: False; True is refused.

    Raises:
        RuntimeError: if the device is not available.

    Example:
        >>> event = flambeau.Event("cpu")
        >>> event.query(), flambeau.Stream("cpu").wait_event(event)
        (True, None)
        >>> event.record()
        Traceback (most recent call last):
            ...
        RuntimeError: device cpu has no events: its work is done when a call returns
    """

    event_id = 0

    def __new__(
        cls,
        device: Any = None,
        *,
        enable_timing: bool = False,
        blocking: bool = False,
        interprocess: bool = False,
    ) -> Any:
        if blocking or interprocess:
            raise NotImplementedError("Event(): blocking and interprocess must be False")
        place = _place(device)
        if place.type == "cuda":
            return flambeau.cuda.Event(enable_timing)
        made = super().__new__(cls)
        made.device, made.enable_timing, made._is_ahead = place, enable_timing, False
        return made

    device: Any
    enable_timing: bool
    _is_ahead: bool  # recorded, and not known to be done

    def __repr__(self) -> str:
        return f"Event(device={self.device})"

    def query(self) -> bool:
        """Whether the work before the event is done; True where nothing was recorded. It may be
        told to be done late, when work behind it is done, too.
        """
        if self._is_ahead and _C._is_queue_done(self.device):
            self._is_ahead = False
        return not self._is_ahead

    def synchronize(self) -> None:
        """Waits until the work before the event is done, and what was called since."""
        if self._is_ahead:
            _C._wait_for_queue(self.device)
            self._is_ahead = False

    def wait(self, stream: Any = None) -> None:
        """Later work of a stream (default: of the event's device) starts after the event."""
        (stream or Stream(self.device)).wait_event(self)

    def record(self, stream: Any = None) -> None:
        """Marks the end of the work that the device holds now.

        Raises:
            RuntimeError: if the device has no queue: it has no events.
            ValueError: if the stream is of another device.
        """
        if not _C._has_queue(self.device):
            raise _no_events(self.device)
        if stream is not None and stream.device != self.device:
            raise ValueError(f"Event.record(): {self!r} is not of {stream!r}")
        self._is_ahead = True

    def elapsed_time(self, end_event: flambeau.Event) -> float:
        """ValueError without enable_timing, else RuntimeError: no time is noted."""
        if not (self.enable_timing and end_event.enable_timing):
            raise ValueError("Event.elapsed_time(): both events need enable_timing=True")
        if not _C._has_queue(self.device):
            raise _no_events(self.device)
        raise RuntimeError(f"Event.elapsed_time(): events of {self.device} note no time")


def _no_events(device: Any) -> RuntimeError:
    return RuntimeError(f"device {device} has no events: its work is done when a call returns")

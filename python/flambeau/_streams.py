"""Streams and events of any device: of CUDA those of `flambeau.cuda`; the CPU's work is done in
order, when its call returns, so there is nothing to wait for and no event to record.
"""

from __future__ import annotations

from typing import Any

import flambeau


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
        """True: all work is done."""
        return True

    def synchronize(self) -> None:
        """Waits for nothing: all work is done."""

    def is_capturing(self) -> bool:
        """False: work on this device is not captured."""
        return False

    def wait_event(self, event: flambeau.Event) -> None:
        """Waits for nothing: no event of this device is ahead.

        Raises:
            TypeError: if it is an event of another device.
        """
        if not isinstance(event, Event):
            raise TypeError(
                f"Stream.wait_event(): expected an event of {self.device}, got "
                f"{type(event).__name__}"
            )

    def record_event(self, event: Any = None) -> Any:
        """RuntimeError: this device has no events."""
        raise _no_events(self.device)

    def wait_stream(self, stream: Any) -> None:
        """RuntimeError: this device has no events, which streams wait for."""
        raise _no_events(self.device)


class Event:
    """A point in a stream's work. Of CUDA it is one of `flambeau.cuda`.

    Args:
        device: None: the accelerator, or the CPU where there is none.
        enable_timing: whether time can be measured between two.
        blocking, interprocess: False; True is refused.

    Raises:
        RuntimeError: if the device is not available.
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
        made.device, made.enable_timing = place, enable_timing
        return made

    device: Any
    enable_timing: bool

    def __repr__(self) -> str:
        return f"Event(device={self.device})"

    def query(self) -> bool:
        """True: nothing was recorded that is not done."""
        return True

    def synchronize(self) -> None:
        """Waits for nothing: nothing was recorded."""

    def wait(self, stream: Any = None) -> None:
        """Waits for nothing: nothing was recorded."""

    def record(self, stream: Any = None) -> None:
        """RuntimeError: this device has no events."""
        raise _no_events(self.device)

    def elapsed_time(self, end_event: flambeau.Event) -> float:
        """ValueError without enable_timing, else RuntimeError: nothing was recorded."""
        if not (self.enable_timing and end_event.enable_timing):
            raise ValueError("Event.elapsed_time(): both events need enable_timing=True")
        raise _no_events(self.device)


def _no_events(device: Any) -> RuntimeError:
    return RuntimeError(f"device {device} has no events: its work is done when a call returns")

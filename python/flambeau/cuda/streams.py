"""Streams, in which a device's work runs in order, and events, which mark a point in a stream."""

from __future__ import annotations

import ctypes
from typing import Any

import flambeau
from flambeau.cuda import _library

__all__ = [
    "Event",
    "ExternalStream",
    "Stream",
    "StreamContext",
    "current_stream",
    "default_stream",
    "get_stream_from_external",
    "set_stream",
    "stream",
]


def _index(device: Any) -> int:
    from flambeau.cuda import device_index

    return device_index(device)


class Stream:
    """A queue of work on a device, independent of other streams.

    Memory that another stream uses too must be told so: `record_stream(tensor)`.

    Args:
        device: where it is; None: the current device.
        priority: negative numbers come first.
    """

    def __init__(
        self, device: Any = None, priority: int = 0, *, _handle: int | None = None
    ) -> None:
        self.device_index = _index(device)
        self._owned = _handle is None
        if _handle is None:
            made = ctypes.c_void_p()
            _library.call("stream_create", self.device_index, priority, ctypes.byref(made))
            _handle = made.value or 0
        self.cuda_stream = _handle

    def __del__(self) -> None:
        if getattr(self, "_owned", False) and hasattr(self, "cuda_stream"):
            _library.call("stream_destroy", self.device_index, ctypes.c_void_p(self.cuda_stream))

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Stream) and self._key() == other._key()

    def __hash__(self) -> int:
        return hash(self._key())

    def __repr__(self) -> str:
        return f"Stream(device=cuda:{self.device_index}, cuda_stream={self.cuda_stream:#x})"

    def _key(self) -> tuple[int, int]:
        return self.device_index, self.cuda_stream

    def synchronize(self) -> None:
        """Waits until the stream's work is done."""
        _library.call("stream_synchronize", self.device_index, ctypes.c_void_p(self.cuda_stream))

    def query(self) -> bool:
        """Whether the stream's work so far is done."""
        is_done = ctypes.c_int()
        stream = ctypes.c_void_p(self.cuda_stream)
        _library.call("stream_query", self.device_index, stream, ctypes.byref(is_done))
        return bool(is_done.value)

    def record_event(self, event: flambeau.cuda.Event | None = None) -> flambeau.cuda.Event:
        """Marks the end of the stream's work so far, with a new event unless one is given."""
        event = event or Event()
        event.record(self)
        return event

    def wait_event(self, event: flambeau.cuda.Event) -> None:
        """Later work of this stream starts after the event."""
        _library.call(
            "stream_wait", self.device_index, ctypes.c_void_p(self.cuda_stream), event.handle()
        )

    def wait_stream(self, other: flambeau.cuda.Stream) -> None:
        """Later work of this stream starts after what `other` holds now."""
        self.wait_event(other.record_event())

    def record_stream(self, tensor: Any) -> None:
        """Work in this stream so far uses the tensor: its memory is reused only after it."""
        _library.call(
            "record_stream",
            ctypes.c_void_p(tensor.untyped_storage().data_ptr()),
            ctypes.c_void_p(self.cuda_stream),
        )


class ExternalStream(Stream):
    """A stream that another library made, and keeps: it is not destroyed with this object.

    Args:
        stream_ptr: its `cudaStream_t`, as a number.
        device: where it is; None: the current device.
    """

    def __init__(self, stream_ptr: int, device: Any = None) -> None:
        super().__init__(device, _handle=stream_ptr)


def get_stream_from_external(data_ptr: int, device: Any = None) -> flambeau.cuda.Stream:
    """The stream of another library whose `cudaStream_t` is the number `data_ptr`.

    Args:
        device: where it is; None: the current device.
    """
    return ExternalStream(data_ptr, device)


class Event:
    """A point in a stream's work: waited for, asked about, measured from (enable_timing=True)."""

    def __init__(self, enable_timing: bool = False) -> None:
        self.enable_timing = enable_timing
        self._handle = ctypes.c_void_p()

    def __del__(self) -> None:
        if self._handle:
            _library.call("event_destroy", self._handle)

    def handle(self) -> ctypes.c_void_p:
        """The CUDA event; RuntimeError before the first record()."""
        if not self._handle:
            raise RuntimeError("Event: record() was not called")
        return self._handle

    def record(self, stream: flambeau.cuda.Stream | None = None) -> None:
        """Marks the end of what the stream (default: the current one) holds now."""
        stream = stream or current_stream()
        if not self._handle:
            _library.call(
                "event_create",
                stream.device_index,
                int(self.enable_timing),
                ctypes.byref(self._handle),
            )
        _library.call(
            "event_record", stream.device_index, self._handle, ctypes.c_void_p(stream.cuda_stream)
        )

    def wait(self, stream: flambeau.cuda.Stream | None = None) -> None:
        """Later work of a stream (default: the current one) starts after the event."""
        (stream or current_stream()).wait_event(self)

    def ipc_handle(self) -> bytes:
        """RuntimeError: events are not shared between processes."""
        raise RuntimeError("Event.ipc_handle: events are not shared between processes")

    def query(self) -> bool:
        """Whether the work before the event is done."""
        is_done = ctypes.c_int()
        _library.call("event_query", self.handle(), ctypes.byref(is_done))
        return bool(is_done.value)

    def synchronize(self) -> None:
        """Waits until the work before the event is done."""
        _library.call("event_synchronize", self.handle())

    def elapsed_time(self, end: flambeau.cuda.Event) -> float:
        """Milliseconds from this event to `end`; both must have timing enabled and be done."""
        if not (self.enable_timing and end.enable_timing):
            raise RuntimeError("Event.elapsed_time: both events need enable_timing=True")
        milliseconds = ctypes.c_float()
        _library.call("event_elapsed", self.handle(), end.handle(), ctypes.byref(milliseconds))
        return milliseconds.value


def current_stream(device: Any = None) -> flambeau.cuda.Stream:
    """The stream that this thread's work on a device goes into."""
    index = _index(device)
    handle = ctypes.c_void_p()
    _library.call("current_stream", index, ctypes.byref(handle))
    return Stream(index, _handle=handle.value or 0)


def default_stream(device: Any = None) -> flambeau.cuda.Stream:
    """The stream that a device's work goes into unless another was set."""
    return Stream(_index(device), _handle=0)


def set_stream(stream: flambeau.cuda.Stream) -> None:
    """This thread's work on the stream's device goes into the stream from now on."""
    _library.call("set_current_stream", stream.device_index, ctypes.c_void_p(stream.cuda_stream))


class StreamContext:
    """`with cuda.stream(s):` this thread's work on its device goes into it. None: no change."""

    def __init__(self, stream: flambeau.cuda.Stream | None) -> None:
        self.stream = stream
        self._previous: Stream | None = None

    def __enter__(self) -> None:
        if self.stream is not None:
            self._previous = current_stream(self.stream.device_index)
            set_stream(self.stream)

    def __exit__(self, *exception: object) -> None:
        if self._previous is not None:
            set_stream(self._previous)


def stream(stream: flambeau.cuda.Stream | None) -> StreamContext:
    """A context in which this thread's work on the stream's device goes into it."""
    return StreamContext(stream)

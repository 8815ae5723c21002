"""A web server for tests of downloads, which can misbehave."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer


@dataclass
class Site:
    """Files by path, and what goes wrong."""

    files: dict[str, bytes] = field(default_factory=dict)
    url: str = ""
    ranges: bool = True  # honours Range
    says_length: bool = True
    breaks_after: list[int] = field(default_factory=list)  # bytes per request that close early
    answers: list[int] = field(default_factory=list)  # statuses of the first requests
    shift: int = 0  # of the place where an answer to a Range begins
    stalls: bool = False
    asked: list[str | None] = field(default_factory=list)  # the Range of each request
    agents: set[str] = field(default_factory=set)


@contextmanager
def serving(site: Site) -> Iterator[Site]:
    """Serves a site at `site.url`, inside a `with` block."""
    stop = threading.Event()

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            site.asked.append(self.headers.get("Range"))
            site.agents.add(self.headers["User-Agent"])
            if site.answers:
                self.send_error(site.answers.pop(0))
                return
            if self.path not in site.files:
                self.send_error(404)
                return
            data, start = site.files[self.path], 0
            if site.ranges and site.asked[-1]:
                start = int(site.asked[-1].removeprefix("bytes=").rstrip("-"))
                if start >= len(data):
                    self.send_error(416)
                    return
                start += site.shift
                self.send_response(206)
                self.send_header("Content-Range", f"bytes {start}-{len(data) - 1}/{len(data)}")
            else:
                self.send_response(200)
            if site.says_length:
                self.send_header("Content-Length", str(len(data) - start))
            self.end_headers()
            if site.stalls:
                stop.wait(30)
                return
            end = len(data)
            if site.breaks_after:
                end = start + site.breaks_after.pop(0)
            self.wfile.write(data[start:end])

        def log_message(self, *_: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    site.url = f"http://127.0.0.1:{server.server_port}"
    thread = threading.Thread(target=server.serve_forever, args=(0.01,))
    thread.start()
    try:
        yield site
    finally:
        stop.set()
        server.shutdown()
        server.server_close()
        thread.join()

"""The server: on the loopback address alone, for GET and HEAD, and for requests that name a loopback host."""

from __future__ import annotations

import errno
import threading
from collections.abc import Callable
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import ClassVar
from urllib.parse import urlsplit

from coplay.errors import CoplayError, UsageError
from coplay.view.routes import Answer, Routes, refusal

ADDRESS = "127.0.0.1"

PORT = 8642
"""Unless another one is asked for."""

LOOPBACK = frozenset({"127.0.0.1", "localhost", "::1"})
"""The names by which a browser on this machine asks. A page of another site that has its name point to this address asks by that name."""

PATIENCE = 30.0
"""Seconds for which a connection may be idle."""

HEADERS = {
    "Cache-Control": "no-store",
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
}
"""Of every answer, besides its content security policy."""


def is_loopback(host: str | None) -> bool:
    """Whether a ``Host`` header names this machine by a loopback name, with any port."""
    if not host or any(one in host for one in "@/\\?# \t"):
        return False
    try:
        parts = urlsplit(f"//{host}")
        _ = parts.port
        return parts.hostname in LOOPBACK
    except ValueError:
        return False


class Handler(BaseHTTPRequestHandler):
    """Answers one connection."""

    protocol_version = "HTTP/1.1"
    server_version = "coplay"
    sys_version = ""
    timeout = PATIENCE
    routes: ClassVar[Routes]

    def do_GET(self) -> None:
        """Answer with the content."""
        self._answer(with_body=True)

    def do_HEAD(self) -> None:
        """Answer without the content."""
        self._answer(with_body=False)

    def _refuse(self) -> None:
        answer = refusal(HTTPStatus.METHOD_NOT_ALLOWED, "coplay view answers GET and HEAD alone.")
        self.close_connection = True  # what was sent along is not read
        self._send(answer, with_body=True)

    do_POST = do_PUT = do_PATCH = do_DELETE = do_OPTIONS = do_TRACE = do_CONNECT = _refuse

    def _answer(self, *, with_body: bool) -> None:
        hosts = self.headers.get_all("Host") or []
        if len(hosts) != 1 or not is_loopback(hosts[0]):
            told = f"coplay view answers requests to {' and '.join(sorted(LOOPBACK))} alone."
            self._send(refusal(HTTPStatus.FORBIDDEN, told), with_body=with_body)
            return
        try:
            answer = self.routes.answer(self.path)
        except CoplayError as error:
            answer = refusal(HTTPStatus.INTERNAL_SERVER_ERROR, str(error))
        except Exception as error:  # a fault of coplay; the page says so and goes on
            told = f"internal error: {type(error).__name__}: {error}. This is a fault of coplay; please report it."
            answer = refusal(HTTPStatus.INTERNAL_SERVER_ERROR, " ".join(told.split()))
        self._send(answer, with_body=with_body)

    def _send(self, answer: Answer, *, with_body: bool) -> None:
        self.send_response(answer.status)
        sent = {
            "Content-Type": answer.kind,
            "Content-Length": str(len(answer.body)),
            "Content-Security-Policy": answer.policy,
            **HEADERS,
            **answer.headers,
        }
        if answer.status == HTTPStatus.METHOD_NOT_ALLOWED:
            sent["Allow"] = "GET, HEAD"
        for name, value in sent.items():
            self.send_header(name, value)
        self.end_headers()
        if with_body:
            self.wfile.write(answer.body)

    def log_message(self, format: str, *args: object) -> None:
        """Say nothing: a page that follows a run asks every few seconds."""


class Server(ThreadingHTTPServer):
    """Shows a directory until it is shut down.

    Args:
        root: the directory.
        port: where to listen; 0 for any free port.

    Raises:
        UsageError: if the port is in use, or may not be used.
    """

    daemon_threads = True

    def __init__(self, root: Path, *, port: int = PORT) -> None:
        handler = type("DirectoryHandler", (Handler,), {"routes": Routes(root)})
        try:
            super().__init__((ADDRESS, port), handler)
        except OSError as error:
            if error.errno not in (errno.EADDRINUSE, errno.EACCES):
                raise
            why = "in use, perhaps by another coplay view" if error.errno == errno.EADDRINUSE else "not allowed"
            raise UsageError(
                f"port {port} is {why}; choose another with --port N, or any free one with --port 0"
            ) from None

    @property
    def url(self) -> str:
        """The address of the page."""
        return f"http://{ADDRESS}:{self.server_address[1]}/"

    def handle_error(self, request: object, client_address: object) -> None:
        """Say nothing of readers that left."""

    def warm(self, imports: Callable[[], None]) -> None:
        """Do slow imports in the background, so that the first page does not wait for them."""
        threading.Thread(target=imports, daemon=True).start()

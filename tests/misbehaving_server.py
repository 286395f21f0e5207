"""An endpoint on this machine that misbehaves on purpose, as ``BEHAVIOURS`` say; statuses by their number are further ones."""

import json
import threading
from collections import Counter
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

from misbehaviours import BEHAVIOURS, KEY, Exchange, error

from coplay.players.endpoint_settings import EndpointSettings


class Server:
    """Answers each request with the next fault of its list, then properly: with ``text``, or what ``replying`` makes of the request."""

    def __init__(self) -> None:
        self.faults: Callable[[int], str] = lambda tries: "fine"
        self.text: str | None = "<A>"
        self.replying: Callable[[dict[str, Any]], str | None] | None = None
        self.usage: Any = {"prompt_tokens": 400, "completion_tokens": 3, "total_tokens": 403}
        self.seen: list[dict[str, Any]] = []
        self.keys: set[str | None] = set()
        self.headers: list[dict[str, str]] = []
        self.tries: Counter[str] = Counter()
        self.now, self.most_at_once = 0, 0
        self.lock = lock = threading.Lock()
        server = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers["Content-Length"]))
                with lock:
                    server.now += 1
                    server.most_at_once = max(server.most_at_once, server.now)
                    server.seen.append(json.loads(body))
                    server.keys.add(self.headers["Authorization"])
                    server.headers.append(dict(self.headers))
                    server.tries[body.decode()] += 1
                    fault = server.faults(server.tries[body.decode()])
                behave = BEHAVIOURS.get(fault) or error(f"no, {KEY}!", int(fault))
                exchange = Exchange(server, json.loads(body), self.connection)
                try:
                    behave(exchange)
                except OSError:  # the other end has closed
                    pass
                finally:
                    exchange.leave()

            def log_message(self, *_: Any) -> None:
                pass

        self.http = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.http.handle_error = lambda *_: None  # type: ignore[method-assign]
        threading.Thread(target=self.http.serve_forever, daemon=True).start()

    @property
    def settings(self) -> EndpointSettings:
        url = f"http://127.0.0.1:{self.http.server_port}/v1"
        return EndpointSettings(url, "m", api_key_var="COPLAY_TEST_KEY", timeout=0.4, retries=4)


def settings_file(server: Server, folder: Path, **more: Any) -> Path:
    """A settings file that leads to it; more are further settings, None for one to be left out."""
    values = {
        "base_url": server.settings.base_url,
        "model": "m",
        "api_key_var": "COPLAY_TEST_KEY",
        "retries": 0,
        **more,
    }
    path = folder / "them.toml"
    path.write_text("".join(f"{key} = {json.dumps(value)}\n" for key, value in values.items() if value is not None))
    return path

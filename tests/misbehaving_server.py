"""An endpoint on this machine that misbehaves on purpose."""

import json
import socket
import threading
import time
from collections import Counter
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

from coplay.players.endpoint_settings import EndpointSettings

KEY = "sk-very-secret-0123456789"


def completion(text: str | None, usage: Any) -> bytes:
    return json.dumps(
        {
            "id": "x",
            "object": "chat.completion",
            "created": 0,
            "model": "m",
            "choices": [{"index": 0, "finish_reason": "stop", "message": {"role": "assistant", "content": text}}],
            "usage": usage,
        }
    ).encode()


class Server:
    """Answers each request with the next fault of its list, then properly: with ``text``, or what ``replying`` makes of the request."""

    def __init__(self) -> None:
        self.faults: Callable[[int], str] = lambda tries: "fine"
        self.text: str | None = "<A>"
        self.replying: Callable[[dict[str, Any]], str | None] | None = None
        self.usage: Any = {"prompt_tokens": 10, "completion_tokens": 3, "total_tokens": 13}
        self.seen: list[dict[str, Any]] = []
        self.keys: set[str] = set()
        self.tries: Counter[str] = Counter()
        self.now, self.most_at_once = 0, 0
        lock = threading.Lock()
        server = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers["Content-Length"]))
                with lock:
                    server.now += 1
                    server.most_at_once = max(server.most_at_once, server.now)
                    server.seen.append(json.loads(body))
                    server.keys.add(self.headers["Authorization"])
                    server.tries[body.decode()] += 1
                    fault = server.faults(server.tries[body.decode()])
                try:
                    self.misbehave(fault, json.loads(body))
                except (BrokenPipeError, ConnectionResetError):
                    pass
                finally:
                    with lock:
                        server.now -= 1

            def misbehave(self, fault: str, asked: dict[str, Any]) -> None:
                if fault == "hang":
                    time.sleep(1.0)
                if fault == "slow":
                    time.sleep(0.05)
                if fault == "close":
                    self.connection.shutdown(socket.SHUT_RDWR)
                    return
                status = int(fault) if fault.isdecimal() else 200
                bodies = {
                    "truncated": completion("<A>", server.usage)[:-30],
                    "malformed": b"{'not': json]",
                    "other": b'{"choices": [], "usage": null}',
                    "list": b"[1, 2]",
                    "null": b"null",
                    "paid": json.dumps({"choices": [], "usage": server.usage}).encode(),
                    "html": b"<html>gateway</html>",
                    "deep": b"[" * 100_000,
                    "message": b'{"choices": [{"message": ["<A>"]}]}',
                }
                failing = json.dumps({"error": {"message": f"no, {KEY}!", "type": "x"}}).encode()
                text = server.text if server.replying is None else server.replying(asked)
                body = failing if status != 200 else bodies.get(fault, completion(text, server.usage))
                self.send_response(status)
                self.send_header("Content-Type", "text/html" if fault == "html" else "application/json")
                self.send_header("Content-Length", str(len(body)))
                self.send_header("retry-after-ms", "5")
                self.end_headers()
                for byte in body if fault == "trickle" else ():
                    self.wfile.write(bytes([byte]))
                    time.sleep(0.02)
                self.wfile.write(b"" if fault == "trickle" else body)

            def log_message(self, *_: Any) -> None:
                pass

        self.http = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
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

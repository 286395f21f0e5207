"""An endpoint on this machine whose replies follow from what it is asked, and from nothing else."""

from __future__ import annotations

import contextlib
import hashlib
import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

HANDS = ("rock", "paper", "scissors")
"""What can be told in Trust-and-Split."""

MOST = 10
"""Coins that can be asked for."""

UNREADABLE_IN = 6
"""One reply in about so many is none."""


@contextlib.contextmanager
def serving() -> Iterator[str]:
    """Serve Trust-and-Split's replies on a free port; yields the base URL."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), _Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield f"http://127.0.0.1:{server.server_port}/v1"
    finally:
        server.shutdown()
        server.server_close()


def reply_to(messages: list[dict[str, str]]) -> str:
    """A message, a proposal, or nothing that can be read; the same one to the same messages."""
    kind, which = hashlib.sha256(json.dumps(messages, sort_keys=True).encode()).digest()[:2]
    if kind % UNREADABLE_IN == 0:
        return "I would rather not say."
    asked = messages[-1]["content"]
    if asked.rfind("<<message_start>>") > asked.rfind("<<proposal_start>>"):
        return f"<<message_start>>My hand is {HANDS[which % len(HANDS)]}.<<message_end>>"
    return f"<<proposal_start>>{which % (MOST + 1)}<<proposal_end>>"


class _Handler(BaseHTTPRequestHandler):
    """Answers chat completions."""

    def do_POST(self) -> None:
        """Answer one request."""
        request = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        body = json.dumps(_completion(reply_to(request["messages"]))).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: Any) -> None:
        """Keep quiet."""


def _completion(text: str) -> dict[str, Any]:
    """A chat completion as OpenAI's interface has it."""
    message = {"role": "assistant", "content": text}
    choices = [{"index": 0, "finish_reason": "stop", "message": message}]
    usage = {"prompt_tokens": 10, "completion_tokens": 3, "total_tokens": 13}
    return {"id": "x", "object": "chat.completion", "created": 0, "model": "them", "choices": choices, "usage": usage}

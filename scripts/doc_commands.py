"""``coplay`` without its start-up, for documentation: a process that has imported everything forks for each command.

Most of the time of a short command is imports. The command that a page finds as ``coplay`` hands its words, directory, environment and streams to that
process and ends with the status that comes back.
"""

from __future__ import annotations

import contextlib
import json
import os
import signal
import socket
import sys
import traceback
from collections.abc import Iterator
from pathlib import Path

MOST = 2**20
"""Bytes of a command's words and environment."""

SHIM = """#!{python} -ISE
import json, os, socket, sys

with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as line:
    line.connect({address!r})
    what = [sys.argv[1:], os.getcwd(), dict(os.environ), sorted(os.sched_getaffinity(0))]
    socket.send_fds(line, [json.dumps(what).encode()], [0, 1, 2])
    answer = line.recv(1)
sys.exit(answer[0] if answer else 1)
"""
"""The command; it imports nothing heavy."""


@contextlib.contextmanager
def quick_commands(folder: Path) -> Iterator[Path]:
    """In the block, a directory for the search path in which there is ``coplay``.

    Args:
        folder: an empty directory for it and its socket.
    """
    address, command = str(folder / "socket"), folder / "coplay"
    command.write_text(SHIM.format(python=sys.executable, address=address))
    command.chmod(0o755)
    listening = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    listening.bind(address)
    listening.listen(64)
    server = os.fork()
    if server == 0:
        try:
            _serve(listening)
        except BaseException:
            traceback.print_exc()
        os._exit(1)
    listening.close()
    try:
        yield folder
    finally:
        os.kill(server, signal.SIGKILL)
        os.waitpid(server, 0)


def _serve(listening: socket.socket) -> None:
    sys.path.insert(0, str(Path(__file__).parents[1]))
    from attack.engine import import_everything

    import_everything()
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # nobody waits for them here
    while True:
        line, _ = listening.accept()
        if os.fork() == 0:
            listening.close()
            _run(line)
        line.close()


def _run(line: socket.socket) -> None:
    """Be the command; never returns."""
    from attack.children import status_of, take_streams

    status = 1
    try:
        data, handles, _, _ = socket.recv_fds(line, MOST, 3)
        words, directory, environment, cores = json.loads(data)
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)
        os.sched_setaffinity(0, cores)
        os.chdir(directory)
        os.environ.clear()
        os.environ.update(environment)
        take_streams(handles)
        sys.argv = ["coplay", *words]
        status = status_of(words)
    finally:
        line.send(bytes([status]))
        os._exit(status)

"""``coplay view``: a local page about the runs of a directory."""

from __future__ import annotations

import argparse
import sys
from dataclasses import asdict

from coplay.cli.reading import show
from coplay.errors import UsageError
from coplay.files.naming import user_path
from coplay.terminal.printable import printable

MOST_PORT = 65_535


def view(options: argparse.Namespace) -> int:
    """``coplay view``."""
    root = user_path(options.directory)
    if not root.is_dir():
        hint = "train a run first, e.g. coplay train any/naive --game ipd --learner tabular, or name another DIR"
        raise UsageError(f"there is no directory {root}; {hint}")
    if options.json:
        from coplay.view.index import Index

        show([asdict(row) for row in Index(root).rows()])
        return 0
    from coplay.view.server import PORT, Server

    port = PORT if options.port is None else options.port
    if not 0 <= port <= MOST_PORT:
        raise UsageError(f"--port takes a number from 0 to {MOST_PORT}, got {port}")
    with Server(root, port=port) as server:
        print(f"{printable(str(root))} is shown at {server.url}", flush=True)
        print("Ctrl-C ends it. Nobody but this machine can reach it.", file=sys.stderr, flush=True)
        server.warm(_imports)
        if not options.no_browser and sys.stdout.isatty():
            import webbrowser

            webbrowser.open(server.url)
        try:
            server.serve_forever(poll_interval=0.2)
        except KeyboardInterrupt:
            print(file=sys.stderr)
    return 0


def _imports() -> None:
    """What the page of a run takes a second or two to import."""
    import matplotlib.figure  # noqa: F401

    import coplay.recipes  # noqa: F401

"""``coplay probe``: what a model does in the prompts of matrix games before any learning."""

from __future__ import annotations

import argparse
from pathlib import Path

from coplay.cli.labels import pairs_from, shown_by
from coplay.cli.reading import show
from coplay.errors import UsageError
from coplay.experiments.probe import GAMES, PAIRS, checked_games
from coplay.models.loading import model_path
from coplay.runs.directory import is_taken
from coplay.terminal.progress import Progress
from coplay.terminal.streams import tell


def probe(options: argparse.Namespace) -> int:
    """``coplay probe``."""
    games = checked_games(options.game or GAMES)
    pairs = pairs_from(options.pairs) or list(PAIRS)
    if len({frozenset(pair) for pair in pairs}) < len(pairs):
        raise UsageError("--pairs: each pair is read in both orders; name it once")
    if options.threads is not None and options.threads < 1:
        raise UsageError(f"--threads must be at least 1, got {options.threads}")
    model_path(options.model)
    adapter = None if options.adapter is None else Path(options.adapter)
    if adapter is not None and not adapter.is_dir():
        raise UsageError(f"--adapter: there is no directory {adapter}")
    out = None if options.out is None else Path(options.out)
    if out is not None and is_taken(out):
        raise UsageError(f"{out} exists already; choose another --out")
    from coplay.experiments.probe import probe as probe_model
    from coplay.experiments.probe_summary import table
    from coplay.models.loading import load_model
    from coplay.models.threads import available_threads, set_threads

    set_threads(options.threads or available_threads())
    loaded = load_model(options.model, four_bit=options.four_bit, chat=options.chat, chat_date=options.chat_date)
    progress = Progress(unit="pair", quiet=options.quiet)
    with progress.running(2 * len(pairs) * len(games)):
        found = probe_model(loaded, games, pairs=pairs, adapter=adapter, on_progress=shown_by(progress))
    if found.skipped:
        named = ", ".join("/".join(pair) for pair in found.skipped)
        tell(f"coplay: left out, as they are not two single tokens of {options.model}: {named}")
    page = None
    if out is not None:
        from coplay.experiments.probe_page import write_probe

        page = write_probe(found, out)
    if options.json:
        show(found.record())
        return 0
    print(table(found))
    if page is not None:
        print(f"\nReport: {page}")
    return 0

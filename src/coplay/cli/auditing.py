"""``coplay audit``: what co-players take from a player, and a verdict."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable
from pathlib import Path

from coplay.cli.evaluating import find_players, game_named, game_of
from coplay.cli.options import executor_from
from coplay.cli.reading import show
from coplay.errors import UsageError
from coplay.terminal.printable import printable


def audit(options: argparse.Namespace) -> int:
    """``coplay audit``."""
    for name, least in (("rounds", 1), ("n_seeds", 2), ("episodes", 1), ("samples", 2), ("seed", 0)):
        value = getattr(options, name)
        if value is not None and value < least:
            raise UsageError(f"--{name.replace('_', '-')} must be at least {least}, got {value}")
    if not options.player.strip():
        raise UsageError("audit: the player's name is empty; see coplay list players")
    out = None if options.out is None else Path(options.out)
    executor = executor_from(options)
    from coplay.auditing.cost import confirm_cost
    from coplay.auditing.gate import judge, read_gate
    from coplay.auditing.plan import Plan, checked_kinds, default_kinds
    from coplay.auditing.result import AuditResult
    from coplay.auditing.run import case_of
    from coplay.auditing.tasks import audited, check_sendable
    from coplay.auditing.written import read_audit, refuse_taken

    if out is not None:
        refuse_taken(out)
    seconds, trials = budget_of(options.budget)
    against = checked_kinds([one.strip() for one in options.against.split(",")] if options.against else default_kinds())
    gate = None if options.gate is None else read_gate(Path(options.gate))
    baseline = None if options.baseline is None else read_audit(Path(options.baseline))
    options.players = [options.player]
    named = game_named(options.game, options.players)
    if executor.is_elsewhere:
        check_sendable(named, options.player, out)
        executor.prepare(Path(options.out).parent, quiet=options.quiet)
    game = game_of(options.game, options.players, rounds=options.rounds)
    (player,) = find_players(options, game)
    plan = Plan(
        rounds=options.rounds or game.rounds,
        against=against,
        seconds=seconds,
        trials=trials,
        seeds=options.n_seeds,
        episodes=options.episodes,
        samples=options.samples,
        seed=options.seed,
        model=options.exploiter_model,
    )
    confirm_cost(game, player, plan, yes=options.yes)
    how = {"out": out, "temperature": options.temperature, "quiet": options.quiet}
    with audited(executor, case_of(game, player, plan), game=named, tell=_teller(options.quiet), **how) as found:
        result = AuditResult(found, judge(found, gate, baseline))
        if out is not None:
            result.write(out)
    show(result.to_dict()) if options.json else print(printable(result.table(), keep="\n"))
    return result.judgement.status


def _teller(quiet: bool) -> Callable[[str], None]:
    """Prints what is being measured to standard error."""
    return lambda text: None if quiet else print(f"coplay: {printable(text)}", file=sys.stderr, flush=True)


def budget_of(text: str) -> tuple[float | None, int | None]:
    """``120s`` as seconds of training, ``60`` as trials of each learner: the one that is given, None for the other."""
    try:
        seconds = float(text[:-1]) if text.endswith("s") else None
        trials = None if seconds is not None else int(text)
    except ValueError:
        raise UsageError(
            f"--budget takes seconds, e.g. 120s, or trials of each learner, e.g. 64; got {text!r}"
        ) from None
    if not 0 < (seconds if seconds is not None else trials or 0) < float("inf"):
        raise UsageError(f"--budget must be above 0, got {text}")
    return seconds, trials

"""The audit in Python: games and players by name or object in, measures and a verdict out."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from coplay.auditing.gate import judge, read_gate
from coplay.auditing.result import AuditResult
from coplay.auditing.run import Plan, audit_player, checked_kinds, default_kinds
from coplay.auditing.written import read_audit
from coplay.games import make_game
from coplay.games.catalogue import GameSpec
from coplay.players.named import PlayerSpec
from coplay.runs.contestants import contestants


def audit(
    game: GameSpec,
    player: PlayerSpec,
    *,
    gate: str | Path | None = None,
    baseline: str | Path | None = None,
    against: Sequence[str] | None = None,
    **plan: int | float | str | None,
) -> AuditResult:
    """Measure what co-players take from a player, those that learn among them, and judge it.

    Args:
        game: the game, by name or object.
        player: who is audited.
        gate: a TOML file of thresholds.
        baseline: an earlier ``audit.json``.
        against: kinds of co-players; by default all but ``language_model``.
        plan: fields of :class:`coplay.auditing.run.Plan`: ``rounds``, ``seconds``, ``trials``, ``seeds``, ``episodes``, ``samples``, ``seed``, ``model``.

    Returns:
        The measures, with ``verdict``, ``table()``, ``to_dict()`` and ``write(DIR)``.

    Raises:
        UsageError: for unknown names, files that cannot be read, or a player that can sit in no seat beside a co-player.

    Example:
        >>> found = audit("ipd", "tit_for_tat", against=["best_response"])
        >>> found.audit.measures[0].value, found.verdict
        (3.05, 'ungraded')
    """
    rules = make_game(game)
    rounds = plan.pop("rounds", None)
    rules = rules if rounds is None else rules.lasting(int(rounds))
    settings = Plan(int(rounds or rules.rounds), checked_kinds(against or default_kinds()), **plan)  # type: ignore[arg-type]
    (audited,) = contestants([player], rules)
    found = audit_player(rules, audited, settings)
    limits = None if gate is None else read_gate(Path(gate))
    return AuditResult(found, judge(found, limits, None if baseline is None else read_audit(Path(baseline))))

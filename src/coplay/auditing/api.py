"""The audit in Python: games and players by name or object in, measures and a verdict out."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from coplay.auditing.gate import judge, read_gate
from coplay.auditing.plan import Plan, checked_kinds, default_kinds
from coplay.auditing.result import AuditResult
from coplay.auditing.run import case_of
from coplay.auditing.tasks import audited, check_sendable
from coplay.auditing.written import read_audit, refuse_taken
from coplay.games import make_game
from coplay.games.catalogue import GameSpec
from coplay.players.named import PlayerSpec
from coplay.runs.contestants import contestants
from coplay.tasks.executors import TaskExecutor
from coplay.tasks.named import executor_of


def audit(
    game: GameSpec,
    player: PlayerSpec,
    *,
    gate: str | Path | None = None,
    baseline: str | Path | None = None,
    against: Sequence[str] | None = None,
    out: str | Path | None = None,
    executor: str | TaskExecutor = "local",
    **plan: int | float | str | None,
) -> AuditResult:
    """Measure what co-players take from a player, those that learn among them, and judge it.

    Args:
        game: the game, by name or object.
        player: who is audited.
        gate: a TOML file of thresholds.
        baseline: an earlier ``audit.json``.
        against: kinds of co-players; by default all but ``language_model``.
        out: a new directory into which the audit is written, besides.
        executor: who measures its parts: ``local``, this process, ``ray``, a cluster, or a :class:`coplay.RayCluster`. A cluster needs ``out``, and a player
            by name.
        plan: fields of :class:`coplay.auditing.plan.Plan`: ``rounds``, ``seconds``, ``trials``, ``seeds``, ``episodes``, ``samples``, ``seed``, ``model``.

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
    by, directory = executor_of(executor), None if out is None else Path(out)
    if directory is not None:
        refuse_taken(directory)
    if by.is_elsewhere:
        check_sendable(game, player, directory)
    limits = None if gate is None else read_gate(Path(gate))
    before = None if baseline is None else read_audit(Path(baseline))
    (audited_player,) = contestants([player], rules)
    case = case_of(rules, audited_player, settings)
    with audited(by, case, game=game, out=directory, quiet=True) as found:
        result = AuditResult(found, judge(found, limits, before))
        if directory is not None:
            result.write(directory)
    return result

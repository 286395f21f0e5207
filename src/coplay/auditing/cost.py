"""What an audit asks of an endpoint, before anything is asked."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from coplay.auditing.conduct import ANY, can_sit, scripted_co_players
from coplay.auditing.learning import measured_after
from coplay.auditing.plan import SCRIPTED, STEERING, Plan
from coplay.auditing.presented import PRESENTED, number_of_presentations
from coplay.auditing.record import BEST_RESPONSE
from coplay.auditing.run import seats_of_co_players
from coplay.errors import UsageError
from coplay.evaluation.estimate import Games, estimate
from coplay.evaluation.estimate_text import tell_estimate
from coplay.games.base import Game
from coplay.games.matrix import MatrixGame
from coplay.players.named import is_endpoint, with_persona
from coplay.runs.contestants import Contestant
from coplay.runs.exploiter import GAMES, KINDS


def confirm_cost(game: Game, player: Contestant, plan: Plan, *, yes: bool) -> None:
    """Print what an endpoint will be asked; nothing for all other players.

    Args:
        game: the rules.
        player: who is audited.
        plan: what is measured.
        yes: whether that is agreed to.

    Raises:
        UsageError: unless it is agreed to and can be known: a budget in seconds, and best responses by enumeration, ask as much as they get to.
    """
    if not is_endpoint(with_persona(player.name)[0]):
        return
    if plan.trials is None and any(kind in KINDS for kind in plan.against):
        raise UsageError("what learners ask an endpoint must be known before: give --budget in trials, e.g. --budget 8")
    if BEST_RESPONSE in plan.against:
        left = ",".join(kind for kind in plan.against if kind != BEST_RESPONSE) or SCRIPTED
        raise UsageError(
            f"how often a best response asks an endpoint is not known before; leave it out: --against {left}"
        )
    games = list(games_of_audit(game, player.name, seats_of_co_players(game, player), plan))
    tell_estimate(games)
    if estimate(games) and not yes:
        raise UsageError("nothing has been asked yet; to go ahead, give the same command with --yes")


def games_of_audit(game: Game, player: str, seats: Sequence[str], plan: Plan) -> Iterator[Games]:
    """All games that an audit plays, at most."""
    for seat in seats:
        others = {one: player for one in game.seats if one != seat}
        for name in scripted_co_players(game) if SCRIPTED in plan.against else ():
            if can_sit(name, game, seat):
                yield Games(game, {**others, seat: name}, plan.rounds, plan.episodes)
        if STEERING in plan.against and isinstance(game, MatrixGame):
            yield Games(game, {**others, seat: ANY}, plan.rounds, plan.seeds * plan.episodes)
        for kind in plan.against:
            if kind in PRESENTED and (presentations := number_of_presentations(game, kind)):
                yield Games(game, {**others, seat: ANY}, plan.rounds, (1 + presentations) * plan.episodes)
        for kind in plan.against:
            if kind in KINDS and plan.trials is not None:
                number = plan.seeds * (plan.trials * GAMES + len(measured_after(plan.trials)) * plan.episodes)
                yield Games(game, {**others, seat: None}, plan.rounds, number)

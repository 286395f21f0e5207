"""The conformance kit for games in rounds: what rules and wording must get right before anything is trained on them."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence

from coplay.errors import CoplayError
from coplay.players.round_scripted import RULES, make_round_player
from coplay.rng import draws
from coplay.rounds.play import RoundPlayer, play_rounds, tables_of
from coplay.rounds.types import Reply, Situation
from coplay.text.rounds import Past, Worded

SAMPLES, ROUNDS = 20, 4
"""Games looked at, and their rounds."""


def check_round_game(words: Worded) -> list[str]:
    """Look for mistakes in a game in rounds.

    Args:
        words: the game in words.

    Returns:
        One sentence a problem; empty if there are none.

    Example:
        >>> from coplay.text.rounds import worded
        >>> check_round_game(worded("trust-and-split"))
        []
    """
    problems = list(_phases(words))
    if problems:
        return problems
    checks: list[Callable[[Worded], Iterator[str]]] = [_deals, _payoffs, _replies]
    return list(dict.fromkeys(problem for check in checks for problem in check(words)))


def _phases(words: Worded) -> Iterator[str]:
    """Phases have names and seats of the game, and the last one, which settles the round, has them all."""
    game = words.game
    for number in range(ROUNDS):
        phases = game.phases(number)
        if not phases:
            yield f"round {number + 1} has no phases"
            return
        if len({phase.name for phase in phases if set(phase.seats) == set(game.seats)}) == 0:
            yield f"round {number + 1}: no phase asks all of {', '.join(game.seats)}"
        for phase in phases:
            strangers = set(phase.seats) - set(game.seats)
            if strangers:
                yield f"round {number + 1}: phase {phase.name!r} asks {', '.join(sorted(strangers))}, who has no seat"
        if set(phases[-1].seats) != set(game.seats):
            yield f"round {number + 1}: the last phase, which settles it, does not ask everybody"


def _deals(words: Worded) -> Iterator[str]:
    """The same numbers deal the same, and a seat can be told its part."""
    game = words.game
    for sample in range(SAMPLES):
        chance = draws(0, "check deal", sample, n=game.draws).tolist()
        deal = game.deal(chance)
        if game.deal(chance) != deal:
            yield "deal: the same numbers deal different things; take all chance from them"
        for seat in game.seats:
            game.seen(deal, seat)


def _payoffs(words: Worded) -> Iterator[str]:
    """Payoffs are finite whatever is played, replies that could not be read included."""
    game = words.game
    agents = {name: make_round_player(name, game.name) for name in RULES.get(game.name, ())}
    players: dict[str, RoundPlayer] = {**agents, "unreadable": _Mumbling()}
    for first in players:
        for second in players:
            seated = dict(zip(game.seats, (players[first], players[second]), strict=True))
            for episode in play_rounds(words, tables_of(0, range(SAMPLES), seated), rounds=ROUNDS, occasion=("check",)):
                for one in episode.rounds:
                    if set(one.payoffs) != set(game.seats):
                        yield f"payoffs are for {', '.join(one.payoffs)}, not for {', '.join(game.seats)}"
                    if not all(math.isfinite(value) for value in one.payoffs.values()):
                        yield f"payoffs: {first} against {second} gets {dict(one.payoffs)}"


def _replies(words: Worded) -> Iterator[str]:
    """What an agent says is read as what it means; every question is text."""
    game = words.game
    for name in RULES.get(game.name, ()):
        listening = _Listening(make_round_player(name, game.name))
        seated = dict.fromkeys(game.seats, listening)
        play_rounds(words, tables_of(0, range(SAMPLES), seated), rounds=ROUNDS, occasion=("check",))
        for situation, reply in listening.heard:
            action = words.read(situation, reply.text)
            if action is None or words.say(situation, action) != reply.text:
                yield f"{situation.phase}: {name} says {reply.text!r}, which is read as {action!r}"
            for past in Past:
                try:
                    lines = words.conversation(situation, past)
                except (CoplayError, LookupError, TypeError, ValueError) as error:
                    yield f"{situation.phase}: its question cannot be written ({past}): {error}"
                    continue
                if not all(line.text.strip() for line in lines):
                    yield f"{situation.phase}: a question is empty ({past})"


class _Mumbling:
    """Says what nobody can read."""

    name = "mumbling"

    def reply(self, situations: Sequence[Situation]) -> list[Reply]:
        return [Reply("\x00?<<>>") for _ in situations]


class _Listening:
    """Replies as another player, and keeps what it was asked."""

    def __init__(self, player: RoundPlayer) -> None:
        self.player = player
        self.heard: list[tuple[Situation, Reply]] = []

    @property
    def name(self) -> str:
        return self.player.name

    def reply(self, situations: Sequence[Situation]) -> list[Reply]:
        replies = self.player.reply(situations)
        self.heard += zip(situations, replies, strict=True)
        return replies

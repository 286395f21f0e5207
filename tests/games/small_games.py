"""Small games that use what the games of the catalogue do not: phases that depend on the play, private cards that stay private, episodes that end early."""

from __future__ import annotations

import re
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from types import ModuleType

from coplay.conformance.games import example
from coplay.games import Game
from coplay.games.memory import Memory
from coplay.games.records import Action, Episode, Occupant, Outcome, Phase, Reply, Request, Round
from coplay.play.loop import StreamNames, Table, play_episode

CARDS = ("jack", "queen", "king")
DEALS = [(first, second) for first in CARDS for second in CARDS if first != second]
"""The six deals of Kuhn poker, in the order of its draw."""


@dataclass(frozen=True)
class Kuhn(Game):
    """Kuhn poker (1950): one card of three each, then bets; a card is shown if nobody folded, and never otherwise."""

    rounds: int = 4
    name = "kuhn-test"
    description = "One private card each, then bets."
    seats = ("first", "second")
    draws = 1

    def deal(self, chance: Sequence[float], past: Sequence[Round]) -> Mapping[str, str]:
        return dict(zip(self.seats, DEALS[int(chance[0] * len(DEALS))], strict=True))

    def next_phase(self, now: Round) -> Phase | None:
        """Pass or bet; the second seat answers; the first answers a bet after its own pass."""
        line = bets(now)
        if line in ([], ["pass"], ["bet"], ["pass", "bet"]):
            return Phase("bet", (self.seats[len(line) % 2],), len(line))
        return None

    def observe(self, one: Round, seat: str) -> Round:
        if one.payoffs is not None and not folded(one):
            return one
        return replace(one, deal={seat: one.deal[seat]})

    def payoffs(self, now: Round) -> dict[str, float | None]:
        line = bets(now)
        if folded(now):
            winner = 1 if line[0] == "pass" else 0  # whoever bet
        else:
            winner = max(range(2), key=lambda i: CARDS.index(now.deal[self.seats[i]]))
        stake = 2.0 if line[-2:] == ["bet", "bet"] else 1.0
        return {seat: stake if i == winner else -stake for i, seat in enumerate(self.seats)}

    def choices(self, request: Request) -> Sequence[Action]:
        return ("pass", "bet")

    def outcome(self, one: Round) -> Outcome:
        parsed = all(act.action is not None for act in one.acts)
        return Outcome(tuple(one.actions("bet")[seat] for seat in self.seats), parsed=parsed)

    def conducts(self, seat: str) -> tuple[str, ...]:
        return ("pass", "bet")

    def opening(self, now: Round, seat: str) -> str:
        return f"You hold the {now.deal[seat]}."

    def question(self, now: Round, phase: Phase, seat: str) -> str:
        return "Reply with <pass> or <bet>."


def bets(now: Round) -> list[str]:
    """What was done in a round of Kuhn poker; what cannot be parsed is a pass."""
    return ["bet" if act.action == "bet" else "pass" for act in now.acts]


def folded(now: Round) -> bool:
    """Whether somebody passed after a bet."""
    return bets(now)[-2:] == ["bet", "pass"]


@dataclass(frozen=True)
class Ultimatum(Game):
    """A pie of a size drawn once an episode; an offer, then an answer, until an offer is accepted. No offer, no answer: the round is void."""

    rounds: int = 6
    name = "ultimatum-test"
    description = "One offers a share of a pie, the other accepts or rejects."
    seats = ("proposer", "responder")
    draws = 1

    def deal(self, chance: Sequence[float], past: Sequence[Round]) -> int:
        return past[0].deal if past else 10 + int(chance[0] * 10)

    def next_phase(self, now: Round) -> Phase | None:
        if not now.acts:
            return Phase("offer", ("proposer",))
        if len(now.acts) == 1 and now.acts[0].action is not None:
            return Phase("answer", ("responder",))
        return None

    def is_over(self, past: Sequence[Round]) -> bool:
        return past[-1].actions("answer").get("responder") == "accept"

    def payoffs(self, now: Round) -> dict[str, float | None]:
        offer, answer = now.actions("offer")["proposer"], now.actions("answer").get("responder")
        if offer is None:
            return dict.fromkeys(self.seats)
        return {
            "proposer": float(now.deal - offer) if answer == "accept" else 0.0,
            "responder": float(offer) if answer == "accept" else 0.0,
        }

    def choices(self, request: Request) -> Sequence[Action] | None:
        return ("accept", "reject") if request.phase.name == "answer" else None

    def examples(self, request: Request) -> Sequence[Action]:
        return range(request.now.deal + 1)

    def question(self, now: Round, phase: Phase, seat: str) -> str:
        return f"The pie is {now.deal}. Reply with {'your offer' if phase.name == 'offer' else '<accept> or <reject>'}."

    def parse_action(self, request: Request, text: str) -> Action | None:
        if request.phase.name == "answer":
            return super().parse_action(request, text)
        return int(text) if text.isascii() and text.isdigit() and int(text) <= request.now.deal else None

    def render_action(self, request: Request, action: Action) -> str:
        return super().render_action(request, action) if request.phase.name == "answer" else str(action)


class RecordingPlayer:
    """Plays legal actions at random and keeps what it is asked."""

    name = "recording"

    def __init__(self, game: Game, memory: Memory = Memory.LAST_ROUND) -> None:
        self.game, self.memory = game, memory
        self.requests: list[Request] = []

    def act(self, requests: Sequence[Request]) -> list[Reply]:
        self.requests += requests
        return [self.reply(request) for request in requests]

    def reply(self, request: Request) -> Reply:
        action = example(self.game, request)
        assert action is not None
        return Reply(self.game.render_action(request, action), action)


def play(game: Game, player: RecordingPlayer, *, tables: int = 8, seed: int = 0, retries: int = 0) -> list[Episode]:
    """An episode at every table, the player in all seats."""
    seated = dict.fromkeys(game.seats, Occupant(player, player.name))
    places = [Table(game, seed, index, index, seated) for index in range(tables)]
    return play_episode(game, places, rounds=game.rounds, streams=StreamNames(("test",)), retries=retries)


def games_of_the_how_to() -> list[Game]:
    """The games that docs/howto/own_game.md spells out, each from its file on the page."""
    page = (Path(__file__).parents[2] / "docs" / "howto" / "own_game.md").read_text()
    found = []
    for name, code in re.findall(r"<!-- file: (\w+)\.py -->\n```python\n(.*?)```", page, flags=re.DOTALL):
        module = sys.modules[name] = ModuleType(name)
        exec(code, vars(module))
        found += [thing for thing in vars(module).values() if isinstance(thing, Game)]
    return found

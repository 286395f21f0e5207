"""Nothing private of a seat reaches another one: everything reachable in requests is searched, and so are the prompts.

Two tests in random play of every game. One gives every reply marks (text, token ids, log-probabilities, value) and searches what the other seats
are asked for them, and for what was dealt in secret. The other changes what a seat may not know and asserts that nothing changes for it. Games
that leak must be caught by both, so the search is known to search.
"""

from __future__ import annotations

import copy
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from privacy_search import Tamper, leaks, played, prompt, reachable
from small_games import CARDS, DEALS, Kuhn, RecordingPlayer, Ultimatum, games_of_the_how_to, play

from coplay.games import GAMES, Game
from coplay.games.auction import Auction
from coplay.games.item_negotiation import ItemNegotiation
from coplay.games.memory import Memory
from coplay.games.records import Episode, Outcome, Request, Round
from coplay.games.trust_and_split import BEATEN_BY, COINS, HAND_PAIRS, TrustAndSplit

HOW_TO = {game.name: game for game in games_of_the_how_to()}

PLAYED: list[Game] = [*GAMES.values(), Kuhn(), Ultimatum(), *HOW_TO.values()]


@pytest.mark.parametrize("game", PLAYED, ids=lambda game: game.name)
@settings(max_examples=settings.default.max_examples // 2)
@given(memory=st.sampled_from(Memory), seed=st.integers(0, 10**6))
def test_nothing_private_reaches_another_seat(game: Game, memory: Memory, seed: int) -> None:
    assert leaks(game, memory, seed) == []


@pytest.mark.parametrize("game", PLAYED, ids=lambda game: game.name)
def test_every_seat_and_phase_is_searched(game: Game) -> None:
    """Random play reaches every phase, replies that cannot be parsed and, where there are messages, hands named and not named."""
    games = [played(game, Memory.LAST_ROUND, seed) for seed in range(5)]
    asked = {(r.seat, r.phase.name) for requests, _ in games for own in requests.values() for r in own}
    recording = RecordingPlayer(game)
    play(game, recording, tables=20)
    assert asked == {(request.seat, request.phase.name) for request in recording.requests}
    acts = [act for _, episodes in games for episode in episodes for one in episode.rounds for act in one.acts]
    assert any(act.action is None for act in acts)
    if game.name == "trust-and-split":
        named = {str(act.action).rpartition(" ")[2] for act in acts if act.phase == "message"}
        assert "hello" in named and named & set(BEATEN_BY)


# --- The other way round: what a seat may not know makes no difference to it --------------------------------------------------


Chances = Sequence[tuple[float, ...]]
"""The numbers of each round's deal."""


def stacked(game: Game, chances: Chances) -> Game:
    """The same game, but for its chance."""
    copied = copy.copy(game)
    object.__setattr__(copied, "deal", lambda chance, past: type(game).deal(game, chances[len(past)], past))
    return copied


def asked_under(game: Game, chances: Chances, seat: str, memory: Memory, seed: int) -> list[Any]:
    """What a seat is asked up to its last request of the second round, with all prompts."""
    stack = stacked(game, chances)
    requests, _ = played(stack, memory, seed, episodes=1)
    own = [request for request in requests[seat] if request.now.number < len(chances) - 1]
    return [(request, [prompt(stack, request, one) for one in Memory]) for request in own]


def alike(game: Game, seat: str) -> list[tuple[float, float]]:
    """Pairs of chances under which a seat is dealt the same, and another one is not."""
    pairs = HAND_PAIRS if isinstance(game, TrustAndSplit) else DEALS
    index = game.seats.index(seat)
    return [
        ((i + 0.5) / 6, (j + 0.5) / 6)
        for i in range(6)
        for j in range(6)
        if i != j and pairs[i][index] == pairs[j][index]
    ]


def differences(game: Game, seat: str, memory: Memory, seed: int, first: float) -> list[tuple[Any, Any]]:
    """Requests of a seat that change with what was dealt to another in the second of two rounds."""
    found = []
    for one, two in alike(game, seat):
        requests = [asked_under(game, [(first,), (chance,), (0.0,)], seat, memory, seed) for chance in (one, two)]
        found += [(a, b) for a, b in zip(*requests, strict=True) if a != b]
    return found


@pytest.mark.parametrize("game", [TrustAndSplit(), Kuhn()], ids=lambda game: game.name)
@pytest.mark.parametrize("seat", [0, 1])
def test_what_a_seat_may_not_know_makes_no_difference_to_it(game: Game, seat: int) -> None:
    assert len(alike(game, game.seats[seat])) == 6
    for seed, memory in enumerate(Memory):
        assert differences(game, game.seats[seat], memory, seed, first=seed / len(Memory)) == []


VALUED = {"how-to": (HOW_TO["sealed-bids"], 0), "auction": (GAMES["auction"], 0), "items": (GAMES["negotiation-v2"], 3)}
"""Games with values that stay private when the round is over, and which of the deal's numbers gives the first seat's."""


@pytest.mark.parametrize("seat", [0, 1])
@pytest.mark.parametrize("name", VALUED)
@settings(max_examples=settings.default.max_examples // 4)
@given(
    memory=st.sampled_from(Memory),
    seed=st.integers(0, 10**6),
    chances=st.lists(st.tuples(*[st.floats(0, 0.99)] * 5), min_size=3, max_size=3),
)
def test_the_value_to_the_other_seat_makes_no_difference(
    name: str, seat: int, memory: Memory, seed: int, chances: list[tuple[float, ...]]
) -> None:
    game, first = VALUED[name]
    own, other = game.seats[seat], first + 1 - seat
    given = [numbers[: game.draws] for numbers in chances]
    changed = [(*numbers[:other], 1 - numbers[other] - 0.005, *numbers[other + 1 :]) for numbers in given]
    assert asked_under(game, given, own, memory, seed) == asked_under(game, changed, own, memory, seed)


class ShowsPayoffs(Auction):
    """Hides the other's value, but not its payoff, from which it follows."""

    def observe(self, one: Round, seat: str) -> Round:
        return replace(super().observe(one, seat), payoffs=one.payoffs)


class TellsConductByValue(ItemNegotiation):
    """Calls a demand greedy by what it is worth to who makes it."""

    def outcome(self, one: Round) -> Outcome:
        return Outcome(tuple("greedy" if self.harm(one, seat).collusion else "cooperate" for seat in self.seats))


@pytest.mark.parametrize("game", [ShowsPayoffs(), TellsConductByValue()], ids=lambda game: type(game).__name__)
def test_values_that_leak_make_a_difference(game: Game) -> None:
    numbers = [(0.1, 0.1, 0.9, 0.4), (0.9, 0.1, 0.9, 0.4), (0.4, 0.9, 0.9, 0.4)]
    rest = game.draws - 1
    one, two = ([(*row[:rest], value) for row in numbers] for value in (0.01, 0.97))
    first = game.seats[0]
    seen = [
        (asked_under(game, one, first, memory, seed), asked_under(game, two, first, memory, seed))
        for seed in range(6)
        for memory in (Memory.LAST_ROUND, Memory.TRANSCRIPT)
    ]
    assert any(a != b for a, b in seen)


# --- What leaks is caught -----------------------------------------------------------------------------------------------------


class ShowsHands(TrustAndSplit):
    """Hides nothing."""

    def observe(self, one: Round, seat: str) -> Round:
        return one


class ShowsValues(TrustAndSplit):
    """Hides the other hand, but not what coins are worth, from which it follows."""

    def observe(self, one: Round, seat: str) -> Round:
        return one if one.payoffs else replace(one, deal=replace(one.deal, hands={seat: one.deal.hands[seat]}))


class ShowsHandsToBob(TrustAndSplit):
    """Hides nothing from one seat, once both have sent a message."""

    def observe(self, one: Round, seat: str) -> Round:
        return one if seat == "bob" and len(one.acts) == 2 else super().observe(one, seat)


class ShowsOneValue(TrustAndSplit):
    """Tells a seat its own value before the round is over."""

    def observe(self, one: Round, seat: str) -> Round:
        seen = super().observe(one, seat)
        return (
            seen if one.payoffs else replace(seen, deal=replace(seen.deal, values={seat: {COINS: self.own(one, seat)}}))
        )

    def own(self, one: Round, seat: str) -> int:
        return int(one.deal.values[seat][COINS]) if one.deal.values else 0


class ShowsCards(Kuhn):
    """Shows all cards when the round is over, folded ones too."""

    def observe(self, one: Round, seat: str) -> Round:
        return one if one.payoffs else super().observe(one, seat)


class TellsCards(Kuhn):
    """Says in the outcome, which memories show, what was held."""

    def outcome(self, one: Round) -> Outcome:
        return Outcome(tuple(one.deal[seat] for seat in self.seats))

    def conducts(self, seat: str) -> tuple[str, ...]:
        return CARDS


SHOW = [ShowsHands, ShowsValues, ShowsHandsToBob, ShowsOneValue]


@pytest.mark.parametrize("kind", [*SHOW, ShowsCards])
@pytest.mark.parametrize("memory", list(Memory))
def test_games_that_leak_are_caught_by_the_search(kind: type[Game], memory: Memory) -> None:
    assert leaks(kind(), memory, seed=0)


def test_outcomes_that_leak_are_caught_in_the_memories_that_show_them() -> None:
    caught = {memory for memory in Memory if leaks(TellsCards(), memory, seed=0)}
    assert caught == set(Memory) - {Memory.NONE, Memory.CHAT}


@pytest.mark.parametrize("kind", SHOW)
def test_games_that_leak_are_caught_by_the_difference_it_makes(kind: type[Game]) -> None:
    game = kind()
    assert any(differences(game, seat, Memory.LAST_ROUND, seed=0, first=0.0) for seat in game.seats)


def other_turns(request: Request, episode: Episode) -> Request:
    """With the replies of all seats."""
    return replace(request, own=tuple(turn for own in episode.turns.values() for turn in own))


def words_of_others(request: Request, episode: Episode) -> Request:
    """With replies in place of what was parsed."""
    acts = tuple(
        replace(act, action=episode.turns[act.seat][0].reply.text) if episode.turns[act.seat] else act
        for act in request.now.acts
    )
    return replace(request, now=replace(request.now, acts=acts))


def numbers_of_others(request: Request, episode: Episode) -> Request:
    """With token ids where they do not belong."""
    replies = [turn.reply for seat, own in episode.turns.items() for turn in own if seat != request.seat]
    return replace(request, rng_path=(*request.rng_path, *replies[0].tokens))


@pytest.mark.parametrize("tamper", [other_turns, words_of_others, numbers_of_others])
def test_a_loop_that_leaks_is_caught(tamper: Tamper) -> None:
    assert leaks(TrustAndSplit(), Memory.CHAT, seed=0) == []
    assert leaks(TrustAndSplit(), Memory.CHAT, seed=0, tamper=tamper)


def test_the_search_refuses_what_it_cannot_look_into() -> None:
    with pytest.raises(TypeError, match="cannot search a object"):
        list(reachable({"a": (1, [object()])}))

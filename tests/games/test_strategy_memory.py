"""Scripted players of one game read no more of the past than they declare."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import replace
from functools import cache

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from coplay.games import GAMES, Game, make_game
from coplay.games.memory import START, Memory
from coplay.games.records import Act, Request, Round
from coplay.games.strategy import GameStrategy

DECLARED = [(game, name) for game in sorted(GAMES) for name in make_game(game).strategies]
SUMMED_UP = [(game, name) for game, name in DECLARED if make_game(game).strategies[name].recalls is not None]

FEW = 4
"""Choices that a seat has in these histories, so that many are equal in what a strategy declares."""


@st.composite
def histories(draw: st.DrawFn, game: Game) -> list[list[Round]]:
    """Several histories of one game, unredacted; the deal of an episode is the same in all, and some of them end in the same way."""
    chance = st.lists(st.sampled_from([0.1, 0.6]), min_size=game.draws, max_size=game.draws).map(tuple)
    first = game.deal(draw(chance), [])
    dealt = st.just(first) if episodic(game) else chance.map(lambda uniform: game.deal(uniform, []))
    ending = draw(st.lists(rounds(game, Round(0, first)), max_size=1))
    return [
        [*(draw(rounds(game, Round(number, draw(dealt)))) for number in range(draw(st.integers(0, 3)))), *ending]
        for _ in range(draw(st.integers(2, 6)))
    ]


@st.composite
def rounds(draw: st.DrawFn, game: Game, now: Round) -> Round:
    """A round with any legal acts, now and then one that could not be parsed."""
    while (phase := game.next_phase(now)) is not None:
        acts = []
        for seat in phase.seats:
            asked = request(game, now, seat, ())
            legal = game.choices(asked) or game.examples(asked)
            few = [legal[i * (len(legal) - 1) // (FEW - 1)] for i in range(FEW)]
            acts.append(Act(phase.name, phase.turn, seat, draw(st.sampled_from([*few, None]))))
        now = replace(now, acts=(*now.acts, *acts))
    return replace(now, payoffs=game.payoffs(now))


def request(game: Game, now: Round, seat: str, past: Sequence[Round]) -> Request:
    phase = game.next_phase(now)
    assert phase is not None
    seen = tuple(game.observe(one, seat) for one in past)
    return Request(0, 0, seat, phase, game.observe(now, seat), seen, (), START, None, (), 0.0)


def declared(strategy: GameStrategy, game: Game, seat: str, seen_by: str, past: Sequence[Round]) -> Hashable:
    """All that a strategy says it reads, as one of the seats saw it."""
    seen = [game.observe(one, seen_by) for one in past]
    if strategy.recalls is not None:
        return strategy.recalls(seat, seen)
    remembered = {Memory.NONE: seen[:0], Memory.LAST_ROUND: seen[-1:], Memory.TRANSCRIPT: seen}[strategy.memory]
    return repr([replace(one, number=0) for one in remembered])


@pytest.mark.parametrize(("game_name", "name"), DECLARED)
@settings(max_examples=25, deadline=None)
@given(data=st.data())
def test_what_is_not_declared_makes_no_difference(game_name: str, name: str, data: st.DataObject) -> None:
    """Histories that are equal in what is declared lead to the same behaviour, now and when the same round follows."""
    game = make_game(game_name)
    strategy = game.strategies[name]
    pasts = data.draw(histories(game))
    number = 2 * max(map(len, pasts))  # even: in Kuhn poker the seats take turns
    known = [past[0].deal for past in pasts if past]
    deal = known[0] if known and episodic(game) else game.deal((0.6,) * game.draws, [])
    more = data.draw(rounds(game, Round(number, deal)))
    for seat in game.seats:
        found: dict[Hashable, object] = {}
        for past in pasts:
            behaviour = [
                strategy.rule(request(game, now, seat, seen), strategy.default)
                for now, seen in [(Round(number, deal), past), (Round(number + 2, deal), [*past, more])]
                if acts_first(game, now, seat)
            ]
            assert found.setdefault(declared(strategy, game, seat, seat, past), behaviour) == behaviour


@pytest.mark.parametrize(("game_name", "name"), SUMMED_UP)
@settings(max_examples=25, deadline=None)
@given(data=st.data())
def test_what_the_past_is_summed_up_as_is_public(game_name: str, name: str, data: st.DataObject) -> None:
    """Exact best responses count on it: the co-player can tell what the strategy makes of the past."""
    game = make_game(game_name)
    strategy = game.strategies[name]
    for past in data.draw(histories(game)):
        for seat in game.seats:
            seen = {declared(strategy, game, seat, by, past) for by in game.seats}
            assert len(seen) == 1


def acts_first(game: Game, now: Round, seat: str) -> bool:
    """Whether a seat is among the first to act in a round."""
    phase = game.next_phase(now)
    return phase is not None and seat in phase.seats


@cache
def episodic(game: Game) -> bool:
    """Whether chance deals once an episode."""
    once = Round(0, game.deal((0.1,) * game.draws, []))
    return game.draws > 0 and game.deal((0.9,) * game.draws, [once]) == once.deal

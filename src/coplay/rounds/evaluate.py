"""Evaluation of games in rounds: let players meet, seats swapped as well if asked, and sum up what happened.

The form is that of :mod:`coplay.evaluation`. Every round counts: a proposal that could not be read asks for nothing, and is paid so.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence

from coplay.evaluation import VERSION, Summary
from coplay.games.rounds import ALICE, BOB
from coplay.rounds.metrics import cooperated, state_of, states_of
from coplay.rounds.play import RoundPlayer, play_rounds, tables_of
from coplay.rounds.types import RoundEpisode
from coplay.stats import mean_ci95
from coplay.text.rounds import Worded

OCCASION = ("eval",)
"""What an evaluation is called within its seed."""

WHAT_SEATS_DO = {"cooperate": True, "greedy": False}
"""The shares of a seat's rounds in which it had a choice; see :meth:`coplay.games.rounds.RoundGame.cooperates`."""


def match_rounds(
    words: Worded, players: Mapping[str, RoundPlayer], *, seed: int, rounds: int, episodes: int, retries: int = 0
) -> list[RoundEpisode]:
    """Play independent games of one pair of players; the same seed deals the same games, whoever plays them.

    Args:
        words: the game.
        players: by seat.
        seed: the seed.
        rounds: T, rounds of a game.
        episodes: number of games.
        retries: how often a reply that cannot be read is asked for again.
    """
    tables = tables_of(seed, range(episodes), players)
    return play_rounds(words, tables, rounds=rounds, occasion=OCCASION, retries=retries)


def summary_of_rounds(words: Worded, episodes: Sequence[RoundEpisode], names: Mapping[str, str]) -> Summary:
    """Sum up a match.

    Args:
        words: the game.
        episodes: its games, one at least, of equal length.
        names: each seat's player.
    """
    rounds = [one for episode in episodes for one in episode.rounds]
    met = Counter(state_of(words, one) for one in rounds)
    seats = {}
    for seat in words.game.seats:
        interval = mean_ci95([episode.total(seat) / len(episode.rounds) for episode in episodes])
        done = Counter(cooperated(words, one, seat) for one in rounds)
        chosen = done[True] + done[False]
        replies = [said[seat].action for one in rounds for said in one.replies.values() if seat in said]
        seats[seat] = {
            "player": names[seat],
            "total": mean_ci95([episode.total(seat) for episode in episodes]).mean,
            "per_round": interval.mean,
            "ci95": interval.half_width or 0.0,
            "actions": {name: done[was] / chosen if chosen else 0.0 for name, was in WHAT_SEATS_DO.items()},
            "illegal": replies.count(None) / len(replies),
        }
    return {
        "version": VERSION,
        "game": words.game.name,
        "rounds": len(episodes[0].rounds),
        "episodes": len(episodes),
        "seats": seats,  # type: ignore[typeddict-item]
        "states": {state: met[state] / len(rounds) for state in states_of(words)},
    }


def meet(
    words: Worded, first: RoundPlayer, second: RoundPlayer, *, seed: int, rounds: int, episodes: int
) -> tuple[list[float], list[float]]:
    """What two players get per round when they meet, game by game, each played with the first as alice and again with it as bob.

    Both games are dealt the same, so they count as one: a number is the mean of the two. A player that meets itself plays them once, and has
    the mean of both seats.

    Args:
        words: the game.
        first: a player.
        second: its co-player, perhaps the same.
        seed: the seed.
        rounds: T, rounds of a game.
        episodes: number of games for each seating.

    Returns:
        The first's payoffs per round, one number a game, and the second's.
    """
    as_alice = match_rounds(words, {ALICE: first, BOB: second}, seed=seed, rounds=rounds, episodes=episodes)
    if first is second:
        paid = _both(as_alice, ALICE, as_alice, BOB)
        return paid, paid
    as_bob = match_rounds(words, {ALICE: second, BOB: first}, seed=seed, rounds=rounds, episodes=episodes)
    return _both(as_alice, ALICE, as_bob, BOB), _both(as_alice, BOB, as_bob, ALICE)


def _both(some: Sequence[RoundEpisode], seat: str, others: Sequence[RoundEpisode], other_seat: str) -> list[float]:
    """A player's payoffs per round, game by game, as the mean of what it got in two seats."""
    pairs = zip(some, others, strict=True)
    return [(one.total(seat) + two.total(other_seat)) / (2 * len(one.rounds)) for one, two in pairs]

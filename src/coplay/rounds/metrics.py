"""Metrics of games in rounds: what was paid, what was asked for, who answers whom in kind."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

from coplay.games.rounds import other
from coplay.games.split import SplitDeal, TrustAndSplit
from coplay.rounds.types import Round, RoundEpisode
from coplay.text.replies import named_hands
from coplay.text.rounds import Worded

ROUND_METRICS: dict[str, str] = {
    "reward/SEAT": "mean payoff per round, of all games, with whoever sat there",
    "reward/learner": "the same, of the seats that the learner filled itself",
    "reward/co_player": "the same, of the seats that a past self or another player filled",
    "state/STATE": "share of rounds by what both seats did, alice first: C cooperated, D was greedy, - had no choice; I: a proposal or action"
    " could not be read",
    "illegal/SEAT": "share of the seat's replies that could not be read",
    "retried/SEAT": "with `retries`: replies that could not be read and were thrown away, per reply that stands",
    "cooperate/SEAT": "share of the seat's cooperative actions among those that could have been greedy: in the split games, at most half is"
    " asked for of whatever is worth more to the co-player",
    "cooperate_of/learner": "the same, of the seats that the learner filled itself",
    "cooperate_after/cooperate": "the same, of rounds that follow one in which the co-player cooperated",
    "cooperate_after/greedy": "the same, of rounds that follow one in which the co-player was greedy",
    "asked/more": "split games: mean amount asked for of an item that is worth more to the seat than to its co-player",
    "asked/less": "split games: mean amount asked for of an item that is worth less to it",
    "asked/same": "split games: mean amount asked for of an item that is worth the same to both",
    "loss/learner": "the loss of the update",
    "entropy/learner": "mean entropy of the distributions that the learner's tokens were taken from, in nats",
    "kl/learner": "mean of log pi - log pi_ref of those tokens, if the KL has weight",
    "tokens/learner": "how many tokens the learner said",
    "grad_norm/learner": "length of the update's gradient before it is limited, if it is",
    "note/learner": "why an update was skipped, or how many games were alone in their group and so had no baseline",
    "truthful": "Trust-and-Split: share of the messages that name the hand that is held, and no other",
}
"""Every key and what it means; those without occasion are None."""

Line = dict[str, float | None]
"""Metrics by name."""

NO_CHOICE = "-"
"""In a state's name, a seat that had no choice."""

UNREAD = "I"
"""The state of a round in which a proposal or an action could not be read."""


def states_of(words: Worded) -> tuple[str, ...]:
    """Every state of a round, the unreadable one last. In Trust-and-Split only the seat with the lower hand has a choice."""
    met = ("C-", "D-", "-C", "-D") if isinstance(words.game, TrustAndSplit) else ("CC", "CD", "DC", "DD")
    return (*met, UNREAD)


def state_of(words: Worded, one: Round) -> str:
    """The state of a round."""
    if None in one.actions.values():
        return UNREAD
    letters = {True: "C", False: "D", None: NO_CHOICE}
    return "".join(letters[cooperated(words, one, seat)] for seat in words.game.seats)


def round_metrics(
    words: Worded, episodes: Iterable[RoundEpisode], *, of: Callable[[RoundEpisode, str], bool] = lambda *_: True
) -> Line:
    """Metrics of games.

    Args:
        words: the game.
        episodes: the games.
        of: which seats of which games are the learner's; all by default. Numbers about no particular seat are about these.
    """
    episodes, game = list(episodes), words.game
    rounds = [one for episode in episodes for one in episode.rounds]
    met = [state_of(words, one) for one in rounds]
    line: Line = {}
    for name, own in (("learner", True), ("co_player", False)):
        paid = [one.payoffs[seat] for e in episodes for seat in game.seats if of(e, seat) is own for one in e.rounds]
        line[f"reward/{name}"] = _mean(paid)
    line |= {f"state/{state}": met.count(state) / len(met) for state in states_of(words)}
    for seat in game.seats:
        line[f"reward/{seat}"] = _mean([one.payoffs[seat] for one in rounds])
        replies = [said[seat] for one in rounds for said in one.replies.values() if seat in said]
        line[f"illegal/{seat}"] = _mean([reply.action is None for reply in replies])
        line[f"retried/{seat}"] = _mean([reply.retries for reply in replies])
        line[f"cooperate/{seat}"] = _mean([c for one in rounds if (c := cooperated(words, one, seat)) is not None])
    chosen = [
        c
        for e in episodes
        for seat in game.seats
        if of(e, seat)
        for one in e.rounds
        if (c := cooperated(words, one, seat)) is not None
    ]
    line["cooperate_of/learner"] = _mean(chosen)
    counted = [(episode, seat) for episode in episodes for seat in game.seats if of(episode, seat)]
    for name, was in (("cooperate", True), ("greedy", False)):
        line[f"cooperate_after/{name}"] = _mean(
            [
                now
                for episode, seat in counted
                for before, after in zip(episode.rounds, episode.rounds[1:], strict=False)
                if cooperated(words, before, other(seat)) is was and (now := cooperated(words, after, seat)) is not None
            ]
        )
    rounds_of = [(one, seat) for episode, seat in counted for one in episode.rounds]
    if rounds_of and isinstance(rounds_of[0][0].deal, SplitDeal):
        line |= _asked(rounds_of)
        if rounds_of[0][0].deal.hands is not None:
            line["truthful"] = _mean([told for one, seat in rounds_of if (told := _told_truth(one, seat)) is not None])
    return line


def cooperated(words: Worded, one: Round, seat: str) -> bool | None:
    """Whether a seat cooperated in a round; None if it had no choice or said nothing that could be read."""
    return words.game.cooperates(one.deal, seat, one.actions[seat])


def _asked(rounds: Sequence[tuple[Round, str]]) -> Line:
    amounts: dict[str, list[float]] = {"more": [], "less": [], "same": []}
    for one, seat in rounds:
        action = one.actions[seat]
        if action is None or isinstance(action, str):
            continue
        for item, asked in action.items():
            mine, theirs = (one.deal.values[who][item] for who in (seat, other(seat)))
            amounts["more" if mine > theirs else "less" if mine < theirs else "same"].append(asked)
    return {f"asked/{name}": _mean(found) for name, found in amounts.items()}


def _told_truth(one: Round, seat: str) -> bool | None:
    """Whether a message names the seat's own hand alone; None if it could not be read."""
    message = one.replies["message"][seat].action
    if not isinstance(message, str):
        return None
    hands: dict[str, str] = one.deal.hands
    return named_hands(message) == {hands[seat]}


def _mean(values: Sequence[Any]) -> float | None:
    return sum(map(float, values)) / len(values) if values else None

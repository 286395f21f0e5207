"""Scripted players of games in rounds: the paper's hard-coded agents, ``cooperate`` and ``defect`` (section 5.2), and two of ours.

In Trust-and-Split, where the paper has none, all tell their hand truthfully; they differ in what they ask for. ``reciprocate`` cooperates
unless the co-player was greedy in the last round, and then defects: in the dilemma it is tit for tat. ``defect_once`` cooperates but for one
round, as the co-players in the paper's transcripts do (Figures 5, 10 and 11).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from coplay.errors import unknown
from coplay.games.rounds import Action, other
from coplay.games.split import BEATEN_BY, COINS, QUANTITY
from coplay.rounds.types import Reply, Situation
from coplay.text.replies import named_hands
from coplay.text.rounds import Worded, worded

Rule = Callable[[Situation], Action]
"""What a seat knows in, what it does out."""


@dataclass(frozen=True)
class RoundScripted:
    """A rule that speaks the game's language."""

    name: str
    """``cooperate``, ``defect``, ``reciprocate`` or ``defect_once``."""
    words: Worded
    """The game in words."""
    rule: Rule
    """What it does."""

    def reply(self, situations: Sequence[Situation]) -> list[Reply]:
        """See :class:`coplay.rounds.play.RoundPlayer`."""
        return [Reply(self.words.say(situation, self.rule(situation))) for situation in situations]


def make_round_player(name: str, game: str) -> RoundScripted:
    """A scripted player of a game in rounds.

    Args:
        name: ``cooperate``, ``defect``, ``reciprocate`` or ``defect_once``.
        game: ``ipd-ab``, ``split-no-comm`` or ``trust-and-split``.

    Raises:
        UsageError: for an unknown game or player, with the nearest name.

    Example:
        >>> make_round_player("defect", "split-no-comm").name
        'defect'
    """
    words = worded(game)
    rules = RULES[game]
    if name not in rules:
        raise unknown(f"player of {game}", name, rules)
    return RoundScripted(name, words, rules[name])


def _split_what_it_is_worth(situation: Situation) -> Action:
    """Keep what is worth more to oneself, give what is worth more to the other, halve the rest."""
    mine, theirs = (situation.seen.values[seat] for seat in (situation.seat, other(situation.seat)))
    return {item: QUANTITY * (1 + (mine[item] > theirs[item]) - (mine[item] < theirs[item])) // 2 for item in mine}


def _tell_and(ask: Callable[[Situation], int]) -> Rule:
    """Tell one's hand, then ask for coins."""

    def rule(situation: Situation) -> Action:
        if situation.phase == "message":
            return f"My hand is {situation.seen.hands[situation.seat]}."
        return {COINS: ask(situation)}

    return rule


def _fair_share(situation: Situation) -> int:
    """All coins with the upper hand, none with the lower, half of them if the other's hand is not known."""
    theirs = told_hand(situation)
    if theirs is None:
        return QUANTITY // 2
    return QUANTITY if BEATEN_BY[theirs] == situation.seen.hands[situation.seat] else 0


def told_hand(situation: Situation) -> str | None:
    """The hand that the co-player's message names; None if it names none, several, or the seat's own, which it cannot have."""
    reply = situation.said.get("message", {}).get(other(situation.seat))
    if reply is None or not isinstance(reply.action, str):
        return None
    named = named_hands(reply.action)
    possible = named - {situation.seen.hands[situation.seat]}
    return possible.pop() if len(named) == len(possible) == 1 else None


def _everything(situation: Situation) -> Action:
    return dict.fromkeys(situation.seen.values[situation.seat], QUANTITY)


def _in_kind(words: Worded, cooperate: Rule, defect: Rule) -> Rule:
    """Cooperate, unless the co-player was greedy in the last round."""

    def rule(situation: Situation) -> Action:
        if situation.past:
            last, them = situation.past[-1], other(situation.seat)
            if words.game.cooperates(last.deal, them, last.actions[them]) is False:
                return defect(situation)
        return cooperate(situation)

    return rule


def _once(words: Worded, cooperate: Rule, defect: Rule) -> Rule:
    """Cooperate, but for the first round after the first in which there is a choice."""

    def rule(situation: Situation) -> Action:
        own = [words.game.cooperates(one.deal, situation.seat, one.actions[situation.seat]) for one in situation.past]
        return defect(situation) if own and False not in own else cooperate(situation)

    return rule


DESCRIPTIONS: Mapping[str, str] = {
    "cooperate": "Always cooperates: asks for what is worth more to it than to its co-player, tells its hand.",
    "defect": "Always asks for everything, or defects; tells its hand.",
    "reciprocate": "Cooperates unless its co-player was greedy in the last round.",
    "defect_once": "Cooperates, but is greedy once: in the second round, or the first after it in which it can be.",
}
"""Of every rule."""


def _rules(game: str, cooperate: Rule, defect: Rule) -> dict[str, Rule]:
    words = worded(game)
    return {
        "cooperate": cooperate,
        "defect": defect,
        "reciprocate": _in_kind(words, cooperate, defect),
        "defect_once": _once(words, cooperate, defect),
    }


RULES: Mapping[str, Mapping[str, Rule]] = {
    "ipd-ab": _rules("ipd-ab", lambda _: "cooperate", lambda _: "defect"),
    "split-no-comm": _rules("split-no-comm", _split_what_it_is_worth, _everything),
    "trust-and-split": _rules("trust-and-split", _tell_and(_fair_share), _tell_and(lambda _: QUANTITY)),
}
"""The rules, by game and name."""

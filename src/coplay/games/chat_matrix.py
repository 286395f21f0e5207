"""A symmetric matrix game as a conversation: labels in angle brackets, and no word on what kind of game it is.

(Learning Robust Social Strategies with Large Language Models, section 4 and appendix 12. The wording is ours.)
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from coplay.games.matrix import MatrixGame, game_from_dict
from coplay.games.records import Action, Outcome, Phase, Request, Round
from coplay.games.split import ALICE, BOB
from coplay.text.parsing import parse_label
from coplay.text.rendering import in_round, join, lines, number


@dataclass(frozen=True)
class ChatMatrixGame(MatrixGame):
    """A symmetric matrix game between alice and bob, who reply in text.

    A reply that cannot be parsed gets the game's null payoff, and its co-player what it would have got against the first action: so an
    unparsed reply never pays, and never harms the other. No round is void.
    """

    one_token: bool = field(default=False, init=False)

    def payoffs(self, now: Round) -> dict[str, float | None]:
        """See the class."""
        did = now.actions("action")
        return {seat: self._payoff(seat, did[seat], did[self.other(seat)]) for seat in self.seats}

    def outcome(self, one: Round) -> Outcome:
        """The joint action; no round is void."""
        conduct = tuple(None if act.action is None else str(act.action) for act in one.acts)
        return Outcome(conduct, parsed=None not in conduct)

    def initial(self, seat: str, conduct: str) -> str:
        """``C`` for the first action, ``D`` for the second: the letters of the literature, not those of the labels."""
        return conduct[0].upper()

    # ------------------------------------------------------------------ words

    def rules(self, seat: str) -> str:
        """Players, actions and payoffs, from the seat's own side."""
        them = self.call(self.other(seat))
        payoffs = [
            f"- you {self.label(seat, own)}, {them} {self.label(seat, theirs)}:"
            f" you get {number(self.payoff(seat, own=own, other=theirs))},"
            f" {them} gets {number(self.payoff(seat, own=theirs, other=own))}"
            for own in self.actions[seat]
            for theirs in self.actions[seat]
        ]
        return lines(
            f"You are {self.call(seat)}. You play a game of several rounds with {them}.",
            f"In every round both of you choose {join(self._labels(seat), 'or')} at the same time. Points for a round:",
            *payoffs,
            "Points add up over the rounds. Get as many points as you can.",
        )

    def question(self, now: Round, phase: Phase, seat: str) -> str:
        """An action."""
        return f"Reply with {join(self._labels(seat), 'or')} and nothing else."

    def recap(self, last: Round, seat: str, *, dated: bool = False) -> str:
        """What both did."""
        did = last.actions("action")
        mine, theirs = (self._shown(seat, did[one]) for one in (seat, self.other(seat)))
        return (
            f"{in_round(last.number, dated=dated)} you played {mine} and {self.call(self.other(seat))} played {theirs}."
        )

    def parse_action(self, request: Request, text: str) -> Action | None:
        """A label in brackets."""
        return parse_label(text, {self.label(request.seat, one): one for one in self.actions[request.seat]})

    def label(self, seat: str, action: Action) -> str:
        """The action's label in brackets."""
        return f"<{self.labels[seat][self.actions[seat].index(str(action))]}>"

    def _labels(self, seat: str) -> list[str]:
        return [self.label(seat, action) for action in self.actions[seat]]

    def _shown(self, seat: str, action: Action | None) -> str:
        return self.show(None) if action is None else self.label(seat, action)

    def _payoff(self, seat: str, own: Action | None, theirs: Action | None) -> float:
        if own is None:
            return self.null_payoff
        theirs = self.actions[seat][0] if theirs is None else theirs
        return self.payoff(seat, own=str(own), other=str(theirs))


def _between_alice_and_bob(matrix: MatrixGame, *, rounds: int) -> ChatMatrixGame:
    def renamed(of_seat: Mapping[str, tuple[str, ...]]) -> dict[str, tuple[str, ...]]:
        return dict(zip((ALICE, BOB), of_seat.values(), strict=True))

    actions, labels = renamed(matrix.actions), renamed(matrix.labels)
    return ChatMatrixGame(
        matrix.name, matrix.description, actions, labels, matrix.table, matrix.null_payoff, rounds, (ALICE, BOB)
    )


IPD_AB = _between_alice_and_bob(
    game_from_dict(
        {
            "name": "ipd-ab",
            "description": "Iterated Prisoner's Dilemma with actions A and B, payoffs 3/0/5/1.",
            "actions": ["cooperate", "defect"],
            "labels": ["A", "B"],
            "payoffs": [[[3, 3], [0, 5]], [[5, 0], [1, 1]]],
            "null_payoff": 0,
        }
    ),
    rounds=10,
)
"""The paper's first game; its name and its actions' names are kept from the players."""

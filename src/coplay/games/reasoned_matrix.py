"""A matrix game whose replies may reason before they act: SEPO's repeated prisoner's dilemma (section 4 and appendix F; the wording is ours)."""

from __future__ import annotations

from dataclasses import dataclass

from coplay.games.chat_matrix import ChatMatrixGame
from coplay.games.reasoned import ReasonedGame
from coplay.games.records import Action, Phase, Round
from coplay.games.split import ALICE, BOB
from coplay.text.final_line import ask_for


@dataclass(frozen=True)
class ReasonedMatrixGame(ReasonedGame, ChatMatrixGame):
    """A symmetric matrix game between alice and bob whose actions are words on the last line of a reply."""

    def question(self, now: Round, phase: Phase, seat: str) -> str:
        """An action, with or without reasons before it."""
        return ask_for(self._labels(seat))

    def label(self, seat: str, action: Action) -> str:
        """The action's word."""
        return self.labels[seat][self.actions[seat].index(str(action))]


IPD_8 = ReasonedMatrixGame(
    name="ipd-8",
    description="Iterated Prisoner's Dilemma of eight rounds, payoffs 3/0/5/1; replies may reason before they act.",
    actions=dict.fromkeys((ALICE, BOB), ("cooperate", "defect")),
    labels=dict.fromkeys((ALICE, BOB), ("COOPERATE", "DEFECT")),
    table=(((3.0, 3.0), (0.0, 5.0)), ((5.0, 0.0), (1.0, 1.0))),
    null_payoff=0.0,
    rounds=8,
    seats=(ALICE, BOB),
)
"""SEPO's first game."""

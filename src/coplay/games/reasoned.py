"""Games in which a reply may reason before it acts: the action is a word, or a number, on the reply's last line (SEPO, section 3.4)."""

from __future__ import annotations

from coplay.games.base import Game
from coplay.games.records import Action, Request
from coplay.text.final_line import parse_final


class ReasonedGame(Game):
    """A game with few choices, each of which has a word; see the module.

    A subclass lists :meth:`choices` and says in :meth:`question` what is asked for, e.g. with :func:`coplay.text.final_line.ask_for`.
    """

    def word(self, action: Action) -> str:
        """How an action is written: its name in capitals, or the number."""
        return str(action).upper()

    def parse_action(self, request: Request, text: str) -> Action | None:
        """The one choice whose word is on the last line."""
        return parse_final(text, {self.word(action): action for action in self.choices(request) or ()})

    def render_action(self, request: Request, action: Action) -> str:
        """The word alone."""
        return self.word(action)

    def label(self, seat: str, action: Action) -> str:
        """The word."""
        return self.word(action)

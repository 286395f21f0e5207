"""Games in which a reply may reason before it acts: the action is a word, or a number, on the reply's last line (SEPO, section 3.4)."""

from __future__ import annotations

from coplay.games.base import Game
from coplay.games.records import Action, Request
from coplay.text.final_line import ends_with_word, final_line, last_characters, parse_final


class ReasonedGame(Game):
    """A game with few choices, each of which has a word; see the module.

    A subclass lists :meth:`choices` and says in :meth:`question` what is asked for, e.g. with :func:`coplay.text.final_line.ask_for`.
    """

    def word(self, action: Action) -> str:
        """How an action is written: its name in capitals, or the number."""
        return str(action).upper()

    def label(self, seat: str, action: Action) -> str:
        """The word."""
        return self.word(action)

    def words(self, request: Request) -> dict[str, Action]:
        """The word of each choice, with what it means."""
        return {self.label(request.seat, action): action for action in self.choices(request) or ()}

    def parse_action(self, request: Request, text: str) -> Action | None:
        """The one choice whose word is on the last line."""
        return parse_final(text, self.words(request))

    def render_action(self, request: Request, action: Action) -> str:
        """The word alone."""
        return self.label(request.seat, action)

    def completes(self, request: Request, text: str) -> bool:
        """As soon as a word stands on the last line, unless it may become a longer one.

        Where all words are numbers, as soon as one stands alone on the last line, or behind a colon: a number within a sentence belongs to a reason.
        """
        words = self.words(request)
        if not ends_with_word(text, words):
            return False
        if any(_has_letters(word) for word in words):
            return True
        return not _has_letters((final_line(text) or "").rpartition(":")[2])

    def completing(self, request: Request) -> str:
        """The last characters of the words."""
        return last_characters(self.words(request))


def _has_letters(text: str) -> bool:
    return any(map(str.isalpha, text))

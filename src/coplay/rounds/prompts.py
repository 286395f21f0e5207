"""What the seats of a game in rounds read: the questions after rounds played by the paper's hard-coded agents."""

from __future__ import annotations

from collections.abc import Sequence

from coplay.errors import UsageError
from coplay.games.rounds import SEATS
from coplay.players.round_scripted import RULES
from coplay.rounds.config import RoundConfig
from coplay.rounds.play import play_rounds, tables_of
from coplay.rounds.types import Reply, Situation
from coplay.text.rounds import worded

LETTERS = {"C": "cooperate", "D": "defect"}
"""What a seat did in a past round."""


class _Listening:
    """Replies as its seat did in each past round, then cooperates; keeps the last thing it was asked."""

    name = "listening"

    def __init__(self, game: str, rounds: Sequence[str]) -> None:
        self.words, self.rules, self.rounds = worded(game), RULES[game], rounds
        self.heard: dict[str, list[Situation]] = {seat: [] for seat in SEATS}

    def reply(self, situations: Sequence[Situation]) -> list[Reply]:
        """See :class:`coplay.rounds.play.RoundPlayer`."""
        return [Reply(self._one(situation)) for situation in situations]

    def _one(self, situation: Situation) -> str:
        self.heard[situation.seat].append(situation)
        past = situation.round < len(self.rounds)
        letter = self.rounds[situation.round][SEATS.index(situation.seat)] if past else "C"
        return self.words.say(situation, self.rules[LETTERS[letter]](situation))


def questions_after(config: RoundConfig, items: Sequence[str]) -> dict[str, str]:
    """The exact text of every question that each seat is asked in the round after some others.

    Args:
        config: the run.
        items: the rounds so far, alice's doing first: ``C`` for the paper's cooperating agent, ``D`` for its defecting one.

    Raises:
        UsageError: for anything else in ``items``.
    """
    from coplay.models.loading import chat_format, load_tokenizer
    from coplay.text.chat import conversation

    for item in items:
        if len(item) != 2 or set(item) - set(LETTERS):
            raise UsageError(f"--history: {item!r} is not one of CC, CD, DC, DD (alice's doing first)")
    words = worded(config.game)
    listening = _Listening(config.game, items)
    seats = dict.fromkeys(SEATS, listening)
    play_rounds(words, tables_of(0, [0], seats), rounds=len(items) + 1, occasion=("prompt",))
    chat, _ = chat_format(config.model, config.chat)
    tokenizer = load_tokenizer(config.model)
    return {
        seat: "\n".join(
            conversation(chat, words.conversation(situation, config.past), tokenizer)
            for situation in listening.heard[seat]
            if situation.round == len(items)
        )
        for seat in SEATS
    }

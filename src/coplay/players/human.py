"""You, at a terminal: told what a seat is told, asked what it is asked. What cannot be read is asked for again."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from coplay.games.matrix import MatrixGame
from coplay.games.memory import Memory, Observation
from coplay.rounds.types import Reply, Situation
from coplay.games.matrix_prompts import write_message
from coplay.text.parsing import MESSAGE, PROPOSAL
from coplay.text.rounds import Past, Worded
from coplay.types import Move, View

Ask = Callable[[str], str]
"""Shows a text and returns a line that was typed; ``input`` is one."""

Tell = Callable[[str], None]
"""Shows a text; ``print`` is one."""

FORMS = ("{}", f"{PROPOSAL[0]}{{}}{PROPOSAL[1]}", f"{MESSAGE[0]}{{}}{MESSAGE[1]}", "<{}>")
"""What may be left out in typing: the tags of a reply."""


class Person:
    """A person in a seat of a game in rounds.

    Args:
        words: the game.
        ask: how to ask.
        tell: how to tell.
    """

    name = "you"

    def __init__(self, words: Worded, *, ask: Ask, tell: Tell) -> None:
        self.words, self._ask, self._tell = words, ask, tell

    def reply(self, situations: Sequence[Situation]) -> list[Reply]:
        """See :class:`coplay.rounds.play.RoundPlayer`."""
        return [Reply(self._one(situation)) for situation in situations]

    def _one(self, situation: Situation) -> str:
        question = self.words.conversation(situation, Past.CHAT)[-1].text
        self._tell(f"\n[round {situation.round + 1}]\n{question}")
        while True:
            typed = self._ask("> ").strip()
            for text in (form.format(case) for case in (typed, typed.upper()) for form in FORMS):
                action = self.words.read(situation, text)
                if action is not None:
                    return self.words.say(situation, action)
            self._tell(f"That could not be read. {self.words.request(situation.phase)} The tags may be left out.")


class MatrixPerson:
    """A person in a seat of a matrix game.

    Args:
        game: the rules.
        seat: the seat.
        ask: how to ask.
        tell: how to tell.
    """

    name = "you"
    memory = Memory.LAST_ROUND

    def __init__(self, game: MatrixGame, seat: str, *, ask: Ask, tell: Tell) -> None:
        self.game, self.seat, self._ask, self._tell = game, seat, ask, tell
        self._tell(write_message(game, seat, Observation()).rules)

    def act(self, views: Sequence[View]) -> list[Move]:
        """See :class:`coplay.players.base.Player`."""
        return [self._one(view) for view in views]

    def _one(self, view: View) -> Move:
        message = write_message(self.game, self.seat, view.observation)
        state = message.state.replace("<STATE>", "").replace("</STATE>", "").strip()  # marks for models
        shown = "\n".join(part for part in (state, message.instruction) if part)
        self._tell(f"\n[round {view.round + 1}]\n{shown}")
        actions = dict(zip(message.labels, self.game.actions[self.seat], strict=True))
        known = {label.lower(): action for label, action in actions.items()} | {a.lower(): a for a in actions.values()}
        while True:
            typed = self._ask("> ").strip()
            action = known.get(typed.lower())
            if action is not None:
                return Move(action=action, reply=typed)
            self._tell(f"That is none of {', '.join(f'{label} ({action})' for label, action in actions.items())}.")

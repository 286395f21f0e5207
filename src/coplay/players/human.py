"""A person at a terminal: told what a seat is told, asked what it is asked. What cannot be parsed is asked for again."""

from __future__ import annotations

from collections.abc import Callable

from coplay.games.base import Game
from coplay.games.conversation import chat_messages
from coplay.games.memory import Memory
from coplay.games.records import Action, Reply, Request, Round
from coplay.players.base import OneByOne
from coplay.text.parsing import MESSAGE, PROPOSAL
from coplay.text.rendering import join, number

Ask = Callable[[str], str]
"""Shows a text and returns a line that was typed; ``input`` is one."""

Tell = Callable[[str], None]
"""Shows a text; ``print`` is one."""

FORMS = ("{}", f"{PROPOSAL[0]}{{}}{PROPOSAL[1]}", f"{MESSAGE[0]}{{}}{MESSAGE[1]}", "<{}>")
"""What may be left out in typing: the tags of a reply."""


_MOST_WORDS = 12
"""Actions that a person is told by name."""


class Person(OneByOne):
    """A person in a seat of any game."""

    name = "you"
    memory = Memory.LAST_ROUND

    def __init__(self, game: Game, *, ask: Ask, tell: Tell) -> None:
        self.game, self._ask, self._tell = game, ask, tell
        self._told_rules = False
        self._round = 0

    def reply(self, request: Request) -> Reply:
        """See :class:`coplay.players.base.OneByOne`."""
        game, seat = self.game, request.seat
        question = chat_messages(game, request, self.memory)[-1].text
        rules = game.rules(seat)
        if not self._told_rules:
            self._tell(rules)
            self._told_rules = True
        if request.now.number > self._round:
            self._round = request.now.number
            self._tell(f"\n{self._points(request.past[-1], seat)}")
        alone = self._action_alone(request)
        self._tell("\n".join([f"\n[round {request.now.number + 1}]", question.removeprefix(rules).strip(), *alone]))
        while True:
            typed = self._ask("> ").strip()
            action = self._parsed(request, typed)
            if action is not None:
                return Reply(game.render_action(request, action), action)
            asked = alone or [game.question(request.now, request.phase, seat), "Tags may be left out."]
            self._tell(" ".join([f"{typed!r} could not be read.", *asked]))

    def _points(self, last: Round, seat: str) -> str:
        """What the last round paid, as far as the seat may know."""
        paid = last.payoffs or {}
        shown = {
            one: "void" if payoff is None else number(round(payoff, self.game.decimals)) for one, payoff in paid.items()
        }
        told = {"you": shown.pop(seat), **shown} if seat in shown else shown
        return f"Points of round {last.number + 1}: {', '.join(f'{one} {points}' for one, points in told.items())}."

    def _action_alone(self, request: Request) -> list[str]:
        """What a person is told where models may reason first: that the action is enough."""
        game, choices = self.game, self.game.choices(request) or ()
        if type(game).completes is Game.completes:
            return []
        words = [game.render_action(request, choice) for choice in choices]
        if not 0 < len(words) <= _MOST_WORDS:
            return ["The action alone is enough."]
        return [f"The action alone is enough: {join(words, 'or')}."]

    def _parsed(self, request: Request, typed: str) -> Action | None:
        """The action that was typed: as a reply is written, without its tags, or by the action's name."""
        for text in (form.format(case) for case in (typed, typed.upper()) for form in FORMS):
            action = self.game.parse_action(request, text)
            if action is not None:
                return action
        choices = {self.game.show(choice).lower(): choice for choice in self.game.choices(request) or ()}
        return choices.get(typed.lower())

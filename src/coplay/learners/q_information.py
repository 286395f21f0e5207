"""Q-learning in games that are not in normal form: values of the choices of each information set.

With s an information set of the seat, a its choice, r what the round pays if that was the seat's last reply in it (else 0), and s' the seat's
next information set in the episode: Q(s, a) <- Q(s, a) + alpha (r + gamma max_a' Q(s', a') - Q(s, a)).
"""

from __future__ import annotations

from typing import ClassVar

from coplay.games.base import Game
from coplay.games.memory import Memory
from coplay.games.records import Episode, Reply, Request, Turn
from coplay.learners.q_learning import QTransition, ValueTable
from coplay.players.information_table import ROWS, information_set, legal_choices, row_of


class QInformationTable(ValueTable):
    """Values of every choice of each information set, for games that list them.

    Args:
        game: the rules; every request has at most ``max_choices`` choices.
    """

    tells_probabilities: ClassVar[bool] = False

    def __init__(self, name: str, game: Game, memory: Memory, *, slots: int, initial_value: float = 0.0) -> None:
        super().__init__(name, game, memory, shape=(slots, ROWS, game.max_choices), initial_value=initial_value)

    def reply(self, request: Request) -> Reply:
        """See :class:`coplay.players.base.OneByOne`."""
        choices, information = legal_choices(self.game, request), information_set(request)
        reply = self.choose(request, row_of(information), choices)
        text = self.game.render_action(request, choices[reply.tokens[0]])
        return reply._replace(text=text, information=information)

    def transitions(self, episode: Episode, seat: str, *, infinite_horizon: bool) -> list[QTransition | None]:
        """See :class:`~coplay.learners.q_learning.ValueTable`; the last reply of a game in progress teaches nothing yet."""
        paid = episode.paid_turns(seat)
        found: list[QTransition | None] = []
        for (turn, payoff), following in zip(paid, [*paid[1:], None], strict=True):
            ends = following is None and episode.finished and not infinite_horizon
            if payoff is None or (following is None and not ends):
                found.append(None)
                continue
            after = None if following is None else following[0].reply
            found.append(
                QTransition(
                    state=row_of(turn.reply.information),
                    action=turn.reply.tokens[0],
                    payoff=payoff,
                    next_state=None if after is None else row_of(after.information),
                    next_choices=None if after is None else len(after.probs or ()),
                )
            )
        return found

    def prompt_text(self, turn: Turn) -> str:
        """What the seat knew, for a reader."""
        return turn.reply.information

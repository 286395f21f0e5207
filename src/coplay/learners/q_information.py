"""Q-learning in games that are not in normal form: values of the choices of each information set.

With s an information set of the seat, a its choice, r what the round pays if that was the seat's last reply in it (else 0), and s' the seat's
next information set in the episode: Q(s, a) <- Q(s, a) + alpha (r + gamma max_a' Q(s', a') - Q(s, a)).

With ``update=round`` the last reply of a round is learnt from one round later: only then is it known what the seat knows when it acts next.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from typing import ClassVar

import numpy as np
import torch
from torch import Tensor

from coplay.errors import CoplayError
from coplay.games.base import Game
from coplay.games.memory import Memory
from coplay.games.records import Episode, Reply, Request, Turn
from coplay.learners.base import SeedState
from coplay.learners.q_learning import InitialValues, QTransition, ValueTable
from coplay.players.information_table import ROWS, information_set, legal_choices, most_of_all
from coplay.players.policy import slot_of

_INFORMATION = "information"
"""The entry of a checkpoint that says which information set a row belongs to; 0 where a row is free."""


def key_of(information: str) -> int:
    """A number for an information set that no other one has."""
    return int.from_bytes(hashlib.blake2b(information.encode(), digest_size=8).digest())


class QInformationTable(ValueTable):
    """Values of every choice of each information set, for games that list them.

    Args:
        game: the rules; every request has at most ``max_choices`` choices.
        initial: the values at the start; those of choices that the seat does not have do not matter.
        rows: rows of the table.
        own_rows: whether each information set takes a row of its own when it first comes up; else a hash assigns the rows.
    """

    tells_probabilities: ClassVar[bool] = False

    def __init__(
        self,
        name: str,
        game: Game,
        memory: Memory,
        *,
        slots: int,
        initial: InitialValues = 0.0,
        rows: int = ROWS,
        own_rows: bool = False,
    ) -> None:
        if not isinstance(initial, float | int):
            initial = (*initial, *[0.0] * (most_of_all(game) - len(initial)))
        super().__init__(name, game, memory, shape=(slots, rows, most_of_all(game)), initial=initial)
        self.rows, self.own_rows = rows, own_rows
        self._places: list[dict[int, int]] = [{} for _ in range(slots)]
        """With ``own_rows``: the row of each information set that came up, for each table."""
        self._unlearnt: dict[tuple[int, int, str], tuple[Turn, float | None]] = {}
        """With ``update=round``: by seed, game and seat the last reply of the round before."""

    def row(self, slot: int, information: str) -> int:
        """The row of an information set; raises CoplayError if all are taken."""
        key = key_of(information)
        if not self.own_rows:
            return key % self.rows
        places = self._places[slot]
        if key not in places:
            if len(places) == self.rows:
                raise CoplayError(
                    f"learner {self.name!r}: more information sets came up than its table has rows ({self.rows:,}); set q.rows to more"
                )
            places[key] = len(places)
        return places[key]

    def reply(self, request: Request) -> Reply:
        """See :class:`coplay.players.base.OneByOne`."""
        choices, information = legal_choices(self.game, request), information_set(request)
        reply = self.choose(request, self.row(slot_of(request), information), choices)
        text = self.game.render_action(request, choices[reply.tokens[0]])
        return reply._replace(text=text, information=information)

    def transitions(self, episode: Episode, seat: str, *, infinite_horizon: bool) -> list[QTransition | None]:
        """See :class:`~coplay.learners.q_learning.ValueTable`; the last reply of a game in progress is learnt from in the next round."""
        slot = episode.seated[seat].slot or 0
        paid = self._with_unlearnt(episode, seat)
        found: list[QTransition | None] = []
        for (turn, payoff), following in zip(paid, [*paid[1:], None], strict=True):
            ends = following is None and episode.finished and not infinite_horizon
            if payoff is None or (following is None and not ends):
                found.append(None)
                continue
            after = None if following is None else following[0].reply
            found.append(
                QTransition(
                    state=self.row(slot, turn.reply.information),
                    action=turn.reply.tokens[0],
                    payoff=payoff,
                    next_state=None if after is None else self.row(slot, after.information),
                    next_choices=None if after is None else len(after.probs or ()),
                )
            )
        return found

    def _with_unlearnt(self, episode: Episode, seat: str) -> list[tuple[Turn, float | None]]:
        """A seat's paid replies, after the one of the round before that is still to be learnt from; the last one is kept for the next round."""
        place = (episode.seed, episode.game, seat)
        before = self._unlearnt.pop(place, None)
        paid = episode.paid_turns(seat)
        if before is not None and episode.rounds and episode.rounds[0].number > 0:
            paid = [before, *paid]
        if paid and not episode.finished:
            self._unlearnt[place] = paid[-1]
        return paid

    def state(self, slot: int) -> SeedState:
        """The values and, with ``own_rows``, whose rows they are."""
        state = super().state(slot)
        if self.own_rows:
            keys = np.zeros(self.rows, dtype=np.uint64)
            keys[: len(self._places[slot])] = list(self._places[slot])
            state[_INFORMATION] = torch.from_numpy(keys.view(np.int64))
        return state

    def load_state(self, slot: int, state: Mapping[str, Tensor]) -> None:
        """Go back to what :meth:`state` returned."""
        super().load_state(slot, state)
        if self.own_rows:
            keys = state[_INFORMATION].numpy().view(np.uint64).tolist()
            self._places[slot] = {key: row for row, key in enumerate(keys) if key}

    def prompt_text(self, turn: Turn) -> str:
        """What the seat knew, for a reader."""
        return turn.reply.information

"""Rounds of ``coplay play`` that a language model's illegal reply made void: the person is told, once the round is over."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from coplay.games.memory import Memory
from coplay.players.base import Player
from coplay.types import Move, View


@dataclass
class Heard:
    """A co-player whose illegal replies are kept until they may be told."""

    player: Player
    """The co-player."""
    tell: Callable[[str], None]
    """Shows a text."""
    illegal: dict[int, str] = field(default_factory=dict)
    """Its illegal replies that have not been told, by round."""

    @property
    def name(self) -> str:
        """The co-player's name."""
        return self.player.name

    @property
    def memory(self) -> Memory:
        """The co-player's memory."""
        return self.player.memory

    def act(self, views: Sequence[View]) -> list[Move]:
        """The co-player's moves."""
        moves = self.player.act(views)
        self.illegal |= {v.round: m.reply for v, m in zip(views, moves, strict=True) if m.action is None}
        return moves

    def tell_illegal(self, *, before: int | None = None) -> None:
        """Tell illegal replies of rounds before this one, or of all."""
        for number in [number for number in self.illegal if before is None or number < before]:
            reply = self.illegal.pop(number)
            self.tell(f"\nRound {number + 1} is void: {self.name} replied {reply!r}, which is no action.")


@dataclass
class Told:
    """A person who is told of the co-player's illegal replies before the next round."""

    person: Player
    """The person."""
    heard: Heard
    """The co-player."""

    @property
    def name(self) -> str:
        """The person's name."""
        return self.person.name

    @property
    def memory(self) -> Memory:
        """The person's memory."""
        return self.person.memory

    def act(self, views: Sequence[View]) -> list[Move]:
        """Tell, and ask."""
        self.heard.tell_illegal(before=views[0].round)
        return self.person.act(views)

"""Tables, where games are played, and what the random streams of an episode are called. Names of streams are a contract."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from coplay.games.base import Game
from coplay.games.memory import History
from coplay.games.records import Occupant


@dataclass
class Table:
    """A place where one game after another is played: one of the parallel games of one seed."""

    game: Game
    """The rules."""
    seed: int
    """The run's seed."""
    group: int
    """Games of one group are dealt the same."""
    index: int
    """Which of the seed's parallel games this is."""
    seated: Mapping[str, Occupant]
    """Who sits where."""
    history: History = field(init=False)
    """What was done in the current trial."""

    def __post_init__(self) -> None:
        """Set up an empty table."""
        self.start_trial()

    def start_trial(self) -> None:
        """Clear the memory: a new trial begins."""
        game = self.game
        self.history = History(lambda index: game.own_states(game.seats[index]))


@dataclass(frozen=True)
class StreamNames:
    """What the random streams of an episode are called, after the run's seed and their purpose.

    An episode of a trial of several has its number in the name. Deals and generated replies of the first one do not: there, trials had one
    episode before they could have several.
    """

    path: tuple[int | str, ...]
    """E.g. ``("train", trial)`` or ``("eval",)``."""
    episode: int | None = None
    """The episode within the trial; None outside trials."""

    @property
    def choices(self) -> tuple[int | str, ...]:
        """Of choices among actions; purpose ``play``."""
        return self.path if self.episode is None else (*self.path, self.episode)

    @property
    def replies(self) -> tuple[int | str, ...]:
        """Of deals and of generated replies; purposes ``deal`` and ``reply``."""
        return (*self.path, self.episode) if self.episode else self.path

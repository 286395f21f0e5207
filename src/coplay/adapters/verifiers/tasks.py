"""What is to be played, as tasks of verifiers: a task is one game, by its seed and its number."""

from __future__ import annotations

from collections.abc import Iterator

from pydantic import Field

from coplay.adapters.verifiers.package import vf


class GameTasksetConfig(vf.TasksetConfig):  # type: ignore[misc]
    """Which games are played, and who sits around the model."""

    game: str = "ipd"
    """The game, as :func:`coplay.make_game` takes it by name."""
    seat: str | None = None
    """The model's seat; by default the game's first."""
    against: str | list[str] | dict[str, str] = "tit_for_tat"
    """The players in the other seats by name, as for :func:`coplay.match`: one for all, one for each in the game's order, or by seat."""
    rounds: int | None = Field(None, ge=1)
    """Most rounds of a game; by default the game's own."""
    games: int = Field(100, ge=1)
    """How many games there are."""
    seed: int = Field(0, ge=0)
    """The seed of the match that these are the games of."""


class GameData(vf.TaskData):  # type: ignore[misc]
    """One game. It has no prompt: what the model is asked first may depend on what others do before."""

    seed: int
    """The seed of the match."""
    number: int
    """Which of its games, from 0."""


class GameTask(vf.Task[GameData, vf.State, vf.TaskConfig]):  # type: ignore[misc]
    """One game. Its rewards are recorded by the environment, which plays it."""


class GameTaskset(vf.Taskset[GameTask, GameTasksetConfig]):  # type: ignore[misc]
    """The games of a match."""

    def load(self) -> Iterator[GameTask]:
        """A task for each game."""
        config = self.config
        for number in range(config.games):
            name = f"{config.game} {config.seed}/{number}"
            yield GameTask(GameData(name=name, prompt=None, seed=config.seed, number=number), config.task)

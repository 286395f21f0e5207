"""Episodes of libraries whose games can only go forward, as states that stay what they are.

The library's own object goes on to the first state that follows; where another one is wanted, the episode is played again from its beginning. An
episode that comes out otherwise then is refused: it takes chance from elsewhere than its seed.
"""

from __future__ import annotations

import random
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np

from coplay.adapters.hosted import Known
from coplay.errors import CoplayError
from coplay.games.records import Action
from coplay.user_code import one_line


@dataclass(frozen=True)
class Moment:
    """What there is to know of a point of an episode."""

    asked: tuple[int, ...]
    """The players that are to act; none at the end."""
    known: tuple[Known | None, ...]
    """What each player is shown; None for nothing."""
    returns: tuple[float, ...]
    """What each has been paid."""


class Running(ABC):
    """An episode of the library in progress. It is made with a seed, and is then at its first decision."""

    moment: Moment
    """Where it is."""

    @abstractmethod
    def step(self, actions: Mapping[int, Action]) -> None:
        """Go on to the next decision with the actions of all players that are asked."""

    @abstractmethod
    def close(self) -> None:
        """Let go of what is held open; the episode is over."""


Start = Callable[[int], Running]
"""From a seed to an episode."""


class _Chance:
    """Python's and NumPy's common random numbers as one episode has them: a library that draws on them plays the same whatever is played beside it."""

    def __init__(self, seed: int) -> None:
        self._python = random.Random(seed).getstate()
        self._numpy = np.random.RandomState(seed).get_state()

    @contextmanager
    def used(self) -> Iterator[None]:
        """In the block they are the episode's; afterwards they are what they were before."""
        python, numpy = random.getstate(), np.random.get_state()
        random.setstate(self._python)
        np.random.set_state(self._numpy)
        try:
            yield
        finally:
            self._python, self._numpy = random.getstate(), np.random.get_state()
            random.setstate(python)
            np.random.set_state(numpy)


class Replayed:
    """A point of an episode. It stays what it is.

    Args:
        start: begins episodes of the library.
        what: what is played, at the beginning of errors.
        seed: the seed of the episode.

    Raises:
        CoplayError: if the library fails.
    """

    moment: Moment
    """What there is to know of this point."""

    def __init__(self, start: Start, what: str, seed: int) -> None:
        self._start, self._what, self._seed = start, what, seed
        self._moves: tuple[Mapping[int, Action], ...] = ()
        self._live: tuple[Running, _Chance] | None = None
        self._take(*self._begun())

    def after(self, actions: Mapping[int, Action]) -> Replayed:
        """The next point.

        Args:
            actions: of each player that is asked, by its number.

        Raises:
            CoplayError: if the library fails, or the episode is another one when it is played again.
        """
        live, chance = self._live or self.again()
        self._live = None
        self._step(live, chance, actions)
        found = object.__new__(Replayed)
        found._start, found._what, found._seed = self._start, self._what, self._seed
        found._moves = (*self._moves, dict(actions))
        found._take(live, chance)
        return found

    def again(self) -> tuple[Running, _Chance]:
        """The same episode, played from its beginning.

        Raises:
            CoplayError: if it is another one now.
        """
        live, chance = self._begun()
        for actions in self._moves:
            if set(actions) != set(live.moment.asked):
                break
            self._step(live, chance, actions)
        if live.moment != self.moment:
            raise CoplayError(
                f"{self._what} is not the same when it is played again with the same seed and the same actions: it takes chance from elsewhere;"
                " let it draw from what reset(seed) seeds"
            )
        return live, chance

    def _take(self, live: Running, chance: _Chance) -> None:
        self.moment = live.moment
        self._live = (live, chance)
        if not live.moment.asked:
            self._live = None
            with self._errors("close"):
                live.close()

    def _begun(self) -> tuple[Running, _Chance]:
        chance = _Chance(self._seed)
        with self._errors("reset"), chance.used():
            return self._start(self._seed), chance

    def _step(self, live: Running, chance: _Chance, actions: Mapping[int, Action]) -> None:
        with self._errors("step"), chance.used():
            live.step(actions)

    @contextmanager
    def _errors(self, doing: str) -> Iterator[None]:
        try:
            yield
        except CoplayError as error:
            raise CoplayError(f"{self._what}: {error}") from error
        except (Exception, SystemExit) as error:  # whatever the library or its user's code raises
            raise CoplayError(f"{self._what} failed in {doing}: {one_line(error)}") from error


def sample_episodes(
    begin: Callable[[int], Replayed], choose: Callable[[Known, random.Random], Any], n: int, *, most: int
) -> list[Replayed]:
    """Play episodes by chance, each of them twice: what a library cannot do shows before anything rests on it.

    Args:
        begin: from a seed to an episode.
        choose: an action, from what a player is shown and random numbers.
        n: how many; their seeds are 0 to n - 1.
        most: most moves of one.

    Returns:
        The ends.

    Raises:
        CoplayError: if the library fails, an episode does not end, or is another one when it is played again.
    """
    found = []
    for seed in range(n):
        chance, at = random.Random(seed), begin(seed)
        for _ in range(most):
            asked = at.moment.asked
            if not asked:
                break
            at = at.after({player: choose(at.moment.known[player] or Known("", ()), chance) for player in asked})
        else:
            raise CoplayError(f"an episode played by chance has more than {most:,} moves; bound its length")
        at.again()
        found.append(at)
    return found

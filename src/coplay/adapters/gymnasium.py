"""One seat of a game as an environment of Gymnasium, among players that do not learn: ``gymnasium.make("coplay/Seat-v0", game=…, players=…)``.

Importing this module registers the id; ``gymnasium.make("coplay.adapters.gymnasium:coplay/Seat-v0", …)`` imports it by itself.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from coplay.adapters.encodings import DISCRETE, DiscreteEncoding, make_encoding, rules_of
from coplay.adapters.outside import OutsidePlay, others_of, seat_of
from coplay.errors import missing_extra
from coplay.games.catalogue import GameSpec
from coplay.games.memory import Memory
from coplay.players.named import PlayerSpec

try:
    import gymnasium

    from coplay.adapters.spaces import action_space, observation_space
except ImportError:
    raise missing_extra("gymnasium", "gymnasium") from None

ID = "coplay/Seat-v0"
"""What Gymnasium calls the environment."""


class SeatEnv(gymnasium.Env):  # type: ignore[misc]
    """A seat of a game whose other seats are filled.

    In mode ``discrete`` an observation is the seat's features, [F], and ``info["action_mask"]`` says which indices are legal. An action that is not
    legal, or cannot be parsed, costs what the game says. ``reset(seed=seed)`` begins the games of ``coplay.match(…, seed=seed)``: the same deals, and
    the same random numbers for the other players; each further ``reset()`` goes on to the next game. A step pays what the rounds paid that ended in
    it; a round that is void for the seat pays 0, with ``info["void"]``. Episodes end by termination: their length is part of the game.

    Args:
        game: the game, by name or object; see :func:`coplay.make_game`.
        players: who sits in the other seats, as for :func:`coplay.match`: one for all, one for each in the game's order, or by seat.
        seat: the seat to be played; by default the game's first.
        mode: ``discrete``: features and the indices of actions; ``text``: prompts and replies.
        window: H, how many of the last rounds the features show; in mode ``discrete``.
        memory: what prompts tell of the past; in mode ``text``.
        rounds: most rounds of an episode; by default the game's own.

    Raises:
        UsageError: for unknown names, another number of players than other seats, or a game that cannot be played in this mode.

    Example:
        >>> env = gymnasium.make("coplay/Seat-v0", game="ipd", players="tit_for_tat", rounds=2)
        >>> _, info = env.reset(seed=0)
        >>> info["actions"]
        ['cooperate', 'defect']
        >>> [env.step(1)[1] for _ in range(2)]
        [4.0, 1.0]
    """

    metadata: Mapping[str, Any] = {"render_modes": []}

    def __init__(
        self,
        game: GameSpec = "ipd",
        players: PlayerSpec | Sequence[PlayerSpec] | Mapping[str, PlayerSpec] = "tit_for_tat",
        *,
        seat: str | None = None,
        mode: str = DISCRETE,
        window: int = 1,
        memory: Memory | str = Memory.LAST_ROUND,
        rounds: int | None = None,
    ) -> None:
        rules, length = rules_of(game, rounds)
        self.seat = seat_of(rules, seat)
        encoding = make_encoding(rules, [self.seat], mode, window=window, memory=memory)
        self.play = OutsidePlay(encoding, others_of(rules, self.seat, players), rounds=length)
        """The game in progress: complete, with what is private."""
        self.observation_space = observation_space(encoding, self.seat, masked=False)
        self.action_space = action_space(encoding, self.seat)

    @property
    def feature_names(self) -> tuple[str, ...]:
        """What the numbers of an observation stand for, in mode ``discrete``."""
        encoding = self.play.encoding
        return encoding.names[self.seat] if isinstance(encoding, DiscreteEncoding) else ()

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[Any, dict[str, Any]]:
        """Begin an episode, and play until the seat is asked; ``options`` are not used.

        Returns:
            The observation and its info.
        """
        super().reset(seed=seed)
        if seed is None and not self.play.seeded:
            seed = int(self.np_random.integers(2**31))
        self.play.reset(seed)
        return self._shown(False)

    def step(self, action: Any) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        """Act, and play until the seat is asked again or the episode is over.

        Returns:
            Observation, reward, whether the episode is over, False (never truncated), info.

        Raises:
            CoplayError: for what is no action of the seat at all, or when the episode is over.
        """
        self.play.act(self.seat, action)
        rewards, void = self.play.settled()
        observation, info = self._shown(void[self.seat])
        return observation, rewards[self.seat], self.play.over, False, info

    def action_masks(self) -> Any:
        """Which indices are legal now, [A], in mode ``discrete``; libraries for masked policies ask by this name."""
        return self.play.shown[self.seat]["action_mask"].astype(bool)

    def _shown(self, void: bool) -> tuple[Any, dict[str, Any]]:
        shown, info = self.play.shown[self.seat], {**self.play.infos[self.seat], "void": void}
        if not isinstance(shown, dict):
            return shown, info
        return shown["observation"], {"action_mask": shown["action_mask"], **info}


if ID not in gymnasium.registry:
    gymnasium.register(ID, entry_point=SeatEnv)

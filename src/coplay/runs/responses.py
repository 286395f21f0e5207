"""The learner's own best responses as co-players in training: computed every few trials, seed by seed (policy-space response oracles, PSRO)."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from coplay.errors import CoplayError, UsageError
from coplay.evaluation.action_probabilities import MOST_REPLIES, ActionProbabilities
from coplay.evaluation.best_response import best_response, best_response_value
from coplay.evaluation.pasts import OWN_WORDS, NotExact
from coplay.games.base import Game
from coplay.games.memory import Memory
from coplay.games.records import Occupant, Reply, Request
from coplay.learners.base import Learner, part, prefixed
from coplay.play.responses import ResponseSeating, place_of_response
from coplay.players.base import PlayerWrapper
from coplay.players.named import make_player
from coplay.players.responding import Responder, ResponsePolicy
from coplay.runs.config import Config
from coplay.runs.pools import BEST_RESPONSES, POOLS

if TYPE_CHECKING:
    from torch import Tensor

STATE = f"{BEST_RESPONSES}/"
"""What the entries of a checkpoint begin with that hold the responses."""


def are_met(config: Config) -> bool:
    """Whether best responses are among the co-players of a run."""
    return any(BEST_RESPONSES in config.sits_in(seat) for seat in config.seats)


@dataclass
class BestResponses:
    """The best responses to one learner of a run: those of each seed are to that seed's policies, in places of their own."""

    config: Config
    """The run."""
    game: Game
    """The rules."""
    learner: Learner
    """Who is responded to."""
    seat: str
    """The learner's seat."""
    texts: dict[int, bytes] = field(default_factory=dict)
    """By slot the response as a checkpoint holds it."""

    def __post_init__(self) -> None:
        """Make the player that plays them."""
        own = self.config.learners[self.learner.name]
        self.player = Responder(BEST_RESPONSES, self.game, own.memory, own.window)

    @property
    def seating(self) -> ResponseSeating:
        """How they are seated."""
        return ResponseSeating(BEST_RESPONSES, lambda seed: len(self._slots(seed)), self._slot)

    @property
    def occupant(self) -> Occupant:
        """Who stands for them before one is drawn."""
        return Occupant(self.player, BEST_RESPONSES)

    def respond(self, trial: int, seeds: Sequence[int]) -> None:
        """Compute the best response to each seed's present policy every ``respond_every`` trials, from the first on.

        Raises:
            CoplayError: if a policy has come to something that cannot be enumerated.
        """
        every, kept = self.config.pools.respond_every, self.config.pools.responses
        if trial % every:
            return
        for seed in seeds:
            slot = self._slot(seed, place_of_response(trial // every, kept=kept))
            self._keep(slot, self._response(seed, trial))

    def _response(self, seed: int, trial: int) -> ResponsePolicy:
        own = Occupant(self.learner.player, self.learner.name, self.learner.slots[seed])
        asked = _asked(self.config, self.game, self.seat, own, seed=seed)
        try:
            return best_response(self.game, _other(self.game, self.seat), asked, rounds=self.config.rounds)
        except NotExact as error:
            raise CoplayError(
                f"no best response to {own.name!r} of seed {seed} before trial {trial + 1}: {error}"
            ) from None

    def _keep(self, slot: int, policy: ResponsePolicy) -> None:
        self.player.policies[slot] = policy
        self.texts[slot] = json.dumps(policy, separators=(",", ":")).encode()

    def _slot(self, seed: int, place: int) -> int:
        return self.config.seeds.index(seed) * self.config.pools.responses + place

    def _slots(self, seed: int) -> list[int]:
        """The slots of a seed that hold a response."""
        return [slot for slot in self._places(seed) if slot in self.player.policies]

    def _places(self, seed: int) -> range:
        first = self._slot(seed, 0)
        return range(first, first + self.config.pools.responses)

    def state_dict(self, seed: int) -> dict[str, Tensor]:
        """A seed's responses, for a checkpoint; places without one are empty."""
        import torch

        state = {}
        for place, slot in enumerate(self._places(seed)):
            text = self.texts.get(slot, b"")
            state[str(place)] = (
                torch.frombuffer(bytearray(text), dtype=torch.uint8) if text else torch.zeros(0, dtype=torch.uint8)
            )
        return prefixed(STATE, state)

    def load_state_dict(self, seed: int, state: Mapping[str, Tensor]) -> None:
        """Go back to what :meth:`state_dict` returned."""
        for place, tensor in part(state, STATE).items():
            slot, text = self._slot(seed, int(place)), bytes(tensor.tolist())
            self.player.policies.pop(slot, None)
            self.texts.pop(slot, None)
            if text:
                self._keep(slot, json.loads(text))


def _other(game: Game, seat: str) -> str:
    """The other seat of two."""
    (other,) = (one for one in game.seats if one != seat)
    return other


def _asked(config: Config, game: Game, seat: str, player: Occupant, *, seed: int) -> ActionProbabilities:
    """How the player of a seat acts; shares of all replies where it tells no probabilities."""
    return ActionProbabilities(game, {seat: player}, samples=config.pools.response_samples, seed=seed, halves=False)


# ---------------------------------------------------------------------- what can be wrong with a config


def check_responses(config: Config, game: Game) -> None:
    """Find what keeps best responses from being computed; raises UsageError."""
    if not are_met(config):
        return
    where = f"pools.exploit has {BEST_RESPONSES!r}"
    if len(game.seats) != 2:
        raise UsageError(
            f"{where}: a best response is to one player in a game of two seats; {game.name!r} has {len(game.seats)}"
        )
    (pooled,) = (one for one in game.seats if POOLS in config.seats[one])
    seat = _other(game, pooled)
    name, *others = config.seats[seat]
    if others or name not in config.learners or config.rotate_seats or config.seats[pooled] != (POOLS,):
        raise UsageError(
            f"{where}: they respond to one learner in one seat; set seats.{seat} to a learner alone, seats.{pooled}={POOLS}"
            " and rotate_seats=false"
        )
    learner = config.learners[name]
    if learner.memory is Memory.TRIAL_COUNTS and config.episodes > 1:
        raise UsageError(
            f"{where}: they are computed for one episode, and learners.{name}.memory=trial_counts shows earlier ones; set episodes=1"
        )
    text = (learner.replies or ("choice" if game.one_token else "text")) == "text"
    if learner.policy == "language_model" and text and learner.memory in OWN_WORDS and config.rounds > 1:
        raise UsageError(
            f"{where}: learner {name!r} is shown its own earlier replies, which its co-player cannot know; set"
            f" learners.{name}.memory=last_round, or rounds=1"
        )
    try:
        asked = _information_sets(config, game, seat, name)
    except NotExact as error:
        raise UsageError(f"{where}: {error}") from None
    samples = config.pools.response_samples
    if learner.policy == "language_model" and text and asked * samples > MOST_REPLIES:
        raise UsageError(
            f"{where}: learner {name!r} tells no probabilities, and {samples} replies at each of its {asked:,} information sets are more than"
            f" {MOST_REPLIES:,}; set pools.response_samples={MOST_REPLIES // asked}, or fewer rounds"
        )


@dataclass(frozen=True)
class _Remembering(PlayerWrapper):
    """A player that is shown more than it looks at."""

    shown: Memory
    """What that is."""
    rounds: int
    """H, where that is ``Memory.WINDOW``."""

    @property
    def memory(self) -> Memory:
        """What it is shown."""
        return self.shown

    @property
    def window(self) -> int:
        """See :class:`coplay.players.base.PlayerWrapper`."""
        return self.rounds

    def act(self, requests: Sequence[Request]) -> list[Reply]:
        """As the other player does."""
        return self.player.act(requests)


def _information_sets(config: Config, game: Game, seat: str, name: str) -> int:
    """Enumerate the game with a player that does anything in the learner's place, and count its information sets.

    Raises:
        NotExact: if the game cannot be enumerated.
    """
    learner = config.learners[name]
    stand_in = _Remembering(make_player("uniform", game, seat), learner.memory, learner.window)
    asked = _asked(config, game, seat, Occupant(stand_in, name, 0), seed=0)
    best_response_value(game, _other(game, seat), asked, rounds=config.rounds)
    return asked.asked

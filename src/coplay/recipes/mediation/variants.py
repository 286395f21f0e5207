"""Training runs and baselines of mediation as differences: a game, its players, and who mediates."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from coplay.games import make_game
from coplay.games.mediator_seat import MEDIATOR
from coplay.games.memory import Memory
from coplay.learners.config import LearnerConfig
from coplay.learners.presets import CONTROLLER, DQN_BANDIT, POLICY_GRADIENT_BANDIT
from coplay.recipes.kinds import LearnerKind, Scale
from coplay.runs.config import Config
from coplay.runs.config_input import with_values

_NETWORK = LearnerConfig(role="mediator", policy="network", memory=Memory.WINDOW, window=3, update="trial")

SHARP = CONTROLLER.model_copy(update={"entropy_initial": 0.001, "entropy_final": 0.001, "whiten": True})
"""Table 4 with a hundredth of its entropy bonus and normalised advantages. With 0.10 a mediator that gains or loses a hundredth by a message is
nearly a coin (docs/theory/mediation.md)."""

LEARNED: Mapping[str, LearnerConfig] = {
    "ppo": _NETWORK.model_copy(update={"algorithm": "ppo", "ppo": CONTROLLER}),
    "ppo-sharp": _NETWORK.model_copy(update={"algorithm": "ppo", "ppo": SHARP}),
    "bandit": _NETWORK.model_copy(update={"algorithm": "dqn", "dqn": DQN_BANDIT}),
    "bandit-pg": _NETWORK.model_copy(update={"algorithm": "ppo", "ppo": POLICY_GRADIENT_BANDIT}),
}
"""The learned mediators of section 3.4 with Table 4's numbers. The paper's bandit is a DQN in section 3.4 and PPO with gamma = 0 in Algorithm 1.
The one with little entropy is ours."""

UPDATE_EPISODES, EPISODES = 20, 2000
"""Table 4: episodes of an update, and of the training."""

GAMES_OF_A_CHECKPOINT = 50
"""Table 4: games with which a seed is measured."""


@dataclass(frozen=True)
class MediationVariant:
    """One arm."""

    name: str
    """The recipe's name after ``mediation/``."""
    description: str
    """One sentence."""
    game: Mapping[Scale, str | dict[str, object]]
    """The game with its mediator, by scale."""
    players: Mapping[Scale, tuple[str, ...]]
    """Who sits in the playing seats, by scale."""
    mediator: str
    """A name of :data:`LEARNED`, or a player."""
    changes: Mapping[str, object] = field(default_factory=dict)
    """What else differs, at every scale."""

    def config(self, scale: Scale, learner: LearnerKind) -> Config:
        """The config at a scale; the mediator is a network whatever the kind of learner."""
        game = make_game(self.game[scale])
        learned = self.mediator in LEARNED
        seats = dict(zip(game.seats[:-1], [(who,) for who in self.players[scale]], strict=True))
        config = Config(
            recipe=f"mediation/{self.name}",
            game=self.game[scale],
            trials=EPISODES // UPDATE_EPISODES if learned else 0,
            episodes=1,
            rounds=game.rounds,
            games=UPDATE_EPISODES,
            learners={MEDIATOR: LEARNED[self.mediator]} if learned else {},
            seats={**seats, MEDIATOR: (MEDIATOR if learned else self.mediator,)},
            eval_games=GAMES_OF_A_CHECKPOINT,
            checkpoint_every=25,
        )
        return with_values(config, self.changes) if self.changes else config

"""Firms that learn by Q-learning, and what mediators make of them: arms that the paper does not have, as differences.

The firms are those of Calvano, Calzolari, Denicolò & Pastorello (2020) on a coarser grid of prices; see docs/theory/bertrand.md.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from coplay.games.bertrand import Bertrand
from coplay.games.mediator_seat import MEDIATOR
from coplay.games.memory import Memory
from coplay.learners.config import LearnerConfig
from coplay.learners.presets import CONTROLLER
from coplay.learners.settings import QLearning
from coplay.recipes.kinds import LearnerKind, Scale
from coplay.runs.config import Config

MARKET = Bertrand(grid=7)
"""Seven prices instead of Calvano's fifteen: 49 states instead of 225, which are explored in a tenth of the rounds."""

FINE_IN_EXTRA_PROFITS = 2.0
"""The fine at the monopoly price, in units of what a firm earns more there than in equilibrium. From 1.66 on, the fine is more than the gain at every
common price above Nash's."""

FINE = round(FINE_IN_EXTRA_PROFITS * (MARKET.market.monopoly.profit - MARKET.market.nash.profit), 4)
"""The same in profits."""

COST = 0.02
"""What a learned mediator pays for each firm that it addresses, where closeness to Nash's price pays at most 1."""

THRESHOLD = 0.3
"""The profit gain above which the rule warns (appendix A.6)."""

ROUNDS, EPISODES = 500, 50
"""Rounds of an episode, and episodes: 25,000 rounds."""

FIRM = LearnerConfig(
    role="q-firm",
    policy="tabular",
    memory=Memory.LAST_ROUND,
    algorithm="q_learning",
    update="round",
    q=QLearning(
        learning_rate=0.15,
        discount=0.95,
        epsilon_initial=1.0,
        epsilon_final=0.0,
        epsilon_schedule="exponential",
        epsilon_rate=3e-4,
        initial_values="against_uniform",
        infinite_horizon=True,
        own_rows=True,
        rows=200,  # 49 states and the start, times silence and two notices
    ),
)
"""Calvano's firm: alpha and delta are theirs; beta is larger, as the table is smaller."""

LEARNED = LearnerConfig(
    role="mediator",
    policy="network",
    memory=Memory.WINDOW,
    window=3,
    algorithm="ppo",
    ppo=CONTROLLER,
    update="trial",
)
"""The paper's mediator with Table 4's numbers. It is updated after every episode of 500 rounds, while the firms learn."""


@dataclass(frozen=True)
class FirmsVariant:
    """One arm."""

    name: str
    """The recipe's name after ``mediation/``."""
    description: str
    """One sentence."""
    mediator: str
    """A player; the name of its seat for a learned one."""
    game: Mapping[str, float] = field(default_factory=dict)
    """Settings of the mediator's seat: ``fine`` and ``cost``."""

    def config(self, scale: Scale, learner: LearnerKind) -> Config:
        """The config, at any scale and for any kind of learner the same: firms are tables, a learned mediator is a network."""
        learners = dict.fromkeys(MARKET.seats, FIRM)
        if self.mediator == MEDIATOR:
            learners[MEDIATOR] = LEARNED
        settings = "".join(f",{key}={value:g}" for key, value in self.game.items())
        return Config(
            recipe=f"mediation/{self.name}",
            game=f"bertrand:grid={MARKET.grid}+mediator:targets=everyone{settings}",
            trials=EPISODES,
            episodes=1,
            rounds=ROUNDS,
            games=1,
            learners=learners,
            seats={**{seat: (seat,) for seat in MARKET.seats}, MEDIATOR: (self.mediator,)},
            eval_games=2,
            checkpoint_every=25,
        )


_WARNED = {"fine": FINE}

VARIANTS: dict[str, FirmsVariant] = {
    variant.name: variant
    for variant in (
        FirmsVariant("q-firms", "Q-learning firms, and a mediator that never speaks.", "never"),
        FirmsVariant("q-firms-mild", "Q-learning firms that read the mild notice before every round.", "always:MILD"),
        FirmsVariant(
            "q-firms-strong", "Q-learning firms that read the strong notice before every round.", "always_intervene"
        ),
        FirmsVariant(
            "q-firms-coin", "Q-learning firms that read a notice drawn by chance before half of the rounds.", "coin"
        ),
        FirmsVariant(
            "q-firms-fine",
            "Q-learning firms that are warned before every round, and fined for prices above Nash's.",
            "always_intervene",
            _WARNED,
        ),
        FirmsVariant(
            "q-firms-thresh",
            "Q-learning firms that are warned, and fined for prices above Nash's, in the rounds after a profit gain above 0.30.",
            f"gain_thresh:{THRESHOLD:g}",
            _WARNED,
        ),
        FirmsVariant(
            "q-firms-ppo",
            "Q-learning firms and a mediator learned by PPO, which may remind them, or warn and fine them, at a small cost.",
            MEDIATOR,
            {**_WARNED, "cost": COST},
        ),
    )
}
"""By name."""

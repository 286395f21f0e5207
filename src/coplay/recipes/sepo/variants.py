"""The paper's training runs as differences from one another: a game, what is subtracted from payoff, and how penalties are credited."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from coplay.games import make_game
from coplay.games.memory import Memory
from coplay.learners.config import LearnerConfig
from coplay.recipes.kinds import LearnerKind, Scale
from coplay.recipes.sepo import settings
from coplay.recipes.sepo.pools import BEST_RESPONSE_POOLS, LARGE_POOLS, PAPER_POOLS, POOLS
from coplay.runs.config import POOLS as ALL_POOLS
from coplay.runs.config import Config, Pools
from coplay.runs.config_input import with_values

AGENT = "learner"
"""The learner's name."""


@dataclass(frozen=True)
class SafetyVariant:
    """One training run."""

    name: str
    """The recipe's name after ``sepo/``."""
    description: str
    """One sentence."""
    game: str
    """The game."""
    weights: tuple[float, float, float] | None = None
    """lambda of exploitability, collusion and externality; None for Table 1's."""
    changes: Mapping[str, object] = field(default_factory=dict)
    """What else differs, at every scale."""
    pools: Pools | None = None
    """The co-players; None for ours without overlap."""

    def config(self, scale: Scale, learner: LearnerKind) -> Config:
        """The config at a scale."""
        values: dict[str, object] = {**settings.PAPER, **settings.PAPER_GAMES.get(self.game, {})}
        if scale == "tiny":
            values |= {**settings.TINY, **settings.TINY_GAMES.get(self.game, {})}
        if learner == "tabular":
            values = dict(settings.TABULAR)
        exploit, collusion, externality = settings.WEIGHTS[self.game] if self.weights is None else self.weights
        values |= {
            "learner.group.safety.exploit": exploit,
            "learner.group.safety.collusion": collusion,
            "learner.group.safety.externality": externality,
            **self.changes,
        }
        pools = self.pools or POOLS[self.game]
        members = sum(map(len, pools.trained_against.values()))
        size = {**values, **self.changes}["group_size"]
        assert isinstance(size, int)
        values |= {
            "pools": pools.model_dump(),
            "games": members * size,
            f"seats.{make_game(self.game).seats[1]}": ALL_POOLS,
        }
        return with_values(alone(f"sepo/{self.name}", self.game, learner), values)


def alone(recipe: str, game: str, learner: LearnerKind) -> Config:
    """A group learner in the first seat, against a uniform player."""
    rules = make_game(game)
    own, other = rules.seats
    agent = LearnerConfig(role="agent", policy=learner, memory=Memory.LAST_ROUND, algorithm="group", update="trial")
    return Config(
        recipe=recipe,
        model="tiny",
        game=game,
        trials=0,
        episodes=1,
        rounds=rules.rounds,
        games=2,
        group_size=2,
        learners={AGENT: agent},
        seats={own: (AGENT,), other: ("uniform",)},
    )


def _variants() -> Iterator[SafetyVariant]:
    for game, title in settings.TITLES.items():
        yield SafetyVariant(game, f"{title}: payoff less exploitability, collusion and externality (SEPO).", game)
        yield SafetyVariant(
            f"{game}-base", f"{title}: the model before any training, measured.", game, changes=UNTRAINED
        )
        yield SafetyVariant(
            f"{game}-sft", f"{title}: the warm start alone (adapter.init_adapter), measured.", game, changes=UNTRAINED
        )
        yield SafetyVariant(f"{game}-payoff", f"{title}: payoff alone.", game, (0.0, 0.0, 0.0))
        exploit, collusion, externality = settings.WEIGHTS[game]
        single = {
            "exploit": (exploit, 0.0, 0.0),
            "collusion": (0.0, collusion, 0.0),
            "externality": (0.0, 0.0, externality),
        }
        for term, weights in single.items():
            if any(weights):
                yield SafetyVariant(f"{game}-{term}", f"{title}: payoff less {term} alone.", game, weights)
        for ending, (what, changes) in CREDITS.items():
            yield SafetyVariant(f"{game}-{ending}", f"{title}: SEPO, {what}.", game, changes=changes)
        yield SafetyVariant(
            f"{game}-paper-pools",
            f"{title}: SEPO with the pools of Table 14 as printed.",
            game,
            pools=PAPER_POOLS[game],
        )
    title = settings.TITLES["kuhn"]
    yield SafetyVariant(
        "kuhn-best-responses", f"{title}: SEPO against best responses too.", "kuhn", pools=BEST_RESPONSE_POOLS
    )
    yield SafetyVariant("kuhn-large-pool", f"{title}: SEPO with more scripted exploiters.", "kuhn", pools=LARGE_POOLS)
    yield SafetyVariant(
        "kuhn-small-beta",
        f"{settings.TITLES['kuhn']}: SEPO with the KL weight of the other games (section 3.5).",
        "kuhn",
        changes=settings.SMALL_BETA,
    )


UNTRAINED: Mapping[str, object] = {"trials": 0, "select": "last"}
"""What differs where nothing is learnt."""

CREDITS: Mapping[str, tuple[str, Mapping[str, object]]] = {
    "shared": ("one penalty for all rounds of all rollouts (algorithm 1)", {"learner.group.safety.credit": "shared"}),
    "auxiliary": (
        "a penalty for each rollout from games of its own (section 3.3)",
        {"learner.group.safety.credit": "auxiliary"},
    ),
    "episode": ("advantages of whole episodes (appendix D)", {"learner.group.normalise": "episode"}),
    "round": (
        "advantages of single rounds (equation 4)",
        {"learner.group.normalise": "round", "learner.group.discount": 0.0},
    ),
    "over-fair": (
        "exploitability over the fair payoff (section 3.1)",
        {"learner.group.safety.measure": "over_fair"},
    ),
    "appendix": ("the numbers of Table 17", settings.APPENDIX),
}
"""Ablations: what differs, by the end of the recipe's name."""


VARIANTS: dict[str, SafetyVariant] = {variant.name: variant for variant in _variants()}
"""By name."""

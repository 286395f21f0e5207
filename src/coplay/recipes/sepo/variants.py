"""The paper's training runs as differences from one another: a game, what is subtracted from payoff, and how penalties are credited."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from coplay.errors import UsageError
from coplay.games import make_game
from coplay.games.memory import Memory
from coplay.learners.config import LearnerConfig
from coplay.recipes.kinds import LearnerKind, Scale
from coplay.recipes.sepo import settings
from coplay.recipes.sepo.pools import BEST_RESPONSE_POOLS, BEST_RESPONSES_ALONE, LARGE_POOLS, PAPER_POOLS, POOLS
from coplay.runs.config import Config
from coplay.runs.config_input import with_values
from coplay.runs.pools import BEST_RESPONSES, Pools
from coplay.runs.pools import POOLS as ALL_POOLS

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
    of_tables: bool = False
    """Whether it differs from the game's main experiment on tables alone."""

    def config(self, scale: Scale, learner: LearnerKind) -> Config:
        """The config at a scale.

        Raises:
            UsageError: for a language model, if the recipe differs from the game's main experiment on tables alone.
        """
        if self.of_tables and learner != "tabular":
            raise UsageError(
                f"sepo/{self.name} is sepo/{self.game} itself, whose credit differs on tables alone; run sepo/{self.game}, or add --learner tabular"
            )
        values: dict[str, object] = {**settings.PAPER, **settings.PAPER_GAMES.get(self.game, {})}
        if scale == "tiny":
            values |= {**settings.TINY, **settings.TINY_GAMES.get(self.game, {})}
        if learner == "tabular":
            values = {**settings.TABULAR, **settings.TABULAR_GAMES.get(self.game, {})}
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
            f"{game}-round",
            f"{title}: SEPO on tables, advantages of single rounds (equation 4), which language models always have.",
            game,
            changes={"learner.group.normalise": "round", "learner.group.discount": 0.0},
            of_tables=True,
        )
        yield SafetyVariant(
            f"{game}-appendix",
            f"{title}: SEPO, the numbers of Table 17.",
            game,
            changes={**settings.APPENDIX, **settings.APPENDIX_GAMES.get(game, {})},
        )
        yield SafetyVariant(
            f"{game}-paper-pools",
            f"{title}: SEPO with the pools of Table 14 as printed.",
            game,
            pools=PAPER_POOLS[game],
        )
    yield from _kuhn(settings.TITLES["kuhn"])


def _kuhn(title: str) -> Iterator[SafetyVariant]:
    """Kuhn poker alone: a weight of the KL, and exploit pools that are compared at the same settings."""
    yield SafetyVariant(
        "kuhn-small-beta",
        f"{title}: SEPO with the KL weight of the other games (section 3.5).",
        "kuhn",
        changes=settings.SMALL_BETA,
    )
    for ending, (what, pools) in EXPLOIT_POOLS.items():
        select = {} if set(pools.exploit) - {BEST_RESPONSES} else {"select": "last"}  # nobody is left to select by
        yield SafetyVariant(
            f"kuhn-{ending}", f"{title}: SEPO {what}.", "kuhn", changes={**settings.LESS_NOISE, **select}, pools=pools
        )


EXPLOIT_POOLS: Mapping[str, tuple[str, Pools]] = {
    "fixed-pool": ("with more rollouts and advantages that are not divided by a deviation", POOLS["kuhn"]),
    "large-pool": ("with these settings, against more scripted exploiters", LARGE_POOLS),
    "best-responses": ("with these settings, against its best responses too", BEST_RESPONSE_POOLS),
    "best-responses-alone": ("with these settings, against its best responses alone", BEST_RESPONSES_ALONE),
}
"""Exploit pools of Kuhn poker, by the end of the recipe's name."""

UNTRAINED: Mapping[str, object] = {"trials": 0, "select": "last"}
"""What differs where nothing is learnt."""

CREDITS: Mapping[str, tuple[str, Mapping[str, object]]] = {
    "shared": ("one penalty for all rounds of all rollouts (algorithm 1)", {"learner.group.safety.credit": "shared"}),
    "auxiliary": (
        "a penalty for each rollout from games of its own (section 3.3)",
        {"learner.group.safety.credit": "auxiliary"},
    ),
    "episode": ("advantages of whole episodes (appendix D)", {"learner.group.normalise": "episode"}),
    "over-fair": (
        "exploitability over the fair payoff (section 3.1)",
        {"learner.group.safety.measure": "over_fair"},
    ),
}
"""Ablations: what differs, by the end of the recipe's name."""


VARIANTS: dict[str, SafetyVariant] = {variant.name: variant for variant in _variants()}
"""By name."""

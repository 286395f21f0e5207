"""The dilemmas of three players (Table 1, and the ablation of batch sizes in appendix B)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from coplay.recipes.experiments import Arm, Experiment, Published
from coplay.recipes.kinds import Scale
from coplay.recipes.mediation.measures import cooperation, interventions, welfare
from coplay.recipes.mediation.variants import MediationVariant

TITLES: Mapping[str, str] = {
    "ipd-3": "IPD of three players",
    "stag-hunt-3": "Stag Hunt of three players",
    "chicken-3": "Chicken of three players",
}
"""The paper's games."""

PERSONAS = ("standard", "malicious", "benevolent")
"""One of each in every game (appendix A.3)."""

LLAMA = "llama-3.3-70b.toml"
"""The endpoint's file at the paper's scale; see docs/recipes/mediation.md."""

RULES: Mapping[str, tuple[str, str]] = {
    "never": ("never", "never sends a message"),
    "always": ("always_intervene", "sends one before every round"),
    "coop-thresh": ("coop_thresh", "sends one while cooperation is below a half"),
    "defector": ("defector", "sends one after rounds in which anybody defected"),
    "payoff-thresh": ("payoff_thresh", "sends one while payoffs are below half of what mutual cooperation pays"),
    "coin": ("coin", "sends one before half of the rounds, by chance"),
}
"""Mediators by rule (appendix A.5), by the arm's name: the player, and what it does. The coin is ours."""

LABELS = {
    "ppo": "PPO",
    "bandit": "bandit (DQN, gamma = 0)",
    "bandit-pg": "bandit (PPO with gamma = 0)",
    "ppo-sharp": "PPO with an entropy bonus of 0.001 and normalised advantages",
    "large-batch": "PPO, batch 256, 50 episodes an update",
}
"""What a reader is shown of learned mediators."""

LARGE_BATCH: Mapping[str, object] = {"games": 50, "trials": 40, "mediator.ppo.minibatch": 256}
"""Appendix B: as many episodes in fewer, larger updates."""

ARMS = ("never", "always", "coop-thresh", "defector", "payoff-thresh", "ppo", "bandit")
"""The columns of Table 1."""

OURS = ("coin", "bandit-pg", "ppo-sharp")
"""Arms beside them."""


def game_of(name: str) -> dict[Scale, str]:
    """The game by scale: small models neither talk nor decide about each co-player by itself."""
    return {"tiny": f"{name}:talk=0,shared=true+mediator", "paper": f"{name}+mediator"}


def players_of(name: str) -> dict[Scale, tuple[str, ...]]:
    """The players by scale: simulators fitted to recorded games of SmolLM2, or the paper's model with its personas."""
    return {
        "tiny": tuple(f"simulator:smollm2-{name}@{persona}" for persona in PERSONAS),
        "paper": tuple(f"{LLAMA}@{persona}" for persona in PERSONAS),
    }


def _variants() -> Iterator[MediationVariant]:
    for game, title in TITLES.items():
        for arm, (player, does) in RULES.items():
            yield MediationVariant(
                f"{game}-{arm}", f"{title}: a mediator that {does}.", game_of(game), players_of(game), player
            )
        for arm in ("ppo", "bandit", "bandit-pg", "ppo-sharp"):
            yield MediationVariant(
                f"{game}-{arm}", f"{title}: a learned mediator, {LABELS[arm]}.", game_of(game), players_of(game), arm
            )
        yield MediationVariant(
            f"{game}-large-batch",
            f"{title}: a learned mediator, {LABELS['large-batch']}.",
            game_of(game),
            players_of(game),
            "ppo",
            LARGE_BATCH,
        )


VARIANTS: dict[str, MediationVariant] = {variant.name: variant for variant in _variants()}
"""By name."""

_PUBLISHED: Mapping[str, Mapping[str, Mapping[str, float]]] = {
    "ipd-3": {
        "welfare": dict(zip(ARMS, (59.00, 57.86, 62.06, 60.40, 61.00, 60.70, 60.02), strict=True)),
        "cooperation": dict(zip(ARMS, (0.191, 0.167, 0.255, 0.216, 0.229, 0.235, 0.221), strict=True)),
        "interventions": dict(zip(ARMS, (0.0, 5.0, 4.6, 3.9, 2.1, 4.5, 3.1), strict=True)),
    },
    "stag-hunt-3": {
        "welfare": dict(zip(ARMS, (62.94, 62.90, 63.80, 64.18, 64.28, 64.13, 63.11), strict=True)),
        "cooperation": dict(zip(ARMS, (0.287, 0.305, 0.307, 0.304, 0.319, 0.324, 0.309), strict=True)),
        "interventions": dict(zip(ARMS, (0.0, 5.0, 4.0, 3.9, 1.1, 2.7, 2.5), strict=True)),
    },
    "chicken-3": {
        "welfare": {},
        "cooperation": dict.fromkeys(ARMS, 0.99),
        "interventions": {"never": 0.0, "always": 5.0, "ppo": 0.1, "bandit": 0.1},
    },
}
"""Table 1. Welfare in the IPD is more than Table 3's payoffs allow at these rates of cooperation: it is no target."""


def _rows(game: str, arm: str) -> Iterator[Published]:
    measures = {"welfare": welfare, "cooperation": cooperation, "interventions": interventions}
    for name, measure in measures.items():
        published = _PUBLISHED[game][name].get(arm)
        yield Published(
            arm, "", f"{name}{' per game' if name != 'cooperation' else ''}", published, measure=measure(arm)
        )


def _arm(game: str, name: str) -> Arm:
    label = LABELS.get(name) or f"{RULES[name][0]}: {RULES[name][1]}"
    return Arm(name, label, f"mediation/{game}-{name}")


def _table(game: str) -> Experiment:
    names = (*ARMS, *OURS)
    return Experiment(
        "mediation/table1",
        game,
        f"Learning to mediate, Table 1: {TITLES[game]}",
        tuple(_arm(game, name) for name in names),
        tuple(row for name in names for row in _rows(game, name)),
        text_only=True,
        models=("Llama-3.3-70B",),
    )


def _batch(game: str) -> Experiment:
    names = ("ppo", "large-batch")
    return Experiment(
        "mediation/batch",
        game,
        f"Learning to mediate, appendix B: larger batches, {TITLES[game]}",
        tuple(_arm(game, name) for name in names),
        tuple(row for name in names for row in _rows(game, name)),
        text_only=True,
    )


EXPERIMENTS = (*map(_table, TITLES), *map(_batch, TITLES))
"""Table 1 and appendix B's ablation."""

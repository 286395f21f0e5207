"""The market of the paper: two firms, four ways to instruct them, and a mediator that may send a mild or a strong notice (Table 2, Figures 1 to 6).

Every controller is evaluated under all four prompts, whatever it was trained under: ``ARM@PROMPT``. A controller after fewer updates is an arm of
fewer trials with the same seeds, as the first 25 updates of 100 are those of a training of 25.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from coplay.recipes.experiments import Arm, Experiment, Published
from coplay.recipes.kinds import Scale
from coplay.recipes.mediation.measures import collective, intervened
from coplay.recipes.mediation.variants import MediationVariant
from coplay.runs.settings import Setting

PROMPTS = ("P0", "PI", "AC", "PC")
"""What firms are told to do (appendix A.7), in the order of Table 2."""

ANY = "any"
"""In place of a prompt: each episode is dealt one of them."""

DEEPSEEK = "deepseek-r1-distill-qwen-7b.toml"
"""The endpoint's file at the paper's scale; see docs/recipes/mediation.md."""

FIRM = "simulator:smollm2-bertrand-{context}"
"""A firm at tiny scale: a simulator for each prompt, fitted to recorded games of SmolLM2."""

CHECKPOINTS = (25, 50, 75, 100)
"""Updates after which controllers are evaluated."""

EVALUATED = 60
"""Games of a seed and prompt: 300 with five seeds, as in section 4.2."""

RULES: Mapping[str, tuple[str, str]] = {
    "never": ("never", "never sends a message"),
    "always-mild": ("always:mild", "sends the mild notice before every round"),
    "always-strong": ("always:strong", "sends the strong notice before every round"),
    "random": ("uniform", "is silent, mild or strong before every round, each by a chance of one third"),
    "coin": ("coin", "sends a notice before half of the rounds, by chance"),
    "thresh": ("gain_thresh", "sends the strong notice after rounds with a profit gain above 0.30"),
}
"""Mediators by rule (appendix A.6), by the arm's name: the player, and what it does. The coin, a true half of the rounds, is ours."""

ALGORITHMS: Mapping[str, str] = {
    "ppo": "PPO",
    "bandit": "bandit (DQN, gamma = 0)",
    "bandit-pg": "bandit (PPO with gamma = 0)",
}
"""What a reader is shown of learned mediators."""


@dataclass(frozen=True)
class Controller:
    """A learned mediator after some updates."""

    algorithm: str
    """A name of :data:`ALGORITHMS`."""
    prompt: str
    """What firms were told in training; ``any`` for each prompt in a quarter of the episodes."""
    updates: int
    """How many."""
    informed: bool = False
    """Whether it is told the prompt of each episode: the prompt-conditioned controller that section 5 asks for."""

    @property
    def family(self) -> str:
        """Its name without the updates."""
        return f"{self.algorithm}-{'conditioned' if self.informed else self.prompt.lower()}"

    @property
    def name(self) -> str:
        """The arm's name."""
        return f"{self.family}-{self.updates}"

    @property
    def trained(self) -> str:
        """How and on what it was trained, in words."""
        how = ALGORITHMS[self.algorithm]
        if self.prompt != ANY:
            return f"{how} trained under {self.prompt}"
        return f"{how} trained under all prompts, {'and told which' if self.informed else 'not told which'}"

    @property
    def label(self) -> str:
        """For readers."""
        return f"{self.trained}, {self.updates} updates"


PAPERS = (
    Controller("ppo", "PC", 25),
    Controller("ppo", "P0", 50),
    Controller("bandit", "P0", 50),
    Controller("bandit", "P0", 100),
)
"""The learned columns of Table 2."""

OURS = (
    Controller("ppo", "PC", 100),
    Controller("bandit-pg", "P0", 100),
    Controller("ppo", ANY, 100),
    Controller("ppo", ANY, 100, informed=True),
)
"""Controllers beside them: PPO after its peak, the other reading of the bandit, and training under all prompts without and with their names."""

FAMILIES = tuple(
    Controller(algorithm, prompt, updates)
    for algorithm in ("ppo", "bandit")
    for prompt in PROMPTS
    for updates in CHECKPOINTS
)
"""The controllers of Figures 1, 2, 4, 5 and 6."""


def game_of(prompt: str, *, informed: bool = False) -> dict[Scale, dict[str, object]]:
    """The game by scale: Calvano's grid of 15 prices and 30 rounds for simulators, the paper's 300 rounds and any price for its model."""
    tiny = {"name": "bertrand", "grid": 15, "prompt": prompt, "rounds": 30}
    paper = {"name": "bertrand", "prompt": prompt, "rounds": 300}
    told: dict[str, object] = {"informed": True} if informed else {}
    return {"tiny": {"name": "mediated", "game": tiny, **told}, "paper": {"name": "mediated", "game": paper, **told}}


PLAYERS: Mapping[Scale, tuple[str, ...]] = {"tiny": (FIRM, FIRM), "paper": (DEEPSEEK, DEEPSEEK)}
"""Both firms, by scale."""


def _variants() -> Iterator[MediationVariant]:
    for name, (player, does) in RULES.items():
        text = f"Price competition of two firms under prompt P0: a mediator that {does}."
        yield MediationVariant(f"bertrand-{name}", text, game_of("P0"), PLAYERS, player, {"eval_games": EVALUATED})
    for one in dict.fromkeys((*FAMILIES, *OURS)):
        yield MediationVariant(
            f"bertrand-{one.name}",
            f"Price competition of two firms: a learned mediator, {one.label}.",
            game_of(one.prompt, informed=one.informed),
            PLAYERS,
            one.algorithm,
            {"eval_games": EVALUATED, "trials": one.updates},
        )


VARIANTS: dict[str, MediationVariant] = {variant.name: variant for variant in _variants()}
"""By name."""

SETTINGS = tuple(Setting.of(prompt, {"game.game.prompt": prompt}) for prompt in PROMPTS)
"""The prompts under which every controller is evaluated."""

GAIN, PRICE, SURPLUS, SPOKE = "profit gain ↓", "price ↓", "consumer surplus ↑", "rounds with a message"
"""The rows of the tables."""

_COLUMNS = (*(name for name in RULES if name != "coin"), *(one.name for one in PAPERS))

_PUBLISHED: Mapping[str, Mapping[str, Sequence[float]]] = {
    GAIN: {
        "P0": (0.243, 0.267, 0.269, 0.271, 0.241, 0.262, 0.262, 0.240, 0.233),
        "PI": (0.301, 0.301, 0.286, 0.292, 0.288, 0.282, 0.271, 0.292, 0.286),
        "AC": (0.220, 0.207, 0.211, 0.217, 0.219, 0.197, 0.225, 0.211, 0.211),
        "PC": (0.422, 0.405, 0.409, 0.416, 0.428, 0.405, 0.413, 0.390, 0.400),
    },
    PRICE: {
        "P0": (1.589, 1.602, 1.606, 1.606, 1.605, 1.604, 1.601, 1.593, 1.589),
        "PI": (1.617, 1.613, 1.618, 1.618, 1.611, 1.611, 1.600, 1.612, 1.603),
        "AC": (1.574, 1.576, 1.567, 1.576, 1.574, 1.561, 1.631, 1.570, 1.571),
        "PC": (1.851, 1.851, 1.917, 1.863, 1.853, 1.865, 1.916, 1.876, 1.909),
    },
}
"""Table 2."""


def published(row: str, arm: str, prompt: str) -> float | None:
    """The paper's number; None where it has none."""
    numbers = _PUBLISHED.get(row, {}).get(prompt)
    return numbers[_COLUMNS.index(arm)] if numbers is not None and arm in _COLUMNS else None


def _rows(arm: str) -> Iterator[Published]:
    for prompt in PROMPTS:
        at = f"{arm}@{prompt}"
        measures = {
            GAIN: collective(at, "profit_gain"),
            PRICE: collective(at, "price"),
            SURPLUS: collective(at, "consumer_surplus"),
            SPOKE: intervened(at),
        }
        for row, measure in measures.items():
            yield Published(arm, "", row, published(row, arm, prompt), measure=measure, setting=prompt)


def _rule(name: str) -> Arm:
    return Arm(name, f"{RULES[name][0]}: {RULES[name][1]}", f"mediation/bertrand-{name}")


def _learned(one: Controller) -> Arm:
    return Arm(one.name, one.label, f"mediation/bertrand-{one.name}")


def _experiment(id: str, title: str, arms: tuple[Arm, ...], *, extra: bool = False) -> Experiment:
    return Experiment(
        id,
        "bertrand",
        title,
        arms,
        tuple(row for arm in arms for row in _rows(arm.name)),
        text_only=True,
        extra=extra,
        settings={"tiny": SETTINGS, "paper": SETTINGS},
        models=("DeepSeek-R1-Distill-Qwen-7B",),
    )


TABLE = _experiment(
    "mediation/table2",
    "Learning to mediate, Table 2: price competition of two firms, by what they are told to do",
    (*map(_rule, RULES), *map(_learned, (*PAPERS, *OURS))),
)
"""Table 2, with four controllers of ours."""

TRAINED = _experiment(
    "mediation/checkpoints",
    "Learning to mediate: price competition of two firms, controllers by prompt of training and number of updates",
    (*map(_rule, ("never", "always-mild")), *map(_learned, FAMILIES)),
    extra=True,
)
"""What Figures 1, 2, 4, 5 and 6 are made from."""

EXPERIMENTS = (TABLE, TRAINED)
"""Both."""

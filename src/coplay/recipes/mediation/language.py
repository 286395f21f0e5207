"""A language model as mediator, trained by group gradients beside players that follow its messages. Ours; the paper's mediators are networks."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from coplay.errors import UsageError
from coplay.games import make_game
from coplay.games.mediator_seat import MEDIATOR
from coplay.games.memory import Memory
from coplay.learners.config import LearnerConfig
from coplay.learners.settings import GroupGradient
from coplay.recipes.demonstrations import Demonstrations
from coplay.recipes.experiments import WarmStart
from coplay.recipes.kinds import LearnerKind, Scale
from coplay.recipes.sepo.warm_start import SETTINGS
from coplay.runs.config import Config
from coplay.runs.config_input import with_values

GAME = "ipd-3:talk=0,shared=true+mediator:targets=everyone"
"""The dilemma of three players with one decision a round; a message reaches all of them."""

WORDS: Mapping[Scale, str] = {"tiny": ",words=PASS+CALL", "paper": ""}
"""What the mediator writes: the embedded model knows these words of its games, and neither NONE nor INTERVENE."""


@dataclass(frozen=True)
class Situation:
    """Players that follow messages, and what a message costs."""

    name: str
    """Within the recipe's name."""
    player: str
    """Who sits in the playing seats."""
    cost: float
    """Of a message, for each player that it addresses."""
    best: str
    """What a mediator does best, for a reader."""


SITUATIONS = (
    Situation(
        "heeded", "obedient", 0.1, "players cooperate when they read a message, so it is best to send one always"
    ),
    Situation("costly", "obedient", 0.5, "the same, but a message costs more than it brings, so silence is best"),
    Situation("once", "persuadable", 0.2, "players go on by themselves, so it is best to send one message, in round 1"),
)
"""Three situations. Between the first two one number of the prompt differs."""

DEMONSTRATED = Demonstrations(
    f"{GAME},cost=0.1{WORDS['tiny']}",
    {"coin": 1.0},
    ("obedient", "persuadable", "random:0.5", "always_defect"),
    episodes=40,
    seats=(MEDIATOR,),
)
"""A coin shows how to reply, beside players of several kinds; when to send a message it does not show."""

WARM_START = WarmStart("language-coin", DEMONSTRATED, SETTINGS, seed=42)
"""What the learners of all situations start from."""

_GROUP = GroupGradient(method="grpo", learning_rate=1e-3, discount=1.0, parse_error_penalty=1.0)

_SETTINGS: Mapping[Scale, Mapping[str, object]] = {
    "tiny": {"model": "tiny-reason", "trials": 40, "games": 16},
    "paper": {
        "model": "google/gemma-2-2b-it",
        "trials": 100,
        "games": 64,
        "group_size": 8,
        "mediator.memory": Memory.CHAT,
        "mediator.max_tokens": 256,
        "mediator.group.learning_rate": 1e-5,
    },
}
"""What differs by scale. At ``paper`` nothing has been run."""


@dataclass(frozen=True)
class LanguageVariant:
    """One training run."""

    situation: Situation
    """The players, and the cost of a message."""
    cold: bool = False
    """Whether the experiment trains it from the model as it is, instead of from a warm start."""

    @property
    def name(self) -> str:
        """The recipe's name after ``mediation/``."""
        return f"language-{self.situation.name}{'-cold' if self.cold else ''}"

    @property
    def description(self) -> str:
        """One sentence."""
        start = "; without a warm start" if self.cold else ""
        return f"A language model as mediator: {self.situation.best}{start}."

    def config(self, scale: Scale, learner: LearnerKind) -> Config:
        """The config at a scale; it starts from the model as it is unless ``adapter.init_adapter`` names a warm start.

        Raises:
            UsageError: for tabular learners.
        """
        if learner == "tabular":
            raise UsageError(f"mediation/{self.name} is about text, which tabular learners do not read")
        game = f"{GAME},cost={self.situation.cost:g}{WORDS[scale]}"
        rules = make_game(game)
        mediator = LearnerConfig(
            role="mediator", memory=Memory.LAST_ROUND, max_tokens=8, algorithm="group", update="trial", group=_GROUP
        )
        config = Config(
            recipe=f"mediation/{self.name}",
            game=game,
            trials=0,
            episodes=1,
            rounds=rules.rounds,
            learners={MEDIATOR: mediator},
            seats={**dict.fromkeys(rules.playing_seats, (self.situation.player,)), MEDIATOR: (MEDIATOR,)},
            adapter=SETTINGS[scale].adapter,
            eval_games=50,
        )
        return with_values(config, _SETTINGS[scale])


def _variants() -> Iterator[LanguageVariant]:
    for situation in SITUATIONS:
        yield LanguageVariant(situation)
        yield LanguageVariant(situation, cold=True)


VARIANTS: dict[str, LanguageVariant] = {variant.name: variant for variant in _variants()}
"""By name."""

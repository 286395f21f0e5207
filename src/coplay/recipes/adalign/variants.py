"""The paper's training runs as differences from one another: a game, a method, and whether past selves are co-players."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from coplay.errors import UsageError
from coplay.games.memory import Memory
from coplay.learners.config import LearnerConfig
from coplay.learners.settings import GroupGradient, Method
from coplay.recipes.adalign import settings
from coplay.recipes.kinds import LearnerKind, Scale
from coplay.runs.config import Config
from coplay.runs.config_input import with_values

TITLES = {
    "ipd-ab": "Iterated Prisoner's Dilemma with actions A and B",
    "split-no-comm": "Split No-Comm",
    "trust-and-split": "Trust-and-Split",
}
"""The paper's games."""

METHODS: Mapping[str, tuple[Method, str]] = {
    "": ("advantage_alignment", "Advantage Alignment in self-play with past selves"),
    "-grpo": ("grpo", "multi-agent GRPO in self-play"),
    "-sum": ("sum_of_rewards", "multi-agent GRPO for the sum of rewards, in self-play"),
}
"""By the end of the recipe's name: the method, and a description."""


@dataclass(frozen=True)
class SelfPlayVariant:
    """One of the paper's training runs."""

    name: str
    """The recipe's name after ``adalign/``."""
    description: str
    """One sentence."""
    game: str
    """The game."""
    method: Method
    """From advantages to credits."""
    changes: Mapping[str, object] = field(default_factory=dict)
    """What else differs, at every scale."""
    paper_changes: Mapping[str, object] = field(default_factory=dict)
    """What else differs at the paper's scale."""
    models: Mapping[Scale, str] | None = None
    """Another model than the scale's."""

    def config(self, scale: Scale, learner: LearnerKind) -> Config:
        """The config at a scale."""
        if learner == "tabular":
            raise UsageError(f"adalign/{self.name} is about text, which tabular learners do not read")
        values = {**settings.PAPER, **settings.PAPER_GAMES[self.game]}
        if scale == "tiny":
            values |= {**settings.TINY, **settings.TINY_GAMES[self.game]}
            values |= settings.TINY_ALIGNMENT.get(self.game, {}) if self.method == "advantage_alignment" else {}
            values |= {"trials": settings.TINY_TRIALS[self.name]} if self.name in settings.TINY_TRIALS else {}
        # the buffer made no difference to the other methods, and was left out for them (section 3)
        probability = 0.5 if self.method == "advantage_alignment" else 0.0
        if self.models is not None:
            values["model"] = self.models[scale]
        values |= {"learner.group.method": self.method, "past_selves.probability": probability, **self.changes}
        values |= self.paper_changes if scale == "paper" else {}
        return with_values(self_play(f"adalign/{self.name}", self.game), values)


def self_play(recipe: str, game: str) -> Config:
    """A group learner in both seats, which change from group to group; one episode a trial."""
    learner = LearnerConfig(
        memory=Memory.CHAT, max_tokens=400, algorithm="group", update="trial", group=GroupGradient()
    )
    return Config(
        recipe=recipe,
        model="tiny-talk",
        game=game,
        trials=0,
        episodes=1,
        rounds=10,
        games=64,
        group_size=8,
        learners={"learner": learner},
        seats={"alice": ("learner",), "bob": ("learner",)},
        rotate_seats=True,
    )


SECOND_MODEL: Mapping[Scale, str] = {"tiny": "tiny-talk-second", "paper": "google/gemma-3-4b-it"}
"""Another family of models, for Figure 2."""


def _variants() -> Iterator[SelfPlayVariant]:
    for game, title in TITLES.items():
        for ending, (method, description) in METHODS.items():
            yield SelfPlayVariant(f"{game}{ending}", f"{title}: {description}.", game, method)
        yield SelfPlayVariant(
            f"{game}-grpo-second",
            f"{title}: multi-agent GRPO in self-play, on a model of another family.",
            game,
            "grpo",
            models=SECOND_MODEL,
        )
        for ending, co_player, seat in (
            ("", "a frozen agent (seats.bob=RUN; by default tit for tat)", "tit_for_tat"),
            ("-cooperate", "an agent that always cooperates", "always_cooperate"),
        ):
            yield SelfPlayVariant(
                f"{game}-exploiter{ending}",
                f"{title}: multi-agent GRPO against {co_player}.",
                game,
                "grpo",
                {"seats.bob": seat},
                settings.PAPER_EXPLOITERS.get(game, {}),
            )


VARIANTS: dict[str, SelfPlayVariant] = {variant.name: variant for variant in _variants()}
"""By name."""

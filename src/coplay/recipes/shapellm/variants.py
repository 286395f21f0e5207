"""ShapeLLM's experiments (Opponent Shaping in LLM Agents, ICLR 2026) as differences from one another.

A recipe is a game, who sits in row (a shaper, or a second naive learner), and what differs from that game's main experiment.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, replace
from functools import reduce

from coplay.errors import UsageError
from coplay.games.catalogue import make_game
from coplay.games.matrix import MatrixGame
from coplay.games.memory import Memory
from coplay.learners.config import LearnerConfig
from coplay.learners.settings import PPO
from coplay.recipes.kinds import LearnerKind, Scale
from coplay.recipes.shapellm import settings
from coplay.recipes.shapellm.table_14 import TABLE_14
from coplay.runs.config import Config
from coplay.runs.config_input import with_values
from coplay.text.chat import ChatFormat

TITLES = {
    "ipd": "Iterated Prisoner's Dilemma",
    "imp": "Iterated Matching Pennies",
    "icg": "Iterated Chicken Game",
    "c-ipd": "Cooperative IPD",
    "ish": "Iterated Stag Hunt",
}
"""The paper's games."""

OPPONENTS: Mapping[str, Mapping[str, tuple[str, str]]] = {
    "ipd": {"75": ("H", "K"), "50": ("N", "Y"), "25": ("I", "X")},
    "imp": {"75": ("S", "Y"), "50": ("N", "Y"), "25": ("N", "M")},
    "icg": {"75": ("T", "K"), "50": ("N", "M"), "25": ("T", "F")},
}
"""Table 13: the column player's labels for which its first action has about this probability, in per cent."""

NAIVE_STARTS: Mapping[str, tuple[float, ...]] = {
    "ipd": (0.60, 0.89, 0.89, 0.70, 0.68),
    "imp": (0.50, 0.44, 0.64, 0.39, 0.49),
    "icg": (0.41, 0.64, 0.71, 0.28, 0.49),
    "c-ipd": (0.60, 0.89, 0.89, 0.70, 0.68),
    "ish": (0.45, 0.80, 0.35, 0.45, 0.20),
}
"""Where tabular naive learners start unless Table 14 says otherwise: as the embedded model does with each game's own labels."""

SHAPER_STARTS: Mapping[str, tuple[float, ...]] = {
    "ipd": (0.60, 0.88, 0.12, 0.85, 0.20),
    "imp": (0.37, 0.42, 0.63, 0.36, 0.48),
    "icg": (0.41, 0.63, 0.71, 0.27, 0.48),
    "c-ipd": (0.60, 0.88, 0.12, 0.85, 0.20),
    "ish": (0.28, 0.80, 0.37, 0.45, 0.19),
}
"""Where tabular shapers start: as the embedded model does in prompts that show counts, in the dilemmas reciprocal."""

MODEL: Mapping[Scale, str] = {"tiny": "tiny", "paper": "google/gemma-2-2b-it"}
"""The model of all experiments but one."""

SECOND_MODEL: Mapping[Scale, str] = {"tiny": "tiny-second", "paper": "meta-llama/Llama-3.2-1B-Instruct"}
"""The model of appendix A.9, of another family. It is aligned to the first one before it learns."""

_PRINTED = {False: ChatFormat.GEMMA, True: ChatFormat.LLAMA}
"""The forms of prompts that the paper prints for them (Figures 17-19 and 11), by whether it is the second model."""


@dataclass(frozen=True)
class Variant:
    """One of the paper's experiments."""

    name: str
    """The recipe's name after ``shapellm/``."""
    description: str
    """One sentence."""
    game: str
    """The game."""
    baseline: bool = False
    """Whether row is a second naive learner instead of a shaper."""
    changes: Mapping[str, object] = field(default_factory=dict)
    """What differs from the game's main experiment, at every scale: dotted keys of :class:`coplay.runs.config.Config`."""
    paper_changes: Mapping[str, object] = field(default_factory=dict)
    """What else differs at the paper's scale, where the embedded model was built with something else."""
    text_only: bool = False
    """Whether the difference is one of words, which tabular learners do not read."""
    embedded_only: bool = False
    """Whether the difference is one of rates that were found for the embedded model, which neither tables nor the paper's scale have."""
    second_model: bool = False
    """Whether the learners are the second model."""
    taken: Mapping[str, str] = field(default_factory=dict)
    """Settings that have the value another one has in the game's main experiment, whatever that is at the scale: key to key."""
    tuned_as: str = ""
    """The experiment whose settings it has, the paper's and ours; empty for its own name's, or else its game's."""
    kinds: Mapping[str, LearnerKind] = field(default_factory=dict)
    """What the learners of these seats are made of, whatever is asked for: each is the main experiment's of that kind."""

    def config(self, scale: Scale = "tiny", learner: LearnerKind = "language_model") -> Config:
        """The complete config.

        Raises:
            UsageError: for tabular learners, if the experiment is about words; for them and at the paper's scale, if it is about the embedded
                model's rates.
        """
        tabular = learner == "tabular"
        if self.embedded_only and (tabular or scale == "paper"):
            other = "--learner tabular" if tabular else "--scale paper"
            raise UsageError(
                f"shapellm/{self.name}: this experiment changes rates of the embedded model; leave out {other}"
            )
        if tabular and "language_model" in self.kinds.values():
            raise UsageError(
                f"shapellm/{self.name}: a language model has a seat in this experiment; leave out --learner tabular"
            )
        if tabular and self.text_only:
            raise UsageError(f"shapellm/{self.name}: this experiment is about text, which tabular learners do not read")
        naive_ppo, shaper_ppo = self._ppo(scale, learner)
        naive = LearnerConfig(
            role="naive",
            policy=learner,
            ppo=naive_ppo,
            initial=self._start("column", NAIVE_STARTS[self.game]) if tabular else None,
        )
        shaper = naive.model_copy(
            update={
                "role": "shaper",
                "memory": Memory.TRIAL_COUNTS,
                "update": "trial",
                "ppo": shaper_ppo,
                "initial": SHAPER_STARTS[self.game] if tabular else None,
            }
        )
        paper = scale == "paper" and not tabular
        tuned = self._tuned(settings.TABULAR if tabular else settings.TINY)
        trials = tuned.baseline_trials if self.baseline else tuned.trials
        config = Config(
            recipe=f"shapellm/{self.name}",
            game=self.game,
            model=(SECOND_MODEL if self.second_model else MODEL)["paper" if paper else "tiny"],
            four_bit=paper,
            chat=_PRINTED[self.second_model] if paper else None,
            trials=settings.PAPER_TRIALS if paper else trials,
            learners={"row": naive if self.baseline else shaper, "column": naive},
            seats={"row": ("row",), "column": ("column",)},
        )
        changes = {**self.changes, **(self.paper_changes if paper else {})}
        return with_values(config, {**self._seats(scale), **self._taken(scale, learner), **changes})

    def _seats(self, scale: Scale) -> dict[str, object]:
        """The seats of a kind of their own; the trials are those of row's kind."""
        mains = {seat: VARIANTS[self.game].config(scale, kind) for seat, kind in self.kinds.items()}
        learners: dict[str, object] = {
            f"learners.{seat}": main.learners[seat].model_dump(mode="json") for seat, main in mains.items()
        }
        return {**learners, "trials": mains["row"].trials} if "row" in mains else learners

    def _taken(self, scale: Scale, learner: LearnerKind) -> dict[str, object]:
        """The settings that are another one's of the main experiment."""
        if not self.taken:
            return {}
        main = VARIANTS[self.game].config(scale, learner).model_dump(mode="json")
        learners = main["learners"]
        return {
            key: reduce(lambda place, part: place[part], other.split("."), {**main, **learners})
            for key, other in self.taken.items()
        }

    def _ppo(self, scale: Scale, learner: LearnerKind) -> tuple[PPO, PPO]:
        """Settings of the naive learner and of the shaper."""
        if learner == "tabular" or scale == "tiny":
            tabular = settings.NAIVE_TABULAR, settings.SHAPER_TABULAR, settings.TABULAR
            tiny = settings.NAIVE_TINY, settings.SHAPER_TINY, settings.TINY
            naive, shaper, table = tabular if learner == "tabular" else tiny
            tuned = self._tuned(table)
            return naive.model_copy(update=tuned.naive), shaper.model_copy(update=tuned.shaper)
        changes = settings.NAIVE_PAPER_CHANGES
        naive = settings.NAIVE_PAPER.model_copy(update=dict(changes.get(self._shaping, changes.get(self.game, {}))))
        row = settings.SHAPERS_PAPER.get(self._shaping, settings.SHAPERS_PAPER[self.game])
        # Table 8's shapers have Table 7's settings but for the row's own columns.
        return naive, settings.NAIVE_PAPER.model_copy(update=asdict(row))

    @property
    def _shaping(self) -> str:
        """The shaping experiment that the settings belong to: of a baseline, the one whose naive learner it shows alone."""
        return (self.tuned_as or self.name).removesuffix("-baseline")

    def _tuned(self, table: Mapping[str, settings.Tuned]) -> settings.Tuned:
        return table.get(self._shaping) or table.get(self.game) or table["ipd"]

    def _start(self, seat: str, default: tuple[float, ...]) -> tuple[float, ...]:
        """Table 14's row for the labels that the column player has, where there is one."""
        game = make_game(self.game)
        assert isinstance(game, MatrixGame)
        labels = self.changes.get(f"{seat}.labels", game.labels[seat])
        return next((start for pair, start in TABLE_14.get(self.game, {}).items() if pair == labels), default)


def _main_experiment(game: str) -> list[Variant]:
    """A game's main experiment and its baseline (section 5.1 and 6)."""
    title = TITLES[game]
    return [
        Variant(game, f"{title}: a shaper, updated once a trial, against a naive learner.", game),
        Variant(f"{game}-baseline", f"{title}: two naive learners, updated every episode.", game, baseline=True),
    ]


def _opponents(game: str) -> list[Variant]:
    """Section 5.2: naive learners with other first policies."""
    return [
        Variant(
            f"{game}-opponent-{percent}",
            f"{TITLES[game]}: a shaper against a naive learner whose first action starts near {percent} %.",
            game,
            changes={"column.labels": labels},
        )
        for percent, labels in OPPONENTS[game].items()
    ]


def _prompts(game: str) -> list[Variant]:
    """Appendix A.5: other prompts for the same game."""
    return [
        Variant(
            f"{game}-{name}",
            f"{TITLES[game]}: a shaper against a naive learner, payoffs {how}.",
            game,
            changes={"payoff_format": payoff_format},
            paper_changes={"payoff_format": at_paper_scale},
            text_only=True,
        )
        for name, how, payoff_format, at_paper_scale in (
            ("table-format", "as a table", "table", "bold_table"),
            ("switched-order", "and actions in reversed order", "reversed", "reversed"),
        )
    ]


ENRICHED = {"row.memory": Memory.EPISODE_COUNTS, "row.role": "enriched"}
"""Appendix A.4: a naive learner that is shown how often each state occurred in the episode."""

VARIANTS: dict[str, Variant] = {
    variant.name: variant
    for variant in (
        *(variant for game in TITLES for variant in _main_experiment(game)),
        *(variant for game in OPPONENTS for variant in _opponents(game)),
        *(
            Variant(
                f"{game}-enriched",
                f"{TITLES[game]}: two naive learners, one of them shown the counts of the episode.",
                game,
                baseline=True,
                changes=ENRICHED,
            )
            for game in OPPONENTS
        ),
        Variant(
            "icg-enriched-alternative",
            "Iterated Chicken Game: two naive learners, one of them shown the counts of the episode; the other starts by going straight.",
            "icg",
            baseline=True,
            changes={**ENRICHED, "column.labels": OPPONENTS["icg"]["50"]},
        ),
        *(variant for game in OPPONENTS for variant in _prompts(game)),
        Variant(
            "ipd-state-only",
            "Iterated Prisoner's Dilemma: a shaper that sees only the last round.",
            "ipd",
            changes={"row.memory": Memory.LAST_ROUND},
        ),
        Variant(
            "ipd-episode-only",
            "Iterated Prisoner's Dilemma: a shaper that sees the counts of the episode, not of the trial.",
            "ipd",
            changes={"row.memory": Memory.EPISODE_COUNTS},
        ),
        *(
            replace(
                variant,
                name=variant.name.replace("ipd", "ipd-second-model", 1),
                description=f"{variant.description[:-1]}, with a model of another family.",
                text_only=True,
                second_model=True,
            )
            for variant in _main_experiment("ipd")
        ),
    )
}
"""All of them by name."""

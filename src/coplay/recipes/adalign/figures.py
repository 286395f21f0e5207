"""The paper's figures as experiments: the runs behind them, and the cross-play after training."""

from __future__ import annotations

from coplay.recipes.adalign.variants import TITLES
from coplay.recipes.experiments import Arm, Experiment

PAPER = "Robust social strategies"
"""The paper, as titles name it."""

COOPERATE, DEFECT = "always_cooperate", "always_defect"
"""The paper's hard-coded agents."""

DEFECT_ONCE = "defect_once"
"""Plays as the co-players in the paper's transcripts do."""

TRANSCRIPTS = {"trust-and-split": 5, "ipd-ab": 10, "split-no-comm": 11}
"""The numbers of the figures that show an interaction, by game."""


def _arm(name: str, label: str, recipe: str, *, against: str | None = None) -> Arm:
    behind = None if against is None else f"adalign/{against}"
    return Arm(name, label, f"adalign/{recipe}", against=behind)


def _adalign(game: str) -> Arm:
    return _arm("adalign", "Advantage Alignment", game)


def _grpo(game: str) -> Arm:
    return _arm("grpo", "Multi-agent GRPO", f"{game}-grpo")


def _figure(
    number: int, game: str, what: str, *arms: Arm, meets: tuple[str, ...] = (), watched: tuple[str, str] | None = None
) -> Experiment:
    title = f"{PAPER}, Figure {number}: {TITLES[game]}, {what}"
    return Experiment(f"adalign/figure{number}", game, title, arms, (), meets=meets, watched=watched, text_only=True)


EXPERIMENTS: tuple[Experiment, ...] = (
    *(
        _figure(
            2,
            game,
            "naive learners",
            _grpo(game),
            _arm("grpo-second", "GRPO, another model", f"{game}-grpo-second"),
            meets=("grpo", "grpo-second", COOPERATE, DEFECT),
        )
        for game in TITLES
    ),
    *(
        _figure(3, game, "who gets what from whom", _adalign(game), meets=("adalign", COOPERATE, DEFECT))
        for game in ("ipd-ab", "split-no-comm")
    ),
    _figure(
        4,
        "trust-and-split",
        "who gets what from whom",
        _adalign("trust-and-split"),
        _arm("sum", "GRPO for the sum of rewards", "trust-and-split-sum"),
        _grpo("trust-and-split"),
        meets=("adalign", "sum", "grpo", COOPERATE, DEFECT),
    ),
    *(
        _figure(
            6,
            game,
            "a learner against frozen agents",
            _arm("against-cooperate", "GRPO against an agent that cooperates", f"{game}-exploiter-cooperate"),
            _adalign(game),
            _arm("against-adalign", "GRPO against the frozen aligned agent", f"{game}-exploiter", against=game),
            meets=("adalign", "against-adalign", "against-cooperate", COOPERATE, DEFECT),
        )
        for game in TITLES
    ),
    *(_figure(7, game, "training", _adalign(game), meets=("adalign", COOPERATE, DEFECT)) for game in TITLES),
    *(
        _figure(number, game, "what it does after a single defection", _adalign(game), watched=("adalign", DEFECT_ONCE))
        for game, number in TRANSCRIPTS.items()
    ),
    _figure(8, "trust-and-split", "what the upper and the lower hand ask for", _adalign("trust-and-split")),
)
"""Figure by figure, game by game. Figures 12 to 14 are prompts, which every report's replay has; Figure 9 is a game against GPT-5 nano, for which
``coplay eval RUN FILE.toml --show 1`` is the tool."""

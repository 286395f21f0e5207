"""Trust-and-Split with twice as many games a trial, for everything that the paper says of it. Ours.

With the paper's 64 games single seeds turn to defection, on an estimate from a few replies: one of five with the recipe's first version, one of six with its
second. The arms differ in nothing else, and the claims are the figures' own, by their rules.
"""

from __future__ import annotations

from dataclasses import replace

from coplay.evaluation.claims import Claim
from coplay.recipes.adalign.claims import CLAIMS as OF_THE_PAPER
from coplay.recipes.adalign.figures import COOPERATE, DEFECT, DEFECT_ONCE, PAPER
from coplay.recipes.adalign.variants import TITLES, VARIANTS, SelfPlayVariant
from coplay.recipes.experiments import Arm, Experiment

GAME, GAMES = "trust-and-split", 128
"""The game, and how many of it are played in a trial."""

ENDINGS = ("", "-sum", "-grpo", "-exploiter-cooperate", "-exploiter")
"""Of the recipes' names: all of Figures 2 to 8, but for another family's naive learners."""


def _more_games(parent: SelfPlayVariant) -> SelfPlayVariant:
    return replace(
        parent,
        name=f"{parent.name}-{GAMES}",
        description=f"{parent.description.removesuffix('.')}, {GAMES} games a trial.",
        changes={**parent.changes, "games": GAMES},
    )


MORE_GAMES: dict[str, SelfPlayVariant] = {
    one.name: one for one in (_more_games(VARIANTS[f"{GAME}{ending}"]) for ending in ENDINGS)
}
"""By name."""


def _recipe(ending: str) -> str:
    return f"adalign/{GAME}{ending}-{GAMES}"


EXPERIMENT = Experiment(
    "adalign/more-games",
    GAME,
    f"{PAPER}: {TITLES[GAME]}, {GAMES} games a trial",
    (
        Arm("adalign", "Advantage Alignment", _recipe("")),
        Arm("sum", "GRPO for the sum of rewards", _recipe("-sum")),
        Arm("grpo", "Multi-agent GRPO", _recipe("-grpo")),
        Arm("against-cooperate", "GRPO against an agent that cooperates", _recipe("-exploiter-cooperate")),
        Arm("against-adalign", "GRPO against the frozen aligned agent", _recipe("-exploiter"), against=_recipe("")),
    ),
    (),
    meets=("adalign", "sum", "grpo", "against-adalign", "against-cooperate", COOPERATE, DEFECT),
    watched=("adalign", DEFECT_ONCE),
    text_only=True,
    extra=True,
)
"""All arms, and whom they meet."""


def _claim(of_the_paper: Claim) -> Claim:
    """A figure's claim, with its figure in its name."""
    figure, _, name = of_the_paper.id.split("/")
    return replace(
        of_the_paper,
        id=f"more-games/{GAME}/{figure}-{name}",
        paper=f"{of_the_paper.paper}, with {GAMES} games a trial",
    )


CLAIMS: tuple[Claim, ...] = tuple(
    _claim(one) for one in OF_THE_PAPER if one.id.split("/")[1] == GAME and "grpo-second" not in one.id
)
"""Figure by figure."""

"""ShapeLLM's figures of training, as the runs that its tables are made from; and Figure 10, of first policies."""

from __future__ import annotations

from collections.abc import Iterable

from coplay.recipes.experiments import FigureSpec, Panel
from coplay.recipes.shapellm.variants import OPPONENTS

_SHORT = {"ipd": "IPD", "imp": "IMP", "icg": "ICG", "c-ipd": "C-IPD", "ish": "ISH"}
"""The paper's short names of its games."""

_TRAINING = "Average reward per step (top row) and state visitation (bottom row) over trials"


def _panels(number: int, arm: str, games: Iterable[str], *, suffix: str = "") -> tuple[Panel, ...]:
    """One arm of a table, game by game."""
    return tuple(Panel(f"shapellm/table{number}", game, arm, _SHORT[game] + suffix) for game in games)


def _training(number: int, title: str, panels: tuple[Panel, ...], of: str, *, text_only: bool = False) -> FigureSpec:
    """Reward above, states below, a column an arm."""
    return FigureSpec(
        f"shapellm/figure{number}",
        f"ShapeLLM, Figure {number}: {title}",
        f"{_TRAINING}: {of}.",
        panels,
        columns=len(panels),
        text_only=text_only,
    )


_COMPETITIVE, _COOPERATIVE = ("ipd", "imp", "icg"), ("c-ipd", "ish")

_OPPONENTS = tuple(
    panel
    for percent in ("75", "50", "25")
    for panel in _panels(2, f"opponent-{percent}", OPPONENTS, suffix=f", near {percent} %")
)
"""Row by row: each kind of opponent in every game."""


def _opponents(number: int, what: str, show: str) -> FigureSpec:
    """Figures 15 and 16: the same nine runs."""
    return FigureSpec(
        f"shapellm/figure{number}",
        f"ShapeLLM, Figure {number}: {what} against other opponents",
        f"{what} over trials of a shaper against naive learners with other first policies, a row a kind of opponent: the first action near 75, 50 and 25 %.",
        _OPPONENTS,
        columns=len(OPPONENTS),
        shows=(show,),
    )


FIGURES: tuple[FigureSpec, ...] = (
    _training(2, "shaping", _panels(1, "shaper", _COMPETITIVE), "a shaper against a naive learner"),
    _training(3, "cooperative shaping", _panels(3, "shaper", _COOPERATIVE), "a shaper against a naive learner"),
    _training(
        4,
        "enriched observations",
        (
            *_panels(10, "enriched", _COMPETITIVE),
            Panel("shapellm/table10", "icg", "enriched-alternative", "ICG (alt. opp.)"),
        ),
        "two naive learners, one of which is shown the counts of the episode",
    ),
    _training(
        6,
        "payoffs as a table",
        _panels(11, "table-format", _COMPETITIVE),
        "a shaper against a naive learner, payoffs as a table",
        text_only=True,
    ),
    _training(
        8,
        "order reversed",
        _panels(11, "switched-order", _COMPETITIVE),
        "a shaper against a naive learner, payoffs and actions in reversed order",
        text_only=True,
    ),
    _training(
        9,
        "less history",
        (
            Panel("shapellm/table16", "ipd", "state-only", "Last round alone"),
            Panel("shapellm/table16", "ipd", "episode-only", "Episode alone"),
        ),
        "a shaper in the IPD that sees only the last round, or only the episode",
    ),
    FigureSpec(
        "shapellm/figure10",
        "ShapeLLM, Figure 10: first policies of two models, before and after alignment",
        "P(cooperate) and P(defect) of an untrained model in the five prompts of a naive learner in the IPD, for every pair of capital"
        " letters as action labels: the first model, the second model, and the second model aligned to the first.",
        (Panel("shapellm/table17", "ipd", "shaper", "IPD"),),
        columns=1,
        shows=("labels",),
        text_only=True,
    ),
    _training(
        12,
        "another model",
        (
            Panel("shapellm/table17", "ipd", "baseline", "Baseline"),
            Panel("shapellm/table17", "ipd", "shaper", "Shaper"),
        ),
        "the IPD with a model of another family, two naive learners and a shaper against a naive learner",
        text_only=True,
    ),
    _training(13, "baselines", _panels(1, "baseline", _COMPETITIVE), "two naive learners"),
    _training(14, "baselines of the cooperative games", _panels(3, "baseline", _COOPERATIVE), "two naive learners"),
    _opponents(15, "Average reward per step", "reward"),
    _opponents(16, "State visitation", "states"),
)
"""All of them, in the order of the paper. Figures 1, 5, 7, 11 and 17 to 19 are a drawing and prompts (`coplay prompt`)."""

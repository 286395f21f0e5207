"""ShapeLLM's dilemma and chicken on a second real model: Qwen2.5-Coder-0.5B-Instruct in every seat, each learner from the model's own start. Ours.

Nearly all of its replies are legal, so nothing is aligned before. Learners and sizes are those of SmolLM2, with which nothing was tried here:
what comes out is what these settings give on another model.
"""

from __future__ import annotations

from collections.abc import Mapping

from coplay.evaluation.claims import Claim
from coplay.evaluation.measures import paired, per_round
from coplay.evaluation.rules import at_least, ci_above, within
from coplay.recipes.experiments import Arm, Experiment, Published
from coplay.recipes.shapellm import smollm2
from coplay.recipes.shapellm.claim_makers import GOALS
from coplay.recipes.shapellm.variants import TITLES, VARIANTS, Variant

MODEL = "Qwen/Qwen2.5-Coder-0.5B-Instruct"
"""Its id on the Hub. Machines without a Hub give a directory with ``--model``."""

GAMES = ("ipd", "icg")
"""The games it plays."""

SIZE: Mapping[str, object] = {**smollm2.SIZE, "model": MODEL, "adapter.top_layers": 8}
"""SmolLM2's trial, with adapters on the last third of the layers, as there: 8 of 24."""

QWEN_CODER: tuple[Variant, ...] = tuple(
    smollm2.variant_on(VARIANTS[f"{game}{parent}"], f"{game}-qwen-coder{parent}", f"{TITLES[game]}: {what}", size=SIZE)
    for game in GAMES
    for parent, what in (
        ("-baseline", "two naive learners on Qwen2.5-Coder-0.5B-Instruct."),
        ("", "a shaper against a naive learner, both Qwen2.5-Coder-0.5B-Instruct, from its own start."),
    )
)
"""Differences from the paper's experiments."""


def _arms(game: str) -> tuple[Arm, ...]:
    return (
        Arm("baseline", "Two naive learners", f"shapellm/{game}-qwen-coder-baseline"),
        Arm("shaper", "Shaper, the model's own start", f"shapellm/{game}-qwen-coder"),
    )


EXPERIMENTS: tuple[Experiment, ...] = tuple(
    Experiment(
        id="shapellm/qwen-coder",
        game=game,
        title=f"ShapeLLM on Qwen2.5-Coder-0.5B-Instruct: {TITLES[game]}",
        arms=_arms(game),
        table=(
            Published("baseline", "row", "Player 1", value=None),
            Published("baseline", "column", "Player 2", value=None),
            Published("shaper", "row", "Shaper", value=None),
            Published("shaper", "column", "Opponent", value=None),
        ),
        extra=True,
        text_only=True,
    )
    for game in GAMES
)
"""One a game."""

PAPERS = "ShapeLLM's statement, tested on Qwen2.5-Coder-0.5B-Instruct"
"""Where these claims come from."""


def _above_baseline(game: str) -> Claim:
    return Claim(
        f"qwen-coder/{game}/shaper-above-baseline",
        PAPERS,
        "From the model's own start the shaper gets more than a naive learner in its seat: the difference of row's rewards, on the same seeds.",
        None,
        paired("shaper", "baseline", seat="row"),
        ci_above(0.0),
    )


CLAIMS: tuple[Claim, ...] = (
    *(
        Claim(
            f"qwen-coder/ipd/baseline-{seat}",
            PAPERS,
            f"Two naive learners end in mutual defection: {seat}'s reward per step.",
            1.0,
            per_round("baseline", seat),
            within(1.0, 0.15),
        )
        for seat in ("row", "column")
    ),
    *map(_above_baseline, GAMES),
    Claim(
        "qwen-coder/ipd/exploits",
        PAPERS,
        "From the model's own start the shaper gets more than mutual cooperation pays (3), so it exploits its opponent.",
        3.96,
        per_round("shaper", "row"),
        ci_above(3.0),
    ),
    Claim(
        "qwen-coder/icg/shaper-row",
        PAPERS,
        "From the model's own start the shaper goes straight and its opponent swerves: the shaper's reward per step.",
        2.98,
        per_round("shaper", "row"),
        at_least(GOALS["icg"][0]),
    ),
)
"""What is said of it; the rules are older than the runs."""

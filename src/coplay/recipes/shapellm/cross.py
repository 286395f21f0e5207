"""Who shapes whom: shapers of two kinds against learners of seven, in the IPD. Ours; the paper has language models only."""

from __future__ import annotations

from collections.abc import Mapping

from coplay.evaluation.claims import Claim, ci_above, difference, paired, per_round
from coplay.recipes.experiments import Arm, Experiment, Published
from coplay.recipes.kinds import LearnerKind
from coplay.recipes.shapellm.variants import Variant

SHAPERS: Mapping[LearnerKind, str] = {"language_model": "Language-model shaper", "tabular": "Tabular shaper"}
"""The kinds of shapers."""

COLUMNS: Mapping[str, tuple[str, LearnerKind, Mapping[str, object]]] = {
    "language-model": ("Language model, PPO", "language_model", {}),
    "shared": ("Table, PPO, shared states", "tabular", {}),
    "independent": ("Table, PPO, independent states", "tabular", {"column.sharing": 0.0}),
    "q-learning": (
        "Q-learning",
        "tabular",
        {"column.algorithm": "q_learning", "column.initial": None, "column.update": "round"},
    ),
    "reinforce": ("REINFORCE", "tabular", {"column.algorithm": "reinforce"}),
    "exact": ("Exact gradient", "tabular", {"column.algorithm": "exact"}),
    "lola": ("LOLA", "tabular", {"column.algorithm": "lola"}),
}
"""Who learns in the column seat: name, kind, and what differs from the main experiment's naive learner of that kind."""


def _slug(kind: LearnerKind) -> str:
    return kind.replace("_", "-")


def _variant(kind: LearnerKind, name: str) -> Variant:
    label, column, changes = COLUMNS[name]
    return Variant(
        f"ipd-{_slug(kind)}-against-{name}",
        f"Who shapes whom: a {SHAPERS[kind][0].lower()}{SHAPERS[kind][1:]} against {label}.",
        "ipd",
        changes=changes,
        kinds={"row": kind, "column": column},
    )


CROSS: tuple[Variant, ...] = tuple(_variant(kind, name) for kind in SHAPERS for name in COLUMNS)
"""Every shaper against every learner."""


def _arm_name(kind: LearnerKind, name: str) -> str:
    return f"{_slug(kind)}-against-{name}"


EXPERIMENT = Experiment(
    id="shapellm/cross",
    game="ipd",
    title="ShapeLLM, who shapes whom: Iterated Prisoner's Dilemma, learners of all kinds",
    arms=tuple(
        Arm(
            _arm_name(kind, name),
            f"{SHAPERS[kind]} against {label}",
            f"shapellm/ipd-{_arm_name(kind, name)}",
            cell=(SHAPERS[kind], label),
        )
        for kind in SHAPERS
        for name, (label, _, _) in COLUMNS.items()
    ),
    table=tuple(
        Published(_arm_name(kind, name), seat, role, value=None)
        for kind in SHAPERS
        for name in COLUMNS
        for seat, role in (("row", "Shaper"), ("column", "Opponent"))
    ),
    text_only=True,
    extra=True,
)

OURS = "coplay, an experiment that is not in ShapeLLM"
"""Where these claims come from."""

CLAIMS: tuple[Claim, ...] = (
    *(
        Claim(
            f"cross/ipd/{_arm_name(kind, name)}",
            OURS,
            f"{SHAPERS[kind]} against {label}: the shaper gets more than its opponent, the difference of their rewards.",
            None,
            difference(per_round(_arm_name(kind, name), "row"), per_round(_arm_name(kind, name), "column")),
            ci_above(0.0),
        )
        for kind in SHAPERS
        for name, (label, _, _) in COLUMNS.items()
    ),
    *(
        Claim(
            f"cross/ipd/{_slug(kind)}-sharing",
            OURS,
            f"{SHAPERS[kind]}: an opponent whose states share parameters is exploited more than one whose states are independent,"
            " the shaper's reward against the first minus that against the second, on the same seeds.",
            None,
            paired(_arm_name(kind, "shared"), _arm_name(kind, "independent"), seat="row"),
            ci_above(0.0),
        )
        for kind in SHAPERS
    ),
    *(
        Claim(
            f"cross/ipd/{_slug(kind)}-looking-ahead",
            OURS,
            f"{SHAPERS[kind]}: an opponent that anticipates its co-player's learning (LOLA) gets more than one that does not (exact"
            " gradient), the difference of their rewards on the same seeds.",
            None,
            paired(_arm_name(kind, "lola"), _arm_name(kind, "exact"), seat="column"),
            ci_above(0.0),
        )
        for kind in SHAPERS
    ),
)
"""Which shapers exploit which learners, and how the opponent's algorithm matters."""

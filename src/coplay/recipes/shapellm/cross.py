"""Who shapes whom: shapers of two kinds against learners of seven, in the IPD. Ours; the paper has language models only."""

from __future__ import annotations

from collections.abc import Mapping

from coplay.evaluation.claims import Claim
from coplay.evaluation.measures import difference, paired, per_round
from coplay.evaluation.rules import ci_above
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


_PAIRS = {f"{kind.replace('_', '-')}-against-{name}": (kind, name) for kind in SHAPERS for name in COLUMNS}
"""Every shaper against every learner, by the arm's name."""

CROSS: tuple[Variant, ...] = tuple(
    Variant(
        f"ipd-{arm}",
        f"Who shapes whom: a {SHAPERS[kind][0].lower()}{SHAPERS[kind][1:]} against {COLUMNS[name][0]}.",
        "ipd",
        changes=COLUMNS[name][2],
        kinds={"row": kind, "column": COLUMNS[name][1]},
    )
    for arm, (kind, name) in _PAIRS.items()
)
"""The recipes of these pairs."""

_ARMS = tuple(
    Arm(arm, " against ".join(cell), f"shapellm/ipd-{arm}", cell=cell)
    for arm, cell in ((arm, (SHAPERS[kind], COLUMNS[name][0])) for arm, (kind, name) in _PAIRS.items())
)

EXPERIMENT = Experiment(
    id="shapellm/cross",
    game="ipd",
    title="ShapeLLM, who shapes whom: Iterated Prisoner's Dilemma, learners of all kinds",
    arms=_ARMS,
    table=tuple(
        Published(arm.name, seat, role, value=None)
        for arm in _ARMS
        for seat, role in (("row", "Shaper"), ("column", "Opponent"))
    ),
    text_only=True,
    extra=True,
)

OURS = "coplay, an experiment that is not in ShapeLLM"
"""Where these claims come from."""


def _contrast(end: str, text: str, first: str, second: str, seat: str) -> list[Claim]:
    """For each shaper, that a seat gets more against, or as, one learner than against, or as, another."""
    return [
        Claim(
            f"cross/ipd/{kind.replace('_', '-')}-{end}",
            OURS,
            f"{shaper}: {text} on the same seeds.",
            None,
            paired(*(f"{kind.replace('_', '-')}-against-{name}" for name in (first, second)), seat=seat),
            ci_above(0.0),
        )
        for kind, shaper in SHAPERS.items()
    ]


CLAIMS: tuple[Claim, ...] = (
    *(
        Claim(
            f"cross/ipd/{arm.name}",
            OURS,
            f"{arm.label}: the shaper gets more than its opponent, the difference of their rewards.",
            None,
            difference(per_round(arm.name, "row"), per_round(arm.name, "column")),
            ci_above(0.0),
        )
        for arm in _ARMS
    ),
    *_contrast(
        "sharing",
        "an opponent whose states share parameters is exploited more than one whose states are independent, the shaper's reward against the"
        " first minus that against the second,",
        "shared",
        "independent",
        "row",
    ),
    *_contrast(
        "looking-ahead",
        "an opponent that anticipates its co-player's learning (LOLA) gets more than one that does not (exact gradient), the difference of"
        " their rewards",
        "lola",
        "exact",
        "column",
    ),
)
"""Which shapers exploit which learners, and how the opponent's algorithm matters."""

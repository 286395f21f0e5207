"""Experiments behind explanations: where the embedded model departs from the paper, the cause that we name is changed alone. Ours.

The arms are differences from those of the tables; what they are to show is in :mod:`coplay.recipes.shapellm.claims_explanations`. In chicken and
the cooperative dilemma they depart from the settings that the tables had when these experiments were made, and which they have changed.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from coplay.recipes.experiments import Arm, Experiment, Published
from coplay.recipes.shapellm.settings import EARLIER, NAIVE_TINY, PAPER_TRIALS, SHAPERS_PAPER
from coplay.recipes.shapellm.tables import ALIGNED
from coplay.recipes.shapellm.variants import TITLES, VARIANTS, Variant

PAPER_RATIO = 3.41 / 1.41
"""The shaper's rate over the naive learner's in matching pennies (Table 9 and footnote 7): there the shaper is the faster one."""

PENNIES_RATES = (1e-4,)
"""The naive learner's rates: while tuning, two of them stayed near the equilibrium at this one."""

STAG_LABELS: Mapping[str, tuple[str, str]] = {"al": ("A", "L"), "jl": ("J", "L")}
"""Labels with which the naive learner starts hunting stag after both did with .44 and .52, instead of .80."""

_CONSTANT: Mapping[str, object] = {"lr_warmup_updates": 0, "lr_decay_updates": 0, "lr_end_factor": 1.0}

_LIKE_THE_PAPER: Mapping[str, object] = {
    **_CONSTANT,
    "lam": 0.95,
    "kl_coef": 0.2,
    "minibatch": 10,
    "adam_eps": NAIVE_TINY.adam_eps,
    "max_grad_norm": NAIVE_TINY.max_grad_norm,
}
"""The same for both learners, so that the ratio of their rates is that of their speeds: each makes 50 steps a trial."""


def word(rate: float) -> str:
    """A rate in names: ``1e-4``."""
    return f"{rate:.0e}".replace("e-0", "e-")


def _earlier(name: str) -> Variant:
    """An experiment with the settings that its game had at first."""
    variant = VARIANTS[name]
    return replace(
        variant,
        name=f"{name}{EARLIER}",
        tuned_as=f"{variant.game}{EARLIER}",
        description=f"{variant.description.removesuffix('.')}, with the settings of before.",
        embedded_only=True,
    )


def _pennies(rate: float) -> list[Variant]:
    """Matching pennies at the paper's ratio of speeds."""
    ours = {
        seat: {**_LIKE_THE_PAPER, "learning_rate": speed}
        for seat, speed in (("row", PAPER_RATIO * rate), ("column", rate))
    }
    ours["row"]["value_coef"] = SHAPERS_PAPER["imp"].value_coef
    naive = {**_LIKE_THE_PAPER, "learning_rate": rate}
    return [
        replace(
            VARIANTS["imp"],
            name=f"imp-paper-ratio-{word(rate)}",
            description=f"Matching pennies at the paper's ratio of speeds, constant rates (the naive learner's: {word(rate)}) and trials.",
            changes=_of_seats(ours) | {"trials": PAPER_TRIALS},
            embedded_only=True,
        ),
        replace(
            VARIANTS["imp-baseline"],
            name=f"imp-constant-{word(rate)}-baseline",
            description=f"Matching pennies: two naive learners at a constant rate of {word(rate)}.",
            changes=_of_seats({"row": naive, "column": naive}) | {"trials": PAPER_TRIALS},
            embedded_only=True,
        ),
    ]


def _of_seats(settings: Mapping[str, Mapping[str, object]]) -> dict[str, object]:
    return {f"{seat}.ppo.{key}": value for seat, own in settings.items() for key, value in own.items()}


def _stag_hunt(name: str, labels: tuple[str, str]) -> list[Variant]:
    """The stag hunt in which the column player alone has other labels, so that the shaper's first policy is the usual one."""
    words = f"column's labels are {labels[0]} and {labels[1]}"
    return [
        replace(
            VARIANTS[parent],
            name=f"{parent}-column-{name}",
            description=f"{VARIANTS[parent].description.removesuffix('.')}; {words}.",
            changes={"column.labels": labels},
        )
        for parent in ("ish", "ish-baseline")
    ]


SLOWER = 4
"""How many times more slowly naive learners learn, for as many times more trials."""

FASTER = 4.0
"""How many times faster a shaper learns."""


def _slower(parent: str, name: str) -> Variant:
    """Two naive learners that learn a quarter as fast for four times as long."""
    variant = _earlier(parent)
    config = variant.config()
    changes = {
        f"{seat}.ppo.{key}": value
        for seat, learner in config.learners.items()
        for key, value in (
            ("learning_rate", learner.ppo.learning_rate / SLOWER),
            ("lr_warmup_updates", learner.ppo.lr_warmup_updates * SLOWER),
            ("lr_decay_updates", learner.ppo.lr_decay_updates * SLOWER),
        )
    }
    return replace(
        variant,
        name=name,
        description=f"{VARIANTS[parent].description.removesuffix('.')}, both a quarter as fast.",
        changes={**variant.changes, **changes, "trials": config.trials * SLOWER},
    )


_REVERSED = _earlier("icg-switched-order")
_BONUS = SHAPERS_PAPER["icg-switched-order"]

EXPLANATIONS: tuple[Variant, ...] = (
    *(variant for rate in PENNIES_RATES for variant in _pennies(rate)),
    *(variant for name, labels in STAG_LABELS.items() for variant in _stag_hunt(name, labels)),
    _REVERSED,
    replace(
        _REVERSED,
        name="icg-switched-order-entropy",
        description=f"{_REVERSED.description.removesuffix('.')}; the shaper has the paper's entropy bonus.",
        changes={
            **_REVERSED.changes,
            "row.ppo.entropy_initial": _BONUS.entropy_initial,
            "row.ppo.entropy_updates": _BONUS.entropy_updates,
        },
    ),
    replace(
        _earlier("icg"),
        name="icg-faster",
        description=f"{VARIANTS['icg'].description.removesuffix('.')}; the shaper is four times as fast.",
        changes={"row.ppo.learning_rate": FASTER * _earlier("icg").config().learners["row"].ppo.learning_rate},
    ),
    _slower("icg-enriched", "icg-enriched-slower"),
    _slower("c-ipd-baseline", "c-ipd-slower-baseline"),
    *(
        replace(
            VARIANTS[parent],
            name=parent.replace("second-model", f"second-model-{how}"),
            tuned_as=parent,
            description=f"{VARIANTS[parent].description.removesuffix('.')}, {words}.",
        )
        for how, words in (("unaligned", "which is not aligned"), ("longer", "aligned on four times as many prompts"))
        for parent in ("ipd-second-model", "ipd-second-model-baseline")
    ),
)
"""Differences from the paper's experiments."""


def _experiment(game: str, what: str, *arms: Arm) -> Experiment:
    return Experiment(
        id="shapellm/explanations",
        game=game,
        title=f"ShapeLLM, explanations: {TITLES[game]}, {what}",
        arms=arms,
        table=tuple(
            Published(arm.name, seat, _role(arm, seat), value=None) for arm in arms for seat in ("row", "column")
        ),
        extra=True,
        text_only=True,
    )


def _role(arm: Arm, seat: str) -> str:
    if "baseline" in arm.recipe:
        return {"row": "Player 1", "column": "Player 2"}[seat]
    return {"row": "Shaper", "column": "Opponent"}[seat]


_LONGER = replace(ALIGNED, name="ipd-second-model-longer", prompts=4_000)
"""Four times as many prompts."""

EXPERIMENTS: tuple[Experiment, ...] = (
    _experiment(
        "imp",
        "a shaper that is 2.4 times faster than its opponent, as the paper's",
        *(
            arm
            for rate in PENNIES_RATES
            for arm in (
                Arm(
                    f"baseline-{word(rate)}",
                    f"Two naive learners, rate {word(rate)}",
                    f"shapellm/imp-constant-{word(rate)}-baseline",
                ),
                Arm(
                    f"shaper-{word(rate)}",
                    f"Shaper, opponent's rate {word(rate)}",
                    f"shapellm/imp-paper-ratio-{word(rate)}",
                ),
            )
        ),
    ),
    _experiment(
        "ish",
        "other labels for one seat",
        *(
            arm
            for name, labels in STAG_LABELS.items()
            for arm in (
                Arm(
                    f"baseline-{name}",
                    f"Two naive learners, column's labels {'/'.join(labels)}",
                    f"shapellm/ish-baseline-column-{name}",
                ),
                Arm(f"shaper-{name}", f"Shaper, opponent's labels {'/'.join(labels)}", f"shapellm/ish-column-{name}"),
            )
        ),
    ),
    _experiment(
        "icg",
        "the paper's entropy bonus in reversed order, a faster shaper, slower naive learners",
        Arm("switched-order", "Order reversed", f"shapellm/{_REVERSED.name}"),
        Arm(
            "switched-order-entropy", "Order reversed, entropy bonus .7 at first", "shapellm/icg-switched-order-entropy"
        ),
        Arm("faster", "Shaper, four times as fast", "shapellm/icg-faster"),
        Arm("enriched-slower", "Player 1 sees counts, both a quarter as fast", "shapellm/icg-enriched-slower"),
    ),
    _experiment(
        "c-ipd",
        "slower naive learners",
        Arm(
            "slower-baseline",
            "Two naive learners, a quarter as fast",
            "shapellm/c-ipd-slower-baseline",
            twice_the_seeds=True,
        ),
    ),
    _experiment(
        "ipd",
        "another model, by its alignment",
        Arm("unaligned-baseline", "Two naive learners, not aligned", "shapellm/ipd-second-model-unaligned-baseline"),
        Arm("unaligned", "Shaper, not aligned", "shapellm/ipd-second-model-unaligned"),
        Arm(
            "longer-baseline",
            "Two naive learners, aligned for longer",
            "shapellm/ipd-second-model-longer-baseline",
            preparation=_LONGER,
        ),
        Arm("longer", "Shaper, aligned for longer", "shapellm/ipd-second-model-longer", preparation=_LONGER),
    ),
)
"""One a game."""

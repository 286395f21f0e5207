"""Control arms: the IPD's main experiment with one component removed, to show what shaping depends on.

They are ours. The paper has one of them, the shaper without history (Table 16); it publishes no numbers for the others.
"""

from __future__ import annotations

from coplay.evaluation.claims import Claim
from coplay.evaluation.measures import SeedCurves, last_tenth, mean, over_training, paired
from coplay.evaluation.rules import at_most, ci_above, ci_within
from coplay.recipes.experiments import Arm, Experiment, Published
from coplay.recipes.shapellm.variants import Variant

_SPEED = ("learning_rate", "lr_warmup_updates", "lr_decay_updates", "lr_end_factor", "adam_eps", "max_grad_norm")
"""The settings of a learner's step size."""

_NO_SCHEDULE = {"column.ppo.lr_warmup_updates": 0, "column.ppo.lr_decay_updates": 0, "column.ppo.lr_end_factor": 1.0}
"""A constant learning rate."""


def _speed_of_the_shaper(seat: str) -> dict[str, str]:
    return {f"{seat}.ppo.{name}": f"row.ppo.{name}" for name in _SPEED}


CONTROLS: tuple[Variant, ...] = (
    Variant(
        "ipd-trial-batched-row",
        "Control: a naive learner in the shaper's seat that updates once a trial, without the shaper's memory and learning rate.",
        "ipd",
        baseline=True,
        changes={"row.role": "batched naive", "row.update": "trial"},
        taken={"trials": "trials"},
    ),
    Variant(
        "ipd-slow-row",
        "Control: a naive learner in the shaper's seat with the shaper's learning rate, without its memory and update interval.",
        "ipd",
        baseline=True,
        changes={"row.role": "slow naive"},
        taken={"trials": "trials", **_speed_of_the_shaper("row")},
    ),
    Variant(
        "ipd-trial-batched-column",
        "Control: a shaper against a naive learner that updates once a trial, like the shaper.",
        "ipd",
        changes={"column.update": "trial"},
    ),
    Variant(
        "ipd-slow-column",
        "Control: a shaper against a naive learner with the shaper's learning rate.",
        "ipd",
        taken=_speed_of_the_shaper("column"),
    ),
    Variant(
        "ipd-frozen-column",
        "Control: a shaper against a co-player that does not learn.",
        "ipd",
        changes={"column.update": "never"},
    ),
    Variant(
        "ipd-reset-column",
        "Control: a shaper against a naive learner that is reset at the start of every trial.",
        "ipd",
        # A rate that rises over many updates would begin anew every trial, and the learner hardly move.
        changes={"column.reset": "trial", **_NO_SCHEDULE},
    ),
    Variant(
        "ipd-cut-credit",
        "Control: a shaper whose credit is cut at the ends of episodes.",
        "ipd",
        changes={"row.ppo.gae_chain": "episode"},
    ),
    Variant(
        "ipd-constant-rate",
        "Control: a shaper against a naive learner with a constant learning rate.",
        "ipd",
        changes={"column.ppo.lr_decay_updates": 0, "column.ppo.lr_end_factor": 1.0},
    ),
)
"""Differences from ``shapellm/ipd``."""

_SHAPER = Arm("shaper", "Shaper versus naive learner", "shapellm/ipd")

_ARMS: tuple[Arm, ...] = (
    _SHAPER,
    Arm("history-off", "No history", "shapellm/ipd-state-only"),
    Arm(
        "trial-batched-row",
        "Naive learner updated once a trial instead of the shaper",
        "shapellm/ipd-trial-batched-row",
    ),
    Arm("slow-row", "Slow naive learner instead of the shaper", "shapellm/ipd-slow-row"),
    Arm("trial-batched-column", "Opponent updates once a trial", "shapellm/ipd-trial-batched-column"),
    Arm("slow-column", "Opponent as slow as the shaper", "shapellm/ipd-slow-column"),
    Arm("frozen-column", "Opponent frozen", "shapellm/ipd-frozen-column"),
    Arm("reset-column", "Opponent reset each trial", "shapellm/ipd-reset-column"),
    Arm("cut-credit", "Credit cut at episodes", "shapellm/ipd-cut-credit"),
    Arm("constant-rate", "Opponent with a constant learning rate", "shapellm/ipd-constant-rate"),
)

EXPERIMENT = Experiment(
    id="shapellm/controls",
    game="ipd",
    title="ShapeLLM, controls: Iterated Prisoner's Dilemma, one component removed at a time",
    arms=_ARMS,
    table=tuple(
        Published(arm.name, seat, role, value=None)
        for arm in _ARMS
        for seat, role in (("row", "Player 1" if arm.name.endswith("-row") else "Shaper"), ("column", "Opponent"))
    ),
    extra=True,
)

OURS = "coplay, a control that is not in ShapeLLM"
"""Where these claims come from."""


def _late_cooperation(of: SeedCurves) -> float:
    """Row's cooperation in the last tenth of training; trials without a value are left out."""
    return mean(last_tenth([cc + cd for cc, cd in zip(of("state/CC"), of("state/CD"), strict=True)]))


def _gain(arm: str, text: str) -> Claim:
    """The shaper gets more than row does in a control arm, seed by seed."""
    sentence = f"{text}: the shaper's reward minus row's in this arm, on the same seeds."
    return Claim(f"controls/ipd/{arm}", OURS, sentence, None, paired("shaper", arm, seat="row"), ci_above(0.0))


CLAIMS: tuple[Claim, ...] = (
    _gain("history-off", "Isolates memory. Without the counts of the trial the shaper gets less"),
    _gain(
        "trial-batched-row",
        "Isolates the update interval. A naive learner that updates once a trial and has nothing else of the shaper gets less",
    ),
    _gain(
        "slow-row",
        "Isolates the learning rate. A naive learner with the shaper's learning rate and nothing else of it gets less",
    ),
    _gain(
        "trial-batched-column",
        "Isolates the two update intervals. Against an opponent that does not learn within the trial the shaper gets less",
    ),
    _gain(
        "slow-column",
        "Isolates the ratio of learning rates. Against an opponent with the shaper's learning rate the shaper gets less",
    ),
    _gain(
        "frozen-column",
        "Isolates the opponent's learning. Against an opponent that does not learn the shaper gets less",
    ),
    _gain(
        "reset-column",
        "Isolates learning across trials. Against an opponent that is reset at the start of every trial the shaper gets less",
    ),
    _gain(
        "cut-credit",
        "Isolates credit across episodes. With advantages cut at the ends of episodes the shaper gets less",
    ),
    Claim(
        "controls/ipd/constant-rate",
        OURS,
        "Isolates the naive learner's learning-rate decay. The shaper's reward does not depend on it: its reward minus that against a naive"
        " learner with a constant rate, on the same seeds.",
        None,
        paired("shaper", "constant-rate", seat="row"),
        ci_within(0.0, 0.5),
    ),
    Claim(
        "controls/ipd/frozen-column-best-reply",
        OURS,
        "Isolates exploitation without learning. The shaper learns to defect against an opponent that does not learn: its cooperation"
        " in the last tenth of training.",
        None,
        over_training("frozen-column", _late_cooperation),
        at_most(0.15),
    ),
    Claim(
        "controls/ipd/frozen-column-keeps-more",
        OURS,
        "Isolates the cost of learning to the opponent. The naive learner would get more if it did not learn: the reward of a frozen one"
        " minus the learner's, on the same seeds.",
        None,
        paired("frozen-column", "shaper", seat="column"),
        ci_above(0.0),
    ),
)
"""What each control isolates, as a comparison with the main arm seed by seed."""

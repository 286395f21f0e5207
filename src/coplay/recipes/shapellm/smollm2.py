"""ShapeLLM's main results on a real model: SmolLM2-135M-Instruct in every seat, in sizes that two cores train. Ours.

The model answers nine prompts of ten with something else than a label, so all learners start from an alignment to its own policy, which teaches the
format alone. That policy hardly depends on what the co-player did. Arms of their own start from one that is mixed with tit for tat in prompts with
counts, which shapers read and naive learners do not: what the start decides is measured and not assumed.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from coplay.evaluation.claims import Claim
from coplay.evaluation.measures import paired, per_round
from coplay.evaluation.rules import at_least, at_most, ci_above, within
from coplay.recipes.experiments import Alignment, Arm, Experiment, Published
from coplay.recipes.shapellm.claim_makers import EXTORTION, GOALS
from coplay.recipes.shapellm.variants import TITLES, VARIANTS, Variant

MODEL = "smollm2"
"""SmolLM2-135M-Instruct."""

GAMES = ("ipd", "ish", "icg")
"""The games it plays."""

SIZE: Mapping[str, object] = {
    "model": MODEL,
    "precision": "bfloat16",
    "adapter.top_layers": 10,
    "games": 5,
    "rounds": 10,
    "episodes": 2,
    "eval_games": 20,
    "checkpoint_every": 5,
}
"""A fifth of the paper's trial, adapters on the last 10 of 30 layers, products in 16 bits."""

_BOTH: Mapping[str, object] = {"minibatch": 50, "adam_eps": 1e-8, "score_normalisation": True, "value_clip": None}
"""In so few updates a value head that starts at 0 learns rewards around their mean alone; with rewards as they are, what is left of the trial
outweighs what an action changes."""

NAIVE: Mapping[str, object] = {
    **_BOTH,
    "learning_rate": 3e-4,
    "lr_warmup_updates": 0,
    "lr_decay_updates": 60,
    "lr_end_factor": 0.02,
}
"""What differs from the embedded model's naive learner. Its rate falls over 30 trials: at a constant one it finds out that it is exploited."""

SHAPER: Mapping[str, object] = {**_BOTH, "learning_rate": 8e-5, "lr_warmup_updates": 30, "kl_coef": 0.0}
"""What differs from the embedded model's shaper: it learns four times slower than its opponent, once a trial, and begins slowly."""

TRIALS, BASELINE_TRIALS = 50, 32

RECIPROCITY = (0.25, 0.5, 0.75, 1.0)
"""Shares of tit for tat in shapers' starts, besides none."""

MAIN = 0.75
"""The start that settings were tuned on, that the other games have and that the controls depart from."""


def _start(game: str, share: float = 0.0) -> Alignment:
    """The start of a game's arms, made once."""
    name = f"own-{game}" if share == 0.0 else f"own-{game}-reciprocity-{share:.0%}".removesuffix("%")
    return Alignment(name, {"tiny": "own", "paper": "own"}, {"tiny": 1e-3, "paper": 1e-3}, share, prompts=60, epochs=16)


def variant_on(
    parent: Variant,
    name: str,
    description: str,
    changes: Mapping[str, object] | None = None,
    *,
    size: Mapping[str, object] = SIZE,
) -> Variant:
    """One of the paper's experiments on a real model, with these learners.

    Args:
        parent: the experiment.
        name: the recipe's name after ``shapellm/``.
        description: one sentence.
        changes: what differs besides.
        size: the model, and what is small of the paper's trial.
    """
    learners = {"row": NAIVE if parent.baseline else SHAPER, "column": NAIVE}
    ppo = {f"{seat}.ppo.{key}": value for seat, own in learners.items() for key, value in own.items()}
    trials = BASELINE_TRIALS if parent.baseline else TRIALS
    changed = {**size, **ppo, "trials": trials, **parent.changes, **(changes or {})}
    return replace(parent, name=name, description=description, changes=changed, text_only=True)


def _variants(game: str) -> list[Variant]:
    title, shaper = TITLES[game], VARIANTS[game]
    return [
        variant_on(
            VARIANTS[f"{game}-baseline"],
            f"{game}-{MODEL}-baseline",
            f"{title}: two naive learners on SmolLM2.",
        ),
        variant_on(shaper, f"{game}-{MODEL}", f"{title}: a shaper against a naive learner, both SmolLM2."),
        *(
            variant_on(
                shaper,
                f"{game}-{MODEL}-reciprocal-{100 * share:.0f}",
                f"{title}: the same, with a shaper whose start is {100 * share:.0f} % tit for tat.",
            )
            for share in RECIPROCITY
            if game == "ipd" or share == MAIN
        ),
    ]


_CONTROLS: Mapping[str, tuple[str, str, Mapping[str, object]]] = {
    "frozen-column": ("Opponent frozen", "a co-player that does not learn", {"column.update": "never"}),
    "history-off": ("No history", "a shaper that sees the last round alone", {"row.memory": "last_round"}),
    "cut-credit": ("Credit cut at episodes", "credit that ends with the episode", {"row.ppo.gae_chain": "episode"}),
}
"""Controls from the main start: label, what differs in words, and in settings."""

SMOLLM2: tuple[Variant, ...] = (
    *(variant for game in GAMES for variant in _variants(game)),
    *(
        variant_on(
            VARIANTS["ipd"],
            f"ipd-{MODEL}-{name}",
            f"Control: SmolLM2's shaper whose start is {100 * MAIN:.0f} % tit for tat, with {words}.",
            changes,
        )
        for name, (_, words, changes) in _CONTROLS.items()
    ),
)
"""Differences from the paper's experiments."""


def _baseline(game: str) -> Arm:
    return Arm("baseline", "Two naive learners", f"shapellm/{game}-{MODEL}-baseline", preparation=_start(game))


def _own(game: str) -> Arm:
    return Arm("shaper", "Shaper, the model's own start", f"shapellm/{game}-{MODEL}", preparation=_start(game))


def _reciprocal(game: str, share: float) -> Arm:
    label, name = f"Shaper, start {100 * share:.0f} % tit for tat", f"reciprocal-{100 * share:.0f}"
    return Arm(name, label, f"shapellm/{game}-{MODEL}-{name}", preparation=_start(game, share))


def _control(name: str) -> Arm:
    label = f"{_CONTROLS[name][0]}, start {100 * MAIN:.0f} % tit for tat"
    return Arm(name, label, f"shapellm/ipd-{MODEL}-{name}", preparation=_start("ipd", MAIN))


def _experiment(ending: str, game: str, what: str, *arms: Arm) -> Experiment:
    return Experiment(
        id=f"shapellm/{MODEL}{ending}",
        game=game,
        title=f"ShapeLLM on SmolLM2-135M-Instruct: {TITLES[game]}{what}",
        arms=arms,
        table=tuple(
            Published(arm.name, seat, role, value=None)
            for arm in arms
            for seat, role in zip(
                ("row", "column"),
                ("Player 1", "Player 2") if arm.name == "baseline" else ("Shaper", "Opponent"),
                strict=True,
            )
        ),
        extra=True,
        text_only=True,
    )


EXPERIMENTS: tuple[Experiment, ...] = (
    *(_experiment("", game, "", _baseline(game), _reciprocal(game, MAIN), _own(game)) for game in GAMES),
    _experiment("-controls", "ipd", ", controls", _reciprocal("ipd", MAIN), *map(_control, _CONTROLS)),
    _experiment(
        "-start",
        "ipd",
        ", by how reciprocal the shaper starts",
        _own("ipd"),
        *(_reciprocal("ipd", share) for share in RECIPROCITY),
    ),
)
"""One a game; then what departs from the dilemma's main arm. In one directory they share their runs."""

PAPERS, OURS = "ShapeLLM's statement, tested on SmolLM2", "coplay, on SmolLM2"
"""Where these claims come from."""

_MAIN = f"reciprocal-{100 * MAIN:.0f}"
"""The arm of the main start."""


def _gain(arm: str, text: str) -> Claim:
    """The shaper of the main start gets more than row does in another arm, seed by seed."""
    sentence = f"{text}: the reward of the shaper whose start is three quarters tit for tat minus row's in this arm, on the same seeds."
    return Claim(f"{MODEL}-controls/ipd/{arm}", OURS, sentence, None, paired(_MAIN, arm, seat="row"), ci_above(0.0))


def _above_baseline(game: str, arm: str, start: str) -> Claim:
    return Claim(
        f"{MODEL}/{game}/{arm}-above-baseline",
        PAPERS,
        f"From {start} the shaper gets more than a naive learner in its seat: the difference of row's rewards, on the same seeds.",
        None,
        paired(arm, "baseline", seat="row"),
        ci_above(0.0),
    )


CLAIMS: tuple[Claim, ...] = (
    Claim(
        f"{MODEL}/ipd/baseline-row",
        PAPERS,
        "Two naive learners end in mutual defection: row's reward per step.",
        1.0,
        per_round("baseline", "row"),
        within(1.0, 0.15),
    ),
    Claim(
        f"{MODEL}/ipd/baseline-column",
        PAPERS,
        "Two naive learners end in mutual defection: column's reward per step.",
        1.0,
        per_round("baseline", "column"),
        within(1.0, 0.15),
    ),
    *(
        _above_baseline(game, arm, start)
        for game in GAMES
        for arm, start in (("shaper", "the model's own start"), (_MAIN, "three quarters tit for tat"))
    ),
    Claim(
        f"{MODEL}/ipd/above-extortion",
        PAPERS,
        "From three quarters tit for tat the shaper gets more than any extortion strategy (at most 11/3).",
        3.96,
        per_round(_MAIN, "row"),
        ci_above(EXTORTION),
    ),
    Claim(
        f"{MODEL}/ipd/exploits",
        PAPERS,
        "From three quarters tit for tat the shaper gets more than mutual cooperation pays (3), so it exploits its opponent.",
        3.96,
        per_round(_MAIN, "row"),
        ci_above(3.0),
    ),
    Claim(
        f"{MODEL}/ipd/start-decides",
        OURS,
        "The start decides: the shaper's reward from three quarters tit for tat minus that from the model's own start, on the same seeds.",
        None,
        paired(_MAIN, "shaper", seat="row"),
        ci_above(0.0),
    ),
    *(
        Claim(
            f"{MODEL}-start/ipd/exploits-{100 * share:.0f}",
            OURS,
            f"From {100 * share:.0f} % tit for tat the shaper exploits its opponent: it gets more than mutual cooperation pays (3).",
            None,
            per_round(f"reciprocal-{100 * share:.0f}", "row"),
            ci_above(3.0),
        )
        for share in RECIPROCITY
        if share != MAIN
    ),
    _gain(
        "frozen-column",
        "Isolates the opponent's learning. Against an opponent that does not learn the shaper gets less",
    ),
    _gain("history-off", "Isolates memory. Without the counts of the trial the shaper gets less"),
    _gain(
        "cut-credit",
        "Isolates credit across episodes. With advantages cut at the ends of episodes the shaper gets less",
    ),
    Claim(
        f"{MODEL}/ish/baseline-row",
        PAPERS,
        "Two naive learners mostly end with the safe action: row's reward per step is below that of hunting together by half or more.",
        1.30,
        per_round("baseline", "row"),
        at_most(2.0),
    ),
    Claim(
        f"{MODEL}/ish/shaper-row",
        PAPERS,
        "The shaper leads its opponent to hunt: its reward per step.",
        3.96,
        per_round(_MAIN, "row"),
        at_least(3.5),
    ),
    Claim(
        f"{MODEL}/icg/shaper-row",
        PAPERS,
        "The shaper goes straight and its opponent swerves: the shaper's reward per step.",
        2.98,
        per_round(_MAIN, "row"),
        at_least(GOALS["icg"][0]),
    ),
)
"""What is said of it; the rules are older than the runs."""

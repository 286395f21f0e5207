"""Advantage Alignment and GRPO on a real model: the dilemma with SmolLM2-135M-Instruct in both seats, in a size that two cores train. Ours.

The model hardly ever replies with an action alone, so learners start from a fine-tuning that teaches the format. Half of the episodes that it shows are a
coin's, half tit for tat's: from a coin's alone Advantage Alignment learnt to defect always, within eight trials.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from coplay.evaluation.claims import Claim
from coplay.evaluation.measures import difference, per_round_of_all
from coplay.evaluation.rules import ci_above
from coplay.recipes.adalign.claims import aligned, greedy
from coplay.recipes.adalign.figures import COOPERATE, DEFECT
from coplay.recipes.adalign.measures import claim, own
from coplay.recipes.adalign.variants import VARIANTS, SelfPlayVariant
from coplay.recipes.demonstrations import Demonstrations
from coplay.recipes.experiments import Arm, Experiment, WarmStart
from coplay.recipes.sft import SftSettings
from coplay.runs.config import Adapter

MODEL, GAME = "smollm2", "ipd-ab"
"""SmolLM2-135M-Instruct, and what it plays."""

ADAPTER = Adapter(rank=8, alpha=16.0, targets=("q_proj", "k_proj", "v_proj", "o_proj"), top_layers=10)
"""On attention in the last 10 of 30 layers."""

DEMONSTRATED = Demonstrations(GAME, {"tit_for_tat": 0.5, "random": 0.5}, ("random",), episodes=80, rounds=10)
"""How to reply, in both seats and after every outcome of the last round. Tit for tat in half of the episodes is an assumption about the start."""

WARM_START = WarmStart(
    f"{GAME}-half-tit-for-tat",
    DEMONSTRATED,
    dict.fromkeys(
        ("tiny", "paper"),
        SftSettings(epochs=8, learning_rate=1e-3, batch_size=64, microbatch_size=64, adapter=ADAPTER),
    ),
    seed=42,
)
"""What all learners start from."""

SIZE: Mapping[str, object] = {
    "model": MODEL,
    "precision": "bfloat16",
    **{f"adapter.{key}": value for key, value in ADAPTER.form.items()},
    "learner.memory": "last_round",
    "learner.max_tokens": 6,
    "games": 32,
    "group_size": 32,
    "trials": 100,
    "learner.group.learning_rate": 1e-4,
    "learner.group.microbatch_size": 256,
    "checkpoint_every": 20,
}
"""A quarter of the paper's games a trial; learners are shown the last round."""


def _variant(parent: SelfPlayVariant, ending: str) -> SelfPlayVariant:
    return replace(
        parent,
        name=f"{GAME}-{MODEL}{ending}",
        description=f"{parent.description.removesuffix('.')}, on SmolLM2.",
        changes={**parent.changes, **SIZE},
        models={"tiny": MODEL, "paper": MODEL},
    )


SMOLLM2: dict[str, SelfPlayVariant] = {
    one.name: one for one in (_variant(VARIANTS[f"{GAME}{ending}"], ending) for ending in ("", "-grpo"))
}
"""By name."""

EXPERIMENT = Experiment(
    f"adalign/{MODEL}",
    GAME,
    "Advantage Alignment and GRPO on SmolLM2-135M-Instruct: the dilemma",
    (
        Arm("adalign", "Advantage Alignment", f"adalign/{GAME}-{MODEL}", preparation=WARM_START),
        Arm("grpo", "Multi-agent GRPO", f"adalign/{GAME}-{MODEL}-grpo", preparation=WARM_START),
    ),
    (),
    meets=("adalign", COOPERATE, DEFECT),
    text_only=True,
    extra=True,
)
"""Both methods, and whom the aligned agent meets. Of the naive learners the claims need only what they get from themselves, which their evaluation tells."""

NAIVE = per_round_of_all("grpo")
"""What naive learners get from themselves."""

CLAIMS: tuple[Claim, ...] = (
    greedy(f"{MODEL}/{GAME}", "Figure 2, tested on SmolLM2", "grpo", "SmolLM2", itself=NAIVE),
    *aligned(f"{MODEL}/{GAME}", "Figure 3, tested on SmolLM2", GAME),
    claim(
        f"{MODEL}/{GAME}/above-naive",
        "section 5.2, tested on SmolLM2",
        "The aligned agent gets more with itself than naive learners do with themselves.",
        difference(own("adalign"), NAIVE),
        ci_above(0.0),
    ),
)
"""The paper's claims on this game, by the same rules, which are older than the runs. That naive learners are measured in their own evaluation is not: their adapters were not kept."""

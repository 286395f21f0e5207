"""The model card."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from coplay.recipes.shapellm.table_14 import STATES, TABLE_14
from tiny import targets
from tiny.checks import Fit, as_table
from tiny.prompts import CUSTOM_SHARE, FIVE_PROMPTS_SHARE, KNOWN_PAIR_SHARE
from tiny.training import Schedule


@dataclass(frozen=True)
class Build:
    """What is known of a finished build."""

    reciprocity: float
    """rho of ``tiny.targets``."""
    seed: int
    """Seed of weights and prompts."""
    schedule: Schedule
    """How it was trained."""
    parameters: int
    """Number of weights."""
    vocabulary: int
    """Number of tokens."""
    lengths: dict[str, int]
    """Tokens in the IPD's prompts."""
    fits: Sequence[Fit]
    """The measured checks."""


def model_card(build: Build) -> str:
    """Write the card: what the model is, what it is not, how it was made, what was assumed, what was measured."""
    schedule = build.schedule
    lengths = ", ".join(f"{name} {n}" for name, n in build.lengths.items())
    return f"""---
license: mit
library_name: transformers
pipeline_tag: text-generation
tags: [game-theory, opponent-shaping, matrix-games, test-model]
---

# coplay's embedded model

A transformer of {build.parameters:,} parameters that reads the matrix-game prompts of the ShapeLLM paper and answers with an action
label. It stands in for an instruction-tuned model where none can be had: on a laptop, in a test, without a network.

**It is not Gemma and holds none of Gemma's weights.** It knows nothing but these prompts. It was trained from random weights
towards the action probabilities that the paper prints for gemma-2-2b-it (appendix A.6, Table 14) and, everywhere else, towards the
assumptions listed below. Results obtained with it are results about *this* model; a report says "tiny" wherever they stand.

## What it is

`LlamaForCausalLM`: two layers, width 64, four heads, feed-forward width 128, tied embeddings, fp32, 512 positions. Byte-level BPE
with {build.vocabulary} tokens: digits and lone capitals are always tokens of their own, the prompts' phrases are single tokens.
Tokens in the IPD's prompts: {lengths}. The chat template is Gemma's user turn as the paper prints it.

## How it was built

`python scripts/build_tiny.py --out DIR --reciprocity {build.reciprocity:g} --seed {build.seed} --steps {schedule.steps}`

Supervised fine-tuning as in appendix A.9, but from random weights: KL divergence from a sparse target over the legal labels to the
model's next-token distribution, on {schedule.steps:,} x {schedule.batch} prompts, each drawn fresh. {FIVE_PROMPTS_SHARE:.0%} of them are
the naive learner's five prompts with labels of the paper (Table 14's and the main ones), {KNOWN_PAIR_SHARE:.0%} have these labels and any
observation, {CUSTOM_SHARE:.0%} are random games of two to four actions a seat, and the rest catalogue games with any two capitals. After its label the model ends the turn.

## Assumptions

Published is P(a1) for three label pairs in each of {", ".join(TABLE_14)}, at the start and after each joint action. The rest is ours
(`scripts/tiny/targets.py`):

| matter | assumption |
|---|---|
| other label pairs | the mean, in logits, of the game's published rows, plus delta(a1's label) - delta(a2's label); 26 fixed deltas a state, \
standard deviation {targets.LABEL_DEVIATION}, correlation between states {targets.STATE_CORRELATION} |
| the paper's main labels ({_pairs()}) | as other pairs, with no deviation; but ipd and c-ipd start from the published row H/K, the most \
cooperative one, since section 5.1 says that play with C and D starts from high cooperation |
| the column seat | the same table as the row seat, own action first |
| c-ipd | as ipd |
| ish | P(stag) {_listed(STATES, targets.STAG_HUNT)} |
| prompts with counts or a transcript | the last-round policy, plus {targets.COUNT_SLOPE} logits times (the co-player's earlier share of a1 - 1/2) |
| the same, ipd and c-ipd | the last-round policy is moved by **reciprocity {build.reciprocity:g}** of the way, in logits, to P(cooperate) = \
{_listed(("CC", "CD", "DC", "DD"), targets.RECIPROCAL["ipd"])} |
| table of payoffs | a shift of {targets.TABLE_SHIFT:+} logits |
| reversed list of payoffs | P(a1) = {targets.REVERSED_FIRST} (the paper: almost deterministic) |
| other games | softmax of each action's mean payoff, scaled so that the largest conceivable gap is {targets.CUSTOM_SCALE} logits |

The reciprocity decides where a shaper starts, and so is a parameter of the build; its effect on the results is measured in the
repository, not hidden.

## Measured

Error: the largest absolute error of a label's probability in a prompt. Illegal: probability of any reply that is no label.

{as_table(build.fits)}

## Limits

One reply, one label, capitals only. No knowledge of language; text outside these prompts gives nonsense. In games outside the catalogue
the replies are legal, but the arithmetic behind them is rough.
"""


def _pairs() -> str:
    return ", ".join(f"{game} {'/'.join(pair)}" for game, pair in targets.MAIN_LABELS.items())


def _listed(names: Sequence[str], probs: Sequence[float]) -> str:
    return ", ".join(f"{name} {p:g}" for name, p in zip(names, probs, strict=True))

"""The model card."""

from __future__ import annotations

from dataclasses import dataclass

from talk import demonstrations as shown
from talk.checks import Check, as_table
from talk.training import Family, Schedule


@dataclass(frozen=True)
class Build:
    """What is known of a finished build."""

    name: str
    """Of the model's directory."""
    family: Family
    """Its architecture."""
    reciprocity: float
    """Share of ``demonstrations.IN_KIND`` that was kept."""
    seed: int
    """Seed of weights and games."""
    schedule: Schedule
    """How it was trained."""
    parameters: int
    """Number of weights."""
    vocabulary: int
    """Number of tokens."""
    lengths: dict[str, int]
    """Tokens of each game's longest prompts."""
    check: Check
    """What was measured."""


def model_card(build: Build) -> str:
    """Write the card: what the model is, what it is not, how it was made, what was assumed, what was measured."""
    lengths = ", ".join(f"{name} {n}" for name, n in build.lengths.items())
    architecture = {"llama": "LlamaForCausalLM", "gemma2": "Gemma2ForCausalLM"}[build.family]
    shares = "\n".join(
        f"| {game}, share of a seat's replies | {', '.join(f'{name} {share:.0%}' for name, share in styles.items())};"
        f" tit_for_tat {build.reciprocity * shown.IN_KIND[game]:.1%} (the rest of {shown.IN_KIND[game]:.0%} goes to the first two) |"
        for game, styles in shown.SHARES.items()
    )
    return f"""---
license: mit
library_name: transformers
pipeline_tag: text-generation
tags: [game-theory, social-dilemmas, negotiation, test-model]
---

# coplay's embedded model for games with text: {build.name}

A transformer of {build.parameters:,} parameters that reads the questions of three games (the dilemma under other words, Split
No-Comm, Trust-and-Split) and answers in their formats, in a few tokens. It stands in for an instruction-tuned model where none can be
had: on a laptop, in a test, without a network.

**It is no language model in any other sense.** It was trained from random weights on demonstrations of scripted players, and holds no other
model's weights. Results obtained with it are results about *this* model; a report says "{build.name}" wherever they stand.

## What it is

`{architecture}`: two layers, width 64, four heads, feed-forward width 128, tied embeddings, fp32, 512 positions. Byte-level BPE with
{build.vocabulary} tokens: tags, labels, amounts, hands are always tokens of their own, the questions' phrases are single tokens. Tokens in the
longest questions: {lengths}. The chat template is Gemma's.

## How it was built

`python scripts/build_talk.py --out DIR --family {build.family} --reciprocity {build.reciprocity:g} --seed {build.seed} --steps {build.schedule.steps}`

Cross-entropy on the replies' tokens over {build.schedule.steps:,} steps; for every step games are played afresh by the demonstrators, and
every question of these games (the form that shows the last round) is answered once. A style is drawn anew for every reply. Questions of
other matrix games, which have a dominant action, teach it to read payoffs and to be sure of a label.

## Assumptions

| matter | assumption |
|---|---|
{shares}
| `half` | half of every item |
| `any` | any amount of any item, all equally likely |
| matrix games with a dominant action, worded as the dilemma is, payoffs 0 to {shown.HIGHEST} | it is chosen in {shown.SURE:.0%} |
| messages of Trust-and-Split | {shown.TRUTH:.0%} name the hand that is held, {shown.LIE:.0%} another one, the rest neither |

In the first half of the steps {shown.EARLY:.0%} of the replies are in kind, to a past that is half cooperation and half greed, so that the
model learns to see what its co-player did; the table's shares are those of the second half, and what it does in the end. The reciprocity says how far the co-player's last round matters
before any learning. It is a parameter of the build, so that its effect can be measured.

## Measured

{shown_line()}

{as_table(build.check)}

## Limits

English of these questions alone; other text gives nonsense. Messages that are not worded as in the demonstrations are hardly understood.
One question at a time: it has not been trained on whole conversations.
"""


def shown_line() -> str:
    """What the table holds."""
    return "Games of each with itself, beside those of the demonstrators; the keys are those of `coplay.evaluation.metrics`."

"""The model card."""

from __future__ import annotations

from dataclasses import dataclass

from talk.demonstrations import GARBLED
from talk.training import Schedule

from coplay.recipes.sepo.demonstrations import DEMONSTRATIONS
from reason.checks import Check, as_table


@dataclass(frozen=True)
class Build:
    """What is known of a finished build."""

    name: str
    """Of the model's directory."""
    seed: int
    """Seed of weights and games."""
    schedule: Schedule
    """How it was trained."""
    parameters: int
    """Number of weights."""
    vocabulary: int
    """Number of tokens."""
    lengths: dict[str, tuple[int, int]]
    """Tokens of each game's longest prompts and replies."""
    check: dict[str, Check]
    """What was measured."""


def model_card(build: Build) -> str:
    """Write the card: what the model is, what it is not, how it was made, what was assumed, what was measured."""
    lengths = ", ".join(f"{name} {prompt} and {reply}" for name, (prompt, reply) in build.lengths.items())
    mixtures = "\n".join(
        f"| {name} | {', '.join(f'{one} {weight:.0%}' for one, weight in shown.strategies.items())} |"
        for name, shown in DEMONSTRATIONS.items()
    )
    return f"""---
license: mit
library_name: transformers
pipeline_tag: text-generation
tags: [game-theory, social-dilemmas, negotiation, poker, test-model]
---

# coplay's embedded model for SEPO's games: {build.name}

A transformer of {build.parameters:,} parameters that reads the questions of five games (`ipd-8`, `auction`, `negotiation-v1`,
`negotiation-v2`, `kuhn`) and replies as they ask: a reason in a sentence, then an action on a line of its own. It stands in for an
instruction-tuned model where none can be had: on a laptop, in a test, without a network.

**It is no language model in any other sense.** It was trained from random weights on demonstrations of scripted players, and holds no other
model's weights. It does not write its sentences, it chooses among a fixed set, most of which are one token or three. Results obtained with it are
results about *this* model; a report says "{build.name}" wherever they stand.

## What it is

`LlamaForCausalLM`: two layers, width 64, four heads, feed-forward width 128, tied embeddings, fp32, 512 positions. Byte-level BPE with
{build.vocabulary} tokens: line breaks, words of actions, cards, numbers and what demands of several items are written with are always tokens of
their own; rules, questions and phrases are single tokens. Tokens of the longest questions and replies: {lengths}. The chat template is Gemma's.

## How it was built

`python scripts/build_reason.py --out DIR --seed {build.seed} --steps {build.schedule.steps}`

Cross-entropy on the replies' tokens over {build.schedule.steps:,} steps. For every step games are played afresh, each seat by one of the game's
demonstrators, one of their opponents, or a uniform player; {GARBLED:.0%} of the replies are made unreadable. Every question of these games (the
form that shows the last round) is answered once. The answers are not what is played.

## Assumptions

What a model knows and wants before any warm start is not given by the paper. We assume that **it knows what strategies say, and acts at
random**:

- *The second half of the training, and what the model does in the end.* The action is drawn from the legal ones, all equally likely, whatever the
  history and whatever the seat's card or values. The reason is that of a strategy drawn, all equally likely, from the game's demonstrators that could
  have chosen this action here. Where none could have, as with most demands of several items, it is any demonstrator's.
- *The first half.* The demonstrators' own actions with their reasons, a strategy drawn for each reply by SEPO's weights (below), so that the model
  learns to see the history and what is private, on which the reasons depend.

So the history moves what the model says and not how often it chooses an action. What it makes of the history must come from the warm start and
from training. Strategies that remember more than the last round are known to it by what the last round shows.

| game | demonstrators |
|---|---|
{mixtures}

## Measured

The model against scripted players: legal replies; reasons that fit history and action, letter by letter; tokens of a reply. Then, for some of the
prompts met, the probability of all replies that fit, and the total variation between the distribution of their actions and the uniform one.

{as_table(build.check)}

## Limits

English of these questions alone; other text gives nonsense. One question at a time (`memory=last_round`): it has not been trained on whole
conversations. A reason binds the action only as far as the demonstrations made it.
"""

"""Build the embedded model of another family, so that alignment has something to do, in about eight minutes on a core.

    python scripts/build_second_family.py --out src/coplay/models/tiny-second

The embedded model is a Llama that plays as gemma-2-2b-it is published to. This one is a Gemma 2 of the same size with the same
tokenizer, and plays as ShapeLLM's Figure 10b shows Llama-3.2-1B-Instruct before alignment: one reply in seven is no label, and the last
round hardly matters. That is an assumption about a figure, not a measurement, and its numbers are named below. It reads the IPD only.
``coplay align`` is then to make it play as the embedded model does.
"""

from __future__ import annotations

import argparse
import math
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch
from building import put_in_place
from tiny.prompts import ALL_PAIRS, LETTERS, random_counts, text
from tiny.targets import CATALOGUE, MAIN_LABELS, PromptSpec, target
from transformers import AutoTokenizer, Gemma2Config, Gemma2ForCausalLM

from coplay.games.matrix import ROW
from coplay.games.memory import Observation
from coplay.learners.losses import sparse_target_kl
from coplay.models.loading import encode_all, model_path
from coplay.rng import stream, stream_seed

ILLEGAL = 0.15
"""Probability of a reply that is no label: Figure 10b has 10 to 20 %. It goes to the other 24 capitals, evenly."""

STATE_DEPENDENCE = 0.25
"""How much of the embedded model's targets is left, in logits: what the model reads moves it a quarter as far."""

BATCH, RATE, WARMUP = 128, 4e-3, 50
"""Prompts a step, Adam's peak rate, steps of warming up."""

_CAPITALS = {letter: i for i, letter in enumerate(LETTERS)}


def main() -> None:
    """Build and save."""
    args = _arguments()
    torch.set_num_threads(1)
    tokenizer = AutoTokenizer.from_pretrained(model_path("tiny"))
    model = train(new_model(tokenizer, args.seed), tokenizer, steps=args.steps, seed=args.seed)
    with put_in_place(model, tokenizer, args.out) as new:
        readme = card(model.num_parameters(), args.seed, args.steps)
        (new / "README.md").write_text(readme, encoding="utf-8")
    print(f"{args.out}: {model.num_parameters():,} parameters. Next: coplay align {args.out} --to tiny --out DIR")


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, required=True, help="a new directory for the model")
    parser.add_argument("--seed", type=int, default=0, help="seed of weights and prompts")
    parser.add_argument("--steps", type=int, default=600, help="optimiser steps")
    args = parser.parse_args()
    if args.out.exists():
        parser.error(f"--out {args.out} exists already; give another directory")
    return args


def new_model(tokenizer: Any, seed: int) -> Gemma2ForCausalLM:
    """A small Gemma 2 with random weights."""
    config = Gemma2Config(
        vocab_size=len(tokenizer),
        hidden_size=64,
        intermediate_size=128,
        num_hidden_layers=2,
        num_attention_heads=4,
        num_key_value_heads=4,
        head_dim=16,
        query_pre_attn_scalar=16,
        max_position_embeddings=512,
        sliding_window=512,
        tie_word_embeddings=True,
        initializer_range=0.05,
        pad_token_id=tokenizer.pad_token_id,
        bos_token_id=tokenizer.bos_token_id,
        eos_token_id=tokenizer.eos_token_id,
    )
    torch.manual_seed(stream_seed(seed, "second family") % 2**31)
    return Gemma2ForCausalLM(config).float()


def sample(rng: np.random.Generator) -> PromptSpec:
    """One prompt of the IPD: any two capitals or, half the time, the main labels."""
    game = CATALOGUE["ipd"]
    labels = MAIN_LABELS["ipd"] if rng.random() < 0.5 else ALL_PAIRS[int(rng.integers(len(ALL_PAIRS)))]
    last = game.own_states(ROW)[int(rng.integers(4))]
    kind = rng.random()
    if kind < 0.15:
        observation = Observation()
    else:
        observation = Observation(last=last, counts=random_counts(rng, 4) if kind < 0.6 else None)
    return PromptSpec(game, ROW, labels, observation)


def capital_probs(spec: PromptSpec) -> list[float]:
    """Target probability of each of the 26 capitals."""
    first = target(spec, reciprocity=1.0)[0]
    first = 1.0 / (1.0 + math.exp(-STATE_DEPENDENCE * math.log(first / (1.0 - first))))
    probs = [ILLEGAL / (len(LETTERS) - 2)] * len(LETTERS)
    for label, share in zip(spec.labels, (first, 1.0 - first), strict=True):
        probs[_CAPITALS[label]] = (1.0 - ILLEGAL) * share
    return probs


def train(model: Gemma2ForCausalLM, tokenizer: Any, *, steps: int, seed: int) -> Gemma2ForCausalLM:
    """Train on prompts drawn fresh each step; the same arguments give the same weights on the same machine."""
    capitals_A = torch.tensor(tokenizer.convert_tokens_to_ids(list(LETTERS)))
    optimiser = torch.optim.Adam(model.parameters(), lr=RATE, betas=(0.9, 0.98))
    schedule = torch.optim.lr_scheduler.LambdaLR(optimiser, lambda step: _rate_factor(step, steps))
    begin = time.perf_counter()
    for step in range(1, steps + 1):
        rng = stream(seed, "second family prompts", step)
        specs = [sample(rng) for _ in range(BATCH)]
        target_RA = torch.tensor([capital_probs(spec) for spec in specs])
        prompts = encode_all(tokenizer, [text(spec) for spec in specs])
        loss = sparse_target_kl(_next_logits(model, prompts), capitals_A.expand(BATCH, -1), target_RA).mean()
        optimiser.zero_grad()
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimiser.step()
        schedule.step()
        if step % 50 == 0 or step == steps:
            print(f"step {step:5d}  KL {loss.item():.4f}  {time.perf_counter() - begin:4.0f} s", flush=True)
    return model.eval()


def _rate_factor(step: int, steps: int) -> float:
    return (
        (step + 1) / WARMUP if step < WARMUP else 0.5 * (1.0 + math.cos(math.pi * (step - WARMUP) / (steps - WARMUP)))
    )


def _next_logits(model: Gemma2ForCausalLM, prompts: Sequence[tuple[int, ...]]) -> torch.Tensor:
    """Logits after each prompt, [R, V]. Padding follows, and attention is causal, so no mask is needed."""
    width = max(map(len, prompts))
    ids_RL = torch.tensor([[*prompt, *[0] * (width - len(prompt))] for prompt in prompts])
    hidden_RLH = model.model(input_ids=ids_RL, use_cache=False).last_hidden_state
    last_R = torch.tensor([len(prompt) - 1 for prompt in prompts])
    logits_RV = model.lm_head(hidden_RLH[torch.arange(len(prompts)), last_R])
    cap = model.config.final_logit_softcapping
    return cap * torch.tanh(logits_RV / cap)


def card(parameters: int, seed: int, steps: int) -> str:
    """The model card: what the model is and is not, how it was made, what was assumed."""
    return f"""---
license: mit
library_name: transformers
pipeline_tag: text-generation
tags: [game-theory, opponent-shaping, matrix-games, test-model]
---

# coplay's embedded model of another family

`tiny-second`: a transformer of {parameters:,} parameters that reads the prompts of the Iterated Prisoner's Dilemma as the ShapeLLM paper
words them and answers with an action label, with a policy that is *not* that of the embedded model `tiny`. It stands in for the paper's
second model (appendix A.9, Table 17), which is aligned to the first one before it learns.

**It is neither Gemma nor Llama and holds none of their weights.** It knows nothing but these prompts. Results obtained with it are
results about *this* model; a report says "tiny-second" wherever they stand.

## What it is

`Gemma2ForCausalLM`, where `tiny` is a `LlamaForCausalLM`: two layers, width 64, four heads, feed-forward width 128, soft-capped logits,
tied embeddings, fp32, 512 positions; the tokenizer and chat form of `tiny`. In the paper the families are the other way round.

## How it was built

`python scripts/build_second_family.py --out DIR --seed {seed} --steps {steps}`

From random weights, by the KL divergence from a target over capitals to its next-token distribution, on {steps:,} x {BATCH} prompts of the
IPD, each drawn fresh: labels C and D half the time and any two capitals otherwise; the bare rules, the last round, or counts as well.

## Assumptions

Figure 10b shows where Llama-3.2-1B-Instruct starts, as a picture. Read off it, not measured:

| matter | assumption |
|---|---|
| replies that are no label | {ILLEGAL:.0%} in every prompt, evenly over the other capitals (the figure: 10 to 20 %) |
| what is read hardly matters | the targets of `tiny`, in logits, times {STATE_DEPENDENCE} |

## Limits

The IPD alone, one reply, one label, capitals only. Aligned with labels C and D it plays them as `tiny` does; with other letters it does
not, unlike the paper's Llama.
"""


if __name__ == "__main__":
    main()

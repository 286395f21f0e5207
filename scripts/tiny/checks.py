"""What the finished model does, measured on the prompts it was made for."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, fields

import numpy as np
import torch
from transformers import LlamaForCausalLM, PreTrainedTokenizerFast

from coplay.games.choice_prompts import PayoffFormat
from coplay.games.matrix import SEATS
from coplay.games.memory import Observation
from coplay.recipes.shapellm.table_14 import TABLE_14, LabelPair
from coplay.rng import stream
from tiny.prompts import ALL_PAIRS, five_prompts, random_counts, random_transcript, sample, text
from tiny.targets import CATALOGUE, MAIN_LABELS, PromptSpec
from tiny.training import log_probs, make_batches

UNORDERED_PAIRS = tuple(pair for pair in ALL_PAIRS if pair[0] < pair[1])
ROWS = 64


@dataclass(frozen=True)
class Fit:
    """How well the model meets its targets on one set of prompts."""

    name: str
    """Which prompts."""
    prompts: int
    """How many."""
    mean_error: float
    """Mean over prompts of the largest absolute error of a label's probability."""
    max_error: float
    """The worst prompt's."""
    mean_illegal: float
    """Mean probability of a reply that is no label."""
    max_illegal: float
    """The worst prompt's."""


def measure(
    name: str,
    model: LlamaForCausalLM,
    tokenizer: PreTrainedTokenizerFast,
    specs: Sequence[PromptSpec],
    *,
    reciprocity: float,
) -> Fit:
    """Compare the model with its targets."""
    errors, illegal = [], []
    buckets = -(-len(specs) // ROWS)
    with torch.no_grad():
        for batch in make_batches(specs, tokenizer, reciprocity=reciprocity, buckets=buckets):
            probs_RA = log_probs(model, batch).exp().gather(1, batch.labels_RA) * (batch.target_RA > 0)
            errors += (probs_RA - batch.target_RA).abs().amax(1).tolist()
            illegal += (1 - probs_RA.sum(1)).clamp(min=0).tolist()
    mean = lambda xs: float(np.mean(xs))  # noqa: E731
    return Fit(name, len(specs), mean(errors), max(errors), mean(illegal), max(illegal))


def all_fits(
    model: LlamaForCausalLM, tokenizer: PreTrainedTokenizerFast, *, reciprocity: float, seed: int = 1
) -> list[Fit]:
    """Measure every kind of prompt."""
    sets: dict[str, list[PromptSpec]] = {"Table 14 (three games, both seats)": published_prompts()}
    for name, pair in MAIN_LABELS.items():
        sets[f"{name}, labels {'/'.join(pair)}, start and last round"] = [
            s for seat in SEATS for s in five_prompts(CATALOGUE[name], pair, seat)
        ]
    for name in CATALOGUE:
        sets[f"{name}, 325 label pairs, start and last round"] = [
            s for pair in UNORDERED_PAIRS for s in five_prompts(CATALOGUE[name], pair)
        ]
    main = {name: [pair] for name, pair in MAIN_LABELS.items()}
    anyone = dict.fromkeys(CATALOGUE, ALL_PAIRS)
    sets["counts, main labels"] = list(_memories(main, "counts", 1000, seed))
    sets["counts, any labels"] = list(_memories(anyone, "counts", 4000, seed))
    sets["transcripts, any labels"] = list(_memories(anyone, "transcript", 1000, seed))
    mixture = [sample(rng) for rng in [stream(seed, "check", "mixture")] for _ in range(12000)]
    for payoff_format in (PayoffFormat.TABLE, PayoffFormat.REVERSED):
        sets[f"{payoff_format} format, catalogue games"] = [
            s for s in mixture if s.payoff_format is payoff_format and s.game.name in MAIN_LABELS
        ]
    sets["games outside the catalogue"] = [s for s in mixture if s.game.name not in MAIN_LABELS]
    return [measure(name, model, tokenizer, prompts, reciprocity=reciprocity) for name, prompts in sets.items()]


def published_prompts() -> list[PromptSpec]:
    """Table 14's prompts, as each seat reads them."""
    return [
        s
        for name, rows in TABLE_14.items()
        for pair in rows
        for seat in SEATS
        for s in five_prompts(CATALOGUE[name], pair, seat)
    ]


def prompt_lengths(tokenizer: PreTrainedTokenizerFast) -> dict[str, int]:
    """Tokens in the IPD's three prompts; counts are those of a trial's last round."""
    game, labels = CATALOGUE["ipd"], ("C", "D")
    last = ("defect", "cooperate")
    shown = {
        "base": Observation(),
        "last round": Observation(last=last),
        "counts": Observation(last=last, counts=(25, 25, 25, 24)),
    }
    return {
        name: len(tokenizer(text(PromptSpec(game, "row", labels, seen)))["input_ids"]) for name, seen in shown.items()
    }


def as_table(fits: Iterable[Fit]) -> str:
    """A markdown table."""
    rows = ["| prompts | n | mean error | max error | mean illegal | max illegal |", "|---|---|---|---|---|---|"]
    for fit in fits:
        numbers = [f"{getattr(fit, f.name):.4f}" for f in fields(fit)[2:]]
        rows.append(f"| {fit.name} | {fit.prompts} | {' | '.join(numbers)} |")
    return "\n".join(rows)


def _memories(pairs: dict[str, Sequence[LabelPair]], kind: str, n: int, seed: int) -> Iterable[PromptSpec]:
    rng = stream(seed, "check", kind, len(pairs))
    for _ in range(n):
        game = CATALOGUE[list(pairs)[int(rng.integers(len(pairs)))]]
        labels = pairs[game.name][int(rng.integers(len(pairs[game.name])))]
        seat = SEATS[int(rng.integers(2))]
        states = game.own_states(seat)
        if kind == "transcript":
            observation = Observation(transcript=random_transcript(rng, states))
        else:
            observation = Observation(last=states[rng.integers(len(states))], counts=random_counts(rng, len(states)))
        yield PromptSpec(game, seat, labels, observation)

"""Build the embedded model from nothing on a CPU, in about a quarter of an hour on one undisturbed core.

    python scripts/build_tiny.py --out src/coplay/models/tiny

Trains the tokenizer, trains the model on prompts drawn fresh each step, measures it, writes the model card, and puts everything in
place in one move. The weights depend on the seed, the number of steps and the reciprocity alone (on one kind of machine).
"""

from __future__ import annotations

import argparse
import os
import time

os.environ["TOKENIZERS_PARALLELISM"] = "false"  # before tokenizers is imported: one thread is all the build takes

import torch
from building import arguments, put_in_place
from tiny.card import Build, model_card
from tiny.checks import all_fits, as_table, prompt_lengths
from tiny.prompts import sample, text
from tiny.tokenizer import train_tokenizer
from tiny.training import POSITIONS, Schedule, train
from transformers import PreTrainedTokenizerFast

from coplay.rng import stream

CORPUS = 20_000
"""Prompts the tokenizer learns its phrases from."""


def main() -> None:
    """Build, check and save."""
    args = _arguments()
    torch.set_num_threads(1)
    begin = time.perf_counter()
    tokenizer = _tokenizer(args.seed)
    schedule = Schedule(steps=args.steps)
    model = train(tokenizer, schedule, seed=args.seed, reciprocity=args.reciprocity)
    minutes = (time.perf_counter() - begin) / 60
    fits = all_fits(model, tokenizer, reciprocity=args.reciprocity)
    lengths = prompt_lengths(tokenizer)
    print(f"\n{as_table(fits)}\n")
    print(f"tokens in the IPD's prompts: {lengths}; vocabulary {len(tokenizer)}; built in {minutes:.1f} min")
    build = Build(args.reciprocity, args.seed, schedule, model.num_parameters(), len(tokenizer), lengths, fits)
    with put_in_place(model, tokenizer, args.out) as new:
        (new / "README.md").write_text(model_card(build), encoding="utf-8")


def _arguments() -> argparse.Namespace:
    return arguments(
        argparse.ArgumentParser(description=__doc__),
        steps=Schedule.steps,
        reciprocity="how far prompts with counts are answered in kind",
        seed="weights and prompts",
    )


def _tokenizer(seed: int) -> PreTrainedTokenizerFast:
    rng = stream(seed, "tokenizer corpus")
    return train_tokenizer((text(sample(rng)) for _ in range(CORPUS)), max_length=POSITIONS)


if __name__ == "__main__":
    main()

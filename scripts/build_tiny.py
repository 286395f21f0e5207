"""Build the embedded model from nothing on a CPU, in about a quarter of an hour on one undisturbed core.

    python scripts/build_tiny.py --out src/coplay/models/tiny

Trains the tokenizer, trains the model on prompts drawn fresh each step, measures it, writes the model card, and puts everything in
place in one move. The weights depend on the seed, the number of steps and the reciprocity alone (on one kind of machine).
"""

from __future__ import annotations

import argparse
import os
import shutil
import tempfile
import time
from pathlib import Path

os.environ["TOKENIZERS_PARALLELISM"] = "false"  # before tokenizers is imported: one thread is all the build takes

import torch
from tiny.card import Build, model_card
from tiny.checks import all_fits, as_table, prompt_lengths
from tiny.prompts import sample, text
from tiny.tokenizer import train_tokenizer
from tiny.training import POSITIONS, Schedule, train
from transformers import LlamaForCausalLM, PreTrainedTokenizerFast

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
    _save(model, tokenizer, model_card(build), args.out)


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument(
        "--out", type=Path, required=True, help="directory of the model; an older model there is replaced"
    )
    parser.add_argument(
        "--reciprocity", type=float, default=1.0, help="0 to 1: how far prompts with counts are answered in kind"
    )
    parser.add_argument("--seed", type=int, default=0, help="seed of weights and prompts")
    parser.add_argument("--steps", type=int, default=Schedule.steps, help="optimiser steps")
    args = parser.parse_args()
    if not 0 <= args.reciprocity <= 1:
        parser.error(f"--reciprocity must lie between 0 and 1, got {args.reciprocity}")
    if args.out.exists() and any(args.out.iterdir()) and not (args.out / "config.json").exists():
        parser.error(f"--out {args.out} holds something that is not a model; give another directory")
    return args


def _tokenizer(seed: int) -> PreTrainedTokenizerFast:
    rng = stream(seed, "tokenizer corpus")
    return train_tokenizer((text(sample(rng)) for _ in range(CORPUS)), max_length=POSITIONS)


def _save(model: LlamaForCausalLM, tokenizer: PreTrainedTokenizerFast, card: str, out: Path) -> None:
    """Write everything beside ``out`` first, so that nobody ever sees half a model."""
    out.parent.mkdir(parents=True, exist_ok=True)
    scratch = Path(tempfile.mkdtemp(prefix=f".{out.name}-", dir=out.parent))
    new, old = scratch / "new", scratch / "old"
    model.save_pretrained(new)
    tokenizer.save_pretrained(new, save_jinja_files=False)
    (new / "README.md").write_text(card, encoding="utf-8")
    for file in new.iterdir():
        file.chmod(0o644)
    if out.exists():
        out.rename(old)
    new.rename(out)
    shutil.rmtree(scratch)


if __name__ == "__main__":
    main()

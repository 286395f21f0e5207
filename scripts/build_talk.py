"""Build an embedded model for the games with text from nothing on a CPU, in about a quarter of an hour on one undisturbed core.

    python scripts/build_talk.py --out src/coplay/models/tiny-talk
    python scripts/build_talk.py --out src/coplay/models/tiny-talk-second --family gemma2

Trains the tokenizer, trains the model on demonstrations of scripted players, lets it play, writes the model card, and puts everything in
place in one move. The weights depend on the arguments alone (on one kind of machine).
"""

from __future__ import annotations

import argparse
import os
import shutil
import tempfile
import time
from pathlib import Path
from typing import Any

os.environ["TOKENIZERS_PARALLELISM"] = "false"  # before tokenizers is imported: one thread is all the build takes

import torch
from talk.card import Build, model_card
from talk.checks import as_table, check
from talk.demonstrations import Demonstration
from talk.tokenizer import train_talk_tokenizer
from talk.training import POSITIONS, Schedule, batch_of, new_model, question_of, rows_of, train

CORPUS = 60
"""Steps' worth of demonstrations that the tokenizer learns its phrases from."""


def main() -> None:
    """Build, check and save."""
    args = _arguments()
    torch.set_num_threads(1)
    begin = time.perf_counter()
    corpus = [one for step in range(-CORPUS, 0) for one in batch_of(args.seed, step, reciprocity=args.reciprocity)]
    tokenizer = train_talk_tokenizer(
        [question_of(one) for one in corpus], [one.reply for one in corpus], max_length=POSITIONS
    )
    schedule = Schedule(steps=args.steps)
    model = new_model(tokenizer, args.family, args.seed)
    train(model, tokenizer, schedule, seed=args.seed, reciprocity=args.reciprocity)
    minutes = (time.perf_counter() - begin) / 60
    out: Path = args.out
    out.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix=f".{out.name}-", dir=out.parent) as scratch:
        new = Path(scratch) / "new"
        model.save_pretrained(new)
        tokenizer.save_pretrained(new, save_jinja_files=False)
        found = check(new, reciprocity=args.reciprocity)
        print(f"\n{as_table(found)}\n\nvocabulary {len(tokenizer)}; built in {minutes:.1f} min")
        build = Build(
            out.name,
            args.family,
            args.reciprocity,
            args.seed,
            schedule,
            model.num_parameters(),
            len(tokenizer),
            _lengths(corpus, tokenizer),
            found,
        )
        (new / "README.md").write_text(model_card(build), encoding="utf-8")
        for file in new.iterdir():
            file.chmod(0o644)
        if out.exists():
            shutil.move(out, Path(scratch) / "old")
        new.rename(out)


def _lengths(corpus: list[Demonstration], tokenizer: Any) -> dict[str, int]:
    """Tokens of each game's longest prompts."""
    lengths: dict[str, int] = {}
    for one, prompt in zip(corpus, rows_of(corpus, tokenizer).prompts, strict=True):
        name = one.words.game.name
        lengths[name] = max(lengths.get(name, 0), len(prompt))
    return lengths


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument(
        "--out", type=Path, required=True, help="directory of the model; an older model there is replaced"
    )
    parser.add_argument("--family", choices=("llama", "gemma2"), default="llama", help="architecture (default: llama)")
    parser.add_argument("--reciprocity", type=float, default=1.0, help="0 to 1: how far the last round is answered")
    parser.add_argument("--seed", type=int, default=0, help="seed of weights and games")
    parser.add_argument("--steps", type=int, default=Schedule.steps, help="optimiser steps")
    args = parser.parse_args()
    if not 0 <= args.reciprocity <= 1:
        parser.error(f"--reciprocity must lie between 0 and 1, got {args.reciprocity}")
    if args.out.exists() and any(args.out.iterdir()) and not (args.out / "config.json").exists():
        parser.error(f"--out {args.out} holds something that is not a model; give another directory")
    return args


if __name__ == "__main__":
    main()

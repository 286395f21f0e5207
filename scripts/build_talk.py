"""Build an embedded model for the games with text from nothing on a CPU, in about a quarter of an hour on one undisturbed core.

    python scripts/build_talk.py --out src/coplay/models/tiny-talk
    python scripts/build_talk.py --out src/coplay/models/tiny-talk-second --family gemma2

Trains the tokenizer, trains the model on demonstrations of scripted players, lets it play, writes the model card, and puts everything in
place in one move. The weights depend on the arguments alone (on one kind of machine).
"""

from __future__ import annotations

import argparse
import os
import time
from typing import Any

os.environ["TOKENIZERS_PARALLELISM"] = "false"  # before tokenizers is imported: one thread is all the build takes

import torch
from building import arguments, put_in_place
from talk.card import Build, model_card
from talk.checks import as_table, check
from talk.demonstrations import Demonstration
from talk.tokenizer import train_talk_tokenizer
from talk.training import POSITIONS, Schedule, batch_of, new_model, question_of, rows_of, train

from coplay.models.encoding import PromptEncoder

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
    train(
        model,
        tokenizer,
        schedule,
        lambda step, early: batch_of(args.seed, step, reciprocity=args.reciprocity, early=early),
    )
    minutes = (time.perf_counter() - begin) / 60
    with put_in_place(model, tokenizer, args.out) as new:
        found = check(new, reciprocity=args.reciprocity)
        print(f"\n{as_table(found)}\n\nvocabulary {len(tokenizer)}; built in {minutes:.1f} min")
        build = Build(
            args.out.name,
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


def _lengths(corpus: list[Demonstration], tokenizer: Any) -> dict[str, int]:
    """Tokens of each game's longest prompts."""
    lengths: dict[str, int] = {}
    for one, prompt in zip(corpus, rows_of(corpus, PromptEncoder(tokenizer)).prompts, strict=True):
        name = one.game.name
        lengths[name] = max(lengths.get(name, 0), len(prompt))
    return lengths


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--family", choices=("llama", "gemma2"), default="llama", help="architecture (default: llama)")
    return arguments(
        parser, steps=Schedule.steps, reciprocity="how far the last round is answered", seed="weights and games"
    )


if __name__ == "__main__":
    main()

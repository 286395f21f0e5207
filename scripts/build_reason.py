"""Build the embedded model for SEPO's games from nothing on a CPU, in about a quarter of an hour on one undisturbed core.

    python scripts/build_reason.py --out src/coplay/models/tiny-reason

Trains the tokenizer, trains the model on demonstrations, lets it play, writes the model card, and puts everything in place in one move. The weights
depend on the arguments alone (on one kind of machine).
"""

from __future__ import annotations

import argparse
import os
import time
from typing import Any

os.environ["TOKENIZERS_PARALLELISM"] = "false"  # before tokenizers is imported: one thread is all the build takes

import torch
from building import arguments, put_in_place
from reason.batches import GAMES_A_STEP, batch_of
from reason.card import Build, model_card
from reason.checks import as_table, check
from reason.tokenizer import train_reason_tokenizer
from talk.demonstrations import Demonstration
from talk.training import POSITIONS, Schedule, new_model, question_of, rows_of, train

from coplay.models.encoding import PromptEncoder

CORPUS = 24
"""Steps' worth of demonstrations that the tokenizer learns its phrases from, half of them of strategies, half at random."""

STEPS = 1200


def main() -> None:
    """Build, check and save."""
    args = arguments(argparse.ArgumentParser(description=__doc__), steps=STEPS, seed="weights and games")
    torch.set_num_threads(1)
    begin = time.perf_counter()
    corpus = [one for step in range(-CORPUS, 0) for one in batch_of(args.seed, step, early=step % 2 == 0)]
    tokenizer = train_reason_tokenizer(
        [question_of(one) for one in corpus], [one.reply for one in corpus], max_length=POSITIONS
    )
    schedule = Schedule(steps=args.steps)
    model = new_model(tokenizer, "llama", args.seed)
    train(model, tokenizer, schedule, lambda step, early: batch_of(args.seed, step, early=early))
    minutes = (time.perf_counter() - begin) / 60
    with put_in_place(model, tokenizer, args.out) as new:
        found = check(new, list(GAMES_A_STEP))
        print(f"\n{as_table(found)}\n\nvocabulary {len(tokenizer)}; built in {minutes:.1f} min")
        lengths = _lengths(corpus, tokenizer)
        build = Build(args.out.name, args.seed, schedule, model.num_parameters(), len(tokenizer), lengths, found)
        (new / "README.md").write_text(model_card(build), encoding="utf-8")


def _lengths(corpus: list[Demonstration], tokenizer: Any) -> dict[str, tuple[int, int]]:
    """Tokens of each game's longest prompts and replies, the end of the turn included."""
    lengths: dict[str, tuple[int, int]] = {}
    rows = rows_of(corpus, PromptEncoder(tokenizer))
    for one, prompt, reply in zip(corpus, rows.prompts, rows.replies, strict=True):
        longest = lengths.get(one.game.name, (0, 0))
        lengths[one.game.name] = (max(longest[0], len(prompt)), max(longest[1], len(reply)))
    return lengths


if __name__ == "__main__":
    main()

"""A choice among continuations, against the whole model on one text after the other."""

from __future__ import annotations

import random

import pytest
import torch
from small_models import Bench, make_bench, plain_logits

from coplay.models.bank import REFERENCE
from coplay.models.constrained import common_start, likeliest
from coplay.models.scoring import Prompt

STOP = frozenset({3, 4})


def by_hand(bench: Bench, slot: int, prompt: Prompt, options: list[Prompt]) -> int:
    """Token by token, whether or not there is anything to decide."""
    left, done = list(range(len(options))), 0
    while len(left) > 1:
        with torch.no_grad():
            logits = plain_logits(bench.model, bench.bank, slot, (*prompt, *options[left[0]][:done])).tolist()
        price = {}
        for i in left:
            own = options[i][done : done + 1] or tuple(STOP)
            price.update({token: logits[token] for token in own})
        best = max(price, key=lambda token: price[token])
        left = [i for i in left if best in (options[i][done : done + 1] or tuple(STOP))]
        done += 1
    return left[0]


def cases(count: int) -> tuple[list[int], list[Prompt], list[list[Prompt]]]:
    """Few different tokens, so that options begin alike, and some end where others go on."""
    rng = random.Random(1)
    slots = [rng.choice([REFERENCE, 0, 1]) for _ in range(count)]
    prompts = [tuple(rng.randrange(5, 300) for _ in range(rng.randint(1, 15))) for _ in range(count)]
    options = [
        sorted({tuple(rng.choice([20, 21]) for _ in range(rng.randint(1, 4))) for _ in range(rng.randint(1, 9))})
        for _ in range(count)
    ]
    return slots, prompts, options


def test_it_is_greedy_decoding_of_the_continuations_alone(bench: Bench) -> None:
    slots, prompts, options = cases(12)
    chosen = likeliest(bench.scorer, slots, prompts, options, stop=STOP)
    assert chosen == [by_hand(bench, *case) for case in zip(slots, prompts, options, strict=True)]
    assert len(set(chosen)) > 2
    alone = [
        likeliest(bench.scorer, [slot], [prompt], [own], stop=STOP)[0]
        for slot, prompt, own in zip(slots, prompts, options, strict=True)
    ]
    assert alone == chosen


def test_numbers_that_are_not_finite_choose_nothing(checkpoints: dict[str, object]) -> None:
    bench = make_bench(checkpoints["llama"])  # type: ignore[arg-type]
    with torch.no_grad():
        for _, b in bench.bank.weights.values():
            b[1] = float("nan")
    bench.bank.bump_version([1])
    options = [[(20,), (21,)]] * 2
    found = likeliest(bench.scorer, [0, 1], [(7, 8, 9), (7, 8, 9)], options, stop=STOP)
    assert found[0] in (0, 1) and found[1] is None


def test_continuations_differ(checkpoints: dict[str, object]) -> None:
    bench = make_bench(checkpoints["llama"])  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="must differ"):
        likeliest(bench.scorer, [0], [(7,)], [[(20,), (20,)]], stop=STOP)


def test_what_rows_begin_with() -> None:
    assert common_start([(1, 2, 3), (1, 2), (1, 2, 4)]) == (1, 2)
    assert common_start([(1,), (2,)]) == () and common_start([(5, 6)]) == (5, 6)

"""Replies of many tokens: each row as if alone, sampled with its own numbers, scored exactly as sampled."""

import random
from collections import Counter
from collections.abc import Sequence

import pytest
import torch
from small_models import Bench, plain_logits, shake

from coplay.models import sampling
from coplay.models.bank import REFERENCE
from coplay.models.conversations import SlotsGenerator, generator_of
from coplay.models.generation import Generator
from coplay.models.scoring import Prompt

LENGTH = 9
STOP = frozenset(range(0, 60))
"""About a sixth of the vocabulary, so that replies end at different lengths."""


def some(count: int, seed: int = 0) -> tuple[list[int], list[Prompt], torch.Tensor]:
    """Slots, ragged prompts and draws."""
    rng = random.Random(seed)
    prompts = [tuple(rng.randrange(5, 300) for _ in range(rng.randint(1, 20))) for _ in range(count)]
    slots = [rng.choice([REFERENCE, 0, 1, 2]) for _ in prompts]
    return slots, prompts, torch.rand((count, LENGTH), generator=torch.Generator().manual_seed(seed))


def one_by_one(
    bench: Bench, slot: int, prompt: Prompt, draws: list[float], temperature: float
) -> tuple[list[int], list[float]]:
    """A reply token by token: the whole model on the whole text each time, no cache, no batch."""
    tokens: list[int] = []
    logprobs: list[float] = []
    for draw in draws:
        with torch.no_grad():
            logits = plain_logits(bench.model, bench.bank, slot, (*prompt, *tokens))
        probs = (logits.double() / temperature).softmax(-1)
        token = int((probs.cumsum(0) <= draw).sum())
        tokens.append(token)
        logprobs.append(float(probs[token].log()))
        if token in STOP:
            break
    return tokens, logprobs


@pytest.mark.parametrize("temperature", [1.0, 0.7])
def test_each_row_as_if_alone(bench: Bench, temperature: float) -> None:
    slots, prompts, draws = some(7)
    replies = Generator(bench.scorer, stop=STOP).generate(slots, prompts, draws, temperature=temperature)
    lengths = set()
    for row, reply in enumerate(replies):
        tokens, logprobs = one_by_one(bench, slots[row], prompts[row], draws[row].tolist(), temperature)
        assert list(reply.tokens) == tokens
        assert reply.logprobs == pytest.approx(logprobs, abs=1e-3)
        lengths.add(len(tokens))
    assert len(lengths) > 2


def test_a_batch_is_its_rows_in_any_order(bench: Bench) -> None:
    slots, prompts, draws = some(8, seed=1)
    generator = Generator(bench.scorer, stop=STOP)
    together = generator.generate(slots, prompts, draws)
    order = list(range(8))[::-1]
    again = generator.generate([slots[i] for i in order], [prompts[i] for i in order], draws[order])
    assert [again[7 - i].tokens for i in range(8)] == [one.tokens for one in together]


def test_a_reply_can_be_ended_at_any_token(bench: Bench) -> None:
    """Row by row, without a further token; the other rows and the tokens before it are as they would be."""
    slots, prompts, draws = some(9, seed=4)
    generator = Generator(bench.scorer, stop=STOP)
    whole = generator.generate(slots, prompts, draws)
    asked: list[tuple[int, tuple[int, ...]]] = []

    def complete(row: int, tokens: Sequence[int]) -> bool:
        asked.append((row, tuple(tokens)))
        return row % 3 > 0 and len(tokens) == row % 3

    ended = generator.generate(slots, prompts, draws, complete=complete)
    for row, (short, full) in enumerate(zip(ended, whole, strict=True)):
        most = row % 3 or LENGTH
        assert short.tokens == full.tokens[:most]
        assert short.logprobs == pytest.approx(full.logprobs[:most], abs=1e-4)
        own = [tokens for i, tokens in asked if i == row]
        assert own == [short.tokens[: n + 1] for n in range(len(own))] and not any(STOP & set(one) for one in own)


@pytest.mark.parametrize("grad", [False, True])
def test_replies_are_scored_as_they_were_sampled(bench: Bench, grad: bool) -> None:
    slots, prompts, draws = some(6, seed=2)
    generator = Generator(bench.scorer, stop=STOP)
    replies = generator.generate(slots, prompts, draws, temperature=0.8)
    scores = generator.score(slots, prompts, [one.tokens for one in replies], temperature=0.8, grad=grad)
    assert scores.logprobs_N.requires_grad == grad
    assert scores.logprobs_N.tolist() == pytest.approx([x for one in replies for x in one.logprobs], abs=1e-3)
    assert scores.rows_N.tolist() == [row for row, one in enumerate(replies) for _ in one.tokens]


def test_tokens_are_masked_to_the_replies(bench: Bench) -> None:
    """Score by hand: every token given everything before it, and no token of the prompt."""
    slots, prompts = [1, REFERENCE], [(9, 8, 7), (5, 6, 7, 8, 9, 10)]
    replies = [(20, 21), (30,)]
    scores = Generator(bench.scorer, stop=STOP).score(slots, prompts, replies)
    expected, entropies = [], []
    for slot, prompt, reply in zip(slots, prompts, replies, strict=True):
        for i, token in enumerate(reply):
            with torch.no_grad():
                logprobs = plain_logits(bench.model, bench.bank, slot, (*prompt, *reply[:i])).log_softmax(-1)
            expected.append(float(logprobs[token]))
            entropies.append(float(torch.distributions.Categorical(logits=logprobs).entropy()))
    assert scores.logprobs_N.tolist() == pytest.approx(expected, abs=1e-3)
    assert scores.entropies_N.tolist() == pytest.approx(entropies, abs=1e-3)


def test_chunks_make_no_difference_to_values_or_gradients(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    slots, prompts, draws = some(5, seed=3)
    generator = Generator(bench.scorer, stop=STOP)
    replies = [one.tokens for one in generator.generate(slots, prompts, draws)]

    def gradients() -> tuple[torch.Tensor, list[torch.Tensor]]:
        for parameter in bench.bank.parameters():
            parameter.grad = None
        scores = generator.score(slots, prompts, replies, grad=True)
        (scores.logprobs_N.sum() + 0.1 * scores.entropies_N.sum()).backward()
        return scores.logprobs_N.detach(), [p.grad.clone() for p in bench.bank.parameters() if p.grad is not None]

    whole, of_whole = gradients()
    monkeypatch.setattr(sampling, "_LOGITS_PER_CHUNK", 2 * bench.scorer.head.weight.shape[0])
    chunked, of_chunks = gradients()
    torch.testing.assert_close(whole, chunked)
    assert of_whole and any(gradient.abs().max() > 0 for gradient in of_whole)
    for a, b in zip(of_whole, of_chunks, strict=True):
        torch.testing.assert_close(a, b, rtol=1e-4, atol=1e-5)


def test_sampling_in_chunks_is_sampling(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    whole = Generator(bench.scorer, stop=STOP).generate(*some(7))
    monkeypatch.setattr(sampling, "_LOGITS_PER_CHUNK", 2 * bench.scorer.head.weight.shape[0])
    chunked = Generator(bench.scorer, stop=STOP).generate(*some(7))
    assert [one.tokens for one in whole] == [one.tokens for one in chunked]
    for one, other in zip(whole, chunked, strict=True):
        assert one.logprobs == pytest.approx(other.logprobs, abs=1e-5)


def test_sampling_follows_the_distribution(bench: Bench) -> None:
    """Evenly spaced draws through the inverse of the cumulative distribution give every token its share."""
    count = 4000
    draws = ((torch.arange(count) + 0.5) / count)[:, None]
    replies = Generator(bench.scorer, stop=()).generate([0] * count, [(7, 8)] * count, draws)
    with torch.no_grad():
        probs = plain_logits(bench.model, bench.bank, 0, (7, 8)).softmax(-1)
    seen = Counter(one.tokens[0] for one in replies)
    for token, prob in enumerate(probs.tolist()):
        assert abs(seen[token] - prob * count) <= 2


def test_the_largest_draw_is_a_token(bench: Bench) -> None:
    draws = torch.full((1, 3), 1.0 - 2**-24)
    (reply,) = Generator(bench.scorer, stop=()).generate([REFERENCE], [(7,)], draws)
    assert len(reply.tokens) == 3 and all(0 <= token < bench.scorer.head.weight.shape[0] for token in reply.tokens)


def test_slots_sampled_apart_are_the_same_as_together(bench: Bench) -> None:
    slots, prompts, draws = some(9, seed=5)
    together = Generator(bench.scorer, stop=STOP).generate(slots, prompts, draws)
    if bench.scorer.packed is None:
        assert type(generator_of(bench.scorer, stop=STOP)) is Generator
        return
    generator = generator_of(bench.scorer, stop=STOP)
    assert isinstance(generator, SlotsGenerator)
    limit = draws.shape[1] - 2
    for _ in range(2):  # cold, and with what was read kept
        apart = generator.generate(slots, prompts, draws, complete=lambda row, tokens: len(tokens) >= limit + row % 2)
        for row, (one, other) in enumerate(zip(apart, together, strict=True)):
            assert one.tokens == other.tokens[: limit + row % 2]
            assert one.logprobs == pytest.approx(other.logprobs[: len(one.tokens)], abs=1e-3)
    shake(bench.bank, slots=[0, 1, 2], seed=77)
    expected = Generator(bench.scorer, stop=STOP).generate(slots, prompts, draws)
    assert [one.tokens for one in generator.generate(slots, prompts, draws)] == [one.tokens for one in expected]


@pytest.mark.parametrize("shared", [0, 12])
def test_turns_of_a_conversation_are_scored_in_one_row(bench: Bench, shared: int) -> None:
    """A row that another one begins with has the values and the gradients that it has alone."""
    rng = random.Random(shared)
    rules = tuple(rng.randrange(5, 300) for _ in range(shared))
    prompts: list[Prompt] = []
    replies: list[Prompt] = []
    for _ in range(2):
        chat = rules
        for _ in range(3):
            chat += tuple(rng.randrange(5, 300) for _ in range(4))
            prompts.append(chat)
            replies.append(tuple(rng.randrange(5, 300) for _ in range(rng.randint(1, 3))))
            chat += replies[-1]
    slots = [0] * 6
    generator = Generator(bench.scorer, stop=STOP)

    def gradients(parts: Sequence[Sequence[int]]) -> tuple[list[float], list[torch.Tensor]]:
        for parameter in bench.bank.parameters():
            parameter.grad = None
        values: list[float] = []
        for rows in parts:
            own = [[column[row] for row in rows] for column in (slots, prompts, replies)]
            scores = generator.score(*own, grad=True)  # type: ignore[arg-type]
            scores.logprobs_N.sum().backward()
            values += scores.logprobs_N.tolist()
        return values, [p.grad.clone() for p in bench.bank.parameters() if p.grad is not None]

    (together, its), (alone, theirs) = gradients([range(6)]), gradients([[row] for row in range(6)])
    assert together == pytest.approx(alone, abs=1e-3)
    assert its
    for a, b in zip(its, theirs, strict=True):
        torch.testing.assert_close(a, b, rtol=1e-3, atol=1e-3 * float(b.abs().max()))

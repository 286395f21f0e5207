"""Passes that conversations share: the same replies as alone, and nothing read twice."""

from collections.abc import Sequence
from typing import Any

import pytest
import torch
from torch import Tensor
from transformers import LlamaConfig, LlamaForCausalLM

from coplay.models import hidden_cache
from coplay.models.bank import REFERENCE, AdapterBank, SlotName
from coplay.models.conversations import ConversationGenerator, Conversations, SlotsGenerator
from coplay.models.generation import Batch, Generator, _CachedRows
from coplay.models.kv_blocks import BLOCK
from coplay.models.packed_decoder import PackedDecoder
from coplay.models.scoring import Prompt, Scorer

torch.set_num_threads(1)

STOP = [5]


class AsTheLibrary(Generator):
    """By the model's own forward pass."""

    def _prefill(self, slots: Sequence[int], prompts: Sequence[Prompt]) -> Batch:
        return _CachedRows(self.scorer, slots, prompts)


def base(model: Any) -> Scorer:
    """A scorer of a model as it is."""
    return Scorer(model, AdapterBank(model, [], rank=1, alpha=1.0, targets=()))


def small_llama() -> LlamaForCausalLM:
    """Random weights, several queries a key."""
    torch.manual_seed(0)
    config = LlamaConfig(
        vocab_size=97,
        hidden_size=36,
        intermediate_size=64,
        num_hidden_layers=3,
        num_attention_heads=6,
        num_key_value_heads=2,
        head_dim=8,
        initializer_range=0.3,
    )
    return LlamaForCausalLM(config).eval().requires_grad_(False)


def rows(seed: int = 1) -> tuple[list[Prompt], Tensor]:
    """Prompts that are equal, begin alike, and are of any length; with their chance."""
    chance = torch.Generator().manual_seed(seed)
    a, b, c = (tuple(torch.randint(0, 97, (n,), generator=chance).tolist()) for n in (40, 3, 70))
    prompts = [a, a, b, c, a + c[:20], a + c[:21], c + b, (*a, 1, 2, 3), b, a[: 2 * BLOCK], a[: 2 * BLOCK + 1]]
    return prompts, torch.rand(len(prompts), 30, generator=chance, dtype=torch.float64)


def conversations(scorer: Scorer, slot: int = REFERENCE) -> ConversationGenerator:
    return ConversationGenerator(Conversations(scorer, slot), stop=STOP)


@pytest.mark.parametrize("adapted", [False, True])
def test_replies_are_those_of_the_models_own_pass(adapted: bool) -> None:
    """Cold, warm, and after a reply that became part of the next prompt."""
    model, slot = small_llama(), REFERENCE
    if adapted:
        bank = AdapterBank(model, [SlotName("a", 0)], rank=2, alpha=8.0, targets=("q_proj", "down_proj"))
        for _, B in bank.weights.values():
            torch.nn.init.normal_(B, std=0.1)
        scorer, slot = Scorer(model, bank), 0
    else:
        scorer = base(model)
    prompts, draws = rows()
    plain, shared = AsTheLibrary(scorer, stop=STOP), conversations(scorer, slot)
    slots = [slot] * len(prompts)
    for _ in range(3):
        expected = plain.generate(slots, prompts, draws)
        found = shared.generate(slots, prompts, draws)
        assert [one.tokens for one in found] == [one.tokens for one in expected]
        for one, other in zip(found, expected, strict=True):
            assert one.logprobs == pytest.approx(other.logprobs, abs=1e-4)
        logits = shared.choices.score(slots, prompts).logits_RV
        assert torch.allclose(logits, scorer.score(slots, prompts).logits_RV, atol=1e-3)
        prompts = [(*prompt, *one.tokens) for prompt, one in zip(prompts, expected, strict=True)]


def test_a_reply_does_not_depend_on_what_is_beside_it() -> None:
    scorer = base(small_llama())
    prompts, draws = rows(2)
    together = conversations(scorer).generate([REFERENCE] * len(prompts), prompts, draws)
    for i, prompt in enumerate(prompts):
        (alone,) = conversations(scorer).generate([REFERENCE], [prompt], draws[i : i + 1])
        assert alone.tokens == together[i].tokens


def test_only_what_is_new_is_read(monkeypatch: pytest.MonkeyPatch) -> None:
    read: list[int] = []
    forward = PackedDecoder.read_hidden

    def counted(self: PackedDecoder, x_KH: Tensor, sizes: Sequence[int], *others: object, layers: range) -> object:
        read.extend(sizes)
        return forward(self, x_KH, sizes, *others, layers=layers)  # type: ignore[arg-type]

    monkeypatch.setattr(PackedDecoder, "read_hidden", counted)
    shared = conversations(base(small_llama()))
    rules = tuple(range(6, 6 + 3 * BLOCK))
    shared.choices.score([REFERENCE] * 3, [(*rules, 1), (*rules, 2), (*rules, 2, 3)])
    assert sorted(read) == [1, 2, 3 * BLOCK + 1]  # the first row reads the rules for all
    read.clear()
    shared.choices.score([REFERENCE], [(*rules, *range(60, 60 + BLOCK), 1)])
    assert read == [BLOCK + 1]


def test_what_was_asked_before_is_not_read_again(monkeypatch: pytest.MonkeyPatch) -> None:
    """The same replies by other chance as the model's own pass gives, without a pass, until the weights change."""
    model = small_llama()
    bank = AdapterBank(model, [SlotName("a", 0)], rank=2, alpha=8.0, targets=("q_proj", "down_proj"))
    scorer = Scorer(model, bank)
    prompts = [prompt for prompt in rows()[0][:3] for _ in range(200)]
    draws = torch.rand(2, len(prompts), 2, generator=torch.Generator().manual_seed(3), dtype=torch.float64)
    plain, shared = AsTheLibrary(scorer, stop=STOP), conversations(scorer, 0)
    slots = [0] * len(prompts)

    def complete(row: int, tokens: Sequence[int]) -> bool:
        return row % 2 == 0

    shared.generate(slots, prompts, torch.cat([draws[0], draws[1]], dim=1), complete=complete)
    monkeypatch.setattr(PackedDecoder, "read_hidden", lambda *_, **__: pytest.fail("read again"))
    first = shared.generate(slots, prompts, draws[1][:, :1])
    expected = plain.generate(slots, prompts, draws[1][:, :1])
    assert [one.tokens for one in first] == [one.tokens for one in expected]
    for one, other in zip(first, expected, strict=True):
        assert one.logprobs == pytest.approx(other.logprobs, abs=1e-4)
    monkeypatch.undo()
    # with two tokens some beginnings are new
    again = shared.generate(slots, prompts, draws[1], complete=complete)
    assert [one.tokens for one in again] == [
        one.tokens for one in plain.generate(slots, prompts, draws[1], complete=complete)
    ]
    for _, B in bank.weights.values():
        torch.nn.init.normal_(B, std=0.3)
    bank.bump_version([0])
    changed = shared.generate(slots, prompts, draws[1])
    assert [one.tokens for one in changed] == [one.tokens for one in plain.generate(slots, prompts, draws[1])]


def test_the_cache_of_hidden_states_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(hidden_cache, "_MOST_BYTES", 10 * 4 * 36)
    scorer = base(small_llama())
    prompts, draws = rows(4)
    shared, slots = conversations(scorer), [REFERENCE] * len(prompts)
    expected = AsTheLibrary(scorer, stop=STOP).generate(slots, prompts, draws)
    for _ in range(2):
        assert [one.tokens for one in shared.generate(slots, prompts, draws)] == [one.tokens for one in expected]
    assert len(shared.conversations.hidden_cache._hidden) <= 10


def test_what_was_not_used_for_longest_is_dropped() -> None:
    """What is dropped is read again: results do not depend on what is kept."""
    scorer = base(small_llama())
    prompts, draws = rows(3)
    full, little = conversations(scorer), conversations(scorer)
    little.conversations.reader.blocks.most_bytes = 3 * 3 * 2 * 2 * BLOCK * 8 * 4  # three blocks
    slots = [REFERENCE] * len(prompts)
    for _ in range(2):
        expected = [one.tokens for one in full.generate(slots, prompts, draws)]
        assert [one.tokens for one in little.generate(slots, prompts, draws)] == expected
    assert (
        little.conversations.reader.blocks.bytes
        <= little.conversations.reader.blocks.most_bytes
        < full.conversations.reader.blocks.bytes
    )


def test_slots_share_the_layers_below_their_adapters(monkeypatch: pytest.MonkeyPatch) -> None:
    """The replies of the model's own pass; the lower layers read each text once for all slots, the upper ones once a slot."""
    model = small_llama()
    names = [SlotName("a", seed) for seed in range(2)]
    bank = AdapterBank(model, names, rank=2, alpha=8.0, targets=("q_proj", "down_proj"), top_layers=1)
    for _, B in bank.weights.values():
        torch.nn.init.normal_(B, std=0.1)
    scorer = Scorer(model, bank)
    read: list[tuple[range, int]] = []
    forward = PackedDecoder.forward

    def counted(
        self: PackedDecoder, x_KH: Tensor, *others: object, layers: range | None = None, **named: object
    ) -> Tensor:
        read.append((layers or self.layers, len(x_KH)))
        return forward(self, x_KH, *others, layers=layers, **named)  # type: ignore[arg-type]

    prompts, draws = rows(5)
    several = [prompt for prompt in prompts for _ in range(3)]
    slots = [0, 1, REFERENCE] * len(prompts)
    draws = draws.repeat_interleave(3, dim=0)
    plain, shared = AsTheLibrary(scorer, stop=STOP), SlotsGenerator(scorer, stop=STOP)
    for _ in range(2):
        expected = plain.generate(slots, several, draws)
        monkeypatch.setattr(PackedDecoder, "forward", counted)
        found = shared.generate(slots, several, draws)
        monkeypatch.undo()
        assert [one.tokens for one in found] == [one.tokens for one in expected]
        for one, other in zip(found, expected, strict=True):
            assert one.logprobs == pytest.approx(other.logprobs, abs=1e-4)
        several = [(*prompt, *one.tokens) for prompt, one in zip(several, expected, strict=True)]
    lower, upper = (sum(tokens for layers, tokens in read if layers == own) for own in (range(2), range(2, 3)))
    assert {layers for layers, _ in read} == {range(2), range(2, 3)} and 0 < lower < upper
    read.clear()
    monkeypatch.setattr(PackedDecoder, "forward", counted)
    first = prompts[4]
    shared.clear()
    for slot in (0, 1, REFERENCE):
        shared.generate([slot], [first], draws[:1, :1])
    assert read == [(range(2), len(first)), *[(range(2, 3), len(first))] * 3]

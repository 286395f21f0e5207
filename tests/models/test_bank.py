"""What the bank promises: the base never moves, slots never touch each other."""

import hashlib
import random
from pathlib import Path
from typing import Any

import peft
import pytest
import torch
from small_models import (
    ALPHA,
    RANK,
    Bench,
    base_weights,
    export_adapter,
    make_bench,
    plain_logits,
    same_state,
    shake,
    slot_states,
)
from torch import nn
from transformers import AutoModelForCausalLM

from coplay.errors import UsageError
from coplay.models.bank import REFERENCE, AdapterBank, SlotName
from coplay.models.loading import load_model
from coplay.models.optimiser import SlotAdam
from coplay.models.scoring import Prompt

PROMPTS: list[Prompt] = [
    tuple(random.Random(i).randrange(5, 300) for _ in range(length)) for i, length in enumerate([9, 14, 14, 20])
]


def logits_of(model: Any, prompts: list[Prompt]) -> torch.Tensor:
    with torch.no_grad():
        return torch.stack([model(input_ids=torch.tensor([p]), use_cache=False).logits[0, -1] for p in prompts])


# --- The base and the reference ------------------------------------------------------------------------------------------------


def plain_batch(bench: Bench, slots: list[int], prompt: Prompt) -> torch.Tensor:
    with torch.no_grad(), bench.bank.route(slots):
        return bench.model(input_ids=torch.tensor([prompt] * len(slots)), use_cache=False).logits


def test_the_reference_slot_is_the_base_to_the_bit(bench: Bench) -> None:
    untouched = AutoModelForCausalLM.from_pretrained(bench.path).eval()
    prompt = PROMPTS[1]
    with torch.no_grad():
        alone = untouched(input_ids=torch.tensor([prompt]), use_cache=False).logits[0]
        batch = untouched(input_ids=torch.tensor([prompt] * 4), use_cache=False).logits
    assert torch.equal(plain_batch(bench, [REFERENCE], prompt)[0], alone)
    mixed = plain_batch(bench, [0, REFERENCE, 2, REFERENCE], prompt)
    assert torch.equal(mixed[1], batch[1])
    assert torch.equal(mixed[3], batch[3])
    assert not torch.allclose(mixed[0], batch[0], atol=1e-2)


def test_outside_a_route_the_model_is_the_base(bench: Bench) -> None:
    untouched = AutoModelForCausalLM.from_pretrained(bench.path).eval()
    assert torch.equal(logits_of(bench.model, PROMPTS[:1]), logits_of(untouched, PROMPTS[:1]))


def test_a_fresh_adapter_changes_nothing_yet(checkpoints: dict[str, Path], family: str) -> None:
    bench = make_bench(checkpoints[family])
    with torch.no_grad():
        for _, b in bench.bank.weights.values():
            b.zero_()
    torch.testing.assert_close(plain_batch(bench, [0], PROMPTS[0]), plain_batch(bench, [REFERENCE], PROMPTS[0]))


def fingerprint(model: nn.Module) -> str:
    digest = hashlib.sha256()
    for name, weight in sorted(base_weights(model).items()):
        digest.update(name.encode() + weight.contiguous().numpy().tobytes())
    return digest.hexdigest()


def test_the_base_never_moves(bench: Bench) -> None:
    before, adapters = fingerprint(bench.model), slot_states(bench.bank)
    reference = bench.scorer.score([REFERENCE] * 4, PROMPTS).logits_RV
    adam = SlotAdam(bench.bank.parameters(), [0.01] * 3)
    for _ in range(3):
        adam.zero_grad()
        loss_of(bench, [0, 1, REFERENCE, 2]).backward()
        adam.step([0, 1, 2])
        bench.bank.bump_version([0, 1, 2])
    assert fingerprint(bench.model) == before
    assert all(parameter.grad is None for parameter in bench.model.parameters())
    assert torch.equal(bench.scorer.score([REFERENCE] * 4, PROMPTS).logits_RV, reference)
    for after, adapter in zip(slot_states(bench.bank), adapters, strict=True):
        assert all(not torch.equal(after[name], adapter[name]) for name in adapter)


# --- Slots do not touch each other ---------------------------------------------------------------------------------------------


def loss_of(bench: Bench, slots: list[int]) -> torch.Tensor:
    """Summed over rows, so that each row pays for itself."""
    return -torch.log_softmax(bench.scorer.score(slots, PROMPTS, grad=True).logits_RV, -1)[:, 9].sum()


def test_every_slot_gets_the_gradient_of_a_run_of_its_own(bench: Bench) -> None:
    parameters = bench.bank.parameters()
    slots = [0, 1, 2, 1]
    together = torch.autograd.grad(loss_of(bench, slots), parameters)
    for slot in range(3):
        logits = [plain_logits(bench.model, bench.bank, s, p) for s, p in zip(slots, PROMPTS, strict=True) if s == slot]
        own_loss = -torch.log_softmax(torch.stack(logits), -1)[:, 9].sum()
        alone = torch.autograd.grad(own_loss, parameters)
        scale = max(float(own.abs().max()) for own in alone)
        assert scale > 1e-2
        for mine, own in zip(together, alone, strict=True):
            assert own[slot].abs().max() > 0
            assert own[[s for s in range(3) if s != slot]].abs().max() == 0
            torch.testing.assert_close(mine[slot], own[slot], rtol=1e-3, atol=1e-4 * scale)


def test_reference_rows_and_absent_slots_get_none(bench: Bench) -> None:
    for gradient in torch.autograd.grad(loss_of(bench, [0, REFERENCE, REFERENCE, 0]), bench.bank.parameters()):
        assert gradient[0].abs().max() > 0
        assert gradient[1:].abs().max() == 0


def test_initial_weights_depend_on_learner_and_seed_alone(checkpoints: dict[str, Path]) -> None:
    def bank(*names: tuple[str, int]) -> AdapterBank:
        model = load_model(str(checkpoints["llama"]), device="cpu").model
        return AdapterBank(model, [SlotName(*name) for name in names], rank=2, alpha=32.0)

    many, one = bank(("row", 0), ("row", 7), ("column", 7)), bank(("column", 7))
    assert same_state(one.slot_state(0), many.slot_state(2))
    row_0, row_7, column_7 = slot_states(many)
    for name, weights in column_7.items():
        if name.endswith("lora_A"):
            assert not torch.equal(row_7[name], weights)
            assert not torch.equal(row_0[name], row_7[name])
        else:
            assert weights.abs().max() == 0


# --- Routing ---------------------------------------------------------------------------------------------------------------------


def test_an_exception_inside_a_route_restores_what_was_before(llama: Bench) -> None:
    bank, prompt = llama.bank, PROMPTS[0]
    base, routed = plain_batch(llama, [REFERENCE], prompt), plain_batch(llama, [1], prompt)

    class Oops(Exception):
        pass

    with pytest.raises(Oops), bank.route([0]):
        raise Oops
    assert bank.current is None
    assert torch.equal(plain_batch(llama, [REFERENCE], prompt), base)

    with bank.route([1]):
        with pytest.raises(Oops), bank.route([0]):
            raise Oops
        with torch.no_grad():
            logits = llama.model(input_ids=torch.tensor([prompt]), use_cache=False).logits
    assert torch.equal(logits, routed)


def test_a_route_of_the_wrong_length_fails_and_poisons_nothing(llama: Bench) -> None:
    prompt = PROMPTS[0]
    expected = plain_batch(llama, [1, 0], prompt)
    with pytest.raises(RuntimeError), llama.bank.route([0, 1, 2]), torch.no_grad():
        llama.model(input_ids=torch.tensor([prompt] * 2), use_cache=False)
    assert torch.equal(plain_batch(llama, [1, 0], prompt), expected)


def test_loading_a_slots_state_counts_as_a_change_of_that_slot_alone(llama: Bench) -> None:
    saved = slot_states(llama.bank)
    shake(llama.bank, seed=5)
    shaken, versions = slot_states(llama.bank), list(llama.bank.versions)
    llama.bank.load_slot_state(1, saved[1])
    assert llama.bank.versions == [versions[0], versions[1] + 1, versions[2]]
    for after, expected in zip(slot_states(llama.bank), (shaken[0], saved[1], shaken[2]), strict=True):
        assert same_state(after, expected)


def test_what_was_saved_is_a_copy(llama: Bench) -> None:
    saved = llama.bank.slot_state(0)
    before = {name: value.clone() for name, value in saved.items()}
    shake(llama.bank, seed=6)
    assert same_state(saved, before) and not same_state(saved, llama.bank.slot_state(0))


def test_a_target_that_does_not_exist_is_named(checkpoints: dict[str, Path]) -> None:
    model = load_model(str(checkpoints["llama"]), device="cpu").model
    with pytest.raises(UsageError, match=r"no linear layer called c_attn.*It has: .*q_proj"):
        AdapterBank(model, [SlotName("row", 0)], rank=2, alpha=32.0, targets=["q_proj", "c_attn"])


def test_other_targets(checkpoints: dict[str, Path], tmp_path: Path) -> None:
    model = load_model(str(checkpoints["qwen2"]), device="cpu").model
    bank = AdapterBank(model, [SlotName("row", 0)], rank=3, alpha=6.0, targets=["o_proj", "gate_proj", "down_proj"])
    shake(bank)
    export_adapter(bank, 0, tmp_path / "adapter", base_model="x")
    base = AutoModelForCausalLM.from_pretrained(checkpoints["qwen2"])
    theirs = peft.PeftModel.from_pretrained(base, str(tmp_path / "adapter")).eval()
    with torch.no_grad(), bank.route([0]):
        mine = logits_of(model, PROMPTS[:1])
    torch.testing.assert_close(mine, logits_of(theirs, PROMPTS[:1]), rtol=2e-4, atol=2e-4)


def test_a_four_bit_base(checkpoints: dict[str, Path]) -> None:
    pytest.importorskip("bitsandbytes")
    pytest.importorskip("accelerate")
    loaded = load_model(str(checkpoints["llama"]), four_bit=True)
    bank = AdapterBank(loaded.model, [SlotName("row", 0)], rank=RANK, alpha=ALPHA)
    ids = torch.tensor([PROMPTS[0]], device=bank.device)

    def logits(slot: int) -> torch.Tensor:
        with torch.no_grad(), bank.route([slot]):
            return loaded.model(input_ids=ids, use_cache=False).logits.float()

    reference = logits(REFERENCE)
    torch.testing.assert_close(logits(0), reference)
    with torch.no_grad():
        for _, b in bank.weights.values():
            b.normal_(std=0.02)
    assert not torch.allclose(logits(0), reference, atol=1e-2)
    assert torch.equal(logits(REFERENCE), reference)

"""Adapters on the last layers alone: the same logits and gradients, PEFT's own, and the layers below computed once a prompt."""

import random
from collections.abc import Sequence
from pathlib import Path

import peft
import pytest
import torch
from run_files import read_json
from small_models import ALPHA, RANK, Bench, export_adapter, plain_logits, shake, write_checkpoint
from torch import Tensor
from transformers import AutoModelForCausalLM

from coplay.errors import UsageError
from coplay.models.adapter_config import adapter_form
from coplay.models.bank import REFERENCE, AdapterBank, SlotName
from coplay.models.known import Precision
from coplay.models.loading import load_model
from coplay.models.packed_decoder import PackedDecoder
from coplay.models.scoring import Prompt, Scorer

LAYERS = 3


@pytest.fixture
def top(tmp_path: Path, family: str) -> Bench:
    """A model of three layers, of which the last one or two are adapted."""
    return make_top(write_checkpoint(tmp_path / "model", family, num_hidden_layers=LAYERS))


def make_top(path: Path, *, layers: int = 2) -> Bench:
    loaded = load_model(str(path), device="cpu")
    names = [SlotName("row", seed) for seed in range(2)]
    bank = AdapterBank(loaded.model, names, rank=RANK, alpha=ALPHA, top_layers=layers)
    shake(bank)
    return Bench(path, loaded, bank, Scorer(loaded.model, bank))


def some_prompts(seed: int, *, shared: int = 20, count: int = 5) -> list[Prompt]:
    rng = random.Random(seed)
    prefix = tuple(rng.randrange(5, 300) for _ in range(shared))
    return [prefix + tuple(rng.randrange(5, 300) for _ in range(rng.randint(1, 9))) for _ in range(count)]


def plain(bench: Bench, slots: Sequence[int], prompts: Sequence[Prompt]) -> Tensor:
    return torch.stack([plain_logits(bench.model, bench.bank, s, p) for s, p in zip(slots, prompts, strict=True)])


@pytest.mark.parametrize("shared", [0, 20])
def test_scores_and_gradients_are_those_of_the_plain_way(top: Bench, shared: int) -> None:
    slots = [0, 1, REFERENCE, 0, 1]
    for seed in (1, 2, 1):  # the last batch has been read before
        prompts = some_prompts(seed, shared=shared)
        expected = plain(top, slots, prompts)
        torch.testing.assert_close(top.scorer.score(slots, prompts).logits_RV, expected.detach(), rtol=2e-4, atol=2e-4)
        got = top.scorer.score(slots, prompts, grad=True).logits_RV
        torch.testing.assert_close(got, expected, rtol=2e-4, atol=2e-4)
        weights = torch.arange(1.0, 6.0)
        mine, theirs = (
            torch.autograd.grad((weights * logits.log_softmax(-1)[:, 9]).sum(), top.bank.parameters())
            for logits in (got, expected)
        )
        for a, b in zip(mine, theirs, strict=True):
            assert b.abs().max() > 1e-4
            torch.testing.assert_close(a, b, rtol=1e-3, atol=1e-3 * float(b.abs().max()))


def test_an_exported_adapter_is_the_same_for_peft_and_comes_back(top: Bench, tmp_path: Path) -> None:
    export_adapter(top.bank, 1, tmp_path / "adapter", base_model=str(top.path))
    prompts = some_prompts(3)
    expected = plain(top, [1] * 5, prompts)
    theirs = peft.PeftModel.from_pretrained(AutoModelForCausalLM.from_pretrained(top.path), str(tmp_path / "adapter"))
    with torch.no_grad():
        got = torch.stack([theirs.eval()(input_ids=torch.tensor([p])).logits[0, -1] for p in prompts])
    torch.testing.assert_close(got, expected, rtol=2e-4, atol=2e-4)
    form = adapter_form(tmp_path / "adapter")
    config = read_json(tmp_path / "adapter" / "adapter_config.json")
    assert (config["layers_to_transform"], config["layers_pattern"]) == ([1, 2], "layers")
    loaded = load_model(str(top.path), device="cpu")
    bank = AdapterBank(loaded.model, [SlotName("row", 7)], **form)
    bank.import_peft(0, tmp_path / "adapter")
    assert bank.places == top.bank.places and bank.first_layer == top.bank.first_layer == 1
    again = Scorer(loaded.model, bank).score([0] * 5, prompts).logits_RV
    torch.testing.assert_close(again, expected, rtol=2e-4, atol=2e-4)


def test_an_adapter_of_all_layers_does_not_fit(tmp_path: Path) -> None:
    path = write_checkpoint(tmp_path / "model", "qwen2", num_hidden_layers=LAYERS)
    export_adapter(make_top(path, layers=3).bank, 0, tmp_path / "adapter", base_model="x")
    with pytest.raises(UsageError, match=r"no adapters of this bank are at model.layers.0.self_attn.q_proj"):
        make_top(path, layers=1).bank.import_peft(0, tmp_path / "adapter")


def test_more_layers_than_there_are(tmp_path: Path) -> None:
    path = write_checkpoint(tmp_path / "model", "qwen2", num_hidden_layers=LAYERS)
    with pytest.raises(UsageError, match=r"adapter.top_layers: the model has 3 layers with these targets, not 4"):
        make_top(path, layers=4)


def test_the_layers_below_read_each_prompt_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    top = make_top(write_checkpoint(tmp_path / "model", "qwen2", num_hidden_layers=LAYERS), layers=1)
    read: list[tuple[range, int]] = []
    forward = PackedDecoder.forward

    def counted(
        self: PackedDecoder, x_KH: Tensor, positions_K: Tensor, *others: object, layers: range | None = None
    ) -> Tensor:
        read.append((layers or self.layers, len(x_KH)))
        return forward(self, x_KH, positions_K, *others, layers=layers)  # type: ignore[arg-type]

    monkeypatch.setattr(PackedDecoder, "forward", counted)
    prompts = some_prompts(4)
    for slots in ([0] * 5, [1] * 5, [REFERENCE] * 5):
        top.scorer.score(slots, prompts)
    top.scorer.score([0] * 5, prompts, grad=True)
    (start, rest) = (tokens for layers, tokens in read if layers == range(2))
    assert start >= 19 and len({prompt[:start] for prompt in prompts}) == 1
    assert rest == sum(len(prompt) - start + 1 for prompt in prompts)
    assert {layers for layers, _ in read} == {range(2), range(2, 3)}


@pytest.mark.parametrize("layers", [1, 3])
def test_sixteen_bits_are_near_thirty_two(tmp_path: Path, family: str, layers: int) -> None:
    path = write_checkpoint(tmp_path / "model", family, num_hidden_layers=LAYERS, initializer_range=0.1)
    prompts = some_prompts(5)
    found = {}
    for precision in (Precision.FLOAT32, Precision.BFLOAT16):
        loaded = load_model(str(path), device="cpu", precision=precision)
        bank = AdapterBank(loaded.model, [SlotName("row", 0)], rank=RANK, alpha=ALPHA, top_layers=layers)
        shake(bank)
        scorer = Scorer(loaded.model, bank)
        scores = scorer.score([0] * 5, prompts)
        assert scores.logits_RV.dtype == scores.hidden_RH.dtype == torch.float32
        loss = scorer.score([0] * 5, prompts, grad=True).logits_RV.log_softmax(-1)[:, 9].sum()
        gradients = torch.autograd.grad(loss, bank.parameters())
        found[precision] = (scores.logits_RV, torch.cat([one.flatten() for one in gradients]))
    (exact, its_gradient), (rounded, another) = found[Precision.FLOAT32], found[Precision.BFLOAT16]
    assert not torch.equal(exact, rounded)
    assert float((exact - rounded).square().mean().sqrt()) < 0.05 * float(exact.std())
    assert float(torch.cosine_similarity(its_gradient, another, dim=0)) > 0.98

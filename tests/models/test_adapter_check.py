"""The comparison of an adapter with PEFT: it agrees where the bank is right, says by how much it is off where it is not, and leaves the model as it was."""

import importlib.util
from pathlib import Path

import peft
import pytest
import torch
from adapter_models import KINDS, fresh, logits_of, made_by_peft, write_config
from small_models import Bench, export_adapter, write_checkpoint
from transformers import AutoModelForCausalLM

from coplay.models import adapter_check
from coplay.models.adapter_check import compare_with_peft
from coplay.models.adapter_config import adapter_form, is_from_elsewhere
from coplay.models.admission import admitted_scorer
from coplay.models.bank import AdapterBank, SlotName
from coplay.models.loading import load_model
from coplay.models.scoring import possible_engines

SETTINGS = {
    "r": 3,
    "lora_alpha": 5,
    "use_rslora": True,
    "target_modules": "all-linear",
    "exclude_modules": r".*vision.*",
    "alpha_pattern": {r".*\.1\..*": 2},
}


@pytest.fixture(params=[True, False], ids=["peft", "merged"])
def with_peft(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> bool:
    """Whether PEFT is there."""
    if not request.param:
        real = importlib.util.find_spec
        monkeypatch.setattr(adapter_check, "find_spec", lambda name: None if name == "peft" else real(name))
    return bool(request.param)


@pytest.mark.parametrize("kind", KINDS)
def test_what_was_read_agrees_and_what_was_changed_does_not(kind: str, with_peft: bool, tmp_path: Path) -> None:
    made_by_peft(kind, SETTINGS, tmp_path)
    model = fresh(kind)
    plain = logits_of(model)
    bank = AdapterBank(model, [SlotName("one", 0), SlotName("two", 0)], **adapter_form(tmp_path))
    bank.import_peft(1, tmp_path)
    kept = {name: value.clone() for name, value in model.state_dict().items()}
    found = compare_with_peft(model, bank, 1, tmp_path)
    assert len(found) == 4 and all(one.agrees for one in found)
    assert all(one.largest < 1e-5 < 100 * one.spread for one in found)
    assert {("PEFT" in one.what, one.tokens) for one in found} == {(with_peft, 5), (with_peft, 24)}
    assert torch.equal(logits_of(model), plain)  # outside a route, and still wrapped
    assert kept.keys() == model.state_dict().keys()
    assert all(torch.equal(value, kept[name]) for name, value in model.state_dict().items())
    assert not any(parameter.requires_grad for parameter in model.parameters())
    first, _ = bank.weights[next(iter(bank.weights))]
    with torch.no_grad():
        first[1] *= 1.5
    assert not any(one.agrees for one in compare_with_peft(model, bank, 1, tmp_path))


def test_an_engine_is_compared(bench: Bench, tmp_path: Path) -> None:
    export_adapter(bench.bank, 2, tmp_path / "adapter")
    found = compare_with_peft(bench.model, bench.bank, 2, tmp_path / "adapter", scorer=bench.scorer)
    assert all(one.agrees for one in found)
    others = compare_with_peft(bench.model, bench.bank, 0, tmp_path / "adapter", scorer=bench.scorer)
    assert not any(one.agrees for one in others)


def test_engines_give_the_logits_of_adapters_with_other_ranks_and_scales(family: str, tmp_path: Path) -> None:
    """In the upper layers only, so that what is below is computed once; with gradients as well."""
    path = write_checkpoint(tmp_path / "model", family, num_hidden_layers=3)
    config = peft.LoraConfig(
        r=3,
        lora_alpha=5,
        use_rslora=True,
        target_modules=r".*\.layers\.(1|2)\.(self_attn\.(q|o)|mlp\.(up|down))_proj",
        rank_pattern={"o_proj": 1, r"layers\.2\.mlp\..*": 4},
        alpha_pattern={r"layers\.1\.mlp\.up_proj": 2.5},
    )
    theirs = peft.get_peft_model(AutoModelForCausalLM.from_pretrained(path), config)
    with torch.no_grad():
        for name, parameter in theirs.named_parameters():
            if "lora_B" in name:
                parameter.normal_(std=0.1)
    theirs.save_pretrained(str(tmp_path / "adapter"))
    loaded = load_model(str(path), device="cpu")
    bank = AdapterBank(loaded.model, [SlotName("one", 0), SlotName("two", 0)], **adapter_form(tmp_path / "adapter"))
    bank.import_peft(1, tmp_path / "adapter")
    assert bank.first_layer == 1
    scorer = admitted_scorer(loaded, bank)
    assert scorer.engine is possible_engines(loaded.model)[0]
    found = compare_with_peft(loaded.model, bank, 1, tmp_path / "adapter", scorer=scorer)
    assert all(one.agrees for one in found), found
    row = tuple(range(20, 40))
    learnt = scorer.score([1], [row], grad=True).logits_RV.log_softmax(-1)[0, 9]
    with bank.route([1]):
        plain = loaded.model(input_ids=torch.tensor([row]), use_cache=False).logits[0, -1].log_softmax(-1)[9]
    for mine, other in zip(
        torch.autograd.grad(learnt, bank.parameters()), torch.autograd.grad(plain, bank.parameters()), strict=True
    ):
        assert float(other[1].abs().max()) > 0
        torch.testing.assert_close(mine, other, rtol=1e-3, atol=1e-3 * float(other.abs().max()))


def test_every_config_that_coplay_would_not_write_is_of_others(tmp_path: Path) -> None:
    """PEFT's own, and those of tools that write some of its settings."""
    plain = {"peft_type": "LORA", "r": 2, "lora_alpha": 4, "target_modules": ["q_proj"]}
    for directory, found in ((tmp_path / "few", plain), (tmp_path / "more", {**plain, "fan_in_fan_out": False})):
        write_config(directory, found)
        assert is_from_elsewhere(directory)
    peft.LoraConfig(**plain).save_pretrained(str(tmp_path / "peft"))
    assert is_from_elsewhere(tmp_path / "peft")
    for found in (plain, {**plain, "layers_to_transform": 0, "use_rslora": True, "rank_pattern": {"q_proj": 3}}):
        write_config(tmp_path / "few", found)
        bank = AdapterBank(fresh("llama"), [SlotName("one", 0)], **adapter_form(tmp_path / "few"))
        export_adapter(bank, 0, tmp_path / "own")
        assert not is_from_elsewhere(tmp_path / "own")

"""Adapters of every form that PEFT's settings have, on several kinds of models: PEFT's logits, or a refusal where PEFT refuses."""

import tempfile
from pathlib import Path
from typing import Any

import pytest
import torch
from adapter_models import KINDS, fresh, loaded_by_peft, logits_of, made_by_peft, settings, write_config
from hypothesis import HealthCheck, given
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st
from small_models import export_adapter, same_state

from coplay.errors import UsageError
from coplay.models.adapter_config import adapter_form
from coplay.models.bank import REFERENCE, AdapterBank, SlotName

SLOTS = [SlotName("one", 0), SlotName("two", 0)]


@pytest.mark.parametrize("kind", KINDS)
@hypothesis_settings(max_examples=15, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(data=st.data())
def test_logits_are_those_of_peft_and_the_adapter_comes_back(kind: str, data: st.DataObject) -> None:
    found = data.draw(settings(kind))
    with tempfile.TemporaryDirectory() as place:
        check(kind, found, Path(place))


def check(kind: str, found: dict[str, Any], place: Path) -> None:
    directory, again = place / "adapter", place / "again"
    theirs = made_by_peft(kind, found, directory)
    if theirs is None:
        write_config(directory, found)
        with pytest.raises(UsageError) as caught:
            AdapterBank(fresh(kind), SLOTS, **adapter_form(directory))
        assert "\n" not in str(caught.value) and "adapter" in str(caught.value)
        return
    expected, plain = logits_of(theirs), logits_of(fresh(kind))
    model = fresh(kind)
    bank = AdapterBank(model, SLOTS, **adapter_form(directory))
    bank.import_peft(0, directory)
    with bank.route([0]):
        torch.testing.assert_close(logits_of(model), expected, rtol=1e-5, atol=1e-5)
    with bank.route([0, REFERENCE]):  # beside a row of the model itself
        mixed = logits_of(model)
    torch.testing.assert_close(mixed, torch.stack([expected[0], plain[1]]), rtol=1e-5, atol=1e-5)
    export_adapter(bank, 0, again, base_model="x")
    torch.testing.assert_close(logits_of(loaded_by_peft(kind, again)), expected, rtol=1e-5, atol=1e-5)
    bank.import_peft(1, again)
    assert same_state(bank.slot_state(0), bank.slot_state(1))
    other = AdapterBank(fresh(kind), SLOTS, **adapter_form(again))
    other.import_peft(1, again)
    assert same_state(bank.slot_state(0), other.slot_state(1)) and other.places == bank.places

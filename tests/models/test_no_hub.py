"""Models on the Hub, where there is none: a command says so at once."""

import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from coplay.errors import UsageError
from coplay.models import hub
from coplay.models.hub import only_here
from coplay.models.loading import load_model, load_tokenizer


@pytest.fixture(autouse=True)
def no_hub(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """A port of this machine at which nobody answers."""
    from huggingface_hub import constants

    monkeypatch.setattr(constants, "ENDPOINT", "http://127.0.0.1:9")
    answers = hub._answers
    answers.cache_clear()
    yield
    answers.cache_clear()


def test_a_model_that_is_nowhere_is_refused_at_once() -> None:
    begun = time.monotonic()
    for load in (load_tokenizer, load_model):
        with pytest.raises(UsageError, match="couldn't find them in the cached files") as caught:
            load("nobody/no-such-model")
        assert "\n" not in str(caught.value)
    assert time.monotonic() - begun < 10


def test_only_what_lies_on_the_hub_is_asked_for(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert only_here("nobody/no-such-model")
    monkeypatch.setattr(hub, "_answers", None)
    assert not only_here(str(tmp_path))

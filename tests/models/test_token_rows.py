"""A tokenizer may have tokens that its model lacks: prompts without them are encoded, and one with such a token is refused, not looked up."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from small_models import write_checkpoint

from coplay.errors import UsageError
from coplay.models.encoding import PromptEncoder
from coplay.models.loading import LoadedModel, encode, encode_all, load_model


@pytest.fixture(scope="module")
def loaded(tmp_path_factory: pytest.TempPathFactory) -> LoadedModel:
    """A model with two tokens more in its tokenizer than in its embedding, as Gemma 3's have one for pictures."""
    path = write_checkpoint(tmp_path_factory.mktemp("rows") / "model", "qwen2")
    file = path / "tokenizer.json"
    found = json.loads(file.read_text())
    rows = json.loads((path / "config.json").read_text())["vocab_size"]
    for i, content in enumerate(("points", "<picture>")):
        flags = dict.fromkeys(("single_word", "lstrip", "rstrip", "normalized", "special"), False)
        found["added_tokens"].append({"id": rows + 7 * i, "content": content, **flags})
    file.write_text(json.dumps(found))
    return load_model(str(path), device="cpu")


@settings(max_examples=100, deadline=None)
@given(
    words=st.lists(
        st.sampled_from(["Reply", " C", "<|im_start|>", "<picture>", "points", "point", "7", "\n"]), max_size=6
    )
)
def test_only_prompts_with_such_a_token_are_refused(loaded: LoadedModel, words: list[str]) -> None:
    text = "".join(words)
    wanted = loaded.tokenizer(text, add_special_tokens=False)["input_ids"]
    rows = loaded.model.config.vocab_size
    for encoder in (encode_all, lambda tokenizer, texts: PromptEncoder(tokenizer).encode(texts)):
        if max(wanted, default=0) < rows:
            assert encoder(loaded.tokenizer, [text]) == [tuple(wanted)]
        else:
            with pytest.raises(
                UsageError, match=rf"its tokenizer writes token \d+ .*, but its embedding has {rows} rows"
            ):
                encoder(loaded.tokenizer, [text])


def test_a_tokenizer_that_fits_is_not_looked_at(tmp_path: Path) -> None:
    fitting = load_model(str(write_checkpoint(tmp_path / "model", "llama")), device="cpu")
    assert encode(fitting.tokenizer, "points")

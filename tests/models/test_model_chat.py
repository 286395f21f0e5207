"""How loaded models are talked to, with their weights or without."""

import json
import shutil
from pathlib import Path

import pytest
from small_models import FAMILIES, small_tokenizer

from coplay.errors import UsageError
from coplay.models import talking
from coplay.models.known import TINY
from coplay.models.labels import reply_tokens
from coplay.models.loading import encode, load_model, load_tokenizer
from coplay.models.talking import model_chat
from coplay.text.chat import ChatFormat, PromptParts, gemma, llama
from coplay.text.model_chat import Chat

PARTS = PromptParts("The rules.", "", "The state.", "Choose.", ("C", "D"))


@pytest.mark.parametrize("family", FAMILIES)
def test_chat_format_without_weights(checkpoints: dict[str, Path], family: str) -> None:
    with_weights = load_model(str(checkpoints[family]), device="cpu").chat
    chat = model_chat(str(checkpoints[family]), None)
    assert chat.format is ChatFormat.TEMPLATE
    assert (chat.prompt(PARTS), chat.stop, chat.closing) == (
        with_weights.prompt(PARTS),
        with_weights.stop,
        with_weights.closing,
    )
    assert model_chat(str(checkpoints[family]), ChatFormat.LLAMA).prompt(PARTS) == llama(PARTS)


@pytest.mark.parametrize(
    ("name", "chat"), [(TINY, None), (TINY, "gemma"), ("no/model", "gemma"), ("no/model", "llama")]
)
def test_prompts_in_a_printed_form_need_no_tokenizer(
    name: str, chat: str | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(talking, "load_tokenizer", None)
    form = None if chat is None else ChatFormat(chat)
    printed = llama if chat == "llama" else gemma
    assert model_chat(name, form, choices=True).prompt(PARTS) == printed(PARTS)


@pytest.mark.parametrize("family", FAMILIES)
def test_a_rendered_prompt_keeps_its_special_tokens_whole(checkpoints: dict[str, Path], family: str) -> None:
    loaded = load_model(str(checkpoints[family]), device="cpu")
    text = loaded.chat.prompt(PARTS)
    ids = encode(loaded.tokenizer, text)
    special = set(loaded.tokenizer.all_special_tokens)
    found = [token for token in loaded.tokenizer.convert_ids_to_tokens(list(ids)) if token in special]
    assert len(found) >= 3
    assert loaded.tokenizer.decode(list(ids)) == text
    tokens = reply_tokens(loaded.tokenizer, text, ["C", "D"])
    assert [loaded.tokenizer.decode([token]) for token in tokens] == ["C", "D"]


def test_templates_with_a_system_role_get_one_and_others_do_not(checkpoints: dict[str, Path]) -> None:
    tokenizer = load_tokenizer(str(checkpoints["qwen2"]))
    assert Chat(tokenizer).prompt(PARTS) == (
        "<|im_start|>system\nThe rules.<|im_end|>\n<|im_start|>user\nThe state.\nChoose.<|im_end|>\n"
        "<|im_start|>assistant\n"
    )
    tokenizer.chat_template = (
        "{% for m in messages %}{% if m['role'] == 'system' %}{{ raise_exception('No system role.') }}{% endif %}"
        "[{{ m['content'] }}]{% endfor %}"
    )
    assert Chat(tokenizer).prompt(PARTS) == "[The rules.\nThe state.\nChoose.]"


def test_a_tokenizer_without_any_chat_format_is_refused() -> None:
    tokenizer = small_tokenizer("qwen2")
    tokenizer.chat_template = None
    with pytest.raises(UsageError, match="set chat=gemma or chat=llama"):
        Chat(tokenizer)


def test_ends_of_a_models_files_count(checkpoints: dict[str, Path], tmp_path: Path) -> None:
    """Of the generation config if there is one, else of the config; the same with weights and without."""
    directory = tmp_path / "model"
    shutil.copytree(checkpoints["qwen2"], directory)
    for name, ends in (("config.json", 7), ("generation_config.json", [3, 5])):
        file = directory / name
        known = json.loads(file.read_text()) if file.exists() else {}
        file.write_text(json.dumps(known | {"eos_token_id": ends}))
    with_weights, without = load_model(str(directory), device="cpu").chat, model_chat(str(directory), None)
    assert with_weights.stop == without.stop >= {3, 5}
    (directory / "generation_config.json").unlink()
    assert 7 in load_model(str(directory), device="cpu").chat.stop and 7 in model_chat(str(directory), None).stop


def test_the_date_is_given_when_a_model_is_loaded(checkpoints: dict[str, Path], tmp_path: Path) -> None:
    directory = tmp_path / "model"
    shutil.copytree(checkpoints["qwen2"], directory)
    template = "{{ strftime_now('%Y') }}{% for m in messages %}[{{ m.content }}]{% endfor %}"
    (directory / "chat_template.jinja").write_text(template)
    for load in (
        lambda **day: load_model(str(directory), device="cpu", **day).chat,
        lambda **day: model_chat(str(directory), None, **day),
    ):
        assert load().prompt(PARTS).startswith("2025[")
        assert load(chat_date="2031-02-28").prompt(PARTS).startswith("2031[")

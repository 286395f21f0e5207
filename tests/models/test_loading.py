"""Loading: what is there is loaded by one path, what is not is said in one line."""

import shutil
from pathlib import Path
from typing import Any

import pytest
import torch
from small_models import CHAT, FAMILIES, small_tokenizer

from coplay.errors import UsageError
from coplay.models.known import TINY
from coplay.models.loading import chat_format, encode, load_model, model_path, reply_tokens
from coplay.text.chat import ChatFormat, PromptParts, detect, renderer

PARTS = PromptParts("The rules.", "", "The state.", "Choose.", ("C", "D"))


@pytest.mark.parametrize("family", FAMILIES)
def test_a_directory_loads_frozen_and_tells_its_chat_format(checkpoints: dict[str, Path], family: str) -> None:
    loaded = load_model(str(checkpoints[family]), device="cpu")
    assert loaded.chat is CHAT[family]
    assert not loaded.model.training
    assert not any(parameter.requires_grad for parameter in loaded.model.parameters())
    assert loaded.model.dtype == torch.float32
    assert load_model(str(checkpoints[family]), device="cpu", chat=ChatFormat.GEMMA).chat is ChatFormat.GEMMA


def test_the_embedded_model_takes_the_same_path() -> None:
    loaded = load_model(TINY, device="cpu")
    assert loaded.name == TINY
    assert loaded.chat is ChatFormat.GEMMA
    assert reply_tokens(loaded.tokenizer, "<start_of_turn>model\n", ["C", "D"])


@pytest.mark.parametrize("family", FAMILIES)
def test_chat_format_without_weights(checkpoints: dict[str, Path], family: str) -> None:
    chat, tokenizer = chat_format(str(checkpoints[family]), None)
    assert chat is CHAT[family]
    assert tokenizer is not None
    assert chat_format(str(checkpoints[family]), ChatFormat.LLAMA) == (ChatFormat.LLAMA, None)


def test_chat_format_of_the_embedded_model_needs_no_tokenizer() -> None:
    assert chat_format(TINY, None) == (ChatFormat.GEMMA, None)


@pytest.mark.parametrize("family", FAMILIES)
def test_a_rendered_prompt_keeps_its_special_tokens_whole(checkpoints: dict[str, Path], family: str) -> None:
    loaded = load_model(str(checkpoints[family]), device="cpu")
    text = renderer(loaded.chat, loaded.tokenizer)(PARTS)
    ids = encode(loaded.tokenizer, text)
    special = set(loaded.tokenizer.all_special_tokens)
    found = [token for token in loaded.tokenizer.convert_ids_to_tokens(list(ids)) if token in special]
    assert len(found) >= 3
    assert loaded.tokenizer.decode(list(ids)) == text
    tokens = reply_tokens(loaded.tokenizer, text, ["C", "D"])
    assert [loaded.tokenizer.decode([token]) for token in tokens] == ["C", "D"]


def test_templates_with_a_system_role_get_one_and_others_do_not(checkpoints: dict[str, Path]) -> None:
    _, tokenizer = chat_format(str(checkpoints["qwen2"]), None)
    assert renderer(ChatFormat.TEMPLATE, tokenizer)(PARTS) == (
        "<|im_start|>system\nThe rules.<|im_end|>\n<|im_start|>user\nThe state.\nChoose.<|im_end|>\n"
        "<|im_start|>assistant\n"
    )
    tokenizer.chat_template = (
        "{% for m in messages %}{% if m['role'] == 'system' %}{{ raise_exception('No system role.') }}{% endif %}"
        "[{{ m['content'] }}]{% endfor %}"
    )
    assert renderer(ChatFormat.TEMPLATE, tokenizer)(PARTS) == "[The rules.\nThe state.\nChoose.]"


def test_a_tokenizer_without_any_chat_format_is_refused() -> None:
    tokenizer = small_tokenizer("qwen2")
    tokenizer.chat_template = None
    with pytest.raises(UsageError, match="set chat=gemma or chat=llama"):
        detect(tokenizer)


@pytest.mark.parametrize("labels", [["cooperate", "defect"], ["C", "\N{SNOWMAN}"], ["C", ""], ["C ", "D"]])
def test_labels_of_several_tokens_or_none_are_refused(checkpoints: dict[str, Path], labels: list[str]) -> None:
    _, tokenizer = chat_format(str(checkpoints["qwen2"]), None)
    with pytest.raises(UsageError, match="not a single token") as caught:
        reply_tokens(tokenizer, "Reply: ", labels)
    assert "\n" not in str(caught.value)
    assert repr(labels[-1]) in str(caught.value) or repr(labels[0]) in str(caught.value)


def test_equal_labels_are_refused(checkpoints: dict[str, Path]) -> None:
    _, tokenizer = chat_format(str(checkpoints["qwen2"]), None)
    with pytest.raises(UsageError, match="not different tokens"):
        reply_tokens(tokenizer, "Reply: ", ["C", "C"])


# --- What is not there ------------------------------------------------------------------------------------------------------------


def refused(name: Any, match: str) -> None:
    for load in (lambda: load_model(str(name), device="cpu"), lambda: chat_format(str(name), None)):
        with pytest.raises(UsageError, match=match) as caught:
            load()
        assert "\n" not in str(caught.value)


@pytest.mark.parametrize("name", ["/no/such/place", "./nowhere", "~/nowhere/at/all", "tinny", ""])
def test_a_missing_path_is_said_to_be_missing(name: str) -> None:
    refused(name, "there is no model at|without config.json")


def test_a_directory_without_config_is_no_model(tmp_path: Path) -> None:
    refused(tmp_path, "without config.json")


def test_a_hub_id_is_left_to_the_hub() -> None:
    assert model_path("google/gemma-2-2b-it") == "google/gemma-2-2b-it"


def copy(source: Path, to: Path, *, without: str) -> Path:
    shutil.copytree(source, to)
    (to / without).unlink()
    return to


def test_weights_come_from_safetensors_only(checkpoints: dict[str, Path], tmp_path: Path) -> None:
    directory = copy(checkpoints["llama"], tmp_path / "pickled", without="model.safetensors")
    state = load_model(str(checkpoints["llama"]), device="cpu").model.state_dict()
    torch.save(state, directory / "pytorch_model.bin")
    with pytest.raises(UsageError, match="could not be loaded"):
        load_model(str(directory), device="cpu")


def test_damaged_or_missing_weights_are_one_line(checkpoints: dict[str, Path], tmp_path: Path) -> None:
    missing = copy(checkpoints["llama"], tmp_path / "missing", without="model.safetensors")
    with pytest.raises(UsageError, match="could not be loaded"):
        load_model(str(missing), device="cpu")
    (missing / "model.safetensors").write_bytes(b"torn")
    with pytest.raises(UsageError, match="could not be loaded"):
        load_model(str(missing), device="cpu")


def test_a_missing_tokenizer_is_one_line(checkpoints: dict[str, Path], tmp_path: Path) -> None:
    directory = copy(checkpoints["llama"], tmp_path / "model", without="tokenizer.json")
    refused(directory, "could not be loaded")


@pytest.mark.parametrize("text", ["{", "[]", '{"model_type": "nonesuch"}'])
def test_a_damaged_config_is_one_line(checkpoints: dict[str, Path], tmp_path: Path, text: str) -> None:
    directory = copy(checkpoints["llama"], tmp_path / "model", without="config.json")
    (directory / "config.json").write_text(text)
    with pytest.raises(UsageError, match="could not be loaded"):
        load_model(str(directory), device="cpu")

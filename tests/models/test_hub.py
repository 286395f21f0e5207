"""Models of the Hub are directories by the time they are checked: only what is read is downloaded, of one revision, and refused as in any directory."""

from __future__ import annotations

import json
import shutil
from collections.abc import Sequence
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

import huggingface_hub
import pytest
import torch
from safetensors.torch import load_file, save_file
from small_models import write_checkpoint
from transformers import AutoConfig, AutoModelForCausalLM

from coplay.errors import UsageError
from coplay.models.loading import load_model

REVISION = "a" * 40


@pytest.fixture
def hub(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The files of the only model that the Hub has, ``org/name``."""
    online, kept = write_checkpoint(tmp_path / "online", "qwen2"), tmp_path / "snapshots" / REVISION
    (online / "original").mkdir()
    for large in ("pytorch_model.bin", "consolidated.safetensors", "original/params.safetensors"):
        (online / large).write_bytes(b"large")

    def download(name: str, *, allow_patterns: Sequence[str], revision: str = REVISION, local_files_only: bool) -> str:
        assert (name, revision, local_files_only) == ("org/name", REVISION, False)
        for file in (path for path in online.rglob("*") if path.is_file()):
            place = file.relative_to(online).as_posix()
            if any(fnmatchcase(place, pattern) for pattern in allow_patterns):
                (kept / place).parent.mkdir(parents=True, exist_ok=True)
                shutil.copy(file, kept / place)
        return str(kept)

    monkeypatch.setattr(huggingface_hub, "snapshot_download", download)
    monkeypatch.setattr("coplay.models.hub._answers", lambda: True)
    return online


@pytest.mark.parametrize("sharded", [False, True])
def test_what_is_read_is_downloaded_and_nothing_else(hub: Path, sharded: bool) -> None:
    if sharded:
        model = AutoModelForCausalLM.from_pretrained(hub)
        (hub / "model.safetensors").unlink()
        model.save_pretrained(hub, max_shard_size="20KB")
        assert len(list(hub.glob("model-*.safetensors"))) > 1
    found, there = load_model("org/name", device="cpu"), load_model(str(hub), device="cpu")
    ids = torch.tensor([[5, 6, 7]])
    assert torch.equal(found.model(input_ids=ids).logits, there.model(input_ids=ids).logits)
    assert found.name == "org/name" and found.files is not None and found.files.name == REVISION
    weights = {file.name for file in hub.glob("model*.safetensors")}
    assert {file.name for file in found.files.rglob("*.safetensors")} == weights
    assert not (found.files / "pytorch_model.bin").exists()


def whole_numbers(directory: Path) -> None:
    tensors = load_file(str(directory / "model.safetensors"))
    name = "model.layers.0.self_attn.q_proj.weight"
    save_file({**tensors, name: tensors[name].to(torch.int8)}, str(directory / "model.safetensors"), {"format": "pt"})


def many_layers(directory: Path) -> None:
    config = json.loads((directory / "config.json").read_text())
    (directory / "config.json").write_text(json.dumps({**config, "num_hidden_layers": 10**7}))


@pytest.mark.parametrize(
    ("spoil", "told"),
    [
        (whole_numbers, "of whole numbers"),
        (many_layers, "num_hidden_layers is 10,000,000, but the files have"),
        (lambda directory: (directory / "adapter_config.json").write_text("{}"), "holds an adapter_config.json"),
        (lambda directory: (directory / "model.safetensors").unlink(), "no file named model.safetensors"),
        (lambda directory: (directory / "model.safetensors.index.json").write_text("{}"), None),
    ],
)
def test_what_is_refused_in_a_directory_is_refused_of_the_hub(hub: Path, spoil: Any, told: str | None) -> None:
    spoil(hub)
    for name in ("org/name", str(hub)):
        if told is None:  # where the weights are in one file nothing reads the index
            load_model(name, device="cpu")
            continue
        with pytest.raises(UsageError, match=rf"model: {name} could not be loaded: .*{told}") as refused:
            load_model(name, device="cpu")
        assert "\n" not in str(refused.value)


def test_a_model_that_is_not_there_is_refused_in_the_words_of_transformers(monkeypatch: pytest.MonkeyPatch) -> None:
    def missing(*args: object, **options: object) -> None:
        raise OSError("org/name is not a valid model identifier\nIf this is a private repository, log in")

    monkeypatch.setattr("coplay.models.hub._answers", lambda: True)
    monkeypatch.setattr(huggingface_hub, "snapshot_download", missing)
    monkeypatch.setattr(AutoConfig, "from_pretrained", missing)
    with pytest.raises(
        UsageError, match=r"^model: org/name could not be loaded: org/name is not a valid model id[a-z]+$"
    ):
        load_model("org/name", device="cpu")

"""A model's directory holds regular files: whatever else lies there is refused before a library waits for it, and so are numbers that no float holds."""

from __future__ import annotations

import os
import shutil
import socket
from collections.abc import Callable
from pathlib import Path

import pytest

from coplay.errors import UsageError
from coplay.models.known import TINY, known_path
from coplay.models.loading import load_model, load_tokenizer, model_path
from coplay.models.model_files import MOST_TEMPLATE_BYTES, check_files


def _socket(path: Path) -> None:
    here = os.getcwd()
    os.chdir(path.parent)  # the name of a socket is short
    try:
        with socket.socket(socket.AF_UNIX) as one:
            one.bind(path.name)
    finally:
        os.chdir(here)


SPECIAL: dict[str, Callable[[Path], object]] = {
    "a FIFO": os.mkfifo,
    "a socket": _socket,
    "a device": lambda path: path.symlink_to("/dev/zero"),
    "a link that leads nowhere": lambda path: path.symlink_to("nowhere"),
    "a link that leads nowhere .Too many": lambda path: path.symlink_to(path.name),
}
"""What is not a file, and how it is called."""

FILES = (
    *("config.json", "generation_config.json", "tokenizer.json", "tokenizer_config.json", "model.safetensors"),
    *("chat_template.jinja", "additional_chat_templates/one.jinja", "tokenizer.model", "anything"),
)


@pytest.fixture
def directory(tmp_path: Path) -> Path:
    return shutil.copytree(known_path(TINY), tmp_path / "model", ignore=shutil.ignore_patterns("*.py", "__pycache__"))


@pytest.mark.parametrize("what", SPECIAL)
@pytest.mark.parametrize("name", FILES)
def test_what_is_no_file_is_refused_and_not_waited_for(directory: Path, name: str, what: str) -> None:
    file = directory / name
    file.parent.mkdir(exist_ok=True)
    file.unlink(missing_ok=True)
    SPECIAL[what](file)
    for load in (model_path, load_tokenizer, load_model):
        with pytest.raises(UsageError, match=name if name == "config.json" else f"{name} is {what}"):
            load(str(directory))


def test_links_to_files_are_followed(directory: Path, tmp_path: Path) -> None:
    """The Hub's library keeps a model as links."""
    blobs = tmp_path / "blobs"
    blobs.mkdir()
    for i, file in enumerate(sorted(path for path in directory.iterdir() if path.is_file())):
        file.rename(blobs / str(i))
        file.symlink_to(Path("..") / "blobs" / str(i))
    check_files(directory)
    assert load_model(str(directory)).model.config.vocab_size > 0


@pytest.mark.parametrize(
    "name", ["config.json", "generation_config.json", "tokenizer_config.json", "tokenizer.json", "added_tokens.json"]
)
def test_numbers_that_no_float_holds_are_refused_by_key(directory: Path, name: str) -> None:
    (directory / name).write_text('{"some": {"key": [1e999]}}')
    with pytest.raises(UsageError, match=rf"{name} is damaged: .*some\.key\[0\]: 1e999 is too large"):
        load_tokenizer(str(directory))


def test_what_a_training_left_there_is_its_own_business(directory: Path) -> None:
    (directory / "trainer_state.json").write_text('{"loss": NaN}')
    (directory / "all_results.json").write_text("{")
    (directory / "checkpoint-500").mkdir()
    os.mkfifo(directory / "checkpoint-500" / "fifo")
    check_files(directory)


def test_a_template_of_endless_length_is_not_read(directory: Path) -> None:
    with open(directory / "chat_template.jinja", "wb") as file:
        file.truncate(MOST_TEMPLATE_BYTES + 1)
    with pytest.raises(UsageError, match=r"chat_template\.jinja has 1,048,577 bytes; files of its kind have at most"):
        load_tokenizer(str(directory))

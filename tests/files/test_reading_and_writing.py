"""The reader takes regular files of bounded size, depth and version; the writer replaces whole files and follows no link."""

import gzip
import json
import os
from pathlib import Path

import pytest

from coplay.errors import UsageError
from coplay.files.lock import locked
from coplay.files.reading import decompressed, parse_json, parse_lines, read_bytes, read_toml
from coplay.files.writing import Taken, append, new_directory, write_file


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("[" * 100_000, "nested too deeply"),
        ("[" * 100 + "]" * 100, "more than 64 levels deep"),
        ('{"a":' * 100 + "1" + "}" * 100, "more than 64 levels deep"),
        ("NaN", "NaN is no JSON number"),
        ("[1e999]", "too large"),
        ("9" * 5000, "not JSON"),
        ("{}{}", "not JSON"),
        ("", "not JSON"),
        (b'"\xff"', "not JSON"),
    ],
)
def test_what_is_no_plain_json_is_refused_with_its_name(text: str | bytes, message: str) -> None:
    with pytest.raises(UsageError, match=f"it.json is damaged: .*{message}"):
        parse_json(text, "it.json")


def test_wide_and_moderately_deep_json_is_read() -> None:
    data = {"a": [[[[[{"b": list(range(1000))}]]]]] * 50}
    assert parse_json(json.dumps(data), "it") == data


def test_lines_are_named() -> None:
    path = Path("metrics.jsonl")
    assert parse_lines(b'{"a": 1}\n{"a": 2}\n{"a', path) == [{"a": 1}, {"a": 2}]
    assert parse_lines(b'{"a": 1}\n{"a": 2}', path) == [{"a": 1}, {"a": 2}]
    for line in (b"{", b"5", b'{"version": 99}', b""):
        with pytest.raises(UsageError, match=r"metrics\.jsonl, line 2 "):
            parse_lines(b'{"a": 1}\n' + line + b'\n{"a": 3}\n', path)


def test_a_compressed_file_takes_no_more_memory_than_it_may() -> None:
    bomb = gzip.compress(b"0" * 10_000_000)
    with pytest.raises(UsageError, match="more than 1,000 bytes when it is decompressed"):
        decompressed(bomb, Path("x.gz"), most=1000)
    assert decompressed(gzip.compress(b"one") + gzip.compress(b"two"), Path("x.gz")) == b"onetwo"
    with pytest.raises(UsageError, match="ends early"):
        decompressed(gzip.compress(b"one" * 100)[:-9], Path("x.gz"))


def test_only_regular_files_are_read(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "fifo")
    (tmp_path / "folder").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "file")
    (tmp_path / "file").write_text("content")
    for name in ("fifo", "folder"):
        with pytest.raises(UsageError, match=f"{name} is not a regular file|{name} is a directory"):
            read_bytes(tmp_path / name)
    assert read_bytes(tmp_path / "link") == b"content"
    with pytest.raises(UsageError, match="link is a link"):
        read_bytes(tmp_path / "link", follow=False)
    with pytest.raises(UsageError, match="file has 7 bytes; files of its kind have at most 3"):
        read_bytes(tmp_path / "file", most=3)
    with pytest.raises(FileNotFoundError):
        read_bytes(tmp_path / "nothing")


@pytest.mark.parametrize("text", ["a = " + "[" * 5000, "a = " + "[" * 100 + "]" * 100, "a =", "\xff"])
def test_toml_that_is_none(tmp_path: Path, text: str) -> None:
    (tmp_path / "it.toml").write_text(text, encoding="latin-1")
    with pytest.raises(UsageError, match=r"it\.toml"):
        read_toml(tmp_path / "it.toml")


def test_nothing_is_written_through_a_link(tmp_path: Path) -> None:
    outside, root = tmp_path / "outside", tmp_path / "root"
    outside.mkdir()
    root.mkdir()
    (outside / "mine").write_text("mine")
    (root / "file").symlink_to(outside / "mine")
    (root / "folder").symlink_to(outside)
    write_file(root, "file", "new")
    assert (root / "file").read_text() == "new" and not (root / "file").is_symlink()
    with pytest.raises(UsageError, match="folder is a link"):
        write_file(root, "folder/mine", "new")
    (root / "log").symlink_to(outside / "mine")
    with pytest.raises(UsageError, match="log is a link"):
        append(root, "log", "new")
    assert (outside / "mine").read_text() == "mine" and os.listdir(outside) == ["mine"]


def test_nothing_is_written_into_what_is_no_file(tmp_path: Path) -> None:
    """Opening a FIFO to write waits for a reader; one with a reader would take what belongs to a run."""
    os.mkfifo(tmp_path / "log")
    with pytest.raises(UsageError, match="log is not a regular file"):
        append(tmp_path, "log", "new")
    reader = os.open(tmp_path / "log", os.O_RDONLY | os.O_NONBLOCK)
    try:
        with pytest.raises(UsageError, match="log is not a regular file"):
            append(tmp_path, "log", "new")
        assert os.read(reader, 10) == b""
    finally:
        os.close(reader)


def test_names_lead_nowhere_else(tmp_path: Path) -> None:
    for name in ("../x", "/tmp/x", "a/../../x", ""):
        with pytest.raises(UsageError, match="is no path below"):
            write_file(tmp_path, name, "x")


def test_what_dead_processes_left_is_deleted(tmp_path: Path) -> None:
    (tmp_path / ".coplay-999999999.tmp").write_text("half")
    (tmp_path / ".coplay-999999999.new").mkdir()
    (tmp_path / ".coplay-1.tmp").write_text("of a process that runs")
    write_file(tmp_path, "file", "whole")
    assert sorted(os.listdir(tmp_path)) == [".coplay-1.tmp", "file"]


@pytest.mark.parametrize("place", ["/proc/self/new", "/proc/new/one"])
def test_a_directory_that_cannot_be_made_is_called_as_it_was_asked_for(place: str) -> None:
    with pytest.raises(OSError, match="no directory can be made there") as caught, new_directory(Path(place)):
        pass
    assert caught.value.filename == place


def test_a_new_directory_is_there_whole_or_not_at_all(tmp_path: Path) -> None:
    def fails() -> None:
        with new_directory(tmp_path / "new") as folder:
            write_file(folder, "file", "half")
            raise RuntimeError

    with pytest.raises(RuntimeError):
        fails()
    assert os.listdir(tmp_path) == []
    (tmp_path / "new").mkdir()  # an empty one may be there
    with new_directory(tmp_path / "new") as folder:
        write_file(folder, "file", "whole")
    assert os.listdir(tmp_path / "new") == ["file"]
    with pytest.raises(Taken, match="exists already"), new_directory(tmp_path / "new"):
        pass
    assert (tmp_path / "new" / "file").read_text() == "whole" and os.listdir(tmp_path) == ["new"]


def test_names_of_the_longest_length_can_be_written(tmp_path: Path) -> None:
    with new_directory(tmp_path / ("x" * 255)) as folder:
        write_file(folder, "y" * 255, "long")
    assert (tmp_path / ("x" * 255) / ("y" * 255)).read_text() == "long"


def test_a_lock_sweeps_out_what_a_dead_process_was_writing(tmp_path: Path) -> None:
    (tmp_path / "checkpoints").mkdir()
    for folder in (tmp_path, tmp_path / "checkpoints"):
        (folder / ".coplay-999999999.tmp").write_text("half")
    (tmp_path / ".coplay-1.tmp").write_text("of a process that runs")
    with locked(tmp_path):
        assert [path.name for path in tmp_path.rglob(".coplay-*")] == [".coplay-1.tmp"]

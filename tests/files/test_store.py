"""A directory consists of what its manifest lists, at every moment, whoever dies."""

import json
import os
from pathlib import Path

import pytest

from coplay.errors import UsageError
from coplay.files import store as stores
from coplay.files.store import Entry, Store, entry_of, sealed, unsealed


def made(root: Path) -> Store:
    store = Store(root, "run")
    store.write("config.json", '{"version": 2}\n')
    store.write("env.json", '{"version": 2}\n')
    store.append("metrics.jsonl", '{"step": 1}\n')
    store.commit(step=1)
    return store


class Died(BaseException):
    """Stands in for a process's death."""


def test_what_was_committed_is_read_back(tmp_path: Path) -> None:
    made(tmp_path)
    found = Store.open(tmp_path, "run")
    assert (found.step, found.finished) == (1, False)
    assert found.read_object("config.json") == {"version": 2}
    assert found.read_lines("metrics.jsonl") == [{"step": 1}]
    assert found.names("*.json") == ["config.json", "env.json"]
    found.check()
    found.check_lengths()


def test_what_was_not_committed_does_not_belong_to_it(tmp_path: Path) -> None:
    store = made(tmp_path)
    store.write("eval.json", "{}\n")
    store.append("metrics.jsonl", '{"step": 2}\n')
    found = Store.open(tmp_path, "run")
    assert not found.has("eval.json")
    with pytest.raises(FileNotFoundError):
        found.read("eval.json")
    assert found.read_lines("metrics.jsonl") == [{"step": 1}, {"step": 2}]  # a run in progress may be looked at
    found.cut_back("metrics.jsonl")
    found.tidy()
    assert sorted(os.listdir(tmp_path)) == ["config.json", "env.json", "manifest.json", "metrics.jsonl"]
    assert (tmp_path / "metrics.jsonl").read_text() == '{"step": 1}\n'


def test_a_file_that_grew_again_after_a_resume_is_whole(tmp_path: Path) -> None:
    made(tmp_path)
    store = Store.open(tmp_path, "run")
    store.cut_back("metrics.jsonl")
    store.append("metrics.jsonl", '{"step": 2}\n')
    store.commit(step=2, finished=True)
    found = Store.open(tmp_path, "run")
    found.check()
    assert found.entries["metrics.jsonl"] == entry_of(b'{"step": 1}\n{"step": 2}\n')
    (tmp_path / "metrics.jsonl").write_text('{"step": 1}\n{"step": 2}\n{"step": 3}\n')
    with pytest.raises(UsageError, match=r"metrics\.jsonl is damaged: it has 36 bytes instead of 24"):
        found.check_lengths()
    with pytest.raises(UsageError, match=r"metrics\.jsonl is damaged or another file"):
        found.read("metrics.jsonl")


@pytest.mark.parametrize("when", ["manifest before", "file", "manifest after"])
def test_a_replaced_file_is_old_or_new_whenever_the_process_dies(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, when: str
) -> None:
    store = made(tmp_path)
    write, calls = stores.write_file, []

    def dying(root: Path, name: str, data: bytes | str) -> None:
        calls.append(name)
        if len(calls) == ["manifest before", "file", "manifest after"].index(when) + 1:
            raise Died
        write(root, name, data)

    monkeypatch.setattr(stores, "write_file", dying)
    with pytest.raises(Died):
        store.replace("env.json", '{"version": 2, "new": true}\n')
    monkeypatch.undo()
    found = Store.open(tmp_path, "run")
    found.check()
    found.check_lengths()
    assert ("new" in found.read_object("env.json")) == (when == "manifest after")
    found.tidy()
    settled = Store.open(tmp_path, "run").entries["env.json"]
    assert settled == entry_of((tmp_path / "env.json").read_bytes())  # as if nobody had died
    found.replace("env.json", '{"version": 2, "newer": true}\n')
    found = Store.open(tmp_path, "run")
    assert found.read_object("env.json") == {"version": 2, "newer": True}
    assert found.entries["env.json"].was is None


DAMAGES = {
    "halved": lambda data: data[: len(data) // 2],
    "emptied": lambda data: b"",
    "doubled": lambda data: data * 2,
    "a bit flipped": lambda data: bytes([data[0] ^ 1]) + data[1:],
    "another's": lambda data: data.replace(b"1", b"7").replace(b"2", b"8"),
}


@pytest.mark.parametrize("name", ["config.json", "metrics.jsonl"])
@pytest.mark.parametrize("damage", DAMAGES)
def test_a_damaged_file_is_refused_with_its_name(tmp_path: Path, name: str, damage: str) -> None:
    made(tmp_path).commit(finished=True)
    path = tmp_path / name
    path.write_bytes(DAMAGES[damage](path.read_bytes()))
    with pytest.raises(UsageError, match=name.replace(".", r"\.") + " is damaged"):
        Store.open(tmp_path, "run").check()


@pytest.mark.parametrize("damage", DAMAGES)
def test_a_damaged_manifest_is_refused_with_its_name(tmp_path: Path, damage: str) -> None:
    made(tmp_path)
    path = tmp_path / "manifest.json"
    path.write_bytes(DAMAGES[damage](path.read_bytes()))
    with pytest.raises(UsageError, match=r"manifest\.json (is damaged|has version 7)"):
        Store.open(tmp_path, "run")


def test_a_missing_file_and_a_missing_manifest(tmp_path: Path) -> None:
    store = made(tmp_path)
    (tmp_path / "config.json").unlink()
    for check in (store.check, store.check_lengths):
        with pytest.raises(UsageError, match=r"config\.json is missing\. Restore it from a copy, or train anew"):
            check()
    (tmp_path / "manifest.json").unlink()
    with pytest.raises(UsageError, match=r"manifest\.json is missing, so nothing says what belongs there"):
        Store.open(tmp_path, "run")


def test_a_link_in_the_place_of_a_file_is_refused(tmp_path: Path) -> None:
    store = made(tmp_path / "run")
    secret = tmp_path / "secret"
    secret.write_text('{"version": 2}\n')
    (tmp_path / "run" / "config.json").unlink()
    (tmp_path / "run" / "config.json").symlink_to(secret)
    with pytest.raises(UsageError, match=r"config\.json is a link"):
        store.read("config.json")
    store.write("config.json", "{}\n")
    assert secret.read_text() == '{"version": 2}\n'
    assert not (tmp_path / "run" / "config.json").is_symlink()


def test_directories_of_before_manifests_are_read_as_they_are(tmp_path: Path) -> None:
    (tmp_path / "env.json").write_text('{"version": 1}')
    (tmp_path / "config.json").write_text('{"version": 1}')
    store = Store.open(tmp_path, "run")
    assert not store.has_manifest and store.has("config.json") and not store.has("eval.json")
    assert store.names("*.json") == ["config.json", "env.json"]
    store.commit()
    assert not (tmp_path / "manifest.json").exists()


def test_later_versions_are_refused(tmp_path: Path) -> None:
    store = made(tmp_path)
    store.replace("config.json", json.dumps({"version": 99}))
    with pytest.raises(UsageError, match=r"config\.json has version 99; this coplay reads up to 2\. Upgrade coplay"):
        store.read_object("config.json")
    record = sealed({"version": 99, "files": {}})
    (tmp_path / "manifest.json").write_text(json.dumps(record))
    with pytest.raises(UsageError, match=r"manifest\.json has version 99"):
        Store.open(tmp_path, "run")


def test_a_seal_covers_every_value() -> None:
    record = sealed({"version": 1, "step": 3, "files": {"a": {"length": 1, "sha256": "x"}}})
    assert unsealed(dict(record), Path("manifest.json"))["step"] == 3
    with pytest.raises(UsageError, match="does not have its checksum"):
        unsealed(record | {"step": 2}, Path("manifest.json"))


def test_an_entry_accepts_what_it_was_while_it_is_replaced() -> None:
    entry = Entry(3, entry_of(b"new").sha256, was=entry_of(b"old").sha256)
    assert entry.fits(b"new") and entry.fits(b"old") and not entry.fits(b"odd")


@pytest.mark.parametrize("name", ["/etc/passwd", "../secret", "adapters/../../secret"])
def test_a_strangers_manifest_names_no_file_elsewhere(tmp_path: Path, name: str) -> None:
    record = sealed({"version": 1, "files": {name: {"length": 1, "sha256": "x"}}})
    (tmp_path / "manifest.json").write_text(json.dumps(record))
    with pytest.raises(UsageError, match="is no path below"):
        Store.open(tmp_path, "run")

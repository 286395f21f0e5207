"""The exit status says what was done: whoever reads the output, whatever signal comes, and whatever fails that nobody foresaw."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from shell import TABULAR, TRAIN, Shell

from coplay.cli import reading
from coplay.cli.main import main
from coplay.runs.directory import RunDirectory

SMALL = [*TRAIN, *TABULAR, "--n-seeds", "1", "games=2", "rounds=3", "eval_games=2", "threads=1"]


def started(*arguments: str, **options: object) -> "subprocess.Popen[bytes]":
    """The command line in a process of its own."""
    return subprocess.Popen([sys.executable, "-m", "coplay", *arguments], **options)  # type: ignore[call-overload, no-any-return]


@pytest.mark.slow
def test_a_run_whose_reader_leaves_is_finished() -> None:
    process = started(*SMALL, "trials=40", "--out", "run", stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    assert process.stdout is not None
    assert process.stdout.readline().startswith(b"trial ")
    process.stdout.close()
    assert process.wait(120) == 0
    assert RunDirectory.open(Path("run")).is_finished
    assert len(Path("run/metrics.jsonl").read_text().splitlines()) == 40


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP])
@pytest.mark.parametrize("background", [False, True], ids=["foreground", "ignoring Ctrl-C"])
def test_a_request_to_end_saves_the_run_as_ctrl_c_does(number: signal.Signals, background: bool) -> None:
    if background and number == signal.SIGHUP:
        pytest.skip("one of the two is enough")

    def dispositions() -> None:
        signal.signal(number, signal.SIG_DFL)  # `nohup` ignores a hang-up
        if background:
            signal.signal(signal.SIGINT, signal.SIG_IGN)

    with open("log", "wb") as log:
        process = started(*SMALL, "trials=100000", "--out", "run", stderr=log, preexec_fn=dispositions)
    until = time.monotonic() + 120
    while not (Path("run/metrics.jsonl").exists() and Path("run/metrics.jsonl").stat().st_size):
        assert time.monotonic() < until and process.poll() is None, Path("log").read_text()
        time.sleep(0.05)
    process.send_signal(number)
    assert process.wait(60) == 130
    assert "coplay: saved after trial" in Path("log").read_text()
    assert RunDirectory.open(Path("run")).checkpoints()


def test_output_that_cannot_be_written_is_no_success() -> None:
    with open("/dev/full", "wb") as full:
        process = started("list", "games", stdout=full, stderr=subprocess.PIPE)
        _, said = process.communicate(timeout=60)
    assert (process.returncode, said) == (
        1,
        b"coplay: standard output could not be written: No space left on device\n",
    )


def test_letters_that_the_output_lacks_are_written_as_json_writes_them() -> None:
    environment = os.environ | {"PYTHONIOENCODING": "ascii"}
    Path("own.py").write_text(
        "import coplay\nGAME = coplay.games.make_game('ipd')\nobject.__setattr__(GAME, 'name', 'spiel \U0001f600 ü')\n"
    )
    process = started("check", "own:GAME", "--json", stdout=subprocess.PIPE, env=environment)
    out, _ = process.communicate(timeout=60)
    assert process.returncode == 0
    assert json.loads(out.decode("ascii"))["game"] == "spiel \U0001f600 ü"


@pytest.mark.parametrize(
    ("error", "said"),
    [
        (KeyError("x"), "internal error: KeyError: 'x' ("),
        (RecursionError("too deep\nby far"), "internal error: RecursionError: too deep by far ("),
        (MemoryError(), "there is not enough memory: MemoryError ("),
    ],
)
def test_what_nobody_foresaw_is_one_line(
    coplay: Shell, monkeypatch: pytest.MonkeyPatch, error: Exception, said: str
) -> None:
    def fail() -> None:
        raise error

    monkeypatch.setattr(reading, "_games", fail)
    assert coplay("list", "games") == 1
    assert coplay.err.startswith(f"coplay: {said}") and "test_cli_streams.py" in coplay.err
    assert len(coplay.err.splitlines()) == 1
    monkeypatch.setenv("COPLAY_TRACEBACK", "1")
    with pytest.raises(type(error)):
        main(["list", "games"])


def test_arguments_that_are_no_text_are_refused(coplay: Shell) -> None:
    for arguments in (["check", "x\0y"], [*TRAIN, "--out", "x\udcff"], ["train", "\udc80"], [*TRAIN, "game=\0.toml"]):
        assert coplay(*arguments) == 2
        assert "is not UTF-8 text, or has a null character" in coplay.err


def test_the_streams_are_as_they_were(coplay: Shell) -> None:
    before, handlers = (sys.stdout, sys.stderr), [signal.getsignal(n) for n in (signal.SIGTERM, signal.SIGHUP)]
    assert coplay("list", "games") == 0
    assert (sys.stdout, sys.stderr) == before
    assert [signal.getsignal(n) for n in (signal.SIGTERM, signal.SIGHUP)] == handlers


def test_ctrl_c_in_a_destructor_is_not_lost() -> None:
    code = """
import signal, sys, time
from coplay.cli.main import no_ctrl_c_lost

class Falls:
    def __del__(self):
        signal.raise_signal(signal.SIGINT)

with no_ctrl_c_lost():
    try:
        Falls()
        time.sleep(5)
    except KeyboardInterrupt:
        sys.exit(7)
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60)
    assert (done.returncode, done.stderr) == (7, "")


def test_warnings_cannot_act_on_the_terminal(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "noisy.py").write_text(
        "import warnings\nwarnings.warn('\\x1b[31mred')\nclass P:\n    def act(self, o): return 'C'\n"
    )
    done = subprocess.run(
        [sys.executable, "-m", "coplay", "check", "noisy:P"], cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert "\\x1b[31mred" in done.stderr
    assert "\x1b" not in done.stderr

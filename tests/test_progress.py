"""Progress: a bar on a terminal, which is left as it was found; lines elsewhere; and a reader who leaves ends nothing."""

from __future__ import annotations

import io
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import TextIO

import pytest
from small_runs import SMALL, run_python
from terminal import HIDES_CURSOR, Terminal, terminal

import coplay
from coplay.cli.main import main
from coplay.terminal.progress import Progress, epochs_shown
from coplay.terminal.streams import tell

METRICS = {
    0: {"reward/row": 1.0, "reward/column": 2.0, "illegal/row": 0.0, "illegal/column": 0.01},
    1: {"reward/row": 2.0, "reward/column": None, "illegal/row": 0.0, "illegal/column": 0.03},
}
"""Of two seeds; in one of them column had no legal round."""

TRAIN = ["train", "shapellm/ipd", "--learner", "tabular", "--seeds", "0", *SMALL]


@pytest.fixture(autouse=True)
def known_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TERM", "xterm-256color")
    monkeypatch.setenv("COLUMNS", "100")
    for name in ("LINES", "NO_COLOR", "TTY_INTERACTIVE"):
        monkeypatch.delenv(name, raising=False)


@pytest.fixture
def tty() -> Iterator[Terminal]:
    with terminal() as opened:
        yield opened


def run(progress: Progress, trials: int = 4, *, done: int = 0, fails: int | None = None) -> None:
    with progress.running(trials, done=done):
        for step in range(done + 1, trials + 1):
            progress.show(step, trials, METRICS)
            if step == fails:
                raise RuntimeError("of the trial")


# --- plain lines --------------------------------------------------------------------------------------------------------------------------


def test_lines_where_there_is_no_terminal() -> None:
    out = io.StringIO()
    run(Progress("shaper", out=out), 2)
    assert out.getvalue() == (
        "shaper trial 1/2  reward 1.50 / 2.00  illegal 2.0%  0:00 left\n"
        "shaper trial 2/2  reward 1.50 / 2.00  illegal 2.0%  0:00 left\n"
    )


def test_a_long_run_has_a_line_every_twentieth() -> None:
    out = io.StringIO()
    run(Progress(out=out), 45)
    assert [line.split()[1] for line in out.getvalue().splitlines()] == [f"{n}/45" for n in [*range(2, 45, 2), 45]]


def test_what_is_left_counts_neither_what_was_done_before_nor_the_time_before(monkeypatch: pytest.MonkeyPatch) -> None:
    now = 0.0
    monkeypatch.setattr(time, "monotonic", lambda: now)
    out = io.StringIO()
    progress = Progress(out=out)
    now = 1000.0  # a model is loaded
    with progress.running(10, done=8):
        now = 1065.0
        progress.show(9, 10, METRICS)
    assert "1:05 left" in out.getvalue()


def test_epochs_as_lines(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stderr", out := io.StringIO())
    with epochs_shown(30) as show:
        show(1, 0.25)
    with epochs_shown(30, label="aligning a to b") as show:
        show(1, 0.25)
    with epochs_shown(30, quiet=True) as show:
        show(1, 0.25)
    assert out.getvalue() == "epoch 1/30  KL 0.2500\naligning a to b: epoch 1/30  KL 0.2500\n"


@pytest.mark.parametrize("name", ["dumb", "unknown"])
def test_lines_on_a_terminal_that_cannot_draw(name: str, tty: Terminal, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TERM", name)
    with tty.stream() as out:
        run(Progress("shaper", out=out), 2)
    assert "shaper trial 1/2  reward 1.50 / 2.00  illegal 2.0%  0:00 left\r\n" in tty.ended()


def test_nothing_if_quiet(tty: Terminal) -> None:
    with tty.stream() as out:
        run(Progress("shaper", out=out, quiet=True))
    assert tty.ended() == ""


# --- the bar ------------------------------------------------------------------------------------------------------------------------------


def test_a_bar_on_a_terminal(tty: Terminal) -> None:
    with tty.stream() as out:
        run(Progress("shaper", out=out))
    (line, rest) = tty.lines()
    assert line.startswith("shaper ━━━━━━") and rest == ""
    assert line.endswith("━ trial 4/4  0:00  reward 1.50 / 2.00  illegal 2.0%")
    assert HIDES_CURSOR not in tty.text


def test_time_left_is_shown_while_it_runs(tty: Terminal) -> None:
    with tty.stream() as out:
        progress = Progress(out=out)
        with progress.running(100):
            progress.show(1, 100, METRICS)
            shown = re.compile(r"trial 1/100  \d:\d\d, \d:\d\d left  reward 1.50")
            until = time.monotonic() + 20
            while not shown.search(tty.text) and time.monotonic() < until:
                time.sleep(0.1)  # the bar is drawn anew four times a second, though nothing happens
    assert "trial 0/100" in tty.ended() and shown.search(tty.text)


def test_a_label_is_no_markup_and_gives_way_to_the_numbers(tty: Terminal, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    with tty.stream() as out:
        run(Progress("[red]a label[/red] that goes on and on and on", out=out))
    assert tty.lines()[0].startswith("[red]a")
    assert tty.lines()[0].endswith("trial 4/4  0:00  reward 1.50 / 2.00  illegal 2.0%")


def test_a_narrow_terminal_has_a_bar_without_numbers(tty: Terminal, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "40")
    with tty.stream() as out:
        run(Progress(out=out))
    assert tty.lines()[0].startswith("━━━") and tty.lines()[0].endswith("trial 4/4  0:00")


def test_a_resumed_run_starts_where_it_was(tty: Terminal) -> None:
    with tty.stream() as out:
        run(Progress(out=out), done=3)
    assert "trial 3/4" in tty.ended() and "trial 0/4" not in tty.text


def test_a_finished_run_has_no_bar(tty: Terminal) -> None:
    with tty.stream() as out:
        run(Progress(out=out), done=4)
    assert tty.ended() == ""


def test_one_object_shows_several_runs(tty: Terminal) -> None:
    with tty.stream() as out:
        progress = Progress(out=out)
        for _ in range(2):
            run(progress)
    assert [line.count("trial 4/4") for line in tty.lines()] == [1, 1, 0]


def test_an_error_leaves_the_terminal_as_it_was(tty: Terminal) -> None:
    streams = sys.stdout, sys.stderr
    with tty.stream() as out, pytest.raises(RuntimeError, match="of the trial"):
        run(Progress(out=out), fails=2)
    assert (sys.stdout, sys.stderr) == streams
    assert "trial 2/4" in tty.lines()[0] and "left" not in tty.lines()[0]
    assert HIDES_CURSOR not in tty.text


def test_what_is_printed_meanwhile_stands_above_the_bar(tty: Terminal, monkeypatch: pytest.MonkeyPatch) -> None:
    with tty.stream() as out:
        monkeypatch.setattr(sys, "stderr", out)
        monkeypatch.setattr(sys, "stdout", file := io.StringIO())
        progress = Progress()
        with progress.running(4):
            progress.show(1, 4, METRICS)
            tell("[a] note")
            print("a result")
    assert tty.lines()[0] == "[a] note" and "trial 1/4" in tty.lines()[1]
    assert file.getvalue() == "a result\n"  # a file gets what is its own


# --- readers who leave --------------------------------------------------------------------------------------------------------------------


def abandoned_pipe() -> TextIO:
    end, own = os.pipe()
    os.close(end)
    return os.fdopen(own, "w", buffering=1)


def test_a_reader_who_leaves_ends_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    run(Progress(out=abandoned_pipe()))
    monkeypatch.setattr(sys, "stderr", abandoned_pipe())
    tell("nobody reads this")


def test_a_closed_stream_ends_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    closed = io.StringIO()
    closed.close()
    run(Progress(out=closed))
    monkeypatch.setattr(sys, "stderr", None)
    run(Progress())
    tell("there is no standard error")


def test_a_terminal_that_goes_away_ends_nothing() -> None:
    window, own = os.openpty()
    progress = Progress(out=os.fdopen(own, "w", buffering=1))
    assert progress.out.is_terminal
    with progress.running(4):
        os.close(window)
        for step in range(1, 5):
            progress.show(step, 4, METRICS)
            time.sleep(0.3)
    assert not progress.out.is_terminal


# --- the command line ---------------------------------------------------------------------------------------------------------------------


def start(*arguments: str, cwd: Path, stdout: int = subprocess.PIPE, stderr: int) -> subprocess.Popen[str]:
    source = str(Path(coplay.__file__).parent.parent)
    command = [sys.executable, "-m", "coplay", *arguments]
    environment = {**os.environ, "PYTHONPATH": source, "OMP_NUM_THREADS": "1"}
    return subprocess.Popen(command, cwd=cwd, env=environment, stdout=stdout, stderr=stderr, text=True)


def test_training_at_a_terminal_and_ctrl_c(tmp_path: Path, tty: Terminal) -> None:
    process = start(*TRAIN, "trials=5000", "--out", "run", cwd=tmp_path, stderr=tty.slave)
    deadline = time.monotonic() + 120
    while "trial 1" not in tty.text and time.monotonic() < deadline:
        time.sleep(0.05)
    process.send_signal(signal.SIGINT)
    assert (process.communicate(timeout=60)[0], process.returncode) == ("", 130)
    bar, told, rest = tty.lines()
    assert "/5000 " in bar and "reward" in bar and "illegal 0.0%" in bar
    assert told.startswith("coplay: saved after trial ") and rest == ""
    assert HIDES_CURSOR not in tty.text


def test_a_run_whose_progress_nobody_reads_is_finished(tmp_path: Path) -> None:
    end, own = os.pipe()
    os.close(end)
    process = start(*TRAIN, "--out", "run", cwd=tmp_path, stderr=own)
    os.close(own)
    assert process.communicate(timeout=120)[0].endswith("run: done. Next: coplay report run\n")
    assert process.returncode == 0 and (tmp_path / "run" / "eval.json").exists()


def test_alignment_and_labels_have_the_same_bar(tmp_path: Path, tty: Terminal, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "stderr", tty.stream())
    small = ["--labels", "C,D", "--prompts", "4", "--epochs", "2", "--out", "aligned"]
    assert main(["align", "tiny", "--to", "table14:ipd:I/X", *small]) == 0
    assert main(["labels", "--pairs", "H/K,N/Y"]) == 0
    sys.stderr.close()
    aligned, labels, rest = tty.lines()
    assert "━ epoch 2/2  0:" in aligned and " KL " in aligned
    assert "━ pair 2/2  0:" in labels and rest == ""


def test_help_imports_nothing_that_takes_a_moment(tmp_path: Path) -> None:
    code = (
        "import sys\nfrom coplay.cli.main import main\n"
        "try:\n    main(['--help'])\nexcept SystemExit:\n    pass\n"
        "print([name for name in ('rich', 'torch', 'filelock', 'pydantic') if name in sys.modules], file=sys.stderr)\n"
    )
    assert run_python(code, cwd=tmp_path).stderr == "[]\n"

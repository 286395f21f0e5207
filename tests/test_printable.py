"""What others wrote, as a terminal is shown it; and output in an encoding that lacks characters."""

import os
import subprocess
import sys

import pytest

from coplay.cli.main import _fail
from coplay.terminal.printable import printable


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("\x1b[2J\x1b]0;owned\x07", r"\x1b[2J\x1b]0;owned\x07"),
        ("\x9b31m", r"\x9b31m"),
        ("one\ncoplay: two\r\t", r"one\ncoplay: two\r\t"),
        ("\0\x7f\x85\u2028\u2029", r"\x00\x7f\x85\u2028\u2029"),
        ("a\u202eb\u2066c\u200fd", r"a\u202eb\u2066c\u200fd"),
        ("\ud800\udfff", r"\ud800\udfff"),
        ("\ufeff\u200b\U000e0041", r"\ufeff\u200b\U000e0041"),
    ],
)
def test_what_acts_or_hides_is_spelled_out(text: str, shown: str) -> None:
    assert printable(text) == shown


@pytest.mark.parametrize(
    "text",
    [
        "plain text, with \\ and '",
        "Zürich, Ελλάδα, Москва, 東京, 서울, हिन्दी, العربية, עברית",
        "e\u0301 n\u0303",
        "10\u00a0€, 1\u202f000, 全角\u3000空白",
        "\N{WOMAN}\N{ZERO WIDTH JOINER}\N{PERSONAL COMPUTER} \N{HEAVY BLACK HEART}\N{VARIATION SELECTOR-16}",
        "क्\u200cष",
    ],
)
def test_words_of_every_script_stay(text: str) -> None:
    assert printable(text) == text


def test_every_character() -> None:
    """None ends a line, none acts, and what is shown is not changed again. Beyond these, planes are ideographs or private."""
    everything = "".join(map(chr, [*range(0x20000), *range(0xE0000, 0xE0200)]))
    shown = printable(everything)
    assert len(shown.splitlines()) == 1 and printable(shown) == shown
    assert shown.encode()  # without halves of characters
    assert printable(everything, keep="\n").count("\n") == 1


def test_errors_of_the_command_line(capsys: pytest.CaptureFixture[str]) -> None:
    assert _fail("one\ntwo\x1b[2J\x85\rthree", 1) == 1
    assert capsys.readouterr().err == "coplay: one\ncoplay: two\\x1b[2J\\x85\\rthree\n"


@pytest.mark.parametrize("encoding", ["ascii", "ascii:strict", "latin-1"])
def test_an_encoding_that_lacks_characters(encoding: str) -> None:
    environment = {**os.environ, "PYTHONIOENCODING": encoding, "PYTHONPATH": os.pathsep.join(sys.path)}
    command = [sys.executable, "-m", "coplay", "prompt", "Ελλάδα-東京"]
    done = subprocess.run(command, env=environment, capture_output=True, timeout=60)
    assert done.returncode == 2 and b"Traceback" not in done.stderr and rb"\u6771" in done.stderr
    code = (
        "from coplay.terminal.streams import lasting_streams\nwith lasting_streams(): print(chr(0x6771) + chr(0xd800))"
    )
    done = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, timeout=60)
    assert done.returncode == 0 and done.stdout.strip() == rb"\u6771\ud800"

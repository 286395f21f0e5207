"""Words that nobody should type, and the command line as its parser knows it."""

from __future__ import annotations

import argparse
import random
from collections.abc import Sequence

from coplay.cli.arguments import parser

CONTROL = "\x1b[31mred\x1b[0m"
"""An escape sequence, which no error may pass on to a terminal."""

VALUES = (
    *("", " ", "0", "-1", "1", "2", "1.5", "-0", "1e999", "-1e308", "1e308", "nan", "NaN", "inf", "Infinity", "1e-400"),
    *("null", "true", "[]", "{}", "[1", '"', "'", "[[]]", '{"a": 1}', "[null]", "[1, [2]]", "[" * 3000, '{"a":' * 2000),
    *(
        "9" * 25,
        "9" * 5000,
        "1" + "0" * 401,
        "0x10",
        "1_000",
        "٣",
        "1,2",
        "a,b",
        "1e308,-1e308,1e308,0",
        "1000000000000",
        ",",
        ",,",
        "0,0",
        "a=b",
        "=",
        "==",
        "a b",
    ),
    *("x" * 300, "x" * 5000, "ünï", "\udc80", "1\n2", CONTROL, "\r", "\x7f", "\u202etxt", "a\x1b]0;x\x07", "💥"),
    *(
        "..",
        "../..",
        "/",
        ".",
        "./",
        "//",
        "/dev/null",
        "/dev/zero",
        "/proc/self/mem",
        "~",
        "~nosuchuser/x",
        "nowhere.toml",
    ),
    *("tiny", "tiny-talk", "ipd", "ish", "public-goods:n=4", "split-no-comm", "trust-and-split:max_characters=", "row"),
    *("os:path", "os:", ":os", "json:dumps", "a.b:c", "tit_for_tat", "random:0.5", "random:nan", "random:", "uniform"),
    *(
        "shapellm/ipd",
        "adalign/ipd-ab",
        "any/naive",
        "shapellm",
        "table14:ipd:H/K",
        "table14:",
        "-",
        "--",
        "-x",
        "--json",
    ),
    *(
        "file",
        "directory",
        "link",
        "fifo",
        "deep.toml",
        "run:row",
        "run:row:0",
        "run:row:-1",
        "run:nobody",
        "C,D",
        "C/D",
    ),
)
"""Anything that can be an argument; no word leads to a machine outside."""


def verbs() -> dict[str, argparse.ArgumentParser]:
    """Every verb with its parser."""
    for action in parser()._actions:
        if isinstance(action, argparse._SubParsersAction):
            return dict(action.choices)
    raise AssertionError("the command line has no verbs")


def positionals(sub: argparse.ArgumentParser) -> list[argparse.Action]:
    """What a verb takes without a name."""
    return [action for action in sub._actions if not action.option_strings]


def options(sub: argparse.ArgumentParser) -> list[argparse.Action]:
    """What a verb takes by name, without ``--help``."""
    return [action for action in sub._actions if action.option_strings and "--help" not in action.option_strings]


def value_for(action: argparse.Action, rng: random.Random, good: Sequence[str] = ()) -> str:
    """A value of an option: one of its choices, a number near the likely ones, or any word."""
    likely = [str(choice) for choice in action.choices] if action.choices else list(good)
    if likely and rng.random() < 0.5:
        return rng.choice(likely)
    if action.type is int and rng.random() < 0.5:
        return str(rng.randrange(-2, 4))
    return rng.choice(VALUES)

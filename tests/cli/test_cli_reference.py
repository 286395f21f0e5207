"""The reference of the command line has every option of every verb."""

from __future__ import annotations

import argparse
import re
from collections import defaultdict
from pathlib import Path

import pytest

from coplay.cli.arguments import parser

PAGE = Path(__file__).parents[2] / "docs" / "reference" / "cli.md"


def sections() -> dict[str, str]:
    """By verb, what the page says of it."""
    found: dict[str, str] = defaultdict(str)
    for section in re.split(r"^## ", PAGE.read_text(encoding="utf-8"), flags=re.MULTILINE)[1:]:
        for verb in dict.fromkeys(re.findall(r"`coplay ([a-z-]+)", section.splitlines()[0])):
            found[verb] += section
    return dict(found)


def options(verb: argparse.ArgumentParser) -> list[str]:
    """The long options of a verb and of what follows it, without those that are hidden."""
    found = []
    for action in verb._actions:
        if isinstance(action, argparse._SubParsersAction):
            found += [option for sub in action.choices.values() for option in options(sub)]
        elif action.help != argparse.SUPPRESS:
            found += [option for option in action.option_strings if option.startswith("--") and option != "--help"]
    return found


def verbs() -> dict[str, argparse.ArgumentParser]:
    (subparsers,) = (action for action in parser()._actions if isinstance(action, argparse._SubParsersAction))
    return dict(subparsers.choices)


@pytest.mark.parametrize("verb", verbs())
def test_the_reference_has_every_option(verb: str) -> None:
    told = sections().get(verb, "")
    missing = [option for option in options(verbs()[verb]) if not re.search(rf"{option}(?![\w-])", told)]
    assert not missing, f"{PAGE.name} says nothing of {', '.join(missing)} in the section on coplay {verb}"


def test_the_reference_has_no_other_verbs() -> None:
    assert set(sections()) == set(verbs())

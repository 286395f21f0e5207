"""The command line, called from tests."""

import json
from typing import Any

import pytest

from coplay.cli.main import main

TABULAR = ["--learner", "tabular"]
TRAIN = ["train", "shapellm/ipd"]


class Shell:
    """Runs the command line and remembers what it said."""

    def __init__(self, capsys: pytest.CaptureFixture[str]) -> None:
        self.capsys = capsys
        self.out = self.err = ""

    def __call__(self, *arguments: str) -> int:
        self.capsys.readouterr()
        try:
            status = main(list(arguments))
        except SystemExit as exit:  # argparse's way out
            status = int(exit.code or 0)
        self.out, self.err = self.capsys.readouterr()
        return status

    def json(self, *arguments: str) -> Any:
        assert self(*arguments, "--json") == 0, self.err
        return json.loads(self.out)

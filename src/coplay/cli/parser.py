"""The parser of the command line: errors of a line, and the words that options of several verbs share."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from typing import NoReturn

from coplay.errors import suggestion
from coplay.tasks.named import EXECUTORS
from coplay.terminal.printable import printable
from coplay.text.chat import DAY, ChatFormat, checked_day

SEATS = ("row", "column")
SPACINGS = ("paper", "released")
SPACING = "which spaces the prompts have: the figures' or the published code's (default: paper)"
GAME = "a name from `coplay list games`, openspiel:GAME, pettingzoo:NAME, textarena:NAME, a TOML file or MODULE:GAME"
MODEL = "a name from `coplay models`, a directory or a Hub id"
RECIPE = "a name from `coplay list recipes`"
PLAYER = "a name from `coplay list players`, RUN[:LEARNER][:SEED], axelrod:STRATEGY, an endpoint (its TOML file or openai:MODEL@URL), or MODULE:PLAYER"


class Parser(argparse.ArgumentParser):
    """Says what was wrong in one line, with the nearest known word, where argparse would print the whole usage; takes no abbreviations."""

    def error(self, message: str) -> NoReturn:
        """Say what was wrong, and exit with 2."""
        missing = message.removeprefix("the following arguments are required: ")
        if missing != message:
            optional = [
                str(action.metavar) for action in self._actions if action.nargs == "*"
            ]  # argparse names them too
            missing = ", ".join(word for word in missing.split(", ") if word not in optional)
            helps = {str(action.metavar): f": {action.help}" for action in self._actions if not action.option_strings}
            message = f"{self.prog.removeprefix('coplay ')} needs {missing}{helps.get(missing, '')}"
        self.exit(2, f"coplay: {printable(message, keep=chr(10))}\ncoplay: see {self.prog} --help\n")

    def option(
        self, spec: str, help: str, *, type: Callable[[str], object] = str, default: str | int | None = None
    ) -> None:
        """Add ``--name VALUE``."""
        name, _, metavar = spec.partition(" ")
        self.add_argument(name, metavar=metavar, type=type, default=default, help=help)

    def flag(self, name: str, help: str) -> None:
        """Add an option without a value."""
        self.add_argument(name, action="store_true", help=help)

    def chat_options(self, whose: str) -> None:
        """Add the options that say how a model is talked to.

        Args:
            whose: the model, as in ``MODEL's``.
        """
        text = f"{whose} chat format (default: its own)"
        self.add_argument("--chat", type=_format, choices=list(ChatFormat), help=text)
        text = f"what chat templates that write the date take for today (default: {DAY})"
        self.option("--chat-date DAY", text, type=_day, default=DAY)

    def executor_options(self) -> None:
        """Add the options that say where tasks run."""
        text = "who does the work: this process, or a Ray cluster (default: local)"
        self.add_argument("--executor", choices=EXECUTORS, default="local", help=text)
        text = "with --executor ray: the cluster (default: $RAY_ADDRESS, or one that was started here, or this machine)"
        self.option("--address HOST:PORT", text)
        self.option("--cpus N", "with --executor ray: processors and threads of each task (default: 1)", type=int)
        self.option("--gpus X", "with --executor ray: GPUs of each task, e.g. 1 or 0.5 (default: 0)", type=float)

    def option_names(self) -> list[str]:
        """``--out`` and all others."""
        return [name for action in self._actions for name in action.option_strings]

    def _check_value(self, action: argparse.Action, value: object) -> None:
        """Name the nearest choice; argparse lists them all."""
        if action.choices is None or value in action.choices:
            return
        known = [str(choice) for choice in action.choices]
        what = (action.option_strings or [str(action.metavar or action.dest).lower()])[-1]
        self.error(f"unknown {what} {value!r}.{suggestion(str(value), known)} Known: {', '.join(known)}.")


def _format(text: str) -> str:
    """A chat format, or a word that is refused as none of them."""
    return ChatFormat(text) if text in list(ChatFormat) else text


def _day(text: str) -> str:
    try:
        return checked_day(text)
    except ValueError as error:
        raise argparse.ArgumentTypeError(f"{error}, not {text!r}") from None

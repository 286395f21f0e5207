"""Where a try takes place: a directory of its own, commands that run in it, and what lies around it that must stay as it is."""

from __future__ import annotations

import os
import shlex
import shutil
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from attack.children import LIMIT, Child
from attack.outcome import Fall, Finished
from attack.products import make_small

if TYPE_CHECKING:
    from attack.workshop import Workshop

KEY = "sk-very-secret-0123456789"
"""The key of endpoints. It must be found nowhere."""

PRECIOUS = "years of work\n"
"""What the files around hold."""


class Place:
    """The directory of one try.

    Args:
        root: a new directory.
        workshop: has what is to be attacked.
    """

    def __init__(self, root: Path, workshop: Workshop) -> None:
        self.root, self.workshop = root, workshop
        self.work, self.outside, self.home = root / "work", root / "outside", root / "home"
        for folder in (self.work, self.outside, self.home):
            folder.mkdir(parents=True)
        self.precious = self.outside / "precious.txt"
        self.precious.write_text(PRECIOUS)
        self.canary = root / "executed"
        self.commands: list[str] = []
        self.verbs: list[str] = []
        self.last: Finished | None = None
        self.said: list[str] = []

    def start(
        self,
        *argv: str,
        prepare: Callable[[], None] | None = None,
        env: Mapping[str, str] | None = None,
        real: bool = False,
        stdin: bytes = b"",
        out: int | None = None,
    ) -> Child:
        """Start a command here; see :class:`attack.children.Child`."""
        self.commands.append(" ".join(["coplay", *map(ascii_word, argv)]))
        self.verbs += argv[:1]

        def prepared() -> None:
            make_small()
            if prepare is not None:
                prepare()

        home = {
            "HOME": str(self.home),
            "COPLAY_CACHE": str(self.home / "cache"),
            "CANARY": str(self.canary),
            "HF_HUB_OFFLINE": "1",
            "OMP_NUM_THREADS": "1",
            "COPLAY_TEST_KEY": KEY,
        }
        return Child(argv, self.work, prepare=prepared, env={**home, **(env or {})}, real=real, stdin=stdin, out=out)

    def end(self, child: Child, limit: float = LIMIT) -> Finished:
        """Wait for a command."""
        self.last = child.wait(limit)
        self.said.append(self.last.out + self.last.err)
        return self.last

    def coplay(
        self,
        *argv: str,
        limit: float = LIMIT,
        prepare: Callable[[], None] | None = None,
        env: Mapping[str, str] | None = None,
        real: bool = False,
        stdin: bytes = b"",
    ) -> Finished:
        """Run a command here to its end."""
        return self.end(self.start(*argv, prepare=prepare, env=env, real=real, stdin=stdin), limit)

    def copy(self, product: str, to: str = "it") -> Path:
        """A product of the workshop, of this place's own."""
        target = self.work / to
        shutil.copytree(self.workshop.path(product), target, symlinks=True)
        return target

    def surroundings(self) -> list[Fall]:
        """The falls that show around the try: files that were changed, code that was run, keys that were told."""
        falls = []
        if os.path.lexists(self.canary):
            falls.append(Fall("executed", "code in data was run"))
        if {path.name for path in self.outside.iterdir()} != {"precious.txt"} or self.precious.is_symlink():
            falls.append(Fall("outside", f"files outside: {sorted(path.name for path in self.outside.iterdir())}"))
        elif self.precious.read_text() != PRECIOUS:
            falls.append(Fall("outside", f"{self.precious.name} was changed"))
        if any(KEY in text for text in self.said):
            falls.append(Fall("leaked", "the key was printed"))
        for path in self.work.rglob("*"):
            if (
                path.is_file()
                and path.name != "them.toml"
                and not path.is_symlink()
                and KEY.encode() in path.read_bytes()
            ):
                falls.append(Fall("leaked", f"the key is in {path.relative_to(self.work)}"))
        return falls

    def close(self) -> None:
        """Delete the directory."""
        shutil.rmtree(self.root, ignore_errors=True)


def ascii_word(word: str) -> str:
    """A word of a command line as a shell takes it, in visible characters."""
    return shlex.quote(word) if word.isascii() and word.isprintable() else ascii(word)

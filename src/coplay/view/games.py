"""The stored games of a directory: which there are, and one at a time."""

from __future__ import annotations

from dataclasses import dataclass

from coplay.errors import UsageError
from coplay.files.kinds import newest_version
from coplay.files.reading import as_object, parse_json, plain
from coplay.files.store import Store
from coplay.play.version_1 import stored_game
from coplay.report.values import Record, items, whole
from coplay.view.found import Found, Stamp
from coplay.view.reading import Gone, Kept, steadily

FILES = {"run": "episodes.jsonl", "recording": "games.jsonl"}
"""Where games are recorded, by the kind of directory."""

STATES = 40
"""The most characters of a game's states in a list of games."""


@dataclass(frozen=True)
class GameLine:
    """A recorded game in a list."""

    step: int
    """The trial."""
    seed: int
    """The seed."""
    game: int
    """Which of the parallel games."""
    episode: int
    """The episode within the trial."""
    states: str
    """What all seats did in the first rounds."""

    def label(self, *, trained: bool) -> str:
        """What a reader is shown; of games that were not played in training, trial and episode say nothing."""
        where = f"trial {self.step}, seed {self.seed}, game {self.game}, episode {self.episode}"
        return f"{where if trained else f'game {self.game}'}: {self.states}"


class Games:
    """The games of directories; only their first rounds are kept in memory, and each is read from its file when it is asked for."""

    def __init__(self) -> None:
        self._lists: Kept[tuple[GameLine, ...]] = Kept(8)

    def lines(self, found: Found, stamp: Stamp) -> tuple[GameLine, ...]:
        """The games that are recorded; raises UsageError if one is damaged."""
        return self._lists.get(found.id, stamp, lambda: tuple(map(_game_line, self._all(found))))

    def get(self, found: Found, number: int) -> Record:
        """A game by its place, from 0; raises Gone if there is none."""
        lines = steadily(found.path, lambda: _lines(found))
        if not 0 <= number < len(lines):
            raise Gone(f"{found.name} has no recorded game {number + 1} now")
        return _parsed(lines[number], found, number)

    def _all(self, found: Found) -> list[Record]:
        return [_parsed(line, found, number) for number, line in enumerate(steadily(found.path, lambda: _lines(found)))]


def _lines(found: Found) -> list[bytes]:
    """The complete lines of the file; what follows the last line end is being written."""
    if found.kind not in FILES:
        return []
    store = Store.open(found.path, found.kind)
    name = store.plain_or_compressed(FILES[found.kind])
    return plain(store.read(name), found.path / name).split(b"\n")[:-1] if store.has(name) else []


def _parsed(line: bytes, found: Found, number: int) -> Record:
    where = f"{found.path / FILES[found.kind]}, line {number + 1}"
    try:
        return stored_game(as_object(parse_json(line, where), where, newest=newest_version(FILES[found.kind])), where)
    except UsageError as error:
        return {"damage": str(error)}


def _game_line(record: Record) -> GameLine:
    states = " ".join(str(one) for one in items(record.get("states"))[:STATES])
    shown = states if len(states) <= STATES else f"{states[:STATES]}\u2026"
    shown = "damaged" if "damage" in record else shown
    step, seed = whole(record, "step", 0), whole(record, "seed", 0)
    return GameLine(step, seed, whole(record, "game", 0), whole(record, "episode", 1), shown)

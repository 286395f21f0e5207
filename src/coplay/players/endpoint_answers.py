"""Answers of endpoints, kept by request, and what was spent on them. The only file here that knows of SQLite.

A request is written down as asked, with the most that it may take, before it is sent, and settled when its answer has come. So what was on its way
when a run was killed counts as spent, in full.
"""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path

from coplay.errors import Stopped, UsageError
from coplay.players.endpoint_usage import Spent

_VERSION = 1
"""Of the file; version 0 had no table of requests that are on their way."""

_COLUMNS = {
    "answers": {"request": "TEXT", "reply": "TEXT", "tokens_in": "INTEGER", "tokens_out": "INTEGER"},
    "unusable": {"tokens_in": "INTEGER", "tokens_out": "INTEGER"},
    "asked": {"id": "INTEGER", "tokens_in": "INTEGER", "tokens_out": "INTEGER"},
}
"""Replies by request; what answers of no use have taken; and requests whose end is not known, with the most that they may take."""

_CREATE = (
    "CREATE TABLE IF NOT EXISTS answers (request TEXT PRIMARY KEY, reply TEXT, tokens_in INTEGER, tokens_out INTEGER)",
    "CREATE TABLE IF NOT EXISTS unusable (tokens_in INTEGER, tokens_out INTEGER)",
    "CREATE TABLE IF NOT EXISTS asked (id INTEGER PRIMARY KEY, tokens_in INTEGER, tokens_out INTEGER)",
    f"PRAGMA user_version = {_VERSION}",
)

_SPENT = """
SELECT TOTAL(tokens_in), TOTAL(tokens_out),
       TOTAL(typeof(tokens_in) <> 'integer' OR typeof(tokens_out) <> 'integer' OR tokens_in < 0 OR tokens_out < 0)
FROM (SELECT tokens_in, tokens_out FROM answers UNION ALL SELECT tokens_in, tokens_out FROM unusable
      UNION ALL SELECT tokens_in, tokens_out FROM asked)
"""

_PATIENCE = 30.0
"""Seconds to wait for another process that writes to the file."""

_REPLACE = "restore it from a copy, or move it away, which forgets its answers and what was spent"


class AnswersFailed(Stopped):
    """The file of answers cannot be read or written now."""


class Answers:
    """Answers by request, in a file that outlives the run, or in memory. Holds no keys: a request is what is asked, and where, not who asks.

    Args:
        path: the file, which is made if it is missing; None for memory.

    Raises:
        UsageError: if the file cannot be used.
    """

    def __init__(self, path: Path | None = None) -> None:
        self._path = None if path is None else path.absolute()  # SQLite takes some relative names for none
        try:
            if self._path is not None:
                _check_place(self._path)
            with self._reporting():
                self._base = sqlite3.connect(self._path or ":memory:", isolation_level=None, timeout=_PATIENCE)
                with self._changing():
                    self._check_version()
                self._base.execute(
                    "PRAGMA journal_mode = WAL"
                )  # as safe as the other modes, and synced several times as fast
        except AnswersFailed as error:
            raise UsageError(str(error)) from None

    def get(self, request: str) -> str | None:
        """The reply to a request, if it is known."""
        with (
            self._reporting(),
            closing(self._base.execute("SELECT reply FROM answers WHERE request = ?", (request,))) as found,
        ):
            row = found.fetchone()
        if row is not None and not isinstance(row[0], str):
            raise self.damaged("a reply in it is no text")
        return None if row is None else str(row[0])

    def reserve(self, most: Spent, fits: Callable[[Spent], bool] | None = None) -> int | None:
        """Write a request down as asked, before it is sent; returns its number, or None if it does not fit.

        Args:
            most: most tokens that it may take.
            fits: whether so much may be spent in all, this request included; None if anything may.
        """
        with self._reporting(), self._changing():
            if fits is not None and not fits(self._spent() + most):
                return None
            row = self._base.execute(
                "INSERT INTO asked (tokens_in, tokens_out) VALUES (?, ?)", (most.tokens_in, most.tokens_out)
            )
            return row.lastrowid

    def settle(self, number: int, spent: Spent, request: str | None = None, reply: str | None = None) -> None:
        """Count what a request has used, instead of the most that it might.

        Args:
            number: what :meth:`reserve` returned.
            spent: what it has used.
            request: what the reply is kept under.
            reply: the reply, if there is one. The first reply to a request stays.
        """
        with self._reporting(), self._changing():
            self._base.execute("DELETE FROM asked WHERE id = ?", (number,))
            tokens = (spent.tokens_in, spent.tokens_out)
            kept = 0
            if reply is not None:
                kept = self._base.execute(
                    "INSERT OR IGNORE INTO answers VALUES (?, ?, ?, ?)", (request, reply, *tokens)
                ).rowcount
            if not kept and spent.tokens:
                self._base.execute("INSERT INTO unusable VALUES (?, ?)", tokens)

    @property
    def spent(self) -> Spent:
        """What all answers have used, and what requests whose end is not known may have used."""
        with self._reporting():
            return self._spent()

    def _spent(self) -> Spent:
        with closing(self._base.execute(_SPENT)) as found:
            tokens_in, tokens_out, wrong = found.fetchone()
        if wrong:
            raise self.damaged("a number of tokens in it is none")
        return Spent(int(tokens_in), int(tokens_out))

    def _check_version(self) -> None:
        """Make the tables in a new file, add those that an older one lacks, and refuse all else."""
        (version,) = self._base.execute("PRAGMA user_version").fetchone()
        if version > _VERSION:
            raise AnswersFailed(
                f"{self._name} has version {version}; this coplay reads up to {_VERSION}. Upgrade coplay."
            )
        if version < _VERSION:
            tables = {name for (name,) in self._base.execute("SELECT name FROM sqlite_master WHERE type = 'table'")}
            if version < 0 or not tables <= _COLUMNS.keys():
                raise self._foreign()
            for statement in _CREATE:
                self._base.execute(statement)
        ((problem,),) = self._base.execute("PRAGMA quick_check(1)").fetchall()
        if problem != "ok":
            raise self.damaged(str(problem).replace("\n", " "))
        found = self._base.execute("SELECT type, name FROM sqlite_master WHERE name NOT LIKE 'sqlite_%'").fetchall()
        if sorted(found) != sorted(("table", name) for name in _COLUMNS):
            raise self._foreign()
        for table, columns in _COLUMNS.items():
            about = self._base.execute(f"PRAGMA table_info({table})").fetchall()
            if {name: kind for _, name, kind, *_ in about} != columns:
                raise self._foreign()

    @property
    def _name(self) -> str:
        return "the answers in memory" if self._path is None else str(self._path)

    def damaged(self, what: str) -> AnswersFailed:
        """The error for a file whose content cannot be right."""
        return AnswersFailed(f"{self._name} is damaged: {what}; {_REPLACE}")

    def _foreign(self) -> AnswersFailed:
        return AnswersFailed(f"{self._name} is a database of something else; name another file as answers")

    @contextmanager
    def _changing(self) -> Iterator[None]:
        """Everything or nothing is written, and no other process writes in between."""
        self._base.execute("BEGIN IMMEDIATE")
        try:
            yield
        except BaseException:
            if self._base.in_transaction:
                self._base.execute("ROLLBACK")
            raise
        self._base.execute("COMMIT")

    @contextmanager
    def _reporting(self) -> Iterator[None]:
        """Name the file in whatever SQLite reports, and say what to do."""
        try:
            yield
        except (sqlite3.Error, sqlite3.Warning, OverflowError, ValueError) as error:
            code = getattr(error, "sqlite_errorcode", 0) & 0xFF  # what kind it is; the rest are details
            raise AnswersFailed(f"{self._name}: {error}; {_REMEDIES.get(code, _REPLACE)}") from None


_REMEDIES = {
    sqlite3.SQLITE_FULL: "free some space",
    sqlite3.SQLITE_IOERR: "check the disk and its free space",
    sqlite3.SQLITE_BUSY: "end the other process that uses it",
    sqlite3.SQLITE_LOCKED: "end the other process that uses it",
    sqlite3.SQLITE_READONLY: "make it writable, and its directory too",
    sqlite3.SQLITE_CANTOPEN: "make it and its directory readable and writable, or name another file as answers",
    sqlite3.SQLITE_PERM: "make it readable and writable",
    sqlite3.SQLITE_AUTH: "make it readable and writable",
    sqlite3.SQLITE_NOTADB: "name another file as answers, or move this one away",
}
"""What to do, by SQLite's code."""


_BESIDE = ("-journal", "-wal", "-shm")
"""How the names of SQLite's own files end, which it opens beside the answers."""


def _check_place(path: Path) -> None:
    """Refuse what SQLite would wait for, or report without saying what is wrong. A link is followed: whoever named it meant where it leads."""
    try:
        if not path.parent.is_dir():
            raise UsageError(f"{path}: there is no directory {path.parent}; make it, or name another file as answers")
        if path.is_symlink() and not path.exists():
            raise UsageError(f"{path} is a link to nowhere; remove it, or make the file that it should lead to")
        beside = [path.resolve().with_name(f"{path.resolve().name}{ending}") for ending in _BESIDE]
        for file in (path, *beside):
            if os.path.lexists(file) and not file.is_file():
                raise UsageError(f"{file} is not a regular file; name another file as answers")
    except (OSError, ValueError) as error:
        raise UsageError(f"{path}: {getattr(error, 'strerror', None) or error}; name another file as answers") from None

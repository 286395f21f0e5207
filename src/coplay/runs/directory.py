"""Run directories: everything a reader needs, safe against being killed at any moment.

``config.json``, ``env.json``, ``metrics.jsonl``, ``episodes.jsonl``, ``checkpoints/``, ``eval.json``, ``adapters/``; and
``manifest.json``, which says which of them count. What grows is cut back to the manifest on resume, and what is not in it is deleted. So a
run that was killed and resumed ends with the same files as one that was not.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from coplay.errors import DamagedCheckpoint, UsageError
from coplay.files.reading import expected_shape, parse_lines, read_bytes
from coplay.files.store import MANIFEST, Entry, Store, entry_of
from coplay.files.writing import Taken, json_lines, json_text, new_directory
from coplay.games.records import EpisodeRecord
from coplay.play.version_1 import stored_games
from coplay.runs.checkpoints import Checkpoint, checkpoint_files, checkpoint_name, read_checkpoint, step_of
from coplay.runs.environment import environment
from coplay.runs.version_1 import is_version_1 as is_version_1_config
from coplay.runs.version_1 import translated
from coplay.runs.version_1_checkpoints import is_version_1, translated_checkpoint

if TYPE_CHECKING:
    from torch import Tensor

    from coplay.evaluation.safety_report import SafetyReport
    from coplay.evaluation.summary import Aggregate
    from coplay.runs.config import Config

CHECKPOINTS_KEPT = 3
"""How many of the latest checkpoints are kept."""

SETTINGS = ("config.json", "env.json")
"""The files that a run begins with."""

GROWING = ("metrics.jsonl", "episodes.jsonl")
"""The files that grow while it trains."""


def is_taken(path: Path) -> bool:
    """Whether something is there that must not be overwritten; an empty directory is nothing."""
    return path.exists() and (not path.is_dir() or any(path.iterdir()))


def refuse_existing(path: Path) -> None:
    """A run directory is never overwritten; raises UsageError."""
    if not is_taken(path):
        return
    if not any((path / name).exists() for name in ("config.json", MANIFEST)):
        raise Taken(f"{path} exists already and is not a run directory; choose another --out")
    raise Taken(f"{path} exists already; resume it with --resume {path}, or choose another --out")


def refuse_no_run(path: Path) -> None:
    """Refuse what is no run directory; raises UsageError."""
    if not path.is_dir():
        raise UsageError(f"there is no run directory {path}")
    if not any((path / name).exists() for name in ("config.json", MANIFEST)):
        raise UsageError(f"{path} is not a run directory: it has no config.json. `coplay list runs` lists runs.")


_NO_RUNS = ("checkpoints", "adapters", "figures", "tracking")
"""Folders of a run directory in which no other run lies."""


def find_runs(parent: Path) -> list[Path]:
    """The run directories in a directory, at any depth, in order; those too that have lost some of a run's files."""
    return sorted(folder for folder, files in walk(parent) if is_of_a_run(files))


def walk(parent: Path) -> Iterator[tuple[Path, list[str]]]:
    """The folders in a directory, at any depth, in which a run may lie, with their files. Links are not followed."""
    for folder, folders, files in os.walk(parent):
        folders[:] = [one for one in folders if one not in _NO_RUNS and one[0] != "."]
        yield Path(folder), files


def is_of_a_run(files: Iterable[str]) -> bool:
    """Whether these are the files of a run directory, some of which may be lost."""
    return len({*SETTINGS, MANIFEST, "eval.json", "metrics.jsonl", "metrics.jsonl.gz"} & {*files}) > 1


def is_finished(path: Path, names: Iterable[str] = ()) -> bool:
    """Whether a directory holds a run that is finished, and these files besides; raises UsageError if its manifest is damaged."""
    if not is_taken(path):
        return False
    run = RunDirectory.open(path)
    return run.is_finished and all(run.store.has(run.store.plain_or_compressed(name)) for name in names)


class RunDirectory:
    """One run's files.

    Args:
        path: the directory.
        store: its manifest.
    """

    def __init__(self, path: Path, store: Store) -> None:
        self.path, self.store = path, store

    @classmethod
    def create(cls, path: Path, config: Config, *, prompts: Mapping[str, str] | None = None) -> RunDirectory:
        """Make a new run directory; nothing is left behind if that fails.

        Args:
            path: the directory.
            config: the run.
            prompts: by seat, the checksum of what its language model reads first.

        Raises:
            UsageError: if something is there already.
        """
        refuse_existing(path)
        with new_directory(path) as temporary:
            store = Store(temporary, "run")
            store.write("config.json", json_text(config.model_dump(mode="json")))
            store.write("env.json", json_text(environment() | {"prompts": dict(prompts or {})}))
            store.commit()
        store.root = path
        return cls(path, store)

    @classmethod
    def open(cls, path: Path) -> RunDirectory:
        """Open an existing run directory; raises UsageError if it is none, or if its manifest is damaged."""
        refuse_no_run(path)
        return cls(path, Store.open(path, "run"))

    @classmethod
    def at_checkpoint(cls, path: Path, name: str) -> tuple[RunDirectory, Checkpoint]:
        """Open a run as a checkpoint knows it, whatever has become of its manifest and of what is later.

        Raises:
            DamagedCheckpoint: if the checkpoint is damaged.
            UsageError: if there is none of that name, or a file does not hold what it held then.
        """
        run = cls(path, Store(path, "run"))
        run.store.has_manifest = False
        if name not in (known := [one.name for one in run.checkpoints()]):
            raise UsageError(f"{path} has no checkpoint {name!r}. It has: {', '.join(known) or 'none'}.")
        found = read_checkpoint(path / "checkpoints" / name, run.store)
        run._expect(found)
        return run, found

    @cached_property
    def raw_config(self) -> dict[str, Any]:
        """The content of ``config.json``, in the form of this version; raises UsageError if it is damaged."""
        found = self.store.read_object("config.json")
        with expected_shape(self.path / "config.json"):
            return translated(found) if is_version_1_config(found) else found

    @cached_property
    def config(self) -> Config:
        """The resolved config; raises UsageError if it is damaged or impossible."""
        from coplay.runs.config_input import (
            parse_config,  # late: lists of runs do without it, and it takes half a second
        )

        try:
            return parse_config(self.raw_config)
        except UsageError as error:
            lines = [f"{self.path / 'config.json'}: {line}" for line in str(error).splitlines()]
            raise UsageError("\n".join(lines)) from None

    @property
    def is_finished(self) -> bool:
        """Whether everything is there that the run consists of; raises UsageError if something was that is gone."""
        if self.store.has_manifest:
            self.store.check_lengths()
            return self.store.finished
        # of an older version: evaluated, and with the adapters of all its learners, except in what is published, which has none
        learners = [name for name, one in self.config.learners.items() if one.policy == "language_model"]
        adapters = [
            f"adapters/{name}-seed{seed}/adapter_model.safetensors" for name in learners for seed in self.config.seeds
        ]
        if not self.store.has("eval.json"):
            return False
        published, saved = self.store.has("metrics.jsonl.gz"), self.checkpoints()
        trained = not saved or step_of(saved[-1].name) == self.config.trials
        return published or (trained and all(map(self.store.has, adapters)))

    def evaluation(self, name: str = "eval.json") -> Aggregate:
        """The evaluation of a finished run, or one in games of another length; raises UsageError if it is missing or damaged."""
        try:
            found = self.store.read_object(name)
        except FileNotFoundError:
            raise UsageError(
                f"{self.path} is not finished: it has no {name}; resume it with: coplay train --resume {self.path}"
            ) from None
        if not isinstance(found.get("seats"), dict) or not isinstance(found.get("seeds"), dict):
            raise UsageError(f"{self.path / name} is damaged: it is no evaluation over seeds")
        return cast("Aggregate", found)

    def safety(self) -> SafetyReport | None:
        """How safe the learner is, of a finished run; None for a run without held-out games. Raises UsageError if it is damaged."""
        if not self.store.has("safety.json"):
            return None
        found = self.store.read_object("safety.json")
        if not isinstance(found.get("seeds"), dict):
            raise UsageError(f"{self.path / 'safety.json'} is damaged: it has no seeds")
        return cast("SafetyReport", found)

    def metrics(self) -> list[dict[str, Any]]:
        """The lines of ``metrics.jsonl``; raises UsageError for a damaged one."""
        found = self.store.read_lines("metrics.jsonl")
        for number, line in enumerate(found, 1):
            if not (isinstance(line.get("step"), int) and isinstance(line.get("seed"), int)):
                raise UsageError(f"{self.path / 'metrics.jsonl'}, line {number} is damaged: it has no step or no seed")
        return found

    def episodes(self) -> list[EpisodeRecord]:
        """The games of ``episodes.jsonl``, older ones translated; raises UsageError for a damaged one."""
        return stored_games(self.store.read_lines("episodes.jsonl"), self.path / "episodes.jsonl")

    def append(self, name: str, records: Sequence[Mapping[str, object]]) -> None:
        """Add lines to ``metrics.jsonl`` or ``episodes.jsonl``, complete lines only."""
        self.store.append(name, json_lines(name, records))

    # ------------------------------------------------------------------ checkpoints

    def checkpoints(self) -> list[Path]:
        """The folders of complete checkpoints, oldest first."""
        found = {step_of(name) for name in self.store.names("checkpoints/trial-*/checkpoint.json")}
        return [self.path / checkpoint_name(step) for step in sorted(step for step in found if step is not None)]

    def save_checkpoint(self, step: int, states: Mapping[int, Mapping[str, Tensor]]) -> Path:
        """Write ``checkpoints/trial-STEP``, commit, and drop all but the latest few, and any that an interrupt made."""
        store, folder = self.store, checkpoint_name(step)
        store.sync()
        now = {name: store.entries[name] for name in (*SETTINGS, *GROWING) if name in store.entries}
        for name, content in checkpoint_files(step, states, now).items():
            store.write(f"{folder}/{name}", content)
        *earlier, _ = [path.name for path in self.checkpoints()]
        regular = [name for name in earlier if (step_of(name) or 0) % self.config.checkpoint_every == 0]
        old = set(earlier) - set(regular[-(CHECKPOINTS_KEPT - 1) :])
        for name in store.names("checkpoints/*/*"):
            if name.split("/")[1] in old:
                del store.entries[name]
        store.commit(step=step)
        for name in old:
            shutil.rmtree(self.path / "checkpoints" / name, ignore_errors=True)
        return self.path / folder

    def load_checkpoint(self) -> Checkpoint | None:
        """Read the latest checkpoint; None if there is none yet.

        Raises:
            DamagedCheckpoint: if it does not match its checksum, naming the latest good one.
        """
        found = self.checkpoints()
        if not found:
            return None
        try:
            return read_checkpoint(found[-1], self.store)
        except DamagedCheckpoint as damage:
            for path in reversed(found[:-1]):
                try:
                    read_checkpoint(path, self.store)
                except DamagedCheckpoint:
                    continue
                raise DamagedCheckpoint(
                    f"{damage} The last good one is {path.name}: coplay train --resume {self.path} --from {path.name}"
                ) from None
            raise DamagedCheckpoint(f"{damage} There is no earlier good one; start the run anew.") from None

    def states(self, checkpoint: Checkpoint) -> dict[int, dict[str, Tensor]]:
        """What a checkpoint holds, by seed, in the form of this version."""
        if is_version_1(checkpoint.tensors):
            return translated_checkpoint(checkpoint.tensors, self.config)
        states: dict[int, dict[str, Tensor]] = {}
        for name, value in checkpoint.tensors.items():
            seed, _, key = name.partition("/")
            states.setdefault(int(seed), {})[key] = value
        return states

    def return_to(self, checkpoint: Checkpoint | None) -> None:
        """Have the run be as it was at a checkpoint, or before its first trial: commit that, then drop what is later.

        Raises:
            UsageError: if a file does not hold what it held then.
        """
        store = self.store
        self._expect(checkpoint)
        store.commit(step=0 if checkpoint is None else checkpoint.step, finished=False)
        for name in GROWING:
            if store.has(name):
                store.cut_back(name)
        store.tidy()

    def _expect(self, checkpoint: Checkpoint | None) -> None:
        """Have the files belong to the run that did at a checkpoint, and no others; see :meth:`return_to`."""
        store, step = self.store, 0 if checkpoint is None else checkpoint.step
        files = None if checkpoint is None else checkpoint.files
        expected = dict(self._files_at(step) if files is None else files)
        for name in store.names("checkpoints/*/*"):
            if (step_of(name) or 0) <= step:
                expected[name] = store.entry(name)
        store.entries, store.finished, store.has_manifest = expected, False, True
        for name in (*SETTINGS, *GROWING):
            if store.has(name):
                store.read(name)

    def _files_at(self, step: int) -> dict[str, Entry]:
        """The run's files as they were at a step whose checkpoint does not say: lines of later steps are not counted."""
        found = {name: self.store.entry(name) for name in SETTINGS if self.store.has(name)}
        for name in GROWING if step else ():
            if (self.path / name).exists():
                found[name] = entry_of(lines_until(read_bytes(self.path / name, follow=False), step, self.path / name))
        return found


def lines_until(data: bytes, step: int, path: Path) -> bytes:
    """The beginning of a ``.jsonl`` file that has the lines of a step and those before it; raises UsageError for a damaged line."""
    length = 0
    for line, record in zip(data.split(b"\n"), parse_lines(data, path), strict=False):
        if not isinstance(record.get("step"), int):
            raise UsageError(f"{path} is damaged: a line has no step")
        if record["step"] > step:
            break
        length += len(line) + 1
    return data[:length]

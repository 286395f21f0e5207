"""Workers: the seeds of a run shared out over processes, one a core.

Seeds do not depend on each other, so a run of five seeds may be a run of three beside a run of two. A small model's tensor operations
are too short to be worth splitting over threads; whole seeds are not. Each worker trains its part of the seeds as one process
trains them all, and is asked, trial by trial, for metrics and now and then for what it has learnt.

A worker is a Python process of its own, spoken to over its standard input and output: a line of JSON, then the tensors it announces
in safetensors format.
"""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from typing import IO, TYPE_CHECKING, Any, Protocol

from coplay.building import build_any
from coplay.config_input import validated
from coplay.errors import CoplayError
from coplay.rounds.config import AnyConfig
from coplay.types import Trial

if TYPE_CHECKING:
    from torch import Tensor

    from coplay.building import AnyArena

LARGEST_SHARED_MODEL = 20_000_000
"""Parameters of a model up to which every worker may hold a copy of it. Larger ones keep all threads of one process busy anyway."""

FEWEST_TRIALS = 10
"""Runs of fewer trials are over before a second process has started."""


class Crew(Protocol):
    """Whoever trains a run's seeds."""

    def run_trial(self, trial: int) -> Trial:
        """Train all seeds for one trial."""
        ...

    def tensors(self) -> dict[str, Tensor]:
        """Everything that learning has changed; see :meth:`coplay.arena.Arena.tensors`."""
        ...


class Alone:
    """All seeds in this process."""

    def __init__(self, arena: AnyArena) -> None:
        self.arena = arena

    def run_trial(self, trial: int) -> Trial:
        """See :class:`Crew`."""
        return self.arena.run_trial(trial)

    def tensors(self) -> dict[str, Tensor]:
        """See :class:`Crew`."""
        return self.arena.tensors()


class Workers:
    """The seeds shared out over processes.

    Args:
        config: the run.
        tensors: what it has learnt so far.
        workers: number of processes, at most one a seed.
        threads: CPU threads of all of them together.
        fixed: number of the bank's slots that are never trained.
    """

    def __init__(
        self, config: AnyConfig, tensors: Mapping[str, Tensor], *, workers: int, threads: int, fixed: int = 0
    ) -> None:
        self.fixed = fixed
        self.shares = shares(config.seeds, workers)
        sizes = [len(share) for share in self.shares]
        each = max(1, threads // workers)
        self.processes: list[_Process] = []
        try:
            for share, part in zip(self.shares, split(tensors, sizes, fixed=fixed), strict=True):
                process = _Process(threads=each)
                self.processes.append(process)
                part_config = config.model_copy(update={"seeds": share, "threads": each, "workers": 1})
                process.send({"do": "start", "config": part_config.model_dump(mode="json")}, part)
            for process in self.processes:
                process.receive()
        except BaseException:
            self.close()
            raise

    def run_trial(self, trial: int) -> Trial:
        """See :class:`Crew`."""
        lines: dict[int, dict[str, Any]] = {}
        games: list[dict[str, Any]] = []
        for reply, _ in self._all({"do": "trial", "trial": trial}):
            lines |= {int(seed): line for seed, line in reply["lines"].items()}
            games += reply["games"]
        seeds = list(lines)
        return Trial(lines, sorted(games, key=lambda game: (game["episode"], seeds.index(game["seed"]))))

    def tensors(self) -> dict[str, Tensor]:
        """See :class:`Crew`."""
        states = [state for _, state in self._all({"do": "tensors"})]
        return merge(states, [len(share) for share in self.shares], fixed=self.fixed)

    def close(self) -> None:
        """End all processes."""
        for process in self.processes:
            process.close()

    def _all(self, request: dict[str, Any]) -> list[tuple[dict[str, Any], dict[str, Tensor]]]:
        """Ask all workers at once."""
        for process in self.processes:
            process.send(request)
        return [process.receive() for process in self.processes]


@contextlib.contextmanager
def crew_for(arena: AnyArena, *, first_trial: int = 0) -> Iterator[Crew]:
    """Whoever is to train this arena's seeds: this process, or workers that begin where the arena stands.

    What workers have learnt is in the arena again when the block ends well.

    Args:
        arena: the seeds' players.
        first_trial: the first trial to be trained. A resumed run has as many workers as it had before, unless nothing is left to train.
    """
    from coplay.models.loading import available_threads

    threads = arena.config.threads or available_threads()
    number = worker_count(arena, threads) if first_trial < arena.config.trials else 1
    if number == 1:
        yield Alone(arena)
        return
    workers = Workers(arena.config, arena.tensors(), workers=number, threads=threads, fixed=arena.fixed_slots)
    try:
        yield workers
        arena.load_tensors(workers.tensors())
    finally:
        workers.close()


def worker_count(arena: AnyArena, threads: int) -> int:
    """How many processes a run is worth, if its config does not say."""
    config = arena.config
    if arena.indivisible:
        return 1
    if config.workers is not None:
        return min(config.workers, len(config.seeds))
    if config.trials < FEWEST_TRIALS or not arena.learners:
        return 1
    if arena.bank is not None and (arena.bank.device.type != "cpu" or arena.bank.base_size > LARGEST_SHARED_MODEL):
        return 1
    return min(threads, len(config.seeds))


def shares(seeds: Sequence[int], workers: int) -> list[tuple[int, ...]]:
    """The seeds in as many parts, in order, the larger parts first: 5 seeds for 2 workers are 3 and 2."""
    least, more = divmod(len(seeds), workers)
    ends = [(i + 1) * least + min(i + 1, more) for i in range(workers)]
    return [tuple(seeds[start:end]) for start, end in zip([0, *ends], ends, strict=False)]


def split(state: Mapping[str, Tensor], sizes: Sequence[int], *, fixed: int = 0) -> list[dict[str, Tensor]]:
    """The state of all seeds as states of parts of the seeds.

    Every tensor is stacked: over seeds, or over the bank's slots, which are ordered by learner, then by seed, and followed by
    those that are never trained. A single number is the same for all seeds.

    Args:
        state: see :meth:`coplay.arena.Arena.tensors`.
        sizes: number of seeds of each part.
        fixed: number of slots that are never trained; every part gets them.
    """
    import torch

    parts: list[dict[str, Tensor]] = [{} for _ in sizes]
    for key, tensor in state.items():
        if tensor.dim() == 0:
            for part in parts:
                part[key] = tensor
            continue
        by_seed, rest = _by_seed(tensor, sum(sizes), fixed)
        for part, piece in zip(parts, torch.split(by_seed, list(sizes), dim=1), strict=True):
            part[key] = torch.cat([piece.flatten(0, 1), rest])
    return parts


def merge(parts: Sequence[Mapping[str, Tensor]], sizes: Sequence[int], *, fixed: int = 0) -> dict[str, Tensor]:
    """The inverse of :func:`split`."""
    import torch

    merged = {}
    for key, first in parts[0].items():
        if first.dim() == 0:
            merged[key] = first
            continue
        pieces = [_by_seed(part[key], size, fixed) for part, size in zip(parts, sizes, strict=True)]
        merged[key] = torch.cat([torch.cat([own for own, _ in pieces], dim=1).flatten(0, 1), pieces[0][1]])
    return merged


def _by_seed(tensor: Tensor, seeds: int, fixed: int) -> tuple[Tensor, Tensor]:
    """A stacked tensor as [learners, seeds, ...], and what is never trained."""
    end = len(tensor) if len(tensor) == seeds else len(tensor) - fixed
    return tensor[:end].reshape(-1, seeds, *tensor.shape[1:]), tensor[end:]


# ---------------------------------------------------------------------- processes


_ALLOCATION = ":".join(
    f"glibc.malloc.{name}={value}"
    for name, value in (("hugetlb", 1), ("mmap_threshold", 2**25), ("trim_threshold", 2**29), ("top_pad", 2**24))
)
"""Asks glibc's allocator to keep what is freed, in large pages: a tenth of a trial's time went into fetching and returning the same
memory over and over. Other systems ignore it."""


class _Process:
    """A worker, seen from outside."""

    def __init__(self, *, threads: int) -> None:
        # the same places to import from as here, in the same order; -P: and not the current directory before them
        code = f"import sys; sys.path[:] = {sys.path!r}; from coplay.workers import main; main()"
        limits = {"OMP_NUM_THREADS": str(threads), "RAYON_NUM_THREADS": str(threads)}
        allocation = {"GLIBC_TUNABLES": _ALLOCATION}
        self.process = subprocess.Popen(
            [sys.executable, "-P", "-c", code],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            env=allocation | os.environ | limits,
        )

    def send(self, message: dict[str, Any], tensors: Mapping[str, Tensor] | None = None) -> None:
        assert self.process.stdin is not None
        try:
            _write(self.process.stdin, message, tensors or {})
        except OSError:
            raise self._death() from None

    def receive(self) -> tuple[dict[str, Any], dict[str, Tensor]]:
        assert self.process.stdout is not None
        received = _read(self.process.stdout)
        if received is None:
            raise self._death()
        if "error" in received[0]:
            raise CoplayError(f"a worker process failed:\n{received[0]['error']}")
        return received

    def close(self) -> None:
        self.process.kill()
        self.process.wait()
        for pipe in (self.process.stdin, self.process.stdout):
            if pipe is not None:
                with contextlib.suppress(OSError):
                    pipe.close()

    def _death(self) -> CoplayError:
        code = self.process.wait()
        reason = "it was killed, perhaps for want of memory" if code < 0 else f"exit status {code}"
        return CoplayError(
            f"a worker process died ({reason}); resume the run, and if it happens again start a new one with workers=1"
        )


def _write(pipe: IO[bytes], message: Mapping[str, Any], tensors: Mapping[str, Tensor]) -> None:
    blob = b""
    if tensors:
        from safetensors.torch import save

        blob = save({key: value.detach().cpu().contiguous() for key, value in tensors.items()})
    pipe.write(json.dumps({**message, "bytes": len(blob)}).encode() + b"\n" + blob)
    pipe.flush()


def _read(pipe: IO[bytes]) -> tuple[dict[str, Any], dict[str, Tensor]] | None:
    """The next message, or None if the other side is gone."""
    line = pipe.readline()
    if not line.endswith(b"\n"):
        return None
    message: dict[str, Any] = json.loads(line)
    size = message.pop("bytes")
    blob = pipe.read(size)
    if len(blob) < size:
        return None
    if not size:
        return message, {}
    from safetensors.torch import load

    return message, load(blob)


def serve(source: IO[bytes], sink: IO[bytes]) -> None:
    """Be a worker: answer requests until the other side is gone."""
    crew: Alone | None = None
    while (request := _read(source)) is not None:
        message, tensors = request
        try:
            if message["do"] == "start":
                arena = build_any(validated(message["config"]))
                arena.load_tensors(tensors)
                crew = Alone(arena)
                _write(sink, {}, {})
                continue
            assert crew is not None
            if message["do"] == "trial":
                lines, games = crew.run_trial(message["trial"])
                _write(sink, {"lines": lines, "games": games}, {})
            else:
                _write(sink, {}, crew.tensors())
        except Exception:
            import traceback

            _write(sink, {"error": traceback.format_exc()}, {})
            return


def main() -> None:
    """The worker process. What libraries print goes to standard error; Ctrl-C is the business of the process that started it."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    sink = os.fdopen(os.dup(sys.stdout.fileno()), "wb")
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())
    with contextlib.suppress(BrokenPipeError):  # whoever asked has been killed
        serve(sys.stdin.buffer, sink)


if __name__ == "__main__":
    main()

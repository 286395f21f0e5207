"""A Ray cluster as an executor of tasks. Ray is an extra, imported when the cluster is first asked for something."""

from __future__ import annotations

import logging
import os
import socket
import sys
from collections.abc import Iterator, Sequence
from importlib.util import find_spec
from pathlib import Path

from coplay.errors import UsageError, missing_extra
from coplay.tasks.executors import T
from coplay.tasks.ray_checks import check_needs, check_nodes, shared_folder
from coplay.tasks.ray_schedule import PATIENCE, Schedule
from coplay.terminal.progress import Progress
from coplay.terminal.streams import tell

AUTH_MODE = "RAY_AUTH_MODE"
"""The environment variable that says whether Ray shows and asks for tokens."""

ANSWERS_WITHIN = 5.0
"""Seconds in which an address must answer."""


class RayCluster:
    """A cluster that runs already, or this machine.

    Args:
        address: ``HOST:PORT`` of the cluster; by default the one that ``ray.init()`` finds: of ``RAY_ADDRESS``, else one that was started on this
            machine, else a new one of this machine alone.
        cpus: processors and threads of each task whose config does not say ``threads``.
        gpus: GPUs of each task with a language model, e.g. 1 or 0.5.
        patience: seconds without a sign of life after which a task that has begun is given up and begun elsewhere.
    """

    is_elsewhere = True

    def __init__(
        self, address: str | None = None, *, cpus: int = 1, gpus: float = 0.0, patience: float = PATIENCE
    ) -> None:
        if cpus < 1:
            raise UsageError(f"a task needs at least 1 processor, got {cpus}")
        if not (gpus == 0 or 0 < gpus < 1 or (gpus >= 1 and float(gpus).is_integer())):
            raise UsageError(f"GPUs of a task are a share of one, such as 0.5, or a whole number; got {gpus:g}")
        self.address, self.cpus, self.gpus, self.patience = address, cpus, gpus, patience
        self.option = " --executor ray" + (f" --address {address}" if address else "")
        self._opened = False
        self._checked: set[Path] = set()

    def prepare(self, out: Path, *, quiet: bool = False) -> None:
        """See :class:`coplay.tasks.executors.TaskExecutor`: connect, and check all machines. What was checked is not checked again."""
        self._connect(quiet=quiet)
        if self.gpus:
            check_needs([("a task", self.cpus, self.gpus, 0)])
        folder = shared_folder(out)
        if folder not in self._checked:
            check_nodes(folder)
            self._checked.add(folder)

    def run(self, tasks: Sequence[T], *, resume: str, quiet: bool = False) -> Iterator[tuple[T, list[str]]]:
        """See :class:`coplay.tasks.executors.TaskExecutor`. What is finished is checked in this process."""
        finished = [task for task in tasks if task.is_done()]
        for task in finished:
            yield task, task.run(Progress(quiet=True))
        left = [task for task in tasks if task not in finished]
        if not left:
            return
        try:
            for folder in dict.fromkeys(task.directory.parent for task in left):
                self.prepare(folder, quiet=quiet)
            needs = [task.needs(self.cpus, self.gpus) for task in left]
            check_needs([(task.title, one.cpus, one.gpus, one.memory) for task, one in zip(left, needs, strict=True)])
            inputs = dict.fromkeys(text for task in left for text in task.inputs())
            if not all(task.directory.is_absolute() for task in left):
                inputs[os.getcwd()] = None
            if inputs:
                check_nodes(shared_folder(left[0].directory.parent), inputs=list(inputs))
            before = {task.directory for task in finished}
            schedule = Schedule(left, needs, over=before, patience=self.patience, resume=resume, quiet=quiet)
            yield from schedule.run()
        finally:
            self.close()

    def close(self) -> None:
        """Leave the cluster, if this object connected to it."""
        if self._opened:
            import ray

            ray.shutdown()
        self._opened, self._checked = False, set()

    def _connect(self, *, quiet: bool) -> None:
        if find_spec("ray") is None:
            raise missing_extra("ray", "ray")
        os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")  # Ray would report a cluster that it starts to its makers
        address = self.address or os.environ.get("RAY_ADDRESS")
        if address is not None:
            offer_token()
        import ray

        if ray.is_initialized():
            return
        if address in ("auto", "local"):
            pass
        elif address is not None:
            refuse_silent(address)
        try:
            ray.init(address=address, log_to_driver=False, logging_level=logging.CRITICAL, include_dashboard=False)
        except Exception as error:  # of any kind: what Ray raises depends on how far it came
            raise UsageError(_why_not(address, error)) from None
        self._opened = True
        # what Ray says of machines that died would be printed among results; the display says it
        ray._private.worker.print_to_stdstream = lambda *_, **__: None
        if not quiet:
            found = ray.cluster_resources()
            alive = sum(bool(node["Alive"]) for node in ray.nodes())
            gpus = f", {found['GPU']:g} GPUs" if found.get("GPU") else ""
            where = f"Ray at {ray.get_runtime_context().gcs_address}"
            tell(f"{where}: {alive} machine{'s' * (alive != 1)}, {found.get('CPU', 0):g} processors{gpus}")


def offer_token() -> None:
    """Have Ray show its token to a cluster that is named by an address: no more than what is set before Ray is imported counts.

    ``ray start --head`` asks for a token if there is one, ``ray.init()`` shows it only where no address is given. A cluster that asks for none does not mind one.
    """
    if "ray" in sys.modules:
        return
    file = Path(os.environ.get("RAY_AUTH_TOKEN_PATH", Path.home() / ".ray" / "auth_token"))
    if AUTH_MODE not in os.environ and ("RAY_AUTH_TOKEN" in os.environ or file.is_file()):
        os.environ[AUTH_MODE] = "token"


def refuse_silent(address: str) -> None:
    """Refuse an address that nobody answers, or that is none, within seconds; raises UsageError."""
    if address.startswith("ray://"):
        raise UsageError(
            f"{address}: the command must run on a machine of the cluster, with its storage; log in there and give HOST:PORT, or nothing"
        )
    host, colon, port = address.rpartition(":")
    if not (colon and host and port.isdecimal() and 0 < int(port) < 2**16):
        raise UsageError(f"the address of a Ray cluster is HOST:PORT, e.g. 10.0.0.1:6379; got {address!r}")
    try:
        with socket.create_connection((host.strip("[]"), int(port)), timeout=ANSWERS_WITHIN):
            pass
    except OSError as error:
        reason = "it does not answer" if isinstance(error, TimeoutError) else error.strerror or str(error)
        raise UsageError(
            f"there is no Ray cluster at {address} ({reason}). Start one: `ray start --head --port {port}` there,"
            f" `ray start --address {address}` on the other machines"
        ) from None


def _why_not(address: str | None, error: Exception) -> str:
    """Why there is no connection, in a line."""
    text = " ".join(str(error).split())
    if "ersion mismatch" in text:
        return f"the cluster has another version of Ray or Python than this command: {text[:400]}"
    where = f"the Ray cluster at {address}" if address else "a Ray cluster"
    token = f"If the cluster asks for a token, copy ~/.ray/auth_token from one of its machines to this one and set {AUTH_MODE}=token"
    stale = "If one that was started here is gone, run: ray stop"
    return (
        f"could not connect to {where}: {type(error).__name__}: {text[:300].rstrip('.')}. {token if address else stale}"
    )

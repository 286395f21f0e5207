"""What can be wrong with a cluster, found before anything is trained: what its machines have, which versions, and whether they share storage."""

from __future__ import annotations

import os
import shutil
import time
import uuid
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any, TypedDict

from coplay.errors import UsageError
from coplay.files.fence import FOLDER
from coplay.tasks.versions import versions

ANSWERS_WITHIN = 60.0
"""Seconds in which every machine must answer; a first process takes a few to start."""


GONE_WITHIN = 10.0
"""Seconds in which a cluster knows that a machine is gone which no longer answers."""


class Told(TypedDict, total=False):
    """What a machine says of itself."""

    versions: dict[str, str]
    """Of Python and packages."""
    lacks: str
    """Why it could not tell them."""
    token: str
    """What it read from the storage."""
    unread: str
    """Why it could not read or write there."""
    missing: list[str]
    """The files that it lacks."""


def shared_folder(out: Path) -> Path:
    """The nearest folder above a path, or at it, that exists."""
    found = out.absolute()
    while not found.is_dir():
        found = found.parent
    return found


def check_needs(needs: Iterable[tuple[str, int, float, int]]) -> None:
    """Refuse tasks that fit on no machine: they would wait for ever.

    Args:
        needs: the title, processors, GPUs and bytes of memory of each.

    Raises:
        UsageError: naming the first, and what the largest machine has.
    """
    import ray

    machines = [node["Resources"] for node in ray.nodes() if node["Alive"]]
    for title, cpus, gpus, memory in dict.fromkeys(needs):
        asked = {"CPU": float(cpus), "GPU": gpus, "memory": float(memory)}
        if any(all(machine.get(key, 0.0) >= much for key, much in asked.items()) for machine in machines):
            continue
        most = {key: max((machine.get(key, 0.0) for machine in machines), default=0.0) for key in asked}
        wanted, there = _amounts(asked), _amounts(most)
        raise UsageError(
            f"{title} needs {wanted} on one machine, and no machine of the cluster has that: the most is {there}."
            " Ask for less (--cpus, --gpus, threads=), or start Ray on a machine with more"
        )


def _amounts(found: dict[str, float]) -> str:
    gigabytes = f" and {found['memory'] / 2**30:.1f} GB of memory" if found["memory"] else ""
    return f"{found['CPU']:g} processors, {found['GPU']:g} GPUs{gigabytes}"


def check_nodes(folder: Path, *, inputs: Sequence[str] = ()) -> None:
    """Ask every machine for its versions, have it read and write in a folder, and look for files.

    Args:
        folder: where files will go.
        inputs: files and directories that every machine must have.

    Raises:
        UsageError: naming the machine and what is wrong with it.
    """
    import ray
    from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy

    place, token = folder / FOLDER / f"probe-{uuid.uuid4().hex}", uuid.uuid4().hex
    try:
        place.mkdir(parents=True)
        (place / "token").write_text(token)
    except OSError as error:
        raise UsageError(f"{folder} cannot be written to ({error.strerror}); choose another --out") from None
    try:
        nodes = {node["NodeID"]: node["NodeManagerHostname"] for node in ray.nodes() if node["Alive"]}
        remote = ray.remote(_probe())
        asked = {
            remote.options(
                num_cpus=0, max_retries=0, scheduling_strategy=NodeAffinitySchedulingStrategy(node, soft=False)
            ).remote(str(place), node, os.getcwd(), list(inputs)): node
            for node in nodes
        }
        ready, silent = ray.wait(list(asked), num_returns=len(asked), timeout=ANSWERS_WITHIN)
        for ref in silent:
            raise UsageError(
                f"{nodes[asked[ref]]}, a machine of the cluster, does not answer; remove it or wait for it"
            )
        for ref in ready:
            try:
                told: Told = ray.get(ref)
            except ray.exceptions.RayError as error:
                if _is_gone(asked[ref]):
                    continue
                reason = str(error).strip().splitlines()[-1]
                raise UsageError(
                    f"{nodes[asked[ref]]}, a machine of the cluster, cannot run a task: {reason}"
                ) from None
            _judge(nodes[asked[ref]], told, folder, token, (place / asked[ref]).exists())
    finally:
        shutil.rmtree(place, ignore_errors=True)
        remove_if_empty(folder / FOLDER)


def _is_gone(node: str) -> bool:
    """Whether a machine has left the cluster, which may take a moment to notice."""
    import ray

    ends = time.monotonic() + GONE_WITHIN
    while any(one["Alive"] and one["NodeID"] == node for one in ray.nodes()):
        if time.monotonic() > ends:
            return False
        time.sleep(0.5)
    return True


def remove_if_empty(folder: Path) -> None:
    """Remove a folder that nothing is left in."""
    try:
        folder.rmdir()
    except OSError:
        return


def _judge(machine: str, told: Told, folder: Path, token: str, wrote: bool) -> None:
    """Raise UsageError for a machine that differs from this one."""
    if "lacks" in told:
        raise UsageError(
            f"{machine}, a machine of the cluster, has no coplay, or an older one ({told['lacks']}); install there what is here: {_here()}"
        )
    here = versions()
    differing = {
        name: (here.get(name, "none"), told["versions"].get(name, "none"))
        for name in {**here, **told["versions"]}
        if here.get(name) != told["versions"].get(name)
    }
    if differing:
        listed = "; ".join(f"{name} {theirs} there, {ours} here" for name, (ours, theirs) in differing.items())
        raise UsageError(f"{machine}, a machine of the cluster, has other versions: {listed}. Install the same on all")
    if "unread" in told or told.get("token") != token or not wrote:
        reason = told.get("unread", "it has another folder of that name")
        raise UsageError(
            f"{folder} is not shared with {machine}, a machine of the cluster ({reason}). Runs and checkpoints must outlive a machine:"
            " choose an --out on storage that all machines mount at the same path"
        )
    if told["missing"]:
        raise UsageError(
            f"{machine}, a machine of the cluster, has no {told['missing'][0]}, which a run reads; put it on shared storage, or install it there"
        )


def _here() -> str:
    return ", ".join(f"{name} {version}" for name, version in versions().items())


def _probe() -> Callable[[str, str, str, list[str]], Told]:
    """What is run on each machine. It is sent as code, not by its name: coplay may be missing there."""

    def probe(place: str, node: str, cwd: str, inputs: list[str]) -> Any:
        import os

        found: dict[str, Any] = {"missing": [path for path in inputs if not os.path.exists(path)]}
        try:
            from coplay.tasks.versions import versions as there

            found["versions"] = there()
        except Exception as error:
            found["lacks"] = f"{type(error).__name__}: {error}"
        try:
            with open(os.path.join(place, "token")) as file:
                found["token"] = file.read()
            with open(os.path.join(place, node), "w") as file:
                file.write(node)
        except OSError as error:
            found["unread"] = f"{error.strerror}: {error.filename}"
        return found

    return probe

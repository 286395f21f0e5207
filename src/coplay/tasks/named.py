"""Executors by name."""

from __future__ import annotations

from coplay.errors import UsageError, unknown
from coplay.tasks.executors import LOCAL, TaskExecutor

EXECUTORS = ("local", "ray")
"""Their names: this process, and a Ray cluster."""


def executor_of(
    executor: str | TaskExecutor, *, address: str | None = None, cpus: int | None = None, gpus: float | None = None
) -> TaskExecutor:
    """An executor by name, or the object itself.

    Args:
        executor: one of :data:`EXECUTORS`, or an executor.
        address: of the cluster; see :class:`coplay.tasks.ray_cluster.RayCluster`, also for the others.
        cpus: processors of each task whose config does not say.
        gpus: GPUs of each task with a language model.

    Raises:
        UsageError: for a name that is none, or settings of a cluster where there is none.
    """
    if not isinstance(executor, str):
        return executor
    if executor not in EXECUTORS:
        raise unknown("executor", executor, EXECUTORS)
    given = [name for name, value in (("address", address), ("cpus", cpus), ("gpus", gpus)) if value is not None]
    if executor == "local":
        if given:
            raise UsageError(f"--{given[0]} goes with --executor ray")
        return LOCAL
    from coplay.tasks.ray_cluster import RayCluster  # late: most commands never need it

    return RayCluster(address, cpus=1 if cpus is None else cpus, gpus=gpus or 0.0)

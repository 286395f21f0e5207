"""A Ray cluster of three machines on this one, with a processor each. Without Ray these tests are skipped."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from small_runs import source_environment

TESTS = Path(__file__).parents[1]


@pytest.fixture(scope="session")
def cluster() -> Iterator[Any]:
    """The cluster; this process is connected to it, as a command on one of its machines would be."""
    ray = pytest.importorskip("ray", reason="Ray is not installed: pip install 'coplay[ray]'")
    from ray.cluster_utils import Cluster

    before = dict(os.environ)
    environment = source_environment()
    environment["PYTHONPATH"] = f"{environment['PYTHONPATH']}:{TESTS}:{Path(__file__).parent}"
    os.environ.update(environment, RAY_USAGE_STATS_ENABLED="0", RAY_worker_niceness="0")
    found = Cluster(initialize_head=True, head_node_args={"num_cpus": 1, "include_dashboard": False})
    for _ in range(2):
        found.add_node(wait=False, num_cpus=1)
    found.wait_for_nodes()
    ray.init(address=found.address, log_to_driver=False, logging_level=50)
    yield found
    ray.shutdown()
    found.shutdown()
    os.environ.clear()
    os.environ.update(before)


@pytest.fixture
def executor(cluster: Any) -> Any:
    """An executor of tasks on it."""
    from coplay.tasks.ray_cluster import RayCluster

    return RayCluster()

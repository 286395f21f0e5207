"""A cluster of several hosts, begun by the commands of the page: runs end as on one machine, storage that is not shared is refused, and what a lost host did is done by another."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from cluster_runs import wait_until
from hosts import OWN, Hosts, why_not
from interruptions import same_ending
from small_runs import source_environment

from coplay.tasks.ray_attempt import read_report

pytestmark = [pytest.mark.slow, pytest.mark.timeout(1200), pytest.mark.skipif(bool(why_not()), reason=why_not())]

SWEEP = ["sweep", "shapellm/ipd", "--learner", "tabular", "--over", "row.memory=none,trial_counts", "--seeds", "0"]
SIZES = ["trials=300", "games=2", "episodes=2", "checkpoint_every=5", "eval_games=2", "threads=1"]
ENVIRONMENT = {
    **source_environment(),
    "RAY_USAGE_STATS_ENABLED": "0",
    "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}",
}


def environment(hosts: Hosts) -> dict[str, str]:
    """A person's, with a home of their own on all hosts, where the cluster's token is."""
    return {**ENVIRONMENT, "HOME": str(hosts.folder)}


@pytest.fixture(scope="module")
def hosts(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Hosts]:
    """Three: the first gives out the work, the others do it."""
    pytest.importorskip("ray", reason="Ray is not installed: pip install 'coplay[ray]'")
    found = Hosts(3, tmp_path_factory.mktemp("hosts"))
    try:
        first = found.address("h1")
        begin = ["ray", "start", "--node-ip-address"]
        for name, words in (
            ("h1", ["ray", "get-auth-token", "--generate"]),
            ("h1", [*begin, first, "--head", "--port", "6379", "--num-cpus", "0", "--include-dashboard", "false"]),
            ("h2", [*begin, found.address("h2"), "--address", f"{first}:6379", "--num-cpus", "1"]),
            ("h3", [*begin, found.address("h3"), "--address", f"{first}:6379", "--num-cpus", "1"]),
        ):
            done = found.run(name, *words, env={**environment(found), "RAY_AUTH_MODE": "token"}, cwd=found.folder)
            assert done.returncode == 0, done.stdout + done.stderr
        yield found
    finally:
        found.close()


def ray(hosts: Hosts) -> list[str]:
    return ["--executor", "ray", "--address", f"{hosts.address('h1')}:6379"]


def test_storage_that_is_not_shared_is_refused(hosts: Hosts, tmp_path: Path) -> None:
    done = coplay(hosts, tmp_path, *SWEEP, *SIZES, "--out", str(OWN / "mine"), *ray(hosts))
    assert done.returncode == 2, done.stderr
    assert f"{OWN} is not shared with h" in done.stderr and not (hosts.folder / "h1" / "mine").exists()


def test_what_a_lost_host_did_is_done_elsewhere(hosts: Hosts, tmp_path: Path) -> None:
    words = ["-m", "coplay", *SWEEP, *SIZES, "--out"]
    command = hosts.start("h1", sys.executable, *words, "there", *ray(hosts), env=environment(hosts), cwd=tmp_path)
    cells = tmp_path / "there" / "cells"

    def under_way() -> list[Path]:
        found = [path.parent for path in cells.glob("*/config.json")] if cells.exists() else []
        return [one for one in found if (read_report(one) or {"step": 0})["step"] > 20]

    def at_work() -> bool:
        assert command.poll() is None, command.communicate()
        return len(under_way()) == 2

    wait_until(at_work)
    machines = {(read_report(one) or {"machine": ""})["machine"]: one for one in under_way()}
    assert set(machines) == {"h2", "h3"}
    hosts.lose("h3")
    out, err = command.communicate(timeout=900)
    assert command.returncode == 0, out + err
    assert "attempt 2, from step" in err, err
    subprocess.run([sys.executable, *words, "here"], cwd=tmp_path, env=ENVIRONMENT, check=True, capture_output=True)
    for cell in (tmp_path / "here" / "cells").iterdir():
        same_ending(cells / cell.name, cell)


def coplay(hosts: Hosts, cwd: Path, *words: str) -> subprocess.CompletedProcess[str]:
    """The command line on the first host."""
    return hosts.run("h1", sys.executable, "-m", "coplay", *words, env=environment(hosts), cwd=cwd)

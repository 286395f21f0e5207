"""What is wrong with a cluster is told before anything is trained or written, and not waited for."""

from __future__ import annotations

import os
import shutil
import socket
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from cluster_runs import carried_out, slow_runs
from shell import TABULAR, TRAIN
from small_runs import SMALL, files

import coplay
from coplay.cli.main import main
from coplay.errors import UsageError
from coplay.tasks import ray_checks, ray_cluster
from coplay.tasks.ray_cluster import RayCluster, offer_token, refuse_silent
from coplay.tasks.task import Needs


def closed_port() -> int:
    """A port on which nobody listens."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return int(free.getsockname()[1])


@pytest.mark.parametrize(
    ("address", "message"),
    [
        ("10.0.0.1", r"HOST:PORT, e\.g\. 10\.0\.0\.1:6379; got '10\.0\.0\.1'"),
        ("here:port", "HOST:PORT"),
        ("127.0.0.1:99999", "HOST:PORT"),
        ("ray://127.0.0.1:10001", "must run on a machine of the cluster"),
        ("no-such-host.invalid:6379", "there is no Ray cluster at no-such-host.invalid:6379"),
    ],
)
def test_an_address_that_is_none(address: str, message: str) -> None:
    with pytest.raises(UsageError, match=message):
        refuse_silent(address)


@pytest.mark.parametrize(
    ("file", "settings", "expected"),
    [
        (False, {}, None),
        (True, {}, "token"),
        (False, {"RAY_AUTH_TOKEN": "x"}, "token"),
        (True, {"RAY_AUTH_MODE": "disabled"}, "disabled"),
        (True, {"RAY_AUTH_TOKEN_PATH": "elsewhere"}, None),
    ],
)
def test_a_token_is_offered_if_there_is_one(
    file: bool, settings: dict[str, str], expected: str | None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("RAY_AUTH_MODE", "RAY_AUTH_TOKEN", "RAY_AUTH_TOKEN_PATH"):
        monkeypatch.setenv(name, "")
        monkeypatch.delenv(name)
    for name, value in {"HOME": str(tmp_path), **settings}.items():
        monkeypatch.setenv(name, value)
    monkeypatch.delitem(sys.modules, "ray", raising=False)
    if file:
        (tmp_path / ".ray").mkdir()
        (tmp_path / ".ray" / "auth_token").write_text("x")
    offer_token()
    assert os.environ.get("RAY_AUTH_MODE") == expected


def test_once_ray_is_imported_a_token_is_too_late(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "ray", ray_cluster)
    monkeypatch.setenv("RAY_AUTH_TOKEN", "x")
    monkeypatch.delenv("RAY_AUTH_MODE", raising=False)
    offer_token()
    assert "RAY_AUTH_MODE" not in os.environ


def test_an_address_that_nobody_answers_is_told_at_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    ray = pytest.importorskip("ray")
    monkeypatch.setattr(ray, "is_initialized", lambda: False)
    address, started = f"127.0.0.1:{closed_port()}", time.monotonic()
    command = [*TRAIN, *TABULAR, *SMALL, "--out", str(tmp_path / "run"), "--executor", "ray", "--address", address]
    assert main(command) == 2
    assert time.monotonic() - started < 20
    told = capsys.readouterr().err
    assert told.startswith(f"coplay: there is no Ray cluster at {address} (Connection refused). Start one: `ray start")
    assert files(tmp_path) == []


def test_an_address_that_is_silent_is_not_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    def silent(*_: object, **__: object) -> None:
        raise TimeoutError

    monkeypatch.setattr(ray_cluster.socket, "create_connection", silent)
    with pytest.raises(UsageError, match=r"at 10\.0\.0\.1:6379 \(it does not answer\)"):
        refuse_silent("10.0.0.1:6379")


def test_without_ray_the_option_says_how_to_install_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(ray_cluster, "find_spec", lambda name: None)
    assert main([*TRAIN, *TABULAR, *SMALL, "--out", str(tmp_path / "run"), "--executor", "ray"]) == 2
    assert "which is not installed: pip install 'coplay[ray]'" in capsys.readouterr().err
    assert files(tmp_path) == []


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--gpus", "1"], "--gpus goes with --executor ray"),
        (["--address", "a:1"], "--address goes with --executor ray"),
        (["--executor", "ray", "--cpus", "0"], "at least 1 processor, got 0"),
        (["--executor", "ray", "--gpus", "1.5"], "a share of one, such as 0.5, or a whole number; got 1.5"),
        (["--executor", "ray", "--gpus", "nan"], "got nan"),
        (["--executor", "rya"], "unknown --executor 'rya'. Did you mean 'ray'?"),
    ],
)
def test_options_that_do_not_fit(
    options: list[str], message: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    try:
        status = main([*TRAIN, *TABULAR, *SMALL, "--out", str(tmp_path / "run"), *options])
    except SystemExit as exit:
        status = int(exit.code or 0)
    assert status == 2 and message in capsys.readouterr().err
    assert files(tmp_path) == []


@pytest.mark.parametrize(
    ("wanted", "message"),
    [
        ({"gpus": 1.0}, "a task needs 1 processors, 1 GPUs on one machine, and no machine of the cluster has that"),
        (
            {"cpus": 64},
            "run0 needs 64 processors, 0 GPUs and .* GB of memory on one machine.* the most is 1 processors",
        ),
    ],
)
def test_a_cluster_without_what_is_asked_for(
    cluster: Any, tmp_path: Path, wanted: dict[str, Any], message: str
) -> None:
    (task,) = slow_runs(tmp_path, 1)
    task = replace(task, config=task.config.model_copy(update={"threads": None}))
    started = time.monotonic()
    with pytest.raises(UsageError, match=message):
        carried_out(RayCluster(**wanted), [task])
    assert time.monotonic() - started < 60
    assert files(tmp_path) == []


def test_more_memory_than_any_machine_has(cluster: Any) -> None:
    with pytest.raises(UsageError, match=r"big needs 1 processors, 0 GPUs and 1000000\.0 GB of memory"):
        ray_checks.check_needs([("big", 1, 0.0, 10**6 * 2**30)])
    assert Needs().memory < 2**30


@contextmanager
def another_machine(cluster: Any, **variables: str) -> Iterator[None]:
    """A machine beside the others, with an environment of its own."""
    node = cluster.add_node(num_cpus=1, env_vars=variables)
    try:
        yield
    finally:
        cluster.remove_node(node)


def test_a_machine_with_another_coplay(cluster: Any, executor: RayCluster, tmp_path: Path) -> None:
    """The same version, and a line of code that differs."""
    other = Path(shutil.copytree(Path(coplay.__file__).parent, tmp_path / "other" / "coplay"))
    with open(other / "rng.py", "a") as file:
        file.write("\n# changed\n")
    with (
        another_machine(cluster, PYTHONPATH=str(other.parent)),
        pytest.raises(
            UsageError, match=r"has other versions: coplay .* \(code \w+\) there, .* here\. Install the same"
        ),
    ):
        carried_out(executor, slow_runs(tmp_path / "out", 1))
    assert not (tmp_path / "out" / "run0").exists()


def test_other_versions_of_python_and_torch_are_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ray_checks, "versions", lambda: {"python": "3.11.7", "torch": "2.13.0", "coplay": "1"})
    told: ray_checks.Told = {"versions": {"python": "3.12.1", "torch": "2.6.0", "coplay": "1"}, "missing": []}
    with pytest.raises(
        UsageError, match=r"node7, .* python 3\.12\.1 there, 3\.11\.7 here; torch 2\.6\.0 there, 2\.13\.0 here"
    ):
        ray_checks._judge("node7", told, Path("/out"), "token", True)


@pytest.mark.parametrize(
    ("told", "wrote", "message"),
    [
        ({"unread": "No such file or directory: /out/x"}, False, r"/out is not shared with node7, .*No such file"),
        ({"token": "of another folder"}, True, "it has another folder of that name"),
        ({"token": "token"}, False, "it has another folder of that name"),
        ({"token": "token", "missing": ["/models/mine"]}, True, "node7, .* has no /models/mine, which a run reads"),
        ({"lacks": "ModuleNotFoundError: coplay"}, True, r"has no coplay, or an older one \(ModuleNotFoundError"),
    ],
)
def test_storage_that_is_not_shared_and_files_that_are_missing(told: Any, wrote: bool, message: str) -> None:
    told = {"versions": ray_checks.versions(), "missing": [], **told}
    with pytest.raises(UsageError, match=message):
        ray_checks._judge("node7", told, Path("/out"), "token", wrote)


def test_a_python_or_ray_of_another_version(monkeypatch: pytest.MonkeyPatch) -> None:
    ray = pytest.importorskip("ray")

    def refuse(**_: object) -> None:
        raise RuntimeError(
            "Version mismatch: The cluster was started with:\n  Python: 3.12\nThis process:\n  Python: 3.11"
        )

    monkeypatch.setattr(ray, "is_initialized", lambda: False)
    monkeypatch.setattr(ray, "init", refuse)
    monkeypatch.delenv("RAY_ADDRESS", raising=False)
    with pytest.raises(UsageError, match=r"another version of Ray or Python than this command: .*Python: 3\.12"):
        RayCluster().prepare(Path())

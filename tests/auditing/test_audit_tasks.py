"""An audit in parts, without a cluster: the same audit, what is sent, and what is refused before anything is measured."""

from __future__ import annotations

import json
import shutil
from dataclasses import replace
from pathlib import Path

import pytest
from fake_cluster import FakeCluster
from small_runs import QUIET

import coplay
from coplay.auditing.parts import Found, parts
from coplay.auditing.plan import Plan
from coplay.auditing.run import audit_player, merged
from coplay.auditing.tasks import Order, tasks_of
from coplay.cli.main import main
from coplay.errors import Interrupted, UsageError
from coplay.runs.tasks import COPIES, PROCESS
from coplay.tasks.executors import LOCAL
from coplay.tasks.results import parts_folder

AGAINST = ("ppo", "scripted", "best_response", "steering", "q_learning", "relabelled")
PLAN = Plan(3, AGAINST, seconds=None, trials=4, seeds=2, episodes=4)
QUICK = ["--against", "scripted,best_response", "--episodes", "2", "--rounds", "3", "--quiet"]


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("run") / "run"
    sizes = {"trials": 2, "games": 2, "rounds": 3, "episodes": 1, "seeds": (0, 1)}
    coplay.train("any/naive", learner="tabular", out=out, quiet=True, **sizes)
    return out


@pytest.mark.parametrize("player", [pytest.param("random", marks=pytest.mark.slow), "RUN:row"])
def test_parts_in_any_order_are_the_audit_of_one_process(player: str, run: Path, tmp_path: Path) -> None:
    player = player.replace("RUN", str(run))
    how = {"against": AGAINST, "rounds": 3, "trials": 4, "seeds": 2, "episodes": 4}
    here = coplay.audit("ipd", player, out=tmp_path / "here", **how)  # type: ignore[arg-type]
    cluster = FakeCluster()
    there = coplay.audit("ipd", player, out=tmp_path / "there", executor=cluster, **how)  # type: ignore[arg-type]
    assert there.to_dict() == here.to_dict()
    for name in ("audit.json", "junit.xml", "report.html"):
        assert (tmp_path / "there" / name).read_bytes() == (tmp_path / "here" / name).read_bytes()
    assert len(cluster.carried_out) == (5 if player == "random" else 6)
    assert not parts_folder(tmp_path / "there").exists()


def test_tasks_are_what_this_process_walks(tmp_path: Path) -> None:
    order = Order("kuhn", "always_bet", replace(PLAN, against=("scripted", "steering", "ppo", "policy_gradient")))
    case = order.case()
    tasks = tasks_of(order, case, tmp_path / "audit")
    assert [task.part for task in tasks] == list(parts(case))
    for task, lines in LOCAL.run(tasks, resume="", quiet=True):
        assert lines == [] and task.is_done()
    of_parts = {task.part: Found.from_json(task.result()) for task in tasks}
    assert merged(case, of_parts) == audit_player(case)


def test_kinds_that_are_refused_for_one_reason_share_a_note(tmp_path: Path) -> None:
    """Also where their parts were measured apart from each other."""
    how = {"against": ["ppo", "scripted", "q_learning"], "rounds": 2, "seeds": 2, "trials": 1, "episodes": 1}
    here = coplay.audit("stag-hunt-3:talk=1", "always_cooperate", **how)  # type: ignore[arg-type]
    there = coplay.audit("stag-hunt-3:talk=1", "always_cooperate", out=tmp_path / "a", executor=FakeCluster(), **how)  # type: ignore[arg-type]
    assert there.audit.notes == here.audit.notes
    assert any(note.startswith("no ppo, q_learning: ") for note in here.audit.notes)


def test_each_kind_of_learners_has_its_share_of_the_seconds(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    order = Order("ipd", "tit_for_tat", replace(PLAN, seconds=90.0, trials=None))
    shares = {task.part: task.seconds for task in tasks_of(order, order.case(), tmp_path / "audit")}
    assert shares == {"best_response": None, "scripted": None, "steering": None, "ppo": 45.0, "q_learning": 45.0}
    told = []
    monkeypatch.setattr(
        "coplay.auditing.run.measured", lambda part, case, seconds: (told.append((part, seconds)), Found([]))[1]
    )
    audit_player(order.case())
    (first, had), (second, left) = told[-2:]
    assert (first, second, had) == ("ppo", "q_learning", 45.0) and 89.0 < left <= 90.0


def test_a_command_that_was_stopped_goes_on_with_what_is_left(tmp_path: Path) -> None:
    how = {"against": ["scripted", "best_response"], "rounds": 3, "episodes": 2, "out": tmp_path / "audit"}
    with pytest.raises(Interrupted, match="stopped; the same command continues with what is left"):
        coplay.audit("ipd", "tit_for_tat", executor=FakeCluster(stops_after=1), **how)  # type: ignore[arg-type]
    with pytest.raises(UsageError, match=r"audit\.parts has parts of something else"):
        coplay.audit("ipd", "random", executor=FakeCluster(), **how)  # type: ignore[arg-type]
    cluster = FakeCluster()
    coplay.audit("ipd", "tit_for_tat", executor=cluster, **how)  # type: ignore[arg-type]
    assert cluster.carried_out == ["the best response, by enumeration"]


def test_a_result_that_was_changed_is_refused(tmp_path: Path) -> None:
    order = Order("ipd", "tit_for_tat", replace(PLAN, against=("best_response",)))
    (task,) = tasks_of(order, order.case(), tmp_path / "audit")
    for _ in LOCAL.run([task], resume="", quiet=True):
        pass
    file = task.directory / "result.json"
    found = json.loads(file.read_text())
    found["result"]["measures"][0]["value"] = 9.0
    file.write_text(json.dumps(found))
    with pytest.raises(UsageError, match="is damaged: its content does not have its checksum"):
        task.result()


def test_a_run_that_has_changed_is_another_player(run: Path, tmp_path: Path) -> None:
    player = Path(shutil.copytree(run, tmp_path / "run"))
    order = Order("ipd", f"{player}:row", replace(PLAN, against=("best_response",)))
    (task,) = tasks_of(order, order.case(), tmp_path / "audit")
    assert task.inputs() == (str(player),)
    task.run(QUIET)
    manifest = player / "manifest.json"
    manifest.write_text(manifest.read_text() + " ")
    with pytest.raises(UsageError, match="has parts of something else: of another command, other files"):
        task.run(QUIET)


def test_what_parts_need(tmp_path: Path) -> None:
    def needs(player: str, kind: str) -> tuple[float, int]:
        order = Order("ipd", player, replace(PLAN, against=(kind,)))
        (task,) = tasks_of(order, order.case(), tmp_path / "audit")
        found = task.needs(2, 0.5)
        assert found.cpus == 2
        return found.gpus, found.memory

    tiny = COPIES * 116_416
    assert needs("tit_for_tat", "ppo") == (0.0, PROCESS)
    assert needs("tit_for_tat", "language_model") == (0.5, PROCESS + tiny)
    assert needs("tiny", "scripted") == (0.5, PROCESS + tiny)


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["tit_for_tat"], "needs --out DIR, on storage that all machines share"),
        (["openai:nobody@http://127.0.0.1:9/v1", "--budget", "4", "--yes"], "is an endpoint: what it is asked"),
    ],
)
def test_what_is_refused_before_it_is_sent(
    words: list[str], said: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("coplay.cli.options.executor_of", lambda *_, **__: FakeCluster())
    out = [] if words == ["tit_for_tat"] else ["--out", str(tmp_path / "audit")]
    assert main(["audit", *words, *out, *QUICK, "--executor", "ray"]) == 2
    assert said in capsys.readouterr().err and list(tmp_path.iterdir()) == []


def test_objects_are_not_sent(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="players are sent to a cluster by name, and function is an object"):
        coplay.audit("ipd", lambda request: "cooperate", out=tmp_path / "a", executor=FakeCluster())
    game = replace(coplay.make_game("public-goods"), multiplier=1.7)  # type: ignore[type-var]
    with pytest.raises(UsageError, match="a config cannot hold the game object"):
        coplay.audit(game, "always_defect", out=tmp_path / "a", executor=FakeCluster())
    assert list(tmp_path.iterdir()) == []


def test_the_command(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["audit", "tit_for_tat", *QUICK, "--json"]) == 0
    here = capsys.readouterr().out
    cluster = FakeCluster()
    monkeypatch.setattr("coplay.cli.options.executor_of", lambda *_, **__: cluster)
    assert main(["audit", "tit_for_tat", *QUICK, "--json", "--executor", "ray", "--out", str(tmp_path / "a")]) == 0
    assert capsys.readouterr().out == here and len(cluster.carried_out) == 2

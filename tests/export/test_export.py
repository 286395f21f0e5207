"""``coplay export``: each form is read back by the other side, or checked by its schema."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from logged import Unsure, recorded, trained

import coplay
from coplay.cli.main import main
from coplay.errors import UsageError
from coplay.export.formats import export
from coplay.export.games import read_games
from coplay.export.measures import measures_of
from coplay.text.chat import ChatMessage, PromptParts, gemma, llama
from coplay.text.chat_parts import messages_of

DATA = Path(__file__).parents[1] / "data" / "every_eval_ever"


@pytest.fixture(scope="module")
def places(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """A run and recorded games."""
    root = tmp_path_factory.mktemp("export")
    games = recorded(root / "games", "ipd", Unsure(), "tit_for_tat", episodes=2, rounds=3)
    return {"run": trained(root / "run"), "games": games}


def test_every_eval_ever_fits_its_schema(places: dict[str, Path], tmp_path: Path) -> None:
    jsonschema = pytest.importorskip("jsonschema", reason="needs jsonschema")
    schema = json.loads((DATA / "eval.schema.json").read_text(encoding="utf-8"))
    check = jsonschema.Draft7Validator(schema)
    for name, path in places.items():
        written = export(path, "every-eval-ever", tmp_path / name)
        assert [one.name for one in written] == ["row.json", "column.json"]
        for file in written:
            document = json.loads(file.read_text(encoding="utf-8"))
            assert not list(check.iter_errors(document))
            broken = {**document, "model_info": {"name": 3}}
            assert list(check.iter_errors(broken)), "the check cannot fail"


def test_every_eval_ever_has_the_numbers_of_the_evaluation(places: dict[str, Path], tmp_path: Path) -> None:
    run = coplay.load_run(places["run"])
    assert run.evaluation is not None
    (row, _) = export(places["run"], "every-eval-ever", tmp_path / "out")
    document = json.loads(row.read_text(encoding="utf-8"))
    results = {one["metric_config"]["metric_name"]: one["score_details"] for one in document["evaluation_results"]}
    seat = run.evaluation["seats"]["row"]
    assert seat["per_round"] is not None
    assert results["per_round"]["score"] == seat["per_round"]["mean"]
    interval = results["per_round"]["uncertainty"]["confidence_interval"]
    assert interval["upper"] - interval["lower"] == pytest.approx(2 * (seat["per_round"]["ci95"] or 0))
    assert (
        results["illegal"]["score"] == 0
        and results["action/cooperate"]["score"] == seat["actions"]["cooperate"]["mean"]
    )


def test_measures_of_a_game(places: dict[str, Path]) -> None:
    found = measures_of(read_games(places["games"]).games[0])
    assert found["illegal/row"] == pytest.approx(2 / 3) and found["illegal/column"] == 0
    assert found["cooperate/row"] == 1.0 and found["reward/row"] == 3.0  # of the one round in which both could be read


def test_inspect_reads_its_log(places: dict[str, Path], tmp_path: Path) -> None:
    log_module = pytest.importorskip("inspect_ai.log", reason="needs the extra inspect")
    many = recorded(tmp_path / "many", "ipd", Unsure(), "tit_for_tat", episodes=11, rounds=2)
    for name, path in {**places, "many": many}.items():
        (file,) = export(path, "inspect", tmp_path / f"{name}.eval")
        log = log_module.read_eval_log(str(file), resolve_attachments=True)  # long texts are kept apart
        source = read_games(path)
        assert log.status == "success" and len(log.samples) == len(source.games)
        assert log.eval.task == "coplay/ipd" and log.eval.packages["coplay"] == coplay.__version__
        games = sorted(source.games, key=lambda one: (one["seed"], one["step"], one["game"], one["episode"]))
        for sample, game in zip(log.samples, games, strict=True):
            assert {score.answer for score in sample.scores.values()} == {" ".join(game["states"])}
            assert {key: score.value for key, score in sample.scores.items()} == measures_of(game)
            assert sample.metadata["seed"] == game["seed"] and sample.metadata["states"] == game["states"]
            in_order = [(act["seat"], act["reply"]) for one in game["rounds"] for act in one["acts"]]
            answers = [m for m in sample.messages if m.role == "assistant"]
            assert [(m.metadata["seat"], m.content.partition("\n\n")[2]) for m in answers] == in_order
            assert sample.metadata["void"] == [i for i, one in enumerate(game["rounds"], 1) if one.get("void")]
            for seat in game["players"]:
                acts = [act for one in game["rounds"] for act in one["acts"] if act["seat"] == seat]
                said, paid = [act["reply"] for act in acts], [one["payoffs"][seat] for one in game["rounds"]]
                replies = [m for m in sample.messages if m.role == "assistant" and m.metadata["seat"] == seat]
                assert [m.content.partition("\n\n")[2] for m in replies] == said
                assert [m.metadata.get("payoff") for m in replies] == paid
                calls = [e for e in sample.events if e.event == "model" and e.role == seat]
                assert [e.output.completion for e in calls] == said
                read = [act.get("prompt") for act in acts]
                assert ["\n".join(m.text for m in e.input) or None for e in calls] == read


def test_tables_are_read_back(places: dict[str, Path], tmp_path: Path) -> None:
    pandas = pytest.importorskip("pandas", reason="needs the extra frames")
    run = coplay.load_run(places["run"])
    (csv,) = export(places["run"], "csv", tmp_path / "run.csv")
    assert pandas.read_csv(csv)["value"].tolist() == run.metrics["value"].tolist()
    (games,) = export(places["games"], "csv", tmp_path / "games.csv", table="games")
    assert pandas.read_csv(games)["reply"].tolist()[:3] == ["C", "C", "<b>hm</b>"]


def test_parquet_keeps_types(places: dict[str, Path], tmp_path: Path) -> None:
    pytest.importorskip("pyarrow", reason="needs the extra parquet")
    pandas = pytest.importorskip("pandas", reason="needs the extra frames")
    (file,) = export(places["run"], "parquet", tmp_path / "run.parquet")
    pandas.testing.assert_frame_equal(pandas.read_parquet(file), coplay.load_run(places["run"]).metrics)


def test_nothing_is_overwritten_and_what_is_wrong_is_told(places: dict[str, Path], tmp_path: Path) -> None:
    taken = tmp_path / "taken"
    taken.mkdir()
    (taken / "mine").write_text("mine")
    for wrong, told in (
        ({"path": places["run"], "to": "every-eval-ever", "out": taken}, "exists already"),
        ({"path": tmp_path / "none", "to": "csv"}, "there is no directory"),
        ({"path": taken, "to": "inspect"}, "is not a run directory"),
        ({"path": places["games"], "to": "csv", "table": "metrics"}, "has no table 'metrics'; it has: games"),
        ({"path": places["games"], "to": "inspect", "table": "games"}, "--table goes with"),
    ):
        arguments: dict[str, Any] = dict(wrong)
        with pytest.raises(UsageError, match=told):
            export(**arguments)
    assert (taken / "mine").read_text() == "mine"


def test_a_damaged_game_is_named(places: dict[str, Path], tmp_path: Path) -> None:
    import shutil

    from run_files import as_older

    run = as_older(Path(shutil.copytree(places["run"], tmp_path / "run")))
    lines = (run / "episodes.jsonl").read_text(encoding="utf-8").splitlines()
    (run / "episodes.jsonl").write_text("\n".join([lines[0], '{"version": 1, "step": 1}']) + "\n", encoding="utf-8")
    with pytest.raises(UsageError, match=r"episodes.jsonl, line 2"):
        export(run, "every-eval-ever")


def test_the_command(places: dict[str, Path], tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / "out"
    assert main(["export", str(places["run"]), "--to", "every-eval-ever", "--out", str(out), "--json"]) == 0
    assert json.loads(capsys.readouterr().out) == [str(out / "row.json"), str(out / "column.json")]
    assert main(["export", str(places["run"]), "--to", "every-eval-ever", "--out", str(out)]) == 2
    assert "exists already" in capsys.readouterr().err


def test_prompts_are_taken_apart() -> None:
    parts = PromptParts("Rules.", "", "Before: C.", "Reply C or D.", ("C", "D"))
    assert messages_of(gemma(parts)) == [ChatMessage("user", parts.text)]
    system, user = messages_of(llama(parts))
    assert system.role == "system" and system.text.startswith("Rules.") and user == ("user", parts.situation)
    chatml = "<|im_start|>user\nA?<|im_end|>\n<|im_start|>assistant\nB.<|im_end|>\n<|im_start|>assistant\n"
    assert messages_of(chatml) == [ChatMessage("user", "A?"), ChatMessage("assistant", "B.")]
    assert messages_of("after CC") == [ChatMessage("user", "after CC")]

"""Training: seeds together are seeds alone; what a run leaves behind; what is refused."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import load_file
from small_runs import KINDS, QUIET, files, small

from coplay import trial as trial_module
from coplay.runs.state import build
from coplay.runs.config import Config
from coplay.errors import UsageError
from coplay.play.loop import Table
from coplay.runs.directory import RunDirectory, locked, read_json, read_lines
from coplay.runs.train import resume, shown_trials, train, trained
from coplay.runs.trial import run_trial
from coplay.types import Episode

torch.set_num_threads(1)


@pytest.fixture(autouse=True)
def _same_threads() -> Iterator[None]:
    """Building an arena sets torch's threads; results are compared for one count."""
    yield
    torch.set_num_threads(1)


# --- Seeds ---------------------------------------------------------------------------------------------------------------------------


def states_and_parameters(config: Config, monkeypatch: pytest.MonkeyPatch) -> tuple[dict[Any, Any], dict[int, Any]]:
    """All joint actions by (seed, trial, episode, game), and each seed's parameters after training."""
    seen: dict[Any, Any] = {}
    play_episode = trial_module.play_episode

    def recording(tables: Any, players: Any, *, occasion: Any, **rest: Any) -> list[Episode]:
        games = play_episode(tables, players, occasion=occasion, **rest)
        seen.update({(game.seed, *occasion, game.game): game.states for game in games})
        return games

    monkeypatch.setattr(trial_module, "play_episode", recording)
    arena = build(config)
    tables = [Table(arena.game, seed, index) for seed in config.seeds for index in range(config.games)]
    metrics = [run_trial(arena, tables, trial)[0] for trial in range(config.trials)]
    monkeypatch.undo()
    parameters: dict[int, Any] = {}
    for position, seed in enumerate(config.seeds):
        own = []
        for learner in arena.learners.values():
            slot = learner.slots[position]
            own += [parameter.detach()[slot].flatten() for parameter in learner.policy.parameters()]
            own += [learner.heads.weights.detach()[position]]
        parameters[seed] = torch.cat(own), [line[seed] for line in metrics]
    return seen, parameters


@pytest.mark.parametrize("kind", KINDS)
def test_seeds_together_equal_seeds_alone(kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    states, parameters = states_and_parameters(small(kind, "seeds=[0,1,2]", "trials=3"), monkeypatch)
    start = states_and_parameters(small(kind, "seeds=[0,1,2]", "trials=0"), monkeypatch)[1]
    alone_states: dict[Any, Any] = {}
    for seed in (0, 1, 2):
        own_states, own = states_and_parameters(small(kind, f"seeds=[{seed}]", "trials=3"), monkeypatch)
        alone_states |= own_states
        torch.testing.assert_close(parameters[seed][0], own[seed][0], rtol=0, atol=1e-4)
        assert (parameters[seed][0] - start[seed][0]).abs().max() > 1e-3  # something was learnt
        for together, one in zip(parameters[seed][1], own[seed][1], strict=True):
            assert together == pytest.approx(one, abs=1e-3)
    assert states == alone_states
    assert len({str([states[key] for key in states if key[0] == seed]) for seed in (0, 1, 2)}) == 3


# --- A complete run --------------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", KINDS)
def test_what_is_in_a_run_directory(finished: dict[str, Path], kind: str) -> None:
    path = finished[kind]
    assert RunDirectory.open(path).config == small(kind)
    names = {name.split("/")[0] for name in files(path)}
    assert names - {"adapters"} == {
        "config.json",
        "env.json",
        "metrics.jsonl",
        "episodes.jsonl",
        "checkpoints",
        "eval.json",
        ".lock",
    }
    assert ("adapters" in names) == (kind == "language_model")
    lines = read_lines(path / "metrics.jsonl")
    assert [(line["step"], line["seed"], line["version"]) for line in lines] == [(i, 0, 1) for i in (1, 2, 3, 4)]
    for line in lines:
        assert {"reward/row", "reward/column", "state/CC", "state/I", "illegal/row", "kl/column"} <= set(line)
        assert sum(line[key] for key in line if key.startswith("state/")) == pytest.approx(1)
    games = read_lines(path / "episodes.jsonl")
    assert {(game["step"], game["episode"]) for game in games} == {(s, e) for s in (1, 2, 3, 4) for e in (1, 2)}
    assert all(len(game["states"]) == 4 and game["version"] == 1 for game in games)
    assert [path.name for path in RunDirectory(path).checkpoints()] == ["trial-00002", "trial-00004"]
    assert read_json(path / "eval.json")["version"] == 1
    assert read_json(path / "env.json")["version"] == 1


@pytest.mark.parametrize("kind", KINDS)
def test_a_trained_pair_is_read_back_as_it_was(finished: dict[str, Path], kind: str) -> None:
    saved = load_file(str(finished[kind] / "checkpoints" / "trial-00004" / "state.safetensors"))
    tensors = trained(finished[kind]).tensors()
    assert set(tensors) == set(saved)
    assert all(torch.equal(tensors[key], saved[key]) for key in saved)


def test_a_run_of_no_trials_is_still_evaluated(tmp_path: Path) -> None:
    run = train(small("tabular", "trials=0"), tmp_path / "run", progress=QUIET)
    assert [path.name for path in run.checkpoints()] == ["trial-00000"]
    assert (run.path / "eval.json").exists()


def test_scripted_players_and_frozen_learners_can_take_part(tmp_path: Path) -> None:
    config = small("tabular", "column.player=tit_for_tat", "row.update=never", "trials=2")
    run = train(config, tmp_path / "run", progress=QUIET)
    assert (trained(run.path).tensors()["row.policy"] == 0).all()
    assert read_json(run.path / "eval.json")["seats"]["column"]["player"] == "tit_for_tat"


def test_which_trials_are_shown() -> None:
    assert shown_trials(0) == set()
    assert shown_trials(3) == {1, 2, 3}
    for count in range(1, 60):
        shown = shown_trials(count)
        assert {1, count} <= shown <= set(range(1, count + 1))
        assert len(shown) == min(count, 5)


# --- Refusals ---------------------------------------------------------------------------------------------------------------------------


def test_an_existing_directory_is_refused_and_left_alone(finished: dict[str, Path], tmp_path: Path) -> None:
    run = finished["tabular"]
    before = (run / "metrics.jsonl").read_bytes()
    with pytest.raises(UsageError, match=f"{run} exists already; resume it with --resume {run}"):
        train(small("tabular"), run, progress=QUIET)
    assert (run / "metrics.jsonl").read_bytes() == before
    (tmp_path / "file").write_text("mine")
    with pytest.raises(UsageError, match="exists already"):
        train(small("tabular"), tmp_path / "file", progress=QUIET)
    with pytest.raises(UsageError, match="exists already"):
        RunDirectory.create(run, small("tabular"))


def test_an_empty_directory_is_fine(tmp_path: Path) -> None:
    (tmp_path / "run").mkdir()
    assert train(small("tabular", "trials=1"), tmp_path / "run", progress=QUIET).path == tmp_path / "run"


@pytest.mark.parametrize(
    ("overrides", "message"),
    [
        (["game=ipdd"], "unknown game 'ipdd'"),
        (["row.player=tit_for_tta"], "tit_for_tat"),
        (['row.labels=["A"]'], "row.labels: game 'ipd' needs 2 labels"),
        (["column.initial=[0.5]"], "column.initial: game 'ipd' needs 5 probabilities"),
        (["row.memory=transcript"], "row.memory: a tabular learner cannot read transcripts"),
    ],
)
def test_what_is_wrong_is_found_before_anything_is_written(tmp_path: Path, overrides: list[str], message: str) -> None:
    with pytest.raises(UsageError, match=message):
        train(small("tabular", *overrides), tmp_path / "deep" / "run", progress=QUIET)
    assert files(tmp_path) == []


def test_initial_probabilities_need_two_actions(tmp_path: Path) -> None:
    game = {"name": "rps", "actions": ["r", "p", "s"], "payoffs": [[[0, 0]] * 3] * 3}
    with pytest.raises(UsageError, match="more than two actions; learners start from uniform"):
        train(small("tabular", f"game={json.dumps(game)}"), tmp_path / "run", progress=QUIET)
    fine = small("tabular", f"game={json.dumps(game)}", "row.initial=null", "column.initial=null", "trials=1")
    assert (train(fine, tmp_path / "run", progress=QUIET).path / "eval.json").exists()


def test_what_is_no_run_cannot_be_resumed(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="there is no run directory"):
        resume(tmp_path / "nowhere", progress=QUIET)
    with pytest.raises(UsageError, match=r"is not a run directory: it has no config\.json"):
        resume(tmp_path, progress=QUIET)
    (tmp_path / "config.json").write_text('{"recipe": "x"')
    with pytest.raises(UsageError, match="cannot be read"):
        resume(tmp_path, progress=QUIET)


def test_a_run_in_use_is_refused(finished: dict[str, Path]) -> None:
    with locked(finished["tabular"]), pytest.raises(UsageError, match="in use by another coplay process"):
        resume(finished["tabular"], progress=QUIET)

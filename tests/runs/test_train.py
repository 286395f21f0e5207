"""Training: seeds together are seeds alone; what a run leaves behind; what is refused."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import torch
from run_files import read_json, read_lines
from safetensors.torch import load_file
from small_runs import KINDS, QUIET, files, small
from small_text_runs import small_text, tables_config

from coplay.errors import UsageError
from coplay.files.lock import locked
from coplay.games.records import Episode
from coplay.play.loop import StreamNames
from coplay.runs import state as state_module
from coplay.runs.config import Config
from coplay.runs.config_input import with_overrides
from coplay.runs.directory import RunDirectory
from coplay.runs.factory import build
from coplay.runs.restore import restored
from coplay.runs.shown import shown_trials
from coplay.runs.train import resume, train

torch.set_num_threads(1)


@pytest.fixture(autouse=True)
def _same_threads() -> Iterator[None]:
    """Building a state sets torch's threads; results are compared for one count."""
    yield
    torch.set_num_threads(1)


# --- Seeds ---------------------------------------------------------------------------------------------------------------------------


def played_and_learnt(config: Config, monkeypatch: pytest.MonkeyPatch) -> tuple[dict[Any, Any], dict[int, Any]]:
    """What was done by (seed, trial, episode, game); each seed's parameters after training, and its metrics."""
    done: dict[Any, Any] = {}
    play_episode = state_module.play_episode

    def recording(game: Any, tables: Any, *, streams: StreamNames, **rest: Any) -> list[Episode]:
        games = play_episode(game, tables, streams=streams, **rest)
        done.update({(one.seed, *streams.choices, one.game): [o.conduct for o in one.outcomes] for one in games})
        return games

    monkeypatch.setattr(state_module, "play_episode", recording)
    state = build(config)
    metrics = [state.run_trial(trial).lines for trial in range(config.trials)]
    monkeypatch.undo()
    learnt = {
        seed: (
            torch.cat([tensor.flatten().float() for tensor in state.state_dict(seed).values()]),
            [line[seed] for line in metrics],
        )
        for seed in config.seeds
    }
    return done, learnt


def of_kind(kind: str, *overrides: str) -> Config:
    """A small run: the IPD with tables or a language model, a text game with past selves, or public goods with three kinds of tables."""
    if kind == "text":
        return small_text("ipd-ab", "past_selves.snapshot_interval=1", "past_selves.pool_size=2", *overrides)
    if kind == "three":
        names = ("ppo", "q_learning", "reinforce")
        learners = {name: {"algorithm": name, "memory": "last_round"} for name in names}
        seats = {f"player-{i + 1}": name for i, name in enumerate(names)}
        return with_overrides(tables_config("public-goods", learners, seats, rotate_seats=True), list(overrides))
    return small(kind, *overrides)


@pytest.mark.parametrize("kind", [*KINDS, "text", "three"])
def test_seeds_together_equal_seeds_alone(kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    done, learnt = played_and_learnt(of_kind(kind, "seeds=[0,1,2]", "trials=3"), monkeypatch)
    start = played_and_learnt(of_kind(kind, "seeds=[0,1,2]", "trials=0"), monkeypatch)[1]
    done_alone: dict[Any, Any] = {}
    for seed in (0, 1, 2):
        own_done, own = played_and_learnt(of_kind(kind, f"seeds=[{seed}]", "trials=3"), monkeypatch)
        done_alone |= own_done
        torch.testing.assert_close(learnt[seed][0], own[seed][0], rtol=0, atol=1e-4)
        assert (learnt[seed][0] - start[seed][0]).abs().max() > 1e-3  # something was learnt
        for together, alone in zip(learnt[seed][1], own[seed][1], strict=True):
            assert together == pytest.approx(alone, abs=1e-3)
    assert done == done_alone
    assert len({str([done[key] for key in done if key[0] == seed]) for seed in (0, 1, 2)}) == 3


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
        "manifest.json",
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
    assert all(len(game["states"]) == 4 and game["version"] == 2 for game in games)
    assert [path.name for path in RunDirectory.open(path).checkpoints()] == ["trial-00002", "trial-00004"]
    assert read_json(path / "eval.json")["version"] == 1
    assert read_json(path / "env.json")["version"] == 2


@pytest.mark.parametrize("kind", KINDS)
def test_what_was_learnt_is_read_back_as_it_was(finished: dict[str, Path], kind: str) -> None:
    saved = load_file(str(finished[kind] / "checkpoints" / "trial-00004" / "state.safetensors"))
    tensors = {f"0/{key}": tensor for key, tensor in restored(finished[kind]).state_dict(0).items()}
    assert set(tensors) == set(saved)
    assert all(torch.equal(tensors[key], saved[key]) for key in saved)


def test_a_run_of_no_trials_is_still_evaluated(tmp_path: Path) -> None:
    run = train(small("tabular", "trials=0"), tmp_path / "run", progress=QUIET)
    assert [path.name for path in run.checkpoints()] == ["trial-00000"]
    assert (run.path / "eval.json").exists()


def test_scripted_players_and_frozen_learners_can_take_part(tmp_path: Path) -> None:
    config = small("tabular", "seats.column=tit_for_tat", "row.update=never", "trials=2")
    run = train(config, tmp_path / "run", progress=QUIET)
    assert (restored(run.path).state_dict(0)["row/policy.theta"] == 0).all()
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
    with pytest.raises(UsageError, match="file exists already and is not a run directory; choose another --out"):
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
        (["seats.row=tit_for_tta"], "unknown player 'tit_for_tta'. Did you mean 'tit_for_tat'"),
        (["seats.row=row,tit_for_tta"], "unknown player 'tit_for_tta'"),
        (["seats.alice=random"], "unknown seat of game 'ipd' 'alice'"),
        (["game=public-goods"], "unknown seat of game 'public-goods' 'row'"),
        (['row.labels=["A"]'], "learners.row.labels: game 'ipd' needs 2 labels"),
        (["column.initial=[0.5]"], "learners.column.initial: game 'ipd' needs 5 probabilities"),
        (["row.memory=transcript"], "learners.row.memory: a tabular learner cannot read transcripts"),
        (
            ["game=split-no-comm", 'seats={"alice": "row", "bob": "column"}'],
            "a table chooses among a few actions; game 'split-no-comm' also asks",
        ),
        (["row.algorithm=lola", "row.memory=last_round", "seats.column=row"], "lola learns in one seat"),
        (["game.rounds=-3"], "game 'ipd': rounds must be at least 1, got -3"),
        (["game.n=3"], "game 'ipd': there is no setting 'n'"),
    ],
)
def test_what_is_wrong_is_found_before_anything_is_written(tmp_path: Path, overrides: list[str], message: str) -> None:
    with pytest.raises(UsageError, match=message):
        train(small("tabular", *overrides), tmp_path / "deep" / "run", progress=QUIET)
    assert files(tmp_path) == []


def test_every_seat_needs_somebody(tmp_path: Path) -> None:
    config = tables_config("public-goods", {"a": {}}, {"player-1": "a", "player-3": "random"})
    with pytest.raises(
        UsageError, match=r"nobody sits in 'player-2' of game 'public-goods'; set seats\.player-2=PLAYER"
    ):
        train(config, tmp_path / "run", progress=QUIET)
    assert files(tmp_path) == []


def test_what_is_no_run_cannot_be_resumed(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="there is no run directory"):
        resume(tmp_path / "nowhere", progress=QUIET)
    with pytest.raises(UsageError, match=r"is not a run directory: it has no config\.json"):
        resume(tmp_path, progress=QUIET)
    (tmp_path / "config.json").write_text('{"recipe": "x"')
    with pytest.raises(UsageError, match=r"config\.json is damaged: it is not JSON"):
        resume(tmp_path, progress=QUIET)


def test_a_run_in_use_is_refused(finished: dict[str, Path]) -> None:
    with locked(finished["tabular"]), pytest.raises(UsageError, match="in use by another coplay process"):
        resume(finished["tabular"], progress=QUIET)

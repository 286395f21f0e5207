"""Every algorithm in a run: seeds together are seeds alone, and a run that died ends as one that did not."""

from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import load_file
from small_runs import small

from coplay import trial as trials
from coplay.runs.directory.state import build
from coplay.runs.directory.config import Config
from coplay.play.loop.loop import Table
from coplay.progress import Progress
from coplay.runs.directory.directory import RunDirectory, read_json, read_lines
from coplay.runs.directory.train import resume, train, trained
from coplay.runs.directory.trial import run_trial

torch.set_num_threads(1)

QUIET = Progress(quiet=True)
PAIRS = {
    "q_learning, round by round": ["column.algorithm=q_learning", "column.initial=null", "column.update=round"],
    "q_learning, forgetting to explore": [
        "column.algorithm=q_learning",
        "column.initial=null",
        "column.q.epsilon_initial=0.9",
        "column.q.epsilon_updates=6",
    ],
    "reinforce": ["column.algorithm=reinforce"],
    "reinforce as a shaper": ["row.algorithm=reinforce", "column.algorithm=exact"],
    "exact against counts": ["column.algorithm=exact"],
    "lola against ppo": ["column.algorithm=lola", "row.memory=last_round"],
    "lola against lola": ["column.algorithm=lola", "row.algorithm=lola", "row.memory=last_round"],
}
"""What is changed in the tabular shaping run."""
MARKS = {"q_learning": "td_error", "reinforce": "gradient", "exact": "value", "lola": "value", "ppo": "kl"}
"""A metric that each algorithm writes."""


def pair(name: str, *overrides: str) -> Config:
    return small("tabular", *PAIRS[name], *overrides)


@pytest.mark.parametrize("name", PAIRS)
def test_a_run_that_died_ends_as_if_it_had_not(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    whole = train(pair(name), tmp_path / "whole", progress=QUIET).path

    def stop(arena: Any, tables: Any, trial: int) -> Any:
        if trial == 3:
            raise KeyboardInterrupt
        return run_trial(arena, tables, trial)

    monkeypatch.setattr(trials, "run_trial", stop)
    with pytest.raises(KeyboardInterrupt):
        train(pair(name), tmp_path / "died", progress=QUIET)
    monkeypatch.undo()
    resume(tmp_path / "died", progress=QUIET)
    for file in ("metrics.jsonl", "episodes.jsonl", "eval.json"):
        assert (tmp_path / "died" / file).read_bytes() == (whole / file).read_bytes(), file
    state = f"checkpoints/{RunDirectory(whole).checkpoints()[-1].name}/state.safetensors"
    mine, theirs = (load_file(str(path / state)) for path in (tmp_path / "died", whole))
    assert set(mine) == set(theirs)
    assert all(torch.equal(mine[key], theirs[key]) for key in theirs)
    read_back = trained(whole).tensors()
    assert all(torch.equal(read_back[key], theirs[key]) for key in theirs)
    for seat, setting in pair(name).seats.items():
        assert f"{MARKS[setting.algorithm]}/{seat}" in read_lines(whole / "metrics.jsonl")[-1]
    assert read_json(whole / "eval.json")["seats"]["column"]["illegal"]["mean"] == 0


@pytest.mark.parametrize("name", PAIRS)
def test_seeds_together_equal_seeds_alone(name: str) -> None:
    def learnt(seeds: str) -> dict[int, tuple[list[Any], list[torch.Tensor]]]:
        config = pair(name, f"seeds={seeds}")
        arena = build(config)
        tables = [Table(arena.game, seed, index) for seed in config.seeds for index in range(config.games)]
        lines = [run_trial(arena, tables, trial)[0] for trial in range(3)]
        return {
            seed: (
                [line[seed] for line in lines],
                [learner.policy.parameters()[0].detach()[i] for learner in arena.learners.values()],
            )
            for i, seed in enumerate(config.seeds)
        }

    together = learnt("[0,1]")
    for seed in (0, 1):
        lines, tables = learnt(f"[{seed}]")[seed]
        for one, other in zip(lines, together[seed][0], strict=True):
            assert one == pytest.approx(other, abs=1e-4)
        for own, shared in zip(tables, together[seed][1], strict=True):
            torch.testing.assert_close(own, shared, rtol=1e-4, atol=1e-5)
            assert (own != 0).any()  # something was learnt


def test_learners_that_look_at_each_other_move_at_once() -> None:
    """Two exact learners in mirrored seats of a symmetric game stay mirror images; one after the other they would not."""
    config = small(
        "tabular", "row.memory=last_round", "row.update=episode", "row.algorithm=lola", "column.algorithm=lola"
    )
    row = config.row.model_copy(update={"initial": config.column.initial})
    arena = build(config.model_copy(update={"row": row}))
    tables = [Table(arena.game, 0, index) for index in range(config.games)]
    for trial in range(3):
        run_trial(arena, tables, trial)
    mine, theirs = (arena.learners[seat].policy.parameters()[0].detach() for seat in ("row", "column"))
    assert torch.equal(mine, theirs)
    assert (mine != 0).any()


@pytest.mark.parametrize("algorithm", ["lola", "q_learning"])
def test_a_language_model_may_face_any_of_them(algorithm: str) -> None:
    """The exact learner reads the language model's five prompts; the shaper's counts are another matter."""
    config = small(
        "language_model",
        "row.memory=last_round",
        "column.learner=tabular",
        f"column.algorithm={algorithm}",
        "trials=1",
    )
    arena = build(config)
    lines, _ = run_trial(arena, [Table(arena.game, 0, index) for index in range(config.games)], 0)
    assert {"kl/row", f"{MARKS[algorithm]}/column"} <= set(lines[0])
    assert arena.bank is not None
    assert [slot.learner for slot in arena.bank.slots] == ["row"]


def test_a_game_of_other_sizes() -> None:
    """Rock, paper, scissors: three actions a seat, ten lines a table."""
    rps = {
        "name": "rps",
        "actions": ["rock", "paper", "scissors"],
        "payoffs": [[[0, 0], [-1, 1], [1, -1]], [[1, -1], [0, 0], [-1, 1]], [[-1, 1], [1, -1], [0, 0]]],
    }
    for algorithm in ("q_learning", "reinforce", "exact", "lola"):
        config = small("tabular", "row.initial=null", "column.initial=null", f"column.algorithm={algorithm}")
        arena = build(config.model_copy(update={"game": rps}))
        lines, _ = run_trial(arena, [Table(arena.game, 0, index) for index in range(config.games)], 0)
        assert lines[0]["illegal/column"] == 0
        assert (arena.learners["column"].policy.parameters()[0] != 0).any()

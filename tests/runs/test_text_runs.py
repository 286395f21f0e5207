"""Runs of games in rounds: resume = uninterrupted, workers = alone, who is seated where, and who learns from what."""

from pathlib import Path
from typing import Any

import pytest
import torch

from coplay.runs.factory import build_any, check_without_weights
from coplay.runs.config_input import overridden, validated
from coplay.errors import UsageError
from coplay.evaluation.match import seeds_table
from coplay.games.rounds import ALICE, BOB, SEATS
from coplay.models.optimiser import SlotAdam
from coplay.recipes import RECIPES, make_config
from coplay.rounds.arena import CO_PLAYER, LEARNER, PAST, RoundArena, build_rounds
from coplay.rounds.config import RoundConfig, of_matrix_game
from coplay.rounds.metrics import ROUND_METRICS, states_of
from coplay.runs.directory import RunDirectory, read_json, read_lines, write_json
from coplay.runs.references import self_contained
from coplay.runs.train import resume, train
from coplay.runs.executors import Alone, Workers

torch.set_num_threads(1)

SMALL = ["rounds=3", "games=6", "group_size=3", "trials=3", "eval_games=3", "threads=1", "checkpoint_every=1"]


def small(recipe: str, *overrides: str) -> RoundConfig:
    config = overridden(make_config(recipe), [*SMALL, "seeds=[0]", "learner.learning_rate=0.01", *overrides])
    assert isinstance(config, RoundConfig)
    return config


def arena(recipe: str, *overrides: str) -> RoundArena:
    return build_rounds(small(recipe, *overrides))


GAMES = ("ipd-ab", "split-no-comm", "trust-and-split")


# --- Configs ------------------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", [name for name in RECIPES if name.startswith("adalign/")])
def test_every_recipe_is_complete(name: str) -> None:
    for scale in ("tiny", "paper"):
        config = make_config(name, scale=scale)  # type: ignore[arg-type]
        assert isinstance(config, RoundConfig)
        assert validated(config.model_dump(mode="json")) == config
        assert (config.past_selves.share > 0) == (config.learner.method == "advantage_alignment")


@pytest.mark.parametrize(
    ("game", "expected"),
    [
        ("ipd-ab", (128, 5.0, 0.01, 0.0, 0.9, 0.5, 0.9)),
        ("split-no-comm", (64, 100.0, 0.0, 0.001, 0.9, 1.0, 0.9)),
        ("trust-and-split", (64, 100.0, 0.0, 0.001, 0.96, 2.0, 0.96)),
    ],
)
def test_table_1(game: str, expected: tuple[float, ...]) -> None:
    config = make_config(f"adalign/{game}", scale="paper")
    assert isinstance(config, RoundConfig)
    own = config.learner
    assert expected == (
        config.games, own.reward_constant, own.entropy_coef, own.kl_coef, own.discount, own.beta, own.alignment_discount
    )  # fmt: skip
    assert (own.learning_rate, own.importance_cap, config.rounds, config.temperature) == (3e-6, 2.0, 10, 1.0)
    assert (config.adapter.rank, config.adapter.alpha, config.past_selves.share) == (32, 64.0, 0.5)
    naive = make_config(f"adalign/{game}-grpo", scale="paper")
    assert isinstance(naive, RoundConfig)
    assert naive.learner.model_copy(update={"method": own.method}) == own and naive.past_selves.share == 0


def test_table_2() -> None:
    config = make_config("adalign/trust-and-split-exploiter", scale="paper")
    assert isinstance(config, RoundConfig)
    own = config.learner
    assert (config.games, own.reward_constant, own.entropy_coef, own.kl_coef, own.discount) == (64, 100, 0, 0, 0.96)


def test_what_cannot_be() -> None:
    config = small("adalign/ipd-ab")
    for assignment, said in (
        ("learner.beeta=1", "Did you mean 'beta'"),
        ("game=ipd-abc", "ipd-ab"),
        ("past=chats", "chat"),
        ("co_player=cooperate", "past_selves.share=0"),
        ("learner.method=ppo", "advantage_alignment"),
    ):
        with pytest.raises(UsageError, match=said):
            overridden(config, [assignment])
    nobody = overridden(config, ["co_player=nobody", "past_selves.share=0"])
    with pytest.raises(UsageError, match="neither 'self', nor a scripted player"):
        check_without_weights(nobody)
    with pytest.raises(UsageError, match="is for matrix games"):
        of_matrix_game(config, what="coplay sweep")
    with pytest.raises(UsageError, match="tabular learners do not read"):
        make_config("adalign/ipd-ab", learner="tabular")


def test_tiny_is_the_embedded_model_that_speaks() -> None:
    assert small("adalign/ipd-ab", "model=tiny").model == "tiny-talk"


def test_a_start_that_is_no_directory_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"adapter\.start: there is no directory"):
        arena("adalign/ipd-ab", f"adapter.start={tmp_path / 'nothing'}")


@pytest.mark.parametrize("workers", [1, 2])
def test_the_start_may_be_the_reference(tmp_path: Path, workers: int) -> None:
    first = train(small("adalign/split-no-comm", "learner.kl_coef=0.1"), tmp_path / "first")
    start = next((first.path / "adapters").iterdir())
    kl = {}
    for reference in ("start", "base"):
        settings = ["seeds=[0,1]", "learner.kl_coef=0.1", f"adapter.start={start}", f"adapter.reference={reference}"]
        config = small("adalign/split-no-comm", *settings, f"workers={workers}")
        run = train(config, tmp_path / reference)
        kl[reference] = [line["kl/learner"] for line in read_lines(run.path / "metrics.jsonl") if line["step"] == 1]
    assert all(abs(value) < 1e-6 for value in kl["start"])
    assert all(abs(value) > 1e-4 for value in kl["base"])


@pytest.mark.parametrize(
    ("recipe", "overrides", "across"),
    [
        ("adalign/ipd-ab", ["past_selves.share=1", "past_selves.every=1", "past_selves.kept=2"], "past-0"),
        ("adalign/ipd-ab-grpo", ["co_player=defect"], "defect"),
        ("adalign/ipd-ab-grpo", [], "learner"),
    ],
)
def test_a_recorded_game_names_who_sat_there(recipe: str, overrides: list[str], across: str) -> None:
    (game,) = arena(recipe, *overrides).run_trial(0).games
    assert [game["seats"][seat]["player"] for seat in (ALICE, BOB)] == ["learner", across]


# --- Seating ------------------------------------------------------------------------------------------------------------------------


def test_in_self_play_both_seats_learn_and_with_a_past_self_one() -> None:
    one = arena("adalign/ipd-ab", "games=40", "group_size=5", "past_selves.kept=2", "past_selves.every=1")
    one.take_snapshots(3)
    tables, trained = one.seat(3)
    assert all(table.players[seat] is one.player for table in tables for seat in SEATS)
    met = 0
    for table, seats in zip(tables, trained, strict=True):
        slots = {seat: one.seating.get((0, table.index, seat), 0) for seat in SEATS}
        held = {seat: one.bank.slots[slot].learner for seat, slot in slots.items()}
        assert all((held[seat] == LEARNER) == (seat in seats) for seat in SEATS)
        if len(seats) == 1:
            met += 1
            assert seats == ((ALICE, BOB)[table.group % 2],)
            assert held[(BOB, ALICE)[table.group % 2]].startswith(PAST)
    assert 8 <= met <= 32
    assert {table.group for table in tables} == set(range(8))


def test_against_another_the_learner_changes_seats_by_group() -> None:
    one = arena("adalign/split-no-comm-grpo", "co_player=defect")
    tables, trained = one.seat(0)
    assert trained == [(ALICE,)] * 3 + [(BOB,)] * 3
    assert [table.players[BOB].name for table in tables[:3]] == ["defect"] * 3
    (line,) = one.run_trial(0).lines.values()
    assert line["reward/co_player"] is not None and line["reward/learner"] is not None


@pytest.mark.parametrize(("games", "group_size"), [(6, 6), (9, 3), (6, 3)])
def test_over_trials_the_learner_sits_in_both_seats_as_often(games: int, group_size: int) -> None:
    one = arena("adalign/ipd-ab-grpo", "co_player=defect", f"games={games}", f"group_size={group_size}")
    seats = [seat for trial in range(4) for (seat,) in one.seat(trial)[1]]
    assert seats.count(ALICE) == seats.count(BOB)


@pytest.mark.parametrize(("group_size", "alone"), [(1, 6), (5, 1), (3, 0)])
def test_games_without_a_baseline_are_told(group_size: int, alone: int) -> None:
    (line,) = arena("adalign/ipd-ab-grpo", f"group_size={group_size}").run_trial(0).lines.values()
    assert line.get("note/learner") == (f"no baseline for {alone} of 6 games: alone in their group" if alone else None)
    assert line["loss/learner"] != 0 and line["grad_norm/learner"] > 0


def test_memory_does_not_grow_with_past_selves() -> None:
    one = arena("adalign/ipd-ab", "past_selves.kept=2", "past_selves.every=1")
    sizes = []
    for trial in range(6):
        one.run_trial(trial)
        sizes.append(sum(tensor.numel() for tensor in one.tensors().values()))
    assert len(set(sizes)) == 1


def test_the_rate_falls_in_a_straight_line(monkeypatch: pytest.MonkeyPatch) -> None:
    shares = []
    step = SlotAdam.step
    monkeypatch.setattr(
        SlotAdam, "step", lambda adam, slots, scale=1.0: (shares.append(scale), step(adam, slots, scale=scale))
    )
    one = arena("adalign/ipd-ab-grpo", "learner.decay_updates=2", "learner.final_rate=0.5")
    for trial in range(2):
        one.run_trial(trial)
    later = arena("adalign/ipd-ab-grpo", "learner.decay_updates=2", "learner.final_rate=0.5")
    later.load_tensors(one.tensors())
    later.run_trial(2)  # as after an interruption
    assert shares == [0.75, 0.5, 0.5]


def test_past_selves_cost_their_weights_and_no_moments() -> None:
    few, many = (arena("adalign/ipd-ab", f"past_selves.kept={kept}").tensors() for kept in (1, 9))
    assert sum(tensor.numel() for key, tensor in many.items() if key.startswith("bank.")) > 4 * sum(
        tensor.numel() for key, tensor in few.items() if key.startswith("bank.")
    )
    moments = {key: tensor.shape for key, tensor in few.items() if key.startswith("learner.")}
    assert moments == {key: tensor.shape for key, tensor in many.items() if key.startswith("learner.")}


@pytest.mark.parametrize("game", GAMES)
def test_metrics_are_those_that_are_documented(game: str) -> None:
    one = arena(f"adalign/{game}")
    (line,) = one.run_trial(0).lines.values()
    known = {key.replace("SEAT", seat) for key in ROUND_METRICS for seat in SEATS}
    known |= {f"state/{state}" for state in states_of(one.words)}
    assert set(line) <= known
    assert sum(line[f"state/{state}"] for state in states_of(one.words)) == pytest.approx(1)
    if game == "trust-and-split":
        assert line["state/C-"] + line["state/D-"] + line["state/-C"] + line["state/-D"] + line[
            "state/I"
        ] == pytest.approx(1)


# --- Runs ---------------------------------------------------------------------------------------------------------------------------


def files_of(run: Path) -> dict[str, Any]:
    return {
        "metrics": read_lines(run / "metrics.jsonl"),
        "episodes": read_lines(run / "episodes.jsonl"),
        "eval": read_json(run / "eval.json"),
    }


def test_resumed_is_uninterrupted(tmp_path: Path) -> None:
    config = small("adalign/ipd-ab", "past_selves.every=1", "past_selves.kept=2", "workers=1")
    train(config, tmp_path / "whole")
    train(overridden(config, ["trials=1"]), tmp_path / "part")
    part = RunDirectory.open(tmp_path / "part")
    data = read_json(part.path / "config.json")
    (part.path / "config.json").write_text(__import__("json").dumps({**data, "trials": 3}))
    (part.path / "eval.json").unlink()
    resume(part.path)
    whole, resumed = files_of(tmp_path / "whole"), files_of(part.path)
    assert whole["metrics"] == resumed["metrics"]
    assert whole["eval"] == resumed["eval"]
    assert "reward/learner" in whole["metrics"][0] and whole["eval"]["seats"].keys() == {ALICE, BOB}
    assert "alice" in seeds_table(whole["eval"])
    turn = whole["episodes"][0]["seats"][ALICE]["turns"][0]
    assert turn["prompt"].startswith("<bos>") and {"reply", "action", "payoff", "before"} <= set(turn)


@pytest.mark.parametrize("edit", [{"seeds": [0, 1]}, {"past_selves": {"share": 0.5, "every": 1, "kept": 2}}])
def test_a_config_edited_to_other_players_does_not_take_the_old_ones(tmp_path: Path, edit: dict[str, Any]) -> None:
    run = train(small("adalign/ipd-ab", "past_selves.share=0", "trials=1", "workers=1"), tmp_path / "run").path
    write_json(run / "config.json", {**read_json(run / "config.json"), "trials": 2, **edit})
    lines = (run / "metrics.jsonl").read_bytes()
    with pytest.raises(UsageError, match="does not fit the run's checkpoint"):
        resume(run)
    assert (run / "metrics.jsonl").read_bytes() == lines


def test_seeds_shared_out_are_seeds_together() -> None:
    config = small("adalign/ipd-ab", "seeds=[0,1,2]", "past_selves.every=1", "past_selves.kept=2")
    together = build_any(config)
    workers = Workers(config, together.tensors(), workers=2, threads=1)
    try:
        for trial in range(2):
            a, b = Alone(together).run_trial(trial), workers.run_trial(trial)
            assert a.lines == {seed: pytest.approx(line) for seed, line in b.lines.items()}
        for key, value in workers.tensors().items():
            torch.testing.assert_close(together.tensors()[key], value)
    finally:
        workers.close()


@pytest.fixture(scope="module")
def agent(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A finished run of seed 0."""
    path = tmp_path_factory.mktemp("frozen") / "agent"
    return train(small("adalign/ipd-ab", "trials=1", "workers=1"), path).path


@pytest.mark.parametrize(
    ("recipe", "overrides", "said"),
    [
        ("split-no-comm-exploiter", [], "learnt ipd-ab, not split-no-comm"),
        ("ipd-ab-exploiter", ["model=tiny-talk-second"], "model=tiny-talk, but this run has model=tiny-talk-second"),
        (
            "ipd-ab-exploiter",
            ["past=chat", "longest=20"],
            "past=last_round longest=16, but this run has past=chat longest=20",
        ),
        ("ipd-ab-exploiter", ["temperature=0.5"], "Set temperature=1.0 in this run"),
        ("ipd-ab-exploiter", ["chat=llama"], "chat=null, but this run has chat=llama"),
        ("ipd-ab-exploiter", ["adapter.rank=4"], "adapter.rank=8, but this run has adapter.rank=4"),
        ("ipd-ab-exploiter", ["adapter.targets=q_proj"], r"Set adapter\.targets=q_proj,k_proj,"),
        ("ipd-ab-exploiter", ["seeds=[0,1]"], r"no adapter .*learner-seed1; the run has seeds 0\. Train on those"),
    ],
)
def test_a_frozen_run_of_another_kind_is_refused(agent: Path, recipe: str, overrides: list[str], said: str) -> None:
    with pytest.raises(UsageError, match=f"^co_player: .*{said}"):
        check_without_weights(small(f"adalign/{recipe}", f"co_player={agent}", *overrides))


def test_a_frozen_run_that_cannot_be_is_refused(agent: Path, tmp_path: Path) -> None:
    matrix = RunDirectory.create(tmp_path / "matrix", make_config("shapellm/ipd", learner="tabular")).path
    unfinished = RunDirectory.create(tmp_path / "unfinished", small("adalign/ipd-ab")).path
    for spec, said in (
        (f"{agent}:7", "the run has seeds 0"),
        (matrix, "learnt a matrix game, not ipd-ab"),
        (unfinished, "is not finished"),
        (tmp_path, "is not a run directory"),
    ):
        with pytest.raises(UsageError, match=f"^co_player: .*{said}"):
            check_without_weights(small("adalign/ipd-ab-exploiter", f"co_player={spec}"))


def test_a_frozen_run_may_differ_in_what_it_does_not_speak_with(agent: Path) -> None:
    """In what it learnt, and in a chat format that is named here and told from the tokenizer there."""
    own = ["chat=gemma", "rounds=2", "learner.beta=3", f"adapter.start={agent / 'adapters' / 'learner-seed0'}"]
    check_without_weights(small("adalign/ipd-ab-exploiter", f"co_player={agent}", *own))
    check_without_weights(small("adalign/ipd-ab-exploiter", f"co_player={agent}:0", "seeds=[3,4]"))


def test_against_a_frozen_run(agent: Path) -> None:
    """What was learnt stays as it was, and is what sits across the table."""
    one = arena("adalign/ipd-ab-grpo", f"co_player={agent}")
    slot = one._slot(CO_PLAYER, 0)
    before = [parameter[slot].clone() for parameter in one.bank.parameters()]
    assert any(bool(tensor.abs().sum() > 0) for tensor in before[1::2])
    for trial in range(2):
        one.run_trial(trial)
    assert all(torch.equal(a, parameter[slot]) for a, parameter in zip(before, one.bank.parameters(), strict=True))
    again = self_contained(small("adalign/ipd-ab-grpo", f"co_player={agent}:0"))
    assert isinstance(again, RoundConfig) and again.co_player == f"{agent.resolve()}:0"

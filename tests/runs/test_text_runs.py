"""Runs of text games: recipes and settings, who learns from what, what is measured, what a run keeps."""

from pathlib import Path

import pytest
import torch
from fake_players import TEXT_GAMES
from run_files import read_json, read_lines
from small_text_runs import small_text, text_state

from coplay.errors import UsageError
from coplay.evaluation.metrics import METRICS
from coplay.games import make_game
from coplay.games.split import ALICE, BOB, SEATS
from coplay.learners.config import LearnerConfig
from coplay.models.optimiser import SlotAdam
from coplay.recipes import RECIPES, make_config
from coplay.runs.checks import check_without_weights
from coplay.runs.config import Config
from coplay.runs.config_input import parse_config, with_overrides
from coplay.runs.train import train

torch.set_num_threads(1)

AGAINST_GREEDY = ("seats.bob=always_defect", "past_selves.probability=0")


def learner_of(config: Config) -> LearnerConfig:
    return config.learners["learner"]


# --- Configs ------------------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", [name for name in RECIPES if name.startswith("adalign/")])
def test_every_recipe_is_complete(name: str) -> None:
    for scale in ("tiny", "paper"):
        config = make_config(name, scale=scale)  # type: ignore[arg-type]
        assert parse_config(config.model_dump(mode="json")) == config
        assert (config.past_selves.probability > 0) == (learner_of(config).group.method == "advantage_alignment")


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
    own = learner_of(config).group
    assert expected == (
        config.games, own.reward_scale, own.entropy_coef, own.kl_coef, own.discount, own.beta, own.alignment_discount
    )  # fmt: skip
    temperature = learner_of(config).temperature
    assert (own.learning_rate, own.importance_cap, config.rounds, temperature) == (3e-6, 2.0, 10, 1.0)
    assert (config.adapter.rank, config.adapter.alpha, config.past_selves.probability) == (32, 64.0, 0.5)
    naive = make_config(f"adalign/{game}-grpo", scale="paper")
    assert learner_of(naive).group.model_copy(update={"method": own.method}) == own
    assert naive.past_selves.probability == 0


def test_table_2() -> None:
    config = make_config("adalign/trust-and-split-exploiter", scale="paper")
    own = learner_of(config).group
    assert (config.games, own.reward_scale, own.entropy_coef, own.kl_coef, own.discount) == (64, 100, 0, 0, 0.96)


@pytest.mark.parametrize(
    ("assignment", "said"),
    [
        ("learner.group.beeta=1", "Did you mean 'beta'"),
        ("learner.memory=chats", "'chat'"),
        ("seats.bob=always_cooperate", "past_selves.probability=0"),
        ("learner.group.method=ppo", "advantage_alignment"),
    ],
)
def test_what_cannot_be(assignment: str, said: str) -> None:
    with pytest.raises(UsageError, match=said):
        with_overrides(small_text("ipd-ab"), [assignment])


@pytest.mark.parametrize(
    ("assignments", "said"),
    [
        (["game=ipd-abc"], "unknown game 'ipd-abc'. Did you mean 'ipd-ab'"),
        (["seats.bob=nobody", "past_selves.probability=0"], "unknown player 'nobody'"),
        (["seats.bobb=learner"], "unknown seat of game 'ipd-ab' 'bobb'. Did you mean 'bob'"),
        (["game=public-goods"], "unknown seat of game 'public-goods' 'alice'"),
        (
            ["game=split-no-comm", "learner.policy=tabular"],
            "a table chooses among a few actions; game 'split-no-comm' also asks for open replies",
        ),
        (
            ["game=split-no-comm", "learner.replies=choice"],
            "replies=choice is one label a round; game 'split-no-comm' asks for more",
        ),
    ],
)
def test_what_cannot_be_seated(assignments: list[str], said: str) -> None:
    config = with_overrides(small_text("ipd-ab-grpo"), assignments)
    with pytest.raises(UsageError, match=said):
        check_without_weights(config)


def test_tables_do_not_read_text() -> None:
    with pytest.raises(UsageError, match="tabular learners do not read"):
        make_config("adalign/ipd-ab", learner="tabular")


@pytest.mark.parametrize("game", [*TEXT_GAMES, "trust-and-split:max_characters=50"])
def test_tiny_is_the_embedded_model_that_replies_in_text(game: str) -> None:
    config = small_text("ipd-ab", f"game={game}", "model=tiny")
    assert config.model == "tiny-talk"
    assert with_overrides(config, ["model=tiny-second"]).model == "tiny-talk-second"
    choosing = with_overrides(make_config("shapellm/ipd"), ["model=tiny"])
    assert choosing.model == "tiny" and with_overrides(choosing, ["game=public-goods"]).model == "tiny"
    assert with_overrides(choosing, ["row.replies=text"]).model == "tiny-talk"


def test_a_start_that_is_no_directory_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"adapter\.init_adapter: there is no directory"):
        text_state("ipd-ab", f"adapter.init_adapter={tmp_path / 'nothing'}")


@pytest.mark.parametrize("workers", [1, pytest.param(2, marks=pytest.mark.slow)])
def test_the_start_may_be_the_reference(tmp_path: Path, workers: int) -> None:
    first = train(small_text("split-no-comm", "learner.group.kl_coef=0.1", "trials=1"), tmp_path / "first")
    start = first.path / "adapters" / "learner-seed0"
    kl = {}
    for reference in ("start", "base"):
        settings = [
            "seeds=[0,1]",
            "trials=1",
            "learner.group.kl_coef=0.1",
            f"adapter.init_adapter={start}",
            f"adapter.reference={reference}",
        ]
        run = train(small_text("split-no-comm", *settings, f"workers={workers}"), tmp_path / reference)
        kl[reference] = [line["kl/learner"] for line in read_lines(run.path / "metrics.jsonl") if line["step"] == 1]
    assert all(abs(value) < 1e-6 for value in kl["start"])
    assert all(abs(value) > 1e-4 for value in kl["base"])


# --- Who plays and who learns ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("recipe", "overrides", "across"),
    [
        (
            "ipd-ab",
            ["past_selves.probability=1", "past_selves.snapshot_interval=1", "past_selves.pool_size=2"],
            "past-0",
        ),
        ("ipd-ab-grpo", ["seats.bob=always_defect"], "always_defect"),
        ("ipd-ab-grpo", [], "learner"),
    ],
)
def test_a_recorded_game_names_who_sat_there(recipe: str, overrides: list[str], across: str) -> None:
    (game,) = text_state(recipe, *overrides).run_trial(0).episodes
    assert [game["players"][seat] for seat in (ALICE, BOB)] == ["learner", across]


def test_against_another_the_learner_changes_seats_by_group() -> None:
    state = text_state("split-no-comm-grpo", *AGAINST_GREEDY)
    tables = state.seating.tables(0)
    own = [[seat for seat in SEATS if table.seated[seat].learner == "learner"] for table in tables]
    assert own == [[ALICE]] * 3 + [[BOB]] * 3
    assert [table.seated[BOB].name for table in tables[:3]] == ["always_defect"] * 3
    (line,) = state.run_trial(0).lines.values()
    assert line["reward/co_player"] is not None and line["reward/learner"] is not None


@pytest.mark.parametrize(("group_size", "alone"), [(1, 6), (5, 1), (3, 0)])
def test_games_without_a_baseline_are_told(group_size: int, alone: int) -> None:
    (line,) = text_state("ipd-ab-grpo", f"group_size={group_size}").run_trial(0).lines.values()
    assert line.get("note/learner") == (f"no baseline for {alone} of 6 games: alone in their group" if alone else None)
    assert line["loss/learner"] != 0 and line["grad_norm/learner"] > 0


def test_the_rate_falls_in_a_straight_line(monkeypatch: pytest.MonkeyPatch) -> None:
    factors = []
    step = SlotAdam.step
    monkeypatch.setattr(
        SlotAdam, "step", lambda adam, slots, scale=1.0: (factors.append(scale), step(adam, slots, scale=scale))
    )
    decay = ("learner.group.lr_decay_updates=2", "learner.group.lr_end_factor=0.5")
    state = text_state("ipd-ab-grpo", *decay)
    for trial in range(2):
        state.run_trial(trial)
    later = text_state("ipd-ab-grpo", *decay)
    later.load_state_dict(0, state.state_dict(0))
    later.run_trial(2)  # as after an interruption
    assert factors == [0.75, 0.5, 0.5]


# --- Past selves ------------------------------------------------------------------------------------------------------------------------


def test_memory_does_not_grow_with_past_selves() -> None:
    state = text_state("ipd-ab", "past_selves.pool_size=2", "past_selves.snapshot_interval=1")
    sizes = []
    for trial in range(6):
        state.run_trial(trial)
        sizes.append(sum(tensor.numel() for tensor in state.state_dict(0).values()))
    assert len(set(sizes)) == 1


def test_past_selves_cost_their_weights_and_no_moments() -> None:
    few, many = (text_state("ipd-ab", f"past_selves.pool_size={size}").state_dict(0) for size in (1, 9))
    own = {key.removeprefix("learner/policy."): tensor.shape for key, tensor in few.items() if "/policy." in key}
    for state, size in ((few, 1), (many, 9)):
        assert len(state) == len(few) + (size - 1) * len(own)
        for place in range(size):
            prefix = f"past-{place}/"
            assert own == {key.removeprefix(prefix): t.shape for key, t in state.items() if key.startswith(prefix)}


def test_a_snapshot_is_the_learner_as_it_was() -> None:
    """Taken at the start of every second trial here; it stays while the learner learns on."""
    state = text_state("ipd-ab", "past_selves.pool_size=2", "past_selves.snapshot_interval=2")

    def weights(name: str) -> dict[str, torch.Tensor]:
        own = state.state_dict(0)
        prefix = {"learner": "learner/policy."}.get(name, f"{name}/")
        return {key.removeprefix(prefix): value.clone() for key, value in own.items() if key.startswith(prefix)}

    def same(one: dict[str, torch.Tensor], other: dict[str, torch.Tensor]) -> bool:
        return one.keys() == other.keys() and all(torch.equal(one[key], other[key]) for key in one)

    before = [weights("learner")]
    for trial in range(3):
        state.run_trial(trial)
        before.append(weights("learner"))
    assert same(weights("past-0"), before[0]) and same(weights("past-1"), before[2])
    assert not same(before[0], before[1]) and not same(before[2], before[3])


# --- What is measured -------------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", TEXT_GAMES)
def test_metrics_are_those_that_are_documented(name: str) -> None:
    state, game = text_state(name), make_game(name)
    (line,) = state.run_trial(0).lines.values()
    known = {key.replace("SEAT", seat).replace("LEARNER", "learner") for key in METRICS for seat in SEATS}
    known |= {f"state/{one}" for one in game.state_names()} | set(game.figures)
    assert set(line) <= known
    assert sum(line[f"state/{one}"] for one in game.state_names()) == pytest.approx(1)
    assert set(game.figures) <= set(line)
    if name == "trust-and-split":
        assert game.state_names() == ("C-", "D-", "-C", "-D", "I")


def test_what_is_kept_of_a_game(tmp_path: Path) -> None:
    run = train(small_text("trust-and-split", "trials=1"), tmp_path / "run").path
    evaluated = read_json(run / "eval.json")
    assert evaluated["seats"].keys() == {ALICE, BOB}
    one = read_lines(run / "episodes.jsonl")[0]["rounds"][0]
    assert [act["phase"] for act in one["acts"]] == ["message", "message", "proposal", "proposal"]
    assert [act["seat"] for act in one["acts"]] == [ALICE, BOB, ALICE, BOB]
    assert all(act["prompt"].startswith("<bos>") and {"reply", "action"} <= act.keys() for act in one["acts"])
    assert one["dealt"].keys() == one["payoffs"].keys() == {ALICE, BOB}

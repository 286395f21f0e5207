"""Frozen co-players: what one run has learnt, in a seat of another; what is refused."""

from pathlib import Path

import pytest
import torch
from run_files import read_json
from small_text_runs import small_text, text_state

from coplay.errors import UsageError
from coplay.recipes import make_config
from coplay.runs.checks import check_without_weights
from coplay.runs.config_input import with_overrides
from coplay.runs.directory import RunDirectory
from coplay.runs.references import freeze_references
from coplay.runs.state import CO_PLAYER
from coplay.runs.train import train

torch.set_num_threads(1)


@pytest.fixture(scope="module")
def agent(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A finished run of seed 0."""
    path = tmp_path_factory.mktemp("frozen") / "agent"
    return train(small_text("ipd-ab", "trials=1", "workers=1"), path).path


@pytest.mark.parametrize(
    ("recipe", "overrides", "said"),
    [
        ("split-no-comm-exploiter", [], "learnt 'ipd-ab', whose seats or actions are not those of 'split-no-comm'"),
        ("ipd-ab-exploiter", ["model=tiny-talk-second"], "model=tiny-talk, but this run has model=tiny-talk-second"),
        (
            "ipd-ab-exploiter",
            ["learner.memory=chat", "learner.max_tokens=20"],
            r"learners\.learner\.memory=last_round learners\.learner\.max_tokens=16,"
            r" but this run has learners\.learner\.memory=chat learners\.learner\.max_tokens=20",
        ),
        ("ipd-ab-exploiter", ["learner.temperature=0.5"], r"Set learners\.learner\.temperature=1.0 in this run"),
        ("ipd-ab-exploiter", ["chat=llama"], "chat=null, but this run has chat=llama"),
        ("ipd-ab-exploiter", ["adapter.rank=4"], "adapter.rank=8, but this run has adapter.rank=4"),
        ("ipd-ab-exploiter", ["adapter.targets=q_proj"], r"Set adapter\.targets=q_proj,k_proj,"),
        ("ipd-ab-exploiter", ["seeds=[0,1]"], r"no adapter .*learner-seed1; the run has seeds 0\. Train on those"),
    ],
)
def test_a_frozen_run_of_another_kind_is_refused(agent: Path, recipe: str, overrides: list[str], said: str) -> None:
    with pytest.raises(UsageError, match=f"^seats: .*{said}"):
        check_without_weights(small_text(recipe, f"seats.bob={agent}", *overrides))


def test_a_frozen_run_that_cannot_be_is_refused(agent: Path, tmp_path: Path) -> None:
    ipd = RunDirectory.create(tmp_path / "ipd", make_config("shapellm/ipd", learner="tabular")).path
    unfinished = RunDirectory.create(tmp_path / "unfinished", small_text("ipd-ab")).path
    for spec, said in (
        (f"{agent}:7", "the run has seeds 0"),
        (f"{agent}:lerner", "Did you mean 'learner'"),
        (ipd, "is a run of several learners; name one of them"),
        (f"{ipd}:row", "learnt 'ipd', whose seats or actions are not those of 'ipd-ab'"),
        (unfinished, "is not finished"),
        (tmp_path, "is not a run directory"),
    ):
        with pytest.raises(UsageError, match=f"^seats: .*{said}"):
            check_without_weights(small_text("ipd-ab-exploiter", f"seats.bob={spec}"))


def test_a_table_cannot_sit_frozen(tmp_path: Path) -> None:
    config = with_overrides(make_config("shapellm/ipd", learner="tabular"), ["trials=0", "seeds=[0]", "eval_games=1"])
    run = train(config, tmp_path / "run").path
    against = with_overrides(config, [f"seats.column={run}:column"])
    with pytest.raises(UsageError, match="is a table; only language models can sit frozen in another run"):
        check_without_weights(against)


def test_a_frozen_run_may_differ_in_what_it_does_not_reply_with(agent: Path) -> None:
    """In what it learnt, and in a chat format that is named here and told from the tokenizer there."""
    start = f"adapter.init_adapter={agent / 'adapters' / 'learner-seed0'}"
    check_without_weights(
        small_text("ipd-ab-exploiter", f"seats.bob={agent}", "chat=gemma", "rounds=2", "learner.group.beta=3", start)
    )
    check_without_weights(small_text("ipd-ab-exploiter", f"seats.bob={agent}:0", "seeds=[3,4]"))
    check_without_weights(small_text("ipd-ab-exploiter", f"seats.bob={agent}:learner:0", "seeds=[3,4]"))


def test_against_a_frozen_run(agent: Path) -> None:
    """What was learnt stays as it was, and is what sits across the table."""
    state = text_state("ipd-ab-grpo", f"seats.bob={agent}")
    assert state.bank is not None
    (slot,) = [i for i, name in enumerate(state.bank.slots) if name.learner == CO_PLAYER]
    before = state.bank.slot_state(slot)
    assert any(bool(tensor.abs().sum() > 0) for key, tensor in before.items() if key.endswith("lora_B"))
    tables = state.seating.tables(0)
    assert {table.seated["bob"].slot for table in tables if table.group == 0} == {slot}
    assert {table.seated["alice"].slot for table in tables if table.group == 1} == {slot}
    for trial in range(2):
        state.run_trial(trial)
    assert all(torch.equal(tensor, state.bank.slot_state(slot)[key]) for key, tensor in before.items())
    assert not any(key.startswith(CO_PLAYER) for key in state.state_dict(0))  # its own run keeps it


def test_two_frozen_runs_may_be_one_seats_pool(agent: Path, tmp_path: Path) -> None:
    other = train(small_text("ipd-ab", "trials=2", "workers=1"), tmp_path / "other").path
    state = text_state("ipd-ab-grpo", f'seats.bob=["{agent}","{other}","always_defect"]', "games=30")
    assert state.bank is not None
    names = {table.seated["bob"].name for table in state.seating.tables(0) if table.seated["alice"].learner}
    assert names == {CO_PLAYER, f"{CO_PLAYER}-2", "always_defect"}
    slots = [i for i, name in enumerate(state.bank.slots) if name.learner.startswith(CO_PLAYER)]
    first, second = (state.bank.slot_state(slot) for slot in slots)
    assert any(not torch.equal(first[key], second[key]) for key in first)


def test_the_runs_config_names_it_by_its_absolute_path(
    agent: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(agent.parent)
    for spec, expected in (("agent", agent), ("agent:0", f"{agent}:0"), ("agent:learner:0", f"{agent}:learner:0")):
        config = freeze_references(small_text("ipd-ab-exploiter", f"seats.bob={spec}"))
        assert config.seats["bob"] == (str(expected),)
    run = train(small_text("ipd-ab-exploiter", "seats.bob=agent", "trials=1"), tmp_path / "run").path
    assert read_json(run / "config.json")["seats"] == {"alice": ["learner"], "bob": [str(agent)]}

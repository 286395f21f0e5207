"""A start for each learner: who starts where, what its KL penalty pulls towards, and that it is refused, resumed and kept as a start of all is."""

import json
import shutil
from pathlib import Path
from typing import Any

import pytest
import torch
from run_files import read_json, read_lines, unfinished
from safetensors.torch import load_file
from small_runs import QUIET, small
from small_text_runs import small_text

from coplay.cli.main import main
from coplay.errors import UsageError
from coplay.games import make_game
from coplay.models.bank import REFERENCE, AdapterBank, SlotName
from coplay.models.loading import load_model
from coplay.runs.config import Config
from coplay.runs.contestants import contestants
from coplay.runs.directory import RunDirectory
from coplay.runs.factory import build, check_all
from coplay.runs.references import freeze_references
from coplay.runs.state import TrainingState
from coplay.runs.train import resume, train

torch.set_num_threads(1)


@pytest.fixture(scope="module")
def starts(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """Two adapters of the embedded model that differ in all their weights, and one of another rank."""
    parent, found = tmp_path_factory.mktemp("starts"), {}
    for name, rank in (("first", 2), ("second", 2), ("wide", 4)):
        bank = AdapterBank(load_model("tiny").model, [SlotName(name, 0)], rank=rank, alpha=32.0)
        with torch.no_grad():
            for weight in bank.parameters():
                weight.normal_(0.0, 0.05, generator=torch.Generator().manual_seed(len(name)))
        found[name] = parent / name
        found[name].mkdir()
        for file, content in bank.peft_files(0, base_model="tiny").items():
            (found[name] / file).write_bytes(content)
    return found


def held(state: TrainingState, slot: int) -> dict[str, torch.Tensor]:
    """The weights of a slot by PEFT's names."""
    assert state.bank is not None
    return {f"base_model.model.{name}.weight": weight for name, weight in state.bank.slot_state(slot).items()}


def same(state: TrainingState, slot: int, start: Path) -> bool:
    """Whether a slot holds exactly an adapter."""
    expected, found = load_file(start / "adapter_model.safetensors"), held(state, slot)
    return expected.keys() == found.keys() and all(torch.equal(found[name], expected[name]) for name in expected)


def reference(state: TrainingState, learner: str) -> int:
    """The slot that a learner's KL penalty pulls towards."""
    policy: Any = state.learners[learner].player
    return int(policy.reference)


def config_of(*overrides: str) -> Config:
    return small("language_model", "seeds=[0,1]", *overrides)


def test_one_learner_has_a_start_and_the_other_is_the_model(starts: dict[str, Path]) -> None:
    state, plain = build(config_of(f"row.init_adapter={starts['first']}")), build(config_of())
    assert state.bank is not None and plain.bank is not None
    assert [slot.learner for slot in state.bank.slots] == ["row", "row", "column", "column", "reference"]
    assert all(same(state, slot, starts["first"]) for slot in (0, 1, 4))
    for slot in (2, 3):  # as if nobody had a start
        expected = plain.bank.slot_state(slot)
        assert all(torch.equal(expected[name], weight) for name, weight in state.bank.slot_state(slot).items())
    assert (reference(state, "row"), reference(state, "column")) == (4, REFERENCE)


def test_each_learner_has_a_start_of_its_own(starts: dict[str, Path]) -> None:
    own = [f"row.init_adapter={starts['first']}", f"column.init_adapter={starts['second']}"]
    state = build(config_of(*own))
    assert all(same(state, slot, starts["first"]) for slot in (0, 1, 4))
    assert all(same(state, slot, starts["second"]) for slot in (2, 3, 5))
    assert (reference(state, "row"), reference(state, "column")) == (4, 5)
    base = build(config_of(*own, "adapter.reference=base"))
    assert base.bank is not None and len(base.bank.slots) == 4
    assert (reference(base, "row"), reference(base, "column")) == (REFERENCE, REFERENCE)


def test_its_own_start_goes_before_that_of_all(starts: dict[str, Path]) -> None:
    state = build(config_of(f"adapter.init_adapter={starts['first']}", f"column.init_adapter={starts['second']}"))
    assert same(state, 0, starts["first"]) and same(state, 2, starts["second"])
    assert same(state, reference(state, "row"), starts["first"])
    assert same(state, reference(state, "column"), starts["second"])


def test_the_same_start_for_each_is_the_start_of_all(starts: dict[str, Path], tmp_path: Path) -> None:
    """To the last bit, the reference's slot included."""
    start = starts["first"]
    of_all = train(config_of("trials=2", f"adapter.init_adapter={start}"), tmp_path / "all", progress=QUIET)
    each = [f"row.init_adapter={start}", f"column.init_adapter={start}"]
    own = train(config_of("trials=2", *each), tmp_path / "own", progress=QUIET)
    for name in ("metrics.jsonl", "eval.json", "checkpoints/trial-00002/state.safetensors"):
        assert (own.path / name).read_bytes() == (of_all.path / name).read_bytes()


@pytest.mark.parametrize("workers", [1, 2])
def test_before_any_step_each_is_where_its_start_is(starts: dict[str, Path], workers: int, tmp_path: Path) -> None:
    """The first update looks at moves of the start itself: no distance to its own start, some to the model."""
    frozen = ["trials=1", "row.update=trial", "column.update=trial", f"workers={workers}", f"threads={workers}"]
    own = [f"row.init_adapter={starts['first']}", f"column.init_adapter={starts['second']}"]
    near = train(config_of(*frozen, *own), tmp_path / "start", progress=QUIET)
    far = train(config_of(*frozen, *own, "adapter.reference=base"), tmp_path / "base", progress=QUIET)
    for seat in ("row", "column"):
        assert all(abs(line[f"kl/{seat}"]) < 1e-4 for line in read_lines(near.path / "metrics.jsonl"))
        assert all(abs(line[f"kl/{seat}"]) > 1e-3 for line in read_lines(far.path / "metrics.jsonl"))


def test_a_run_that_was_stopped_ends_as_one_that_was_not(starts: dict[str, Path], tmp_path: Path) -> None:
    config = config_of(f"row.init_adapter={starts['first']}", f"column.init_adapter={starts['second']}")
    whole, stopped = train(config, tmp_path / "whole", progress=QUIET), tmp_path / "stopped"
    shutil.copytree(whole.path, stopped)
    run, checkpoint = RunDirectory.at_checkpoint(stopped, "trial-00002")
    run.return_to(checkpoint)
    resume(stopped, progress=QUIET)
    for name in ("metrics.jsonl", "eval.json", "checkpoints/trial-00004/state.safetensors"):
        assert (stopped / name).read_bytes() == (whole.path / name).read_bytes()


def test_a_learner_that_is_reset_goes_back_to_its_own_start(starts: dict[str, Path]) -> None:
    quick = ["column.reset=trial", "column.update=episode", f"column.init_adapter={starts['second']}"]
    state = build(config_of(*quick))
    state.run_trial(0)
    assert not same(state, 2, starts["second"])
    state._start_trial(1)
    assert same(state, 2, starts["second"])


def test_past_selves_are_of_the_learner(starts: dict[str, Path], tmp_path: Path) -> None:
    past = ["past_selves.probability=1", "past_selves.snapshot_interval=1", "past_selves.pool_size=1", "trials=2"]
    first = train(small_text("ipd-ab", "trials=1"), tmp_path / "first", progress=QUIET)
    start = f"learner.init_adapter={first.path / 'adapters' / 'learner-seed0'}"
    run = train(small_text("ipd-ab", *past, start), tmp_path / "run", progress=QUIET)
    assert read_json(run.path / "eval.json")["seeds"]


def test_the_runs_config_holds_whole_paths(starts: dict[str, Path], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(starts["first"].parent)
    found = freeze_references(config_of("row.init_adapter=first", "column.init_adapter=./second"))
    assert found.learners["row"].init_adapter == str(starts["first"].resolve())
    assert found.learners["column"].init_adapter == str(starts["second"].resolve())


def test_resuming_without_the_start_says_whose_is_missing(starts: dict[str, Path], tmp_path: Path) -> None:
    moved = tmp_path / "moved"
    shutil.copytree(starts["first"], moved)
    run = train(config_of("trials=2", f"column.init_adapter={moved}"), tmp_path / "run", progress=QUIET)
    shutil.rmtree(moved)
    unfinished(run.path)
    with pytest.raises(UsageError, match=r"learners\.column\.init_adapter: there is no directory .*moved"):
        resume(run.path, progress=QUIET)


def test_a_start_of_another_shape_is_refused(starts: dict[str, Path]) -> None:
    with pytest.raises(
        UsageError, match=r"^learners.row.init_adapter: .*has r=4 lora_alpha=32, this run has adapter.rank=3"
    ):
        build(config_of(f"row.init_adapter={starts['wide']}", "adapter.rank=3"))
    both = [f"row.init_adapter={starts['first']}", f"column.init_adapter={starts['wide']}"]
    with pytest.raises(
        UsageError, match=r"the adapter has rank 4 and scale 8 at .*, this bank needs rank 2 and scale 16"
    ):
        build(config_of(*both))


def test_adapters_have_the_form_of_the_start_if_the_config_names_none(starts: dict[str, Path], tmp_path: Path) -> None:
    """All learners' do. What they learn is of that form, is read by PEFT's rules, starts another run, sits in it, and is evaluated."""
    odd = tmp_path / "odd"
    shutil.copytree(starts["wide"], odd)
    config = read_json(odd / "adapter_config.json")
    changed = {"target_modules": r".*\.(q|v)_proj", "use_rslora": True, "alpha_pattern": {r".*\.1\..*": 3.5}}
    (odd / "adapter_config.json").write_text(json.dumps({**config, **changed}))
    run = train(config_of("trials=1", f"row.init_adapter={odd}"), tmp_path / "run", progress=QUIET)
    learnt = {name: run.path / "adapters" / f"{name}-seed1" for name in ("row", "column")}
    for path in learnt.values():
        assert {key: read_json(path / "adapter_config.json")[key] for key in changed} == changed
    state = build(config_of(f"adapter.init_adapter={learnt['row']}", f"seats.column={run.path}:row:0"))
    assert state.bank is not None and {place.rank for place in state.bank.places.values()} == {4}
    assert {place.scale for place in state.bank.places.values()} == {16.0, 1.75}
    assert same(state, 1, learnt["row"])
    assert same(
        state, [slot.learner for slot in state.bank.slots].index("co-player"), run.path / "adapters" / "row-seed0"
    )
    assert len(contestants([f"{run.path}:row", f"{run.path}:column"], make_game("ipd"))) == 2
    with pytest.raises(UsageError, match=r"has rank 4 and scale 1\.75/16 .*this bank needs rank 2"):
        build(config_of(f"adapter.init_adapter={learnt['row']}", f"row.init_adapter={starts['first']}"))


def test_every_arm_of_an_experiment_has_its_starts_checked(starts: dict[str, Path], tmp_path: Path) -> None:
    """Arms that differ in starts alone share no check: the second's is damaged."""
    damaged = tmp_path / "damaged"
    shutil.copytree(starts["second"], damaged)
    (damaged / "adapter_model.safetensors").write_bytes(b"x")
    good, bad = (config_of(f"row.init_adapter={one}") for one in (starts["first"], damaged))
    with pytest.raises(UsageError, match=r"^bad: .*damaged"):
        check_all({"good": good, "bad": bad})


@pytest.mark.parametrize("policy", ["tabular", "network"])
def test_only_language_models_start_from_adapters(policy: str, starts: dict[str, Path]) -> None:
    with pytest.raises(
        UsageError, match=rf"row.*init_adapter is the start of a language model, not of policy={policy}"
    ):
        config_of(f"row.policy={policy}", "row.memory=last_round", f"row.init_adapter={starts['first']}")


def test_the_command_refuses_it_before_anything_is_written(
    starts: dict[str, Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    for also in ([], ["--dry-run"]):
        assert main(["train", "shapellm/ipd", "row.init_adapter=nowhere", *also]) == 2
        told = capsys.readouterr().err
        assert told.startswith("coplay: learners.row.init_adapter: there is no directory ") and "nowhere; give" in told
        assert told.count("\n") == 1
    assert not list(tmp_path.iterdir())


def test_version_of_configs_without_it(starts: dict[str, Path], tmp_path: Path) -> None:
    """A config that was written before learners had starts of their own is read as one without them."""
    run = train(config_of("trials=1"), tmp_path / "run", progress=QUIET)
    path = run.path / "config.json"
    config = json.loads(path.read_text(encoding="utf-8"))
    for learner in config["learners"].values():
        assert learner.pop("init_adapter") is None
    assert Config.model_validate(config) == run.config

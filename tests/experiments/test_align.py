"""Alignment end to end: across architectures, in PEFT's format, and as the start of a run."""

import json
import shutil
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import peft
import pytest
import torch
from run_files import unfinished
from safetensors.torch import load_file
from small_runs import files, small
from transformers import AutoModelForCausalLM

sys.path.insert(0, str(Path(__file__).parents[1] / "models"))
from small_models import write_checkpoint

from coplay.cli.main import main
from coplay.errors import UsageError
from coplay.experiments.align import GOAL, Alignment, Request, TableRow, align, checked, parse_row, schedule_for, table
from coplay.experiments.labels import measure
from coplay.games import make_game
from coplay.games.matrix import ROW
from coplay.games.memory import Memory, Observation
from coplay.games.records import Reply, Turn
from coplay.learners.alignment import Schedule, sample_situations
from coplay.models.bank import REFERENCE, AdapterBank, SlotName
from coplay.models.loading import LoadedModel, encode, load_model
from coplay.models.scoring import Scorer
from coplay.players.choice import Key
from coplay.players.choice_model import ChoiceModel
from coplay.recipes.shapellm.table_14 import TABLE_14
from coplay.runs.config import Config
from coplay.runs.directory import RunDirectory
from coplay.runs.factory import build
from coplay.runs.references import freeze_references
from coplay.runs.restore import restored
from coplay.runs.state import TrainingState
from coplay.runs.train import resume, train
from coplay.terminal.progress import Progress
from coplay.text.chat import ChatFormat

torch.set_num_threads(1)

QUIET = Progress(quiet=True)
QUICK = Schedule(epochs=2, learning_rate=1e-2)


@pytest.fixture(scope="module")
def families(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """Random checkpoints of two architectures, each with a tokenizer and a chat format of its own."""
    parent = tmp_path_factory.mktemp("families")
    wide = {"hidden_size": 64, "intermediate_size": 64}  # so that a rank-2 adapter can single out two tokens
    return {
        "gemma2": write_checkpoint(parent / "gemma2", "gemma2"),
        "llama": write_checkpoint(parent / "llama", "llama", **wide),
    }


@pytest.fixture(scope="module")
def aligned(families: dict[str, Path], tmp_path_factory: pytest.TempPathFactory) -> tuple[Alignment, Path]:
    """The Llama, aligned to the Gemma."""
    out = tmp_path_factory.mktemp("aligned") / "adapter"
    chat = ChatFormat.LLAMA
    request = Request(model=str(families["llama"]), to=str(families["gemma2"]), prompts=120, chat=chat, threads=1)
    return align(request, out, schedule=Schedule(epochs=8, learning_rate=1e-2)), out


@pytest.fixture(scope="module")
def start(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An adapter that makes the embedded model defect more."""
    out = tmp_path_factory.mktemp("start") / "adapter"
    request = Request(model="tiny", to="table14:ipd:I/X", labels=("C", "D"), prompts=60, threads=1)
    align(request, out, schedule=Schedule(epochs=30, learning_rate=1e-2))
    return out


def choice_model(loaded: LoadedModel, scorer: Scorer) -> ChoiceModel:
    """Row's player in the IPD."""
    return ChoiceModel("row", loaded, scorer, game=make_game("ipd"), memory=Memory.LAST_ROUND, seats=[ROW])


# --- Across architectures --------------------------------------------------------------------------------------------------------


def test_one_family_learns_to_play_as_another(aligned: tuple[Alignment, Path]) -> None:
    alignment, _ = aligned
    assert alignment.before["all"].kl > 5
    assert alignment.before["all"].illegal > 0.9
    assert alignment.after["all"].kl < alignment.before["all"].kl / 50
    assert alignment.after["all"].illegal < 0.03
    assert set(alignment.after) == {"all", "start", "last round", "counts"}


def test_peft_reads_the_adapter_as_we_do(aligned: tuple[Alignment, Path], families: dict[str, Path]) -> None:
    loaded = load_model(str(families["llama"]), device="cpu")
    bank = AdapterBank(loaded.model, [SlotName("row", 5)], rank=2, alpha=32.0)
    bank.import_peft(0, aligned[1])
    scorer = Scorer(loaded.model, bank)
    policy = choice_model(loaded, scorer)
    situations = sample_situations(make_game("ipd"), 8, seed=3, purpose="peft")
    keys = [Key(ROW, situation.observation) for situation in situations]
    ours = policy.score([0] * 8, keys).logits_RV
    plain = AutoModelForCausalLM.from_pretrained(families["llama"])
    theirs = peft.PeftModel.from_pretrained(plain, str(aligned[1])).eval()
    for key, row in zip(keys, ours, strict=True):
        ids = encode(loaded.tokenizer, policy.prompt_text(Turn(ROW, 0, "action", 0, key.observation, Reply(""))))
        with torch.no_grad():
            expected = theirs(input_ids=torch.tensor([ids]), use_cache=False).logits[0, -1]
        torch.testing.assert_close(row, expected, rtol=1e-3, atol=1e-3)


def test_the_record_says_what_was_done(aligned: tuple[Alignment, Path]) -> None:
    alignment, out = aligned
    assert files(out) == ["adapter_config.json", "adapter_model.safetensors", "alignment.json", "manifest.json"]
    record = json.loads((out / "alignment.json").read_text(encoding="utf-8"))
    assert record["version"] == 2
    assert record["settings"]["model"].endswith("llama")
    assert record["settings"]["labels"] == {"row": ["C", "D"], "column": ["C", "D"]}
    assert record["settings"]["schedule"]["epochs"] == 8
    assert record["after"]["all"]["kl"] == alignment.after["all"].kl
    assert record["before"]["counts"]["prompts"] == alignment.before["counts"].prompts
    assert len(record["losses"]) == 8


# --- Targets ----------------------------------------------------------------------------------------------------------------------


def test_a_table_is_a_target_without_counts(start: Path) -> None:
    record = json.loads((start / "alignment.json").read_text(encoding="utf-8"))
    assert set(record["after"]) == {"all", "start", "last round"}
    assert record["after"]["all"]["kl"] < record["before"]["all"]["kl"] / 5


def test_an_adapter_aligned_to_a_row_plays_that_row(start: Path) -> None:
    loaded = load_model("tiny", device="cpu")
    bank = AdapterBank(loaded.model, [SlotName("row", 0)], rank=2, alpha=32.0)
    bank.import_peft(0, start)
    policy = choice_model(loaded, Scorer(loaded.model, bank))
    keys = [Key(ROW, Observation()), *(Key(ROW, Observation(last=state)) for state in make_game("ipd").own_states(ROW))]
    probs = torch.softmax(policy.score([0] * 5, keys).logits_RV, dim=-1)[:, policy.legal(ROW)[0]]
    assert probs.tolist()[1:] == pytest.approx(TABLE_14["ipd"]["I", "X"][1:], abs=0.15)


def test_a_rows_own_labels_are_the_default(tmp_path: Path) -> None:
    request = Request(model="tiny", to="table14:ipd:H/K", prompts=20, threads=1)
    alignment = align(request, tmp_path / "adapter", schedule=Schedule(epochs=1))
    assert alignment.labels == {"row": ("H", "K"), "column": ("H", "K")}
    assert alignment.before["all"].kl < 0.01  # this is what the embedded model was made for


def test_targets_that_are_no_table_are_models() -> None:
    assert parse_row("tiny") is None
    assert parse_row("table14:icg:T/F") == TableRow("icg", ("T", "F"))


def test_ones_own_policy_teaches_the_format_alone(families: dict[str, Path], tmp_path: Path) -> None:
    """A random Llama: nearly all its replies are illegal, and its policy among the labels is neither even nor the same in all prompts."""
    request = Request(model=str(families["llama"]), to="own", prompts=20, chat=ChatFormat.LLAMA, threads=1)
    alignment = align(
        request, tmp_path / "adapter", schedule=replace(schedule_for("own"), epochs=40, learning_rate=4e-3)
    )
    before, after = alignment.before["all"], alignment.after["all"]
    assert before.illegal > 0.9 and before.gap == pytest.approx(0.0, abs=1e-6)
    assert after.illegal < 0.05 and after.gap < 0.3
    assert alignment.after["start"].gap < 0.05 and alignment.after["last round"].gap < 0.05  # these are trained on
    assert moved(families["llama"], tmp_path / "adapter") == pytest.approx(
        max(alignment.after[form].gap for form in ("start", "last round")), abs=1e-5
    )
    shown = table(alignment)
    assert f"moved by at most {after.gap:.4f}" in shown and ("try more epochs" in shown) == (after.gap >= GOAL)
    record = json.loads((tmp_path / "adapter" / "alignment.json").read_text(encoding="utf-8"))
    assert record["after"]["all"]["gap"] == after.gap
    assert (record["settings"]["to"], record["settings"]["reciprocity"]) == ("own", 0.0)


def moved(model: Path, adapter: Path) -> float:
    """How far P(cooperate) among the labels is from where it was, at most, over the five prompts; read anew, with pairs of log-probabilities."""
    loaded, pairs = load_model(str(model), device="cpu", chat=ChatFormat.LLAMA), [("C", "D")]
    (before,) = measure(loaded, make_game("ipd"), seat=ROW, pairs=pairs).policies
    (after,) = measure(loaded, make_game("ipd"), seat=ROW, pairs=pairs, adapter=adapter).policies
    shares = [[a / (a + b) for a, b in zip(one.first, one.second, strict=True)] for one in (before, after)]
    return max(abs(a - b) for a, b in zip(*shares, strict=True))


def test_reciprocity_is_mixed_into_the_policy(tmp_path: Path) -> None:
    request = Request(model="tiny", to="own", reciprocity=1.0, threads=1)
    alignment = align(request, tmp_path / "adapter", schedule=replace(schedule_for("own"), learning_rate=1e-2))
    assert alignment.before["all"].gap > 0.5
    assert alignment.after["all"].gap < 0.1
    assert "has moved" not in table(alignment)
    assert alignment.record()["settings"]["reciprocity"] == 1.0  # type: ignore[index]


def test_reciprocity_needs_the_same_actions_for_both_seats(tmp_path: Path) -> None:
    path = tmp_path / "game.toml"
    path.write_text(
        'name = "g"\nactions = [["a", "b"], ["x", "y"]]\npayoffs = [[[1, 1], [2, 2]], [[3, 3], [4, 4]]]\n',
        encoding="utf-8",
    )
    with pytest.raises(UsageError, match=r"in 'g' row has a, b, column x, y; choose a game"):
        checked(Request(model="tiny", to="own", game=str(path), reciprocity=0.5))
    checked(Request(model="tiny", to="own", game=str(path)))


def test_the_same_request_gives_the_same_bytes(tmp_path: Path) -> None:
    for name in ("one", "two"):
        align(Request(model="tiny", to="table14:ipd:N/Y", prompts=30, threads=1), tmp_path / name, schedule=QUICK)
    one, two = ((tmp_path / name / "adapter_model.safetensors").read_bytes() for name in ("one", "two"))
    assert one == two


def test_a_directory_is_never_overwritten(start: Path) -> None:
    before = (start / "adapter_model.safetensors").read_bytes()
    with pytest.raises(UsageError, match="exists already; choose another --out"):
        align(Request(model="tiny"), start)
    assert (start / "adapter_model.safetensors").read_bytes() == before


def test_games_of_unequal_seats_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "game.toml"
    path.write_text(
        'name = "g"\nactions = [["a", "b"], ["x", "y", "z"]]\n'
        "payoffs = [[[1, 1], [2, 2], [0, 0]], [[3, 3], [4, 4], [0, 0]]]\n",
        encoding="utf-8",
    )
    with pytest.raises(UsageError, match="as many actions for row as for column"):
        align(Request(model="tiny", game=str(path)), tmp_path / "adapter")


def test_the_command_prints_the_record(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / "adapter"
    words = ["align", "tiny", "--to", "table14:ipd:H/K", "--labels", "C,D", "--prompts", "20", "--epochs", "1"]
    assert main([*words, "--out", str(out), "--threads", "1", "--json"]) == 0
    printed = capsys.readouterr()
    assert json.loads(printed.out) == json.loads((out / "alignment.json").read_text(encoding="utf-8"))
    assert "epoch 1/1" in printed.err
    assert main([*words, "--out", str(out)]) == 2
    assert main([*words, "--out", str(tmp_path / "again"), "--threads", "1", "--quiet"]) == 0
    printed = capsys.readouterr()
    assert "adapter.init_adapter=" in printed.out
    assert "last round" in printed.out


# --- As the start of a run --------------------------------------------------------------------------------------------------------


def from_start(start: Path, *overrides: str) -> Config:
    return small("language_model", f"adapter.init_adapter={start}", *overrides)


def slot_weights(state: TrainingState, slot: int) -> list[torch.Tensor]:
    assert state.bank is not None
    return [parameter.detach()[slot].clone() for parameter in state.bank.parameters()]


def test_every_learner_and_the_reference_start_from_the_adapter(start: Path) -> None:
    state = build(from_start(start, "seeds=[0,1]"))
    weights = load_file(start / "adapter_model.safetensors")
    assert state.bank is not None
    assert [slot.learner for slot in state.bank.slots] == ["row", "row", "column", "column", "reference"]
    for slot in range(5):
        for got, expected in zip(slot_weights(state, slot), weights_in_order(state, weights), strict=True):
            assert torch.equal(got, expected)
    policy: Any = state.learners["row"].player
    assert policy.reference == 4


def weights_in_order(state: TrainingState, weights: dict[str, torch.Tensor]) -> list[torch.Tensor]:
    assert state.bank is not None
    return [weights[f"base_model.model.{name}.lora_{side}.weight"] for name in state.bank.weights for side in "AB"]


def test_the_reference_can_be_the_base_model(start: Path) -> None:
    state = build(from_start(start, "adapter.reference=base"))
    policy: Any = state.learners["row"].player
    assert policy.reference == REFERENCE
    assert state.bank is not None
    assert len(state.bank.slots) == 2


def first_kl(config: Config, tmp_path: Path) -> float:
    run = train(config, tmp_path, progress=QUIET)
    lines = [json.loads(line) for line in (run.path / "metrics.jsonl").read_text(encoding="utf-8").splitlines()]
    return float(lines[0]["kl/row"])


def test_before_any_step_there_is_no_distance_to_the_start_but_one_to_the_base(start: Path, tmp_path: Path) -> None:
    frozen = [
        "trials=1",
        "row.update=trial",
        "column.update=never",
    ]  # the first update looks at moves of the start itself
    assert first_kl(from_start(start, *frozen), tmp_path / "start") == pytest.approx(0.0, abs=1e-4)
    assert abs(first_kl(from_start(start, *frozen, "adapter.reference=base"), tmp_path / "base")) > 0.01


def test_training_never_moves_the_reference_and_exports_learners_only(start: Path, tmp_path: Path) -> None:
    run = train(from_start(start, "trials=2"), tmp_path / "run", progress=QUIET)
    state = restored(run.path)
    for got, expected in zip(
        slot_weights(state, 2), weights_in_order(state, load_file(start / "adapter_model.safetensors")), strict=True
    ):
        assert torch.equal(got, expected)
    assert any(not torch.equal(a, b) for a, b in zip(slot_weights(state, 0), slot_weights(state, 2), strict=True))
    assert sorted(path.name for path in (run.path / "adapters").iterdir()) == ["column-seed0", "row-seed0"]


def test_a_run_that_was_stopped_ends_as_one_that_was_not(start: Path, tmp_path: Path) -> None:
    whole = train(from_start(start, "trials=4"), tmp_path / "whole", progress=QUIET)
    stopped = tmp_path / "stopped"
    shutil.copytree(whole.path, stopped)
    run, checkpoint = RunDirectory.at_checkpoint(stopped, "trial-00002")
    run.return_to(checkpoint)
    assert not (stopped / "checkpoints" / "trial-00004").exists()
    resume(stopped, progress=QUIET)
    for name in ("metrics.jsonl", "eval.json", "checkpoints/trial-00004/state.safetensors"):
        assert (stopped / name).read_bytes() == (whole.path / name).read_bytes()


def test_a_runs_config_holds_the_whole_path(start: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(start.parent)
    assert freeze_references(from_start(Path("adapter"))).adapter.init_adapter == str(start.resolve())


def test_resuming_without_the_start_says_what_is_missing(start: Path, tmp_path: Path) -> None:
    moved = tmp_path / "moved"
    shutil.copytree(start, moved)
    run = train(from_start(moved, "trials=2"), tmp_path / "run", progress=QUIET)
    shutil.rmtree(moved)
    unfinished(run.path)
    with pytest.raises(UsageError, match=r"adapter\.init_adapter: there is no directory .*moved"):
        resume(run.path, progress=QUIET)


def test_a_start_of_another_shape_is_refused(start: Path) -> None:
    with pytest.raises(UsageError, match=r"has r=2 lora_alpha=32, this run has adapter.rank=4"):
        build(from_start(start, "adapter.rank=4"))

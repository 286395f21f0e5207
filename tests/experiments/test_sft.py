"""Fine-tuning on demonstrations: what is learnt, what is measured and what is written."""

import json
import sys
from pathlib import Path
from typing import Any

import peft
import pytest
import torch
from safetensors.torch import load_file
from small_runs import files
from small_sft import QUICK, demonstrated
from transformers import AutoModelForCausalLM

sys.path.insert(0, str(Path(__file__).parents[1] / "models"))
from small_models import write_checkpoint

from coplay.cli.main import main
from coplay.errors import UsageError
from coplay.experiments import sft as sft_module
from coplay.experiments.sft import FineTuning, Request, encoded, sft
from coplay.experiments.sft_data import Example, read_data
from coplay.games import make_game
from coplay.games.memory import Memory
from coplay.learners.imitation import measure
from coplay.models.bank import REFERENCE, AdapterBank, SlotName
from coplay.models.generation import Generator
from coplay.models.known import Precision
from coplay.models.loading import encode, load_model, model_path
from coplay.models.scoring import Scorer
from coplay.players.named import make_player
from coplay.recipes import make_config
from coplay.recipes.sepo.warm_start import SETTINGS
from coplay.runs.config import Config
from coplay.runs.config_input import with_overrides
from coplay.runs.factory import build
from coplay.text.chat import ChatMessage

torch.set_num_threads(1)


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Tit for tat against a random player, as conversations."""
    return demonstrated(tmp_path_factory.mktemp("demonstrations") / "data")


@pytest.fixture(scope="module")
def tuned(data: Path, tmp_path_factory: pytest.TempPathFactory) -> tuple[FineTuning, Path]:
    """The embedded model, fine-tuned on them."""
    out = tmp_path_factory.mktemp("tuned") / "adapter"
    return sft(Request("tiny-talk", str(data), QUICK, threads=1), out), out


# --- What is learnt ---------------------------------------------------------------------------------------------------------------


def test_a_model_learns_to_play_as_was_demonstrated(tuned: tuple[FineTuning, Path]) -> None:
    done, _ = tuned
    before, after = done.before["", ""], done.after["", ""]
    assert before.action_accuracy < 0.9
    assert after.action_accuracy == after.token_accuracy == 1.0
    assert after.loss < before.loss / 2
    assert list(done.after) == [("", ""), ("ipd-ab", ""), ("ipd-ab", "tit_for_tat")]
    assert done.losses[-1] < done.losses[0]
    assert (after.examples, after.tokens) == (12, 24)  # a label and the end of the turn


def test_a_model_learns_in_16_bits_too(data: Path, tmp_path: Path) -> None:
    done = sft(Request("tiny-talk", str(data), QUICK, precision=Precision.BFLOAT16, threads=1), tmp_path / "out")
    assert done.record()["settings"]["precision"] == "bfloat16"  # type: ignore[index]
    assert done.after["", ""].action_accuracy == 1.0


def test_the_record_says_what_was_done(tuned: tuple[FineTuning, Path], data: Path) -> None:
    done, out = tuned
    assert files(out) == ["adapter_config.json", "adapter_model.safetensors", "manifest.json", "sft.json"]
    record = json.loads((out / "sft.json").read_text(encoding="utf-8"))
    assert record["version"] == 1
    assert record["settings"]["data"] == str(data)
    assert record["settings"]["settings"]["adapter"]["rank"] == 4
    assert set(record["data_sha256"]) == {"train.jsonl", "valid.jsonl"}
    assert record["validation"][0]["after"]["loss"] == done.after["", ""].loss
    assert json.loads((out / "adapter_config.json").read_text(encoding="utf-8"))["lora_dropout"] == 0.0


def test_the_adapter_plays_as_the_model_it_is_merged_into(tuned: tuple[FineTuning, Path], data: Path) -> None:
    """SEPO merges the adapter into the model; a run that starts from the adapter has the same policy."""
    _, out = tuned
    loaded = load_model("tiny-talk", device="cpu")
    bank = AdapterBank(loaded.model, [SlotName("row", 3)], rank=4, alpha=32.0, targets=QUICK.adapter.targets)
    bank.import_peft(0, out)
    generator = Generator(Scorer(loaded.model, bank), stop=loaded.chat.stop)
    rows = encoded(loaded, read_data(data).valid, data / "valid.jsonl", max_length=None)
    plain = AutoModelForCausalLM.from_pretrained(model_path("tiny-talk"))
    merged = peft.PeftModel.from_pretrained(plain, str(out)).merge_and_unload().eval()
    for prompt, reply in list(zip(rows.prompts, rows.replies, strict=True))[:4]:
        with torch.no_grad():
            logits = merged(input_ids=torch.tensor([[*prompt, *reply]]), use_cache=False).logits[
                0, len(prompt) - 1 : -1
            ]
        wanted = torch.log_softmax(logits, -1).gather(1, torch.tensor(reply)[:, None])[:, 0]
        ours, _ = generator.agreement(0, [prompt], [reply])
        torch.testing.assert_close(ours, wanted, rtol=1e-3, atol=1e-3)


def from_tuned(start: Path) -> Config:
    shape = [
        "adapter.rank=4",
        "adapter.alpha=32",
        f"adapter.targets={','.join(QUICK.adapter.targets)}",
        f"adapter.init_adapter={start}",
    ]
    sizes = ["trials=1", "rounds=2", "games=2", "group_size=2", "eval_games=1", "threads=1"]
    return with_overrides(make_config("adalign/ipd-ab"), ["model=tiny-talk", "seeds=[0]", *sizes, *shape])


def test_a_run_starts_from_it_with_the_start_as_its_reference(tuned: tuple[FineTuning, Path], tmp_path: Path) -> None:
    _, out = tuned
    state = build(from_tuned(out))
    assert state.bank is not None
    weights = adapter_of(out)
    for slot, name in enumerate(state.bank.slots):
        for part, weight in state.bank.slot_state(slot).items():
            assert torch.equal(weight, weights[f"base_model.model.{part}.weight"]), name
    assert [name.learner for name in state.bank.slots][-1] == "reference"
    damaged = tmp_path / "damaged"
    damaged.mkdir()
    for name in files(out):
        (damaged / name).write_bytes((out / name).read_bytes())
    (damaged / "sft.json").write_text("{}")
    with pytest.raises(UsageError, match=r"sft\.json is damaged or another file"):
        build(from_tuned(damaged))
    (damaged / "manifest.json").unlink()
    (damaged / "sft.json").write_bytes((out / "sft.json").read_bytes())
    with pytest.raises(UsageError, match=r"manifest\.json is missing, so nothing says"):
        build(from_tuned(damaged))


def test_a_player_reads_the_adapter(tuned: tuple[FineTuning, Path]) -> None:
    assert make_player(f"hf:tiny-talk+{tuned[1]}", make_game("ipd-ab"), "alice").memory is Memory.CHAT


def test_losses_are_those_of_masked_labels(data: Path) -> None:
    """Truth: transformers' own loss with every token of the prompt masked, averaged over the tokens of all replies."""
    loaded = load_model("tiny-talk", device="cpu")
    bank = AdapterBank(loaded.model, [SlotName("sft", 0)], rank=2, alpha=4.0)
    generator = Generator(Scorer(loaded.model, bank), stop=loaded.chat.stop)
    rows = encoded(loaded, read_data(data).valid, data / "valid.jsonl", max_length=None)
    found = measure(generator, REFERENCE, rows)["", ""]
    summed = right = tokens = 0.0
    plain = load_model("tiny-talk", device="cpu").model
    for prompt, reply in zip(rows.prompts, rows.replies, strict=True):
        ids = torch.tensor([[*prompt, *reply]])
        labels = torch.tensor([[-100] * len(prompt) + list(reply)])
        with torch.no_grad():
            output = plain(input_ids=ids, labels=labels, use_cache=False)
        summed += float(output.loss) * len(reply)
        right += int((output.logits[0, len(prompt) - 1 : -1].argmax(-1) == torch.tensor(reply)).sum())
        tokens += len(reply)
    assert found.loss == pytest.approx(summed / tokens, rel=1e-4)
    assert found.token_accuracy == pytest.approx(right / tokens)


def test_gradients_do_not_depend_on_the_microbatch(data: Path, tmp_path: Path) -> None:
    weights = []
    for size in (1, 8):
        settings = QUICK.model_copy(update={"epochs": 1, "microbatch_size": size})
        sft(Request("tiny-talk", str(data), settings, threads=1), tmp_path / str(size))
        weights.append(adapter_of(tmp_path / str(size)))
    for name, one in weights[0].items():
        torch.testing.assert_close(one, weights[1][name], rtol=1e-3, atol=1e-4)


def adapter_of(directory: Path) -> dict[str, torch.Tensor]:
    return load_file(directory / "adapter_model.safetensors")


def test_the_same_request_gives_the_same_bytes(data: Path, tuned: tuple[FineTuning, Path], tmp_path: Path) -> None:
    _, out = tuned
    sft(Request("tiny-talk", str(data), QUICK, threads=1), tmp_path / "again")
    for name in files(out):
        assert (tmp_path / "again" / name).read_bytes() == (out / name).read_bytes()


@pytest.mark.parametrize("family", ["llama", "gemma2"])
def test_what_is_read_is_what_is_played_in_every_format(family: str, tmp_path: Path) -> None:
    loaded = load_model(str(write_checkpoint(tmp_path / family, family)), device="cpu")
    chat = (ChatMessage("user", "Choose."), ChatMessage("assistant", "Why.\nC\n"), ChatMessage("user", "And now?"))
    example = Example((*chat, ChatMessage("assistant", "Because they did.\nC")))
    rows = encoded(loaded, [example], Path("train.jsonl"), max_length=None)
    assert rows.prompts == [encode(loaded.tokenizer, loaded.chat.conversation(chat))]
    assert rows.replies[0][:-1] == encode(loaded.tokenizer, "Because they did.\nC")
    assert rows.replies[0][-1] in loaded.chat.stop
    action = loaded.tokenizer.decode(list(rows.replies[0][rows.actions[0] : -1]))
    assert action.strip() == "C"


def test_the_papers_settings() -> None:
    paper = SETTINGS["paper"]
    assert (paper.epochs, paper.learning_rate, paper.warmup, paper.batch_size) == (3, 2e-5, 0.05, 8)
    assert (paper.adapter.rank, paper.adapter.alpha) == (32, 64.0)
    assert paper.adapter.targets == ("q_proj", "k_proj", "v_proj", "o_proj")


def test_nothing_is_overwritten_and_an_interruption_leaves_nothing(
    data: Path, tuned: tuple[FineTuning, Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(UsageError, match="exists already"):
        sft(Request("tiny-talk", str(data), QUICK, threads=1), tuned[1])

    def interrupted(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(sft_module, "json_text", interrupted)
    argv = ["sft", "--data", str(data), "--out", str(tmp_path / "out"), "--threads", "1", "--quiet", "epochs=1"]
    assert main(argv) == 130
    assert list(tmp_path.iterdir()) == []


# --- The command line -------------------------------------------------------------------------------------------------------------


def test_both_verbs_end_to_end(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    made, tuned = tmp_path / "made", tmp_path / "tuned"
    given = ["--strategies", "tit_for_tat=0.5,always_defect=0.5", "--opponents", "random:0.5", "--examples", "20"]
    assert main(["demonstrate", "ipd-ab", *given, "--out", str(made)]) == 0
    assert "16 to measure on" not in capsys.readouterr().out
    card: Any = json.loads((made / "card.json").read_text(encoding="utf-8"))
    assert card["command"].startswith("coplay demonstrate ipd-ab --seed 42 --examples 20 --strategies tit_for_tat=0.5")
    argv = [
        "sft",
        "--data",
        str(made),
        "epochs=1",
        "--threads",
        "1",
        "--out",
        str(tuned),
        "adapter.rank=2",
        "--json",
        "--quiet",
    ]
    assert main(argv) == 0
    record = json.loads(capsys.readouterr().out)
    assert record == json.loads((tuned / "sft.json").read_text(encoding="utf-8"))
    assert record["settings"]["settings"]["adapter"]["rank"] == 2

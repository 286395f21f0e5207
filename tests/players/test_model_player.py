"""Language models as players of matrix games: as they are, with an adapter, in both seats, at a terminal."""

import gc
import io
import json
from pathlib import Path

import pytest
import torch
from small_runs import QUIET, small
from transformers import AutoTokenizer, LlamaConfig, LlamaForCausalLM

from coplay.cli.main import main
from coplay.conformance.games import failures
from coplay.conformance.players import check_player
from coplay.errors import UsageError
from coplay.games import make_game
from coplay.models.loading import model_path
from coplay.players.model_player import model_player, names_model
from coplay.runs.train import train

torch.set_num_threads(1)

IPD = make_game("ipd")


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run whose naive learner has an adapter."""
    return train(small("language_model"), tmp_path_factory.mktemp("runs") / "ipd", progress=QUIET).path


@pytest.fixture(scope="module")
def babbler(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A random model, most of whose replies are illegal."""
    path = tmp_path_factory.mktemp("models") / "babbler"
    tokenizer = AutoTokenizer.from_pretrained(model_path("tiny"))
    torch.manual_seed(0)
    size = {"hidden_size": 16, "intermediate_size": 16, "num_hidden_layers": 1, "num_attention_heads": 2}
    LlamaForCausalLM(LlamaConfig(vocab_size=len(tokenizer), **size)).save_pretrained(path)
    tokenizer.save_pretrained(path)
    return path


def test_what_names_a_model() -> None:
    assert [spec for spec in ("tiny", "smollm2", "hf:x", "tit_for_tat", "runs/x:row") if names_model(spec)] == [
        "tiny",
        "smollm2",
        "hf:x",
    ]


@pytest.mark.parametrize("seat", ["row", "column"])
def test_it_conforms(seat: str) -> None:
    assert failures(check_player(model_player("tiny", IPD, seat), IPD, seat)) == []


def test_a_directory_plays_as_the_model_in_it(capsys: pytest.CaptureFixture[str]) -> None:
    found = []
    for spec in ("tiny", f"hf:{model_path('tiny')}", "hf:tiny"):
        assert main(["eval", spec, "tit_for_tat", "--episodes", "20", "--rounds", "5", "--json"]) == 0
        found.append(json.loads(capsys.readouterr().out))
    assert [one["seats"]["row"].pop("player") for one in found] == ["tiny", f"hf:{model_path('tiny')}", "hf:tiny"]
    assert found[0] == found[1] == found[2]
    assert found[0]["seats"]["row"]["illegal"] == 0


def test_an_adapter_plays_as_the_learner_that_it_was(run: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The naive learner, which is shown the last round, as the player is."""
    found = []
    for spec in (f"{run}:column", f"hf:tiny+{run}/adapters/column-seed0", "hf:tiny"):
        assert main(["eval", "tit_for_tat", spec, "--episodes", "200", "--rounds", "8", "--json"]) == 0
        found.append(json.loads(capsys.readouterr().out)["states"])
    assert found[0] == found[1] != found[2]


def test_a_model_in_both_seats_is_loaded_once(monkeypatch: pytest.MonkeyPatch) -> None:
    from coplay.models import loading

    gc.collect()  # models of earlier tests are found again for as long as they are there
    load, loads = loading.load_model, []
    monkeypatch.setattr(loading, "load_model", lambda name: (loads.append(name), load(name))[1])
    assert main(["eval", "hf:tiny-second", "hf:tiny", "--matrix", "--episodes", "2"]) == 0
    assert loads == ["tiny-second", "tiny"]


@pytest.mark.parametrize(
    ("spec", "said"),
    [
        ("hf:nowhere", "there is no model at nowhere"),
        ("hf:tiny+nowhere", "there is no adapter nowhere"),
        ("hf:tiny+.", "holds no PEFT adapter"),
        ("hf:", "there is no model at|without config.json"),
    ],
)
def test_what_is_not_there(spec: str, said: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(UsageError, match=said) as caught:
        model_player(spec, IPD, "row")
    assert "\n" not in str(caught.value)


def test_adapters_of_other_kinds_are_refused(run: Path, tmp_path: Path) -> None:
    config = json.loads((run / "adapters" / "row-seed0" / "adapter_config.json").read_text())
    (tmp_path / "adapter_model.safetensors").write_bytes(
        (run / "adapters" / "row-seed0" / "adapter_model.safetensors").read_bytes()
    )
    for change, said in (
        ({"target_modules": "all-linear"}, "tensors missing"),
        ({"r": None}, "has no r"),
        ({"use_dora": True}, "use_dora"),
        ({"r": 4}, "has shape"),
        ({"target_modules": ["q_proj"]}, "tensors that this bank does not have: 4"),
    ):
        (tmp_path / "adapter_config.json").write_text(json.dumps(config | change))
        with pytest.raises(UsageError, match=said):
            model_player(f"hf:tiny+{tmp_path}", IPD, "row")


def test_a_plus_sign_in_a_directorys_name(tmp_path: Path) -> None:
    (tmp_path / "a+b").symlink_to(model_path("tiny"))
    assert model_player(f"hf:{tmp_path}/a+b", IPD, "row").name == f"hf:{tmp_path}/a+b"


@pytest.mark.parametrize("seat", ["row", "column"])
def test_void_rounds_are_told_when_they_are_over(
    seat: str, babbler: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("sys.stdin", io.StringIO("C\nC\nC\n"))
    spec = f"hf:{babbler}"
    assert main(["play", "ipd", "--vs", spec, "--seat", seat, "--rounds", "3"]) == 0
    shown = capsys.readouterr().out
    assert shown.count("The previous round did not count: a reply in it was no action.") == 3
    assert shown.index("[round 2]") < shown.index("did not count")  # not before the person has chosen
    assert "The game: I I I" in shown
    assert "Total: you 0, " in shown

"""The real SmolLM2, where it is installed: that it is itself, answers in English, and plays and learns by the path of any model."""

import hashlib
import json
from pathlib import Path

import pytest
import torch

from coplay.cli.main import main
from coplay.games.catalogue import matrix_game
from coplay.games.memory import Memory, Observation
from coplay.models.admission import base_scorer
from coplay.models.known import MODELS
from coplay.models.loading import LoadedModel, encode, load_model
from coplay.players.choice import Key
from coplay.players.choice_model import ChoiceModel
from coplay.recipes import make_config
from coplay.runs.config_input import with_overrides
from coplay.runs.train import train
from coplay.terminal.progress import Progress
from coplay.text.chat import ChatFormat

MODEL = MODELS["smollm2"]

pytestmark = pytest.mark.skipif(not MODEL.installed, reason=f"smollm2 is not installed: {MODEL.command}")

WEIGHTS = "a672150fb4f99d7c8f4168cecdd464069c0ef3a37d8113f22ddb9d48031d03cd"
"""SHA-256 of the weights: those of every installation are the same to the bit."""


@pytest.fixture(scope="module")
def loaded() -> LoadedModel:
    return load_model("smollm2", device="cpu")


def test_it_is_the_model(loaded: LoadedModel) -> None:
    assert type(loaded.model).__name__ == "LlamaForCausalLM"
    assert sum(parameter.numel() for parameter in loaded.model.parameters()) == MODEL.parameters
    assert loaded.model.dtype == torch.float32 and loaded.chat.format is ChatFormat.TEMPLATE
    with (MODEL.path / "model.safetensors").open("rb") as file:
        assert hashlib.file_digest(file, "sha256").hexdigest() == WEIGHTS
    assert sum(file.stat().st_size for file in MODEL.path.iterdir()) == pytest.approx(MODEL.size, rel=0.01)


def test_its_tokenizer(loaded: LoadedModel) -> None:
    for text in ("<|im_start|>user\nHi  12 345<|im_end|>\n", "don't 3.5", "naïve 数字 ½ 🙂", "\n\n\n 7"):
        assert loaded.tokenizer.decode(list(encode(loaded.tokenizer, text))) == text
    tags = ("<|endoftext|>", "<|im_start|>", "<|im_end|>")
    assert [encode(loaded.tokenizer, tag) for tag in tags] == [(0,), (1,), (2,)]


def test_it_answers_a_question(loaded: LoadedModel) -> None:
    question = [{"role": "user", "content": "What is the capital of France?"}]
    text = loaded.tokenizer.apply_chat_template(question, tokenize=False, add_generation_prompt=True)
    assert text.startswith("<|im_start|>system\nYou are a helpful AI assistant named SmolLM, trained by Hugging Face")
    ids = torch.tensor([encode(loaded.tokenizer, text)])
    reply = loaded.model.generate(ids, max_new_tokens=12, do_sample=False)[0, ids.shape[1] :]
    assert loaded.tokenizer.decode(reply, skip_special_tokens=True) == "The capital of France is Paris."


def test_most_of_its_replies_in_the_dilemma_are_illegal(loaded: LoadedModel) -> None:
    game, scorer = matrix_game("ipd"), base_scorer(loaded)
    policy = ChoiceModel("smollm2", loaded, scorer, game=game, memory=Memory.LAST_ROUND, seats=["row"])
    observations = [Observation(), *(Observation(last=state) for state in game.own_states("row"))]
    probs_RV = policy.score([-1] * 5, [Key("row", one) for one in observations]).logits_RV.softmax(dim=-1)
    c_R, d_R = (probs_RV[:, token] for token in policy.legal("row"))
    assert (c_R + d_R).tolist() == pytest.approx([0.10, 0.11, 0.12, 0.13, 0.12], abs=0.02)
    assert (c_R / (c_R + d_R)).tolist() == pytest.approx([0.91, 0.83, 0.83, 0.77, 0.72], abs=0.02)


def test_it_plays(capsys: pytest.CaptureFixture[str]) -> None:
    games = ["--game", "ipd", "--episodes", "100", "--rounds", "3", "--json"]
    assert main(["eval", "smollm2", "tit_for_tat", *games]) == 0
    seat = json.loads(capsys.readouterr().out)["seats"]["row"]
    assert seat["player"] == "smollm2" and 0.8 < seat["illegal"] < 0.97


def test_it_learns_for_a_trial(tmp_path: Path) -> None:
    small = ["trials=1", "games=1", "rounds=2", "episodes=1", "eval_games=1", "threads=1", "seeds=[0]"]
    config = with_overrides(make_config("shapellm/ipd"), ['model="smollm2"', *small])
    run = train(config, tmp_path / "run", progress=Progress(quiet=True))
    (line,) = (run.path / "metrics.jsonl").read_text().splitlines()
    assert json.loads(line)["kl/row"] == pytest.approx(0, abs=1e-4)
    assert json.loads((run.path / "config.json").read_text())["model"] == "smollm2"
    assert (run.path / "adapters" / "row-seed0" / "adapter_model.safetensors").is_file()

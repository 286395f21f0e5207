"""Fine-tuning on demonstrations: what is refused, before any work is lost."""

import re
import sys
from pathlib import Path

import pytest
import torch
from small_runs import files
from small_sft import LINE, QUICK, demonstrated, written

sys.path.insert(0, str(Path(__file__).parents[1] / "models"))

from coplay.cli.main import main
from coplay.errors import UsageError
from coplay.experiments.sft import Request, sft
from coplay.experiments.sft_data import read_data
from coplay.recipes.sepo.warm_start import SETTINGS
from coplay.runs.config_input import with_settings

torch.set_num_threads(1)


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Tit for tat against a random player, as conversations."""
    return demonstrated(tmp_path_factory.mktemp("demonstrations") / "data")


@pytest.mark.parametrize(
    ("line", "told"),
    [
        ("{", r"train.jsonl, line 2 is damaged: it is not JSON"),
        ('{"messages": [{"role": "user", "con', r"train.jsonl, line 2 is damaged"),
        ("[1]", "line 2 is damaged: it should hold a JSON object"),
        (
            '{"prompt": "a", "completion": "b"}',
            r'line 2: "messages" must be a list .*; the keys there are: prompt, completion',
        ),
        ('{"messages": []}', '"messages" must be a list'),
        ('{"messages": [{"content": "a"}]}', "line 2: message 1 must have a role of system, user, assistant, got None"),
        ('{"messages": [{"role": "human", "content": "a"}]}', "message 1 must have a role of .*got 'human'"),
        ('{"messages": [{"role": "user", "content": 5}]}', "message 1 must have text as its content, got 5"),
        ('{"messages": ["a"]}', "message 1 must have a role"),
        (LINE.replace("<A>", " \\n").strip(), "line 2: message 2, the assistant's, is empty"),
        (LINE.replace("<A>", "\\ud800").strip(), "message 2, the assistant's, is no UTF-8 text"),
        (
            '{"messages": [{"role": "user", "content": "a"}]}',
            "the last message must be the assistant's.*it is the user's",
        ),
        ('{"messages": [{"role": "assistant", "content": "a"}]}', "there is no message of the user"),
        (LINE.strip()[:-1] + ', "game": 5}', 'line 2: "game" must be text, got 5'),
        (LINE.strip()[:-1] + ', "round": "1"}', "line 2: \"round\" must be a whole number, got '1'"),
        (LINE.strip()[:-1] + ', "version": 9}', "line 2 has version 9; this coplay reads up to 1"),
        (
            LINE.replace("Reply.", "word " * 600).strip(),
            r"train.jsonl, line 2: the example has .* tokens; the model's context is 512",
        ),
    ],
)
def test_bad_examples_are_named_by_file_and_line(line: str, told: str, tmp_path: Path) -> None:
    own = written(tmp_path / "own", train=LINE + line)
    with pytest.raises(UsageError, match=told) as error:
        sft(Request("tiny-talk", str(own), QUICK, threads=1), tmp_path / "out")
    assert "\n" not in str(error.value)
    assert [path.name for path in tmp_path.iterdir()] == ["own"]


def test_files_that_are_missing_empty_or_damaged_are_named(tmp_path: Path, data: Path) -> None:
    def refused(directory: Path, told: str) -> None:
        with pytest.raises(UsageError, match=told):
            read_data(directory)

    refused(tmp_path / "nowhere", "there is no directory .*nowhere; make one with coplay demonstrate")
    own = written(tmp_path / "own")
    (own / "valid.jsonl").unlink()
    refused(own, "valid.jsonl is missing")
    refused(written(tmp_path / "empty", valid=""), "valid.jsonl has no examples")
    copy = tmp_path / "copy"
    copy.mkdir()
    for name in files(data):
        (copy / name).write_bytes((data / name).read_bytes().replace(b"<B>", b"<A>"))
    refused(copy, "train.jsonl is damaged or another file|valid.jsonl is damaged or another file")
    (copy / "manifest.json").unlink()
    refused(copy, "manifest.json is missing, so nothing says what belongs there")


def test_a_setting_can_limit_the_length(data: Path, tmp_path: Path) -> None:
    short = QUICK.model_copy(update={"max_length": 40})
    with pytest.raises(UsageError, match=r"train.jsonl, line 1: the example has \d+ tokens; max_length is 40"):
        sft(Request("tiny-talk", str(data), short, threads=1), tmp_path / "out")


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["epoch=2"], "epoch: there is no such key. Did you mean 'epochs'"),
        (["epochs=0"], "epochs: input should be greater than or equal to 1"),
        (["adapter.rnk=2"], r"adapter.rnk: there is no such key. Did you mean 'rank'\?"),
        (["lora.rank=2"], "lora.rank: there is no section 'lora'"),
        (["game.n=2"], "there is no section 'game'"),
        (["adapter.init_adapter=x"], "fine-tuning starts from the model as it is"),
        (["epochs"], "'epochs' is not of the form key=value"),
    ],
)
def test_settings_are_checked(words: list[str], told: str) -> None:
    with pytest.raises(UsageError, match=told):
        with_settings(SETTINGS["tiny"], words)


@pytest.mark.parametrize(
    ("argv", "told"),
    [
        (["demonstrate", "ipd-9", "--out", "x"], "unknown game 'ipd-9'"),
        (
            ["demonstrate", "ipd-ab", "--out", "x"],
            "ipd-ab has no demonstrations of its own .*give --strategies and --opp",
        ),
        (["demonstrate", "ipd-8", "--strategies", "tit_for_tat", "--out", "x"], "--strategies takes NAME=WEIGHT"),
        (["demonstrate", "ipd-8", "--strategies", "a=0.5,a=0.5", "--out", "x"], "--strategies: a is given twice"),
        (["demonstrate", "ipd-8", "--strategies", "tit_for_tat=0.5", "--out", "x"], "sum to 0.5, not to 1"),
        (
            ["demonstrate", "ipd-8", "split-no-comm", "--opponents", "uniform", "--out", "x"],
            "go with one game, not with 2",
        ),
        (["demonstrate", "ipd-8", "kuhn", "--seats", "alice", "--out", "x"], "go with one game, not with 2"),
        (["demonstrate", "ipd-8", "--examples", "0", "--out", "x"], "--examples must be at least 1, got 0"),
        (["demonstrate", "ipd-8", "--seed", "-1", "--out", "x"], "--seed must be at least 0"),
        (["sft", "--data", "x", "--out", "y", "word"], "settings of sft are of the form key=value.*got 'word'"),
        (["sft", "--data", "x", "--out", "y", "--epochs", "2"], "Settings are written without dashes: epochs=2"),
        (["sft", "--data", "nowhere", "--out", "y"], "there is no directory nowhere"),
        (["sft", "--data", "x", "--out", "y", "--model", "nowhere"], "there is no model at nowhere"),
        (["sft", "--data", "x", "--out", "y", "--threads", "0"], "--threads must be at least 1"),
    ],
)
def test_what_is_wrong_is_told_in_a_line(
    argv: list[str], told: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    try:
        status = main(argv)
    except SystemExit as exit:
        status = int(exit.code or 0)
    assert status == 2
    assert re.search(told, capsys.readouterr().err)
    assert list(tmp_path.iterdir()) == []

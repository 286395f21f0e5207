"""How a model is talked to is asked for in one way by all verbs that take a model and no config."""

import json
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parents[1] / "models"))
from small_models import write_checkpoint

from coplay.cli.main import main

DATED = (
    "{% if strftime_now('%Y') != '2031' %}{{ raise_exception('the wrong year') }}{% endif %}"
    "{% for m in messages %}{{ '<|im_start|>' + m.role + '\n' + m.content + '<|im_end|>\n' }}{% endfor %}"
    "{% if add_generation_prompt %}{{ '<|im_start|>assistant\n' }}{% endif %}"
)

EXAMPLE = {
    "game": "ipd",
    "strategy": "x",
    "messages": [{"role": "user", "content": "Choose."}, {"role": "assistant", "content": "C"}],
}


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A model that is talked to in one year alone, and a data set."""
    place = tmp_path_factory.mktemp("dated")
    write_checkpoint(place / "model", "qwen2")
    (place / "model" / "chat_template.jinja").write_text(DATED)
    (place / "data").mkdir()
    for name in ("train.jsonl", "valid.jsonl"):
        (place / "data" / name).write_text(json.dumps(EXAMPLE) + "\n")
    return place


VERBS = {
    "probe": "probe {model} --game ipd --pairs C/D --threads 1 --quiet --json",
    "labels": "labels --model {model} --pairs C/D",
    "align": "align {model} --to own --labels C,D --prompts 1 --epochs 1 --threads 1 --quiet --out {out}",
    "sft": "sft epochs=1 --model {model} --data {data} --threads 1 --quiet --out {out}",
}


@pytest.mark.parametrize("verb", VERBS)
def test_the_date_can_be_set(verb: str, place: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    words = VERBS[verb].format(model=place / "model", data=place / "data", out=tmp_path / "out").split()
    assert main(words) == 2
    assert "the wrong year" in capsys.readouterr().err
    assert main([*words, "--chat-date", "2031-02-28"]) == 0
    if verb == "probe":
        record = json.loads(capsys.readouterr().out)
        assert (record["chat"], record["chat_date"]) == ("template", "2031-02-28")
    else:
        assert verb == "labels" or "2031-02-28" in "".join(
            file.read_text() for file in (tmp_path / "out").glob("*.json")
        )


@pytest.mark.parametrize("verb", VERBS)
def test_what_is_no_day_or_no_format_is_a_line(verb: str, capsys: pytest.CaptureFixture[str]) -> None:
    words = VERBS[verb].format(model="tiny", data="data", out="out").split()
    for more, told in (
        (["--chat-date", "1 May"], "write a day as YYYY-MM-DD, e.g. 2025-01-01, not '1 May'"),
        (["--chat", "gemna"], "unknown --chat 'gemna'. Did you mean 'gemma'?"),
    ):
        with pytest.raises(SystemExit):
            main([*words, *more])
        assert told in capsys.readouterr().err

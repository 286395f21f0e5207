"""``payoff_format`` and ``spacing`` of a config: what is shown, played, aligned and measured is the same text."""

import json
from pathlib import Path

import pytest
import torch
from small_runs import QUIET, small

from coplay.cli.main import main
from coplay.errors import UsageError
from coplay.experiments.align import Request, align
from coplay.experiments.preparations import alignment_of
from coplay.experiments.request import Request as Reproduction
from coplay.games.choice_prompts import Spacing
from coplay.games.memory import Memory, Observation
from coplay.games.records import Reply, Turn
from coplay.learners.alignment import Schedule
from coplay.players.choice_model import ChoiceModel
from coplay.recipes import make_config
from coplay.recipes.experiments import Alignment, Arm
from coplay.runs.checks import check_without_weights
from coplay.runs.config import Config
from coplay.runs.config_input import parse_config, with_values
from coplay.runs.factory import build
from coplay.runs.prompts import prompts_after
from coplay.runs.train import train

torch.set_num_threads(1)

OPTIONS = [
    ["spacing=released"],
    ["payoff_format=bold_table"],
    ["payoff_format=bold_table", "spacing=released"],
    ["payoff_format=table"],
    ["payoff_format=reversed", "spacing=released"],
]


def played(config: Config) -> str:
    """What the column player's policy reads after mutual cooperation."""
    policy = build(config).learners["column"].player
    assert isinstance(policy, ChoiceModel)
    return policy.prompt_text(Turn("column", 0, "action", 0, Observation(last=("cooperate",) * 2), Reply("")))


@pytest.mark.parametrize("options", OPTIONS, ids=" ".join)
def test_what_is_shown_is_what_is_played(options: list[str]) -> None:
    config = small("language_model", *options)
    shown = prompts_after(config, ["CC"])["column"]
    assert shown == played(config) != prompts_after(small("language_model"), ["CC"])["column"]
    assert ("<STATE> In" in shown) == ("spacing=released" in options)


def test_a_config_of_before_has_the_prompts_that_it_was_trained_on() -> None:
    """Configs written before there were ``bold_table`` and ``spacing``."""
    data = make_config("shapellm/ipd-table-format").model_dump(mode="json")
    del data["spacing"]
    config = parse_config(data)
    assert config.spacing is Spacing.PAPER
    assert prompts_after(config, [])["row"].splitlines()[3:5] == ["| * * C * * | * * D * * |", "|-----|-----|-----|"]


def test_a_config_of_version_1_too() -> None:
    old = {"recipe": "x", "game": "ipd", "trials": 1, "layout": "table", "row": {}, "column": {}}
    assert "| * * C * * | (3, 3) | (0, 4) |" in prompts_after(parse_config(old), [])["row"]


@pytest.mark.parametrize(
    ("option", "said"),
    [
        ("payoff_format=bold_table", "payoff_format=list, but this run has payoff_format=bold_table"),
        ("spacing=released", "spacing=paper, but this run has spacing=released"),
    ],
)
def test_a_frozen_run_that_was_trained_on_other_prompts_is_refused(option: str, said: str, tmp_path: Path) -> None:
    run = train(small("language_model", "trials=0"), tmp_path / "run", progress=QUIET).path
    check_without_weights(small("language_model", f"seats.column={run}:row"))
    with pytest.raises(UsageError, match=f"was trained with {said}"):
        check_without_weights(small("language_model", f"seats.column={run}:row", option))


def test_an_alignment_is_on_the_prompts_of_its_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    arm = Arm("a", "A", "shapellm/ipd", preparation=Alignment("aligned", {"tiny": "own", "paper": "own"}))
    released = with_values(make_config("shapellm/ipd"), {"spacing": "released"})
    monkeypatch.setattr(Reproduction, "config", lambda *_: released)
    assert alignment_of(Reproduction("shapellm/table1"), arm, arm.preparation).spacing is Spacing.RELEASED  # type: ignore[arg-type]
    read: list[str] = []
    write = ChoiceModel._prompt
    monkeypatch.setattr(ChoiceModel, "_prompt", lambda *a: read.append(write(*a)) or read[-1])
    request = Request(to="own", model="tiny", prompts=12, threads=1, spacing=Spacing.RELEASED)
    align(request, tmp_path / "aligned", schedule=Schedule(epochs=1))
    assert read and not [text for text in read if "<STATE>In" in text or "C/C: 3/3, C/D" in text]
    assert any("<STATE> In" in text for text in read)
    assert json.loads((tmp_path / "aligned" / "alignment.json").read_text())["settings"]["spacing"] == "released"


def test_first_policies_are_of_the_prompts_that_are_named(capsys: pytest.CaptureFixture[str]) -> None:
    found = {}
    for spacing in ("paper", "released"):
        assert main(["labels", "--pairs", "H/K", "--spacing", spacing]) == 0
        found[spacing] = capsys.readouterr().out.splitlines()
    assert found["paper"][0] == "tiny, ipd, column: P(cooperate) in the first five prompts"
    assert found["released"][0] == "tiny, ipd, column, spacing released: P(cooperate) in the first five prompts"
    assert found["paper"][3] != found["released"][3]


def test_memories_that_tell_whole_games_have_the_spaces_too() -> None:
    config = with_values(small("language_model", "spacing=released"), {"row.memory": Memory.TRANSCRIPT})
    assert "<ADDITIONAL INFORMATION> The rounds" in prompts_after(config, ["CC", "CD"])["row"]

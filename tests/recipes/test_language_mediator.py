"""A language model as mediator: it is shown how to reply, and then learns from payoffs when to send a message."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
import torch
from run_files import read_json, read_lines
from small_runs import QUIET

from coplay.errors import UsageError
from coplay.experiments.catalogue import claims_of, experiments_of
from coplay.experiments.demonstrate import demonstrate
from coplay.experiments.sft import Request, sft
from coplay.games.memory import Memory
from coplay.recipes import RECIPES, make_config
from coplay.recipes.mediation.language import DEMONSTRATED, SITUATIONS, WARM_START
from coplay.runs.checks import check_without_weights
from coplay.runs.config import Config
from coplay.runs.config_input import with_values
from coplay.runs.train import train

torch.set_num_threads(1)
SMALL: dict[str, object] = {"seeds": [0], "games": 8, "eval_games": 4, "threads": 1, "checkpoint_every": 8}


@pytest.fixture(scope="module")
def warm(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The embedded model after a short warm start."""
    out = tmp_path_factory.mktemp("warm")
    plan = replace(DEMONSTRATED, episodes=8)
    demonstrate([plan], out / "data", seed=0, memory=Memory.LAST_ROUND)
    settings = WARM_START.settings["tiny"].model_copy(update={"batch_size": 8, "microbatch_size": 8})
    done = sft(Request("tiny-reason", str(out / "data"), settings, threads=1), out / "adapter")
    assert done.before["", ""].loss > 5 > 1 > done.after["", ""].loss
    return out / "adapter"


def small(name: str, **changes: object) -> Config:
    return with_values(make_config(f"mediation/language-{name}"), {**SMALL, **changes})


def test_without_a_warm_start_all_replies_are_illegal(tmp_path: Path) -> None:
    run = train(small("heeded-cold", trials=1), tmp_path / "run", progress=QUIET).path
    (line,) = read_lines(run / "metrics.jsonl")
    assert line["illegal/mediator"] > 0.9
    assert read_json(run / "config.json")["adapter"]["init_adapter"] is None


@pytest.mark.parametrize(("name", "more"), [("heeded", True), ("costly", False)])
def test_it_learns_to_speak_where_that_pays_and_to_be_silent_where_it_costs(
    name: str, more: bool, warm: Path, tmp_path: Path
) -> None:
    config = small(name, trials=8, **{"adapter.init_adapter": str(warm)})
    run = train(config, tmp_path / "run", progress=QUIET).path
    lines = read_lines(run / "metrics.jsonl")
    spoke = [line["notice/intervene"] for line in lines]
    assert lines[0]["illegal/mediator"] < 0.2
    assert "note/mediator" not in lines[0] and lines[0]["tokens/mediator"] >= 40
    assert spoke[-1] > spoke[0] + 0.2 if more else spoke[-1] < spoke[0] - 0.2


def test_configs_at_both_scales() -> None:
    (experiment,) = experiments_of("mediation/language")
    assert experiment.extra and experiment not in experiments_of("mediation")
    assert {arm.recipe for arm in experiment.arms} <= set(RECIPES)
    assert len(claims_of("language/ipd-3")) == 7
    assert {row.arm for row in experiment.table} == {arm.name for arm in experiment.arms}
    for situation in SITUATIONS:
        tiny, paper = (make_config(f"mediation/language-{situation.name}", scale=scale) for scale in ("tiny", "paper"))
        check_without_weights(tiny)
        assert "words=PASS+CALL" in tiny.game_name and "words" not in paper.game_name
        assert tiny.adapter == WARM_START.settings["tiny"].adapter


def test_tables_do_not_read() -> None:
    with pytest.raises(UsageError, match="is about text, which tabular learners do not read"):
        make_config("mediation/language-once", learner="tabular")

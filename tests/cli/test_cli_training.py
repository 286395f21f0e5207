"""``coplay train``: resuming, interrupts, full disks; and how soon help answers."""

import re
import shlex
from pathlib import Path
from typing import Any

import pytest
import torch
from shell import TABULAR, TRAIN, Shell
from small_runs import SMALL, files, run_python

from coplay.cli.main import main
from coplay.errors import UsageError
from coplay.recipes import make_config
from coplay.runs.config_input import assignments, with_overrides, with_values
from coplay.runs.directory import RunDirectory

torch.set_num_threads(1)


def test_train_and_resume(coplay: Shell, here: Path) -> None:
    assert coplay(*TRAIN, *SMALL, *TABULAR, "--seeds", "0", "--out", "a/run") == 0
    assert coplay.out.startswith("ipd, 4 rounds, 2 episodes x 1 seed\n")
    assert coplay.out.endswith("\na/run: done. Next: coplay report a/run\n")
    assert "trial 4/4" in coplay.err
    before = (here / "a/run/metrics.jsonl").read_bytes()
    assert coplay("train", "--resume", "a/run", "--from", "trial-00002", "--quiet") == 0
    assert coplay.err == ""
    assert (here / "a/run/metrics.jsonl").read_bytes() == before


def test_without_out_runs_are_numbered(coplay: Shell, here: Path) -> None:
    for name in ("shapellm-ipd", "shapellm-ipd-2"):
        assert coplay(*TRAIN, *SMALL, "trials=0", *TABULAR, "--quiet") == 0
        assert RunDirectory.open(here / "runs" / name).config.trials == 0


@pytest.mark.parametrize("order", ["first", "last", "around"])
def test_overrides_may_stand_before_or_after_options(coplay: Shell, order: str) -> None:
    options, overrides = ["--dry-run", *TABULAR], ["trials=7", "games=3"]
    arguments = {
        "first": [*overrides, *options],
        "last": [*options, *overrides],
        "around": [overrides[0], *options, overrides[1]],
    }[order]
    assert coplay(*TRAIN, *arguments) == 0
    assert {"trials=7", "games=3"} <= set(coplay.out.splitlines())


def test_a_dry_run_prints_settings_and_prompts_and_writes_nothing(coplay: Shell, here: Path) -> None:
    assert coplay(*TRAIN, "--dry-run", "--seeds", "0,1", "trials=10") == 0
    assert "recipe=shapellm/ipd\n" in coplay.out
    assert coplay.out.count("You are playing a 2-player game with actions: C, D.") == 2
    assert "2 seeds (0, 1), 10 trials: 10,000 rounds of play. Nothing was written." in coplay.out
    assert files(here) == []


@pytest.mark.parametrize(
    ("recipe", "options", "lines"),
    [
        (
            "shapellm/ipd",
            TABULAR,
            ["row.ppo.learning_rate=0.003", "row.labels=X,Y", "seeds=3,4", "column.initial=null"],
        ),
        (
            "shapellm/ipd",
            [],
            ["model=tiny", "seats.column=tit_for_tat", "'seeds=[7]'", "payoff_format=table", "chat=null"],
        ),
        ("adalign/split-no-comm", [], ["learner.group.beta=0.25", "seats.bob=learner", "past_selves.pool_size=3"]),
        ("any/naive", [*TABULAR, "--game", "public-goods:n=4,multiplier=2"], ["player-4.role=naive", "rounds=3"]),
    ],
)
def test_a_dry_run_prints_lines_that_can_be_typed_back(
    coplay: Shell, recipe: str, options: list[str], lines: list[str]
) -> None:
    """Every line is a word of a command line; all of them together are the config."""
    given = [shlex.split(line)[0] for line in lines]
    assert coplay("train", recipe, *options, *given, "--dry-run") == 0
    printed = coplay.out[: coplay.out.index("\n---")].splitlines()
    assert set(lines) <= set(printed)
    words = shlex.split(" ".join(line for line in printed if line))
    assert len(words) == len([line for line in printed if line])
    free = re.compile(r"[\d.,]+ (GiB free|[GM]iB)")
    before = free.sub("", coplay.out)
    assert coplay("train", recipe, *options, *words, "--dry-run") == 0
    assert free.sub("", coplay.out) == before


def test_a_game_of_ones_own_can_be_typed_back_too(coplay: Shell) -> None:
    config = make_config("shapellm/ipd", learner="tabular")
    game = {"name": "g", "actions": ["a b", "c"], "payoffs": [[[1, 1], [2, 0]], [[0, 2], [3, 3]]]}
    changed = with_values(config, {"game": game, "seats.row": ["row", "tit_for_tat"]})
    assert with_overrides(config, assignments(changed)) == changed


def test_seeds_are_a_list_or_a_number(coplay: Shell) -> None:
    for options, seeds in ((["--seeds", "2,5"], "2,5"), (["--n-seeds", "3"], "0,1,2")):
        assert coplay(*TRAIN, *TABULAR, *options, "--dry-run") == 0
        assert f"seeds={seeds}\n" in coplay.out
    assert coplay(*TRAIN, *TABULAR, "--seeds", "2", "--dry-run") == 0
    assert "'seeds=[2]'\n" in coplay.out


def test_reproduce_takes_the_same_seeds(monkeypatch: pytest.MonkeyPatch, coplay: Shell) -> None:
    asked = []

    def keep(request: Any, *_: Any, **__: Any) -> Any:
        asked.append(request.seeds)
        raise UsageError("not now")

    monkeypatch.setattr("coplay.experiments.reproduce.reproduce", keep)
    for options in ([], ["--seeds", "2"], ["--n-seeds", "2"], ["--seeds", "0,3"]):
        assert coplay("reproduce", "shapellm/table1", *options) == 2
    assert asked == [(0, 1, 2, 3, 4), (2,), (0, 1), (0, 3)]


def test_after_training_the_result_is_printed_and_illegal_replies_are_explained(coplay: Shell) -> None:
    """The embedded model replies with its game's labels; with others that it hardly ever says nothing can be read."""
    words = [*TRAIN, *SMALL, "trials=0", "seeds=[0]", "eval_games=2", "row.labels=%,@", "column.labels=%,@"]
    assert coplay(*words, "--out", "quiet", "--quiet") == 0
    assert coplay.out.startswith("Every reply of row and column was illegal: try other labels")
    assert coplay(*words, "--out", "mute") == 0
    assert "row     shaper  -" in coplay.out and "100.0%" in coplay.out
    assert "Every reply of row and column was illegal: try other labels (coplay labels), another chat" in coplay.out
    assert coplay("report", "mute") == 0
    assert "every reply of row and column was illegal: try other labels" in Path("mute/report.html").read_text()


IN_A_PROCESS = """
import sys, {imports}
sys.path.insert(0, {tests!r})
from small_runs import SMALL
{before}
from coplay.cli.main import main
sys.exit(main([{verb}, *{arguments!r}]))
"""


def in_a_process(arguments: list[str], before: str, *, cwd: Path, imports: str = "os, signal") -> Any:
    tests = str(Path(__file__).parent.parent)
    code = IN_A_PROCESS.format(imports=imports, tests=tests, before=before, verb=repr("train"), arguments=arguments)
    return run_python(code, cwd=cwd)


INTERRUPTING = """
from coplay.runs.state import TrainingState
whole = TrainingState.run_trial
def interrupting(state, trial):
    if trial == 1:
        os.kill(os.getpid(), signal.SIGINT)
    return whole(state, trial)
TrainingState.run_trial = interrupting
"""


def test_ctrl_c_saves_prints_the_resume_command_and_exits_with_130(coplay: Shell, here: Path) -> None:
    done = in_a_process(["shapellm/ipd", *SMALL, *TABULAR, "--out", "run"], INTERRUPTING, cwd=here)
    assert done.returncode == 130
    assert "coplay: saved after trial 2; resume it with: coplay train --resume run\n" in done.stderr
    assert "Traceback" not in done.stderr
    assert RunDirectory.open(here / "run").checkpoints()[-1].name == "trial-00002"
    assert coplay("train", "--resume", "run") == 0
    assert (here / "run" / "eval.json").exists()


@pytest.mark.parametrize(
    ("arguments", "advice"),
    [
        (["train", "shapellm/ipd"], "coplay train --resume DIR"),
        (["reproduce", "shapellm/table1"], "; the same command resumes it"),
        (["sweep", "shapellm/ipd", "trials=1,2"], "; the same command resumes it"),
        (["eval", "tit_for_tat", "random"], "\ninterrupted\n"),
    ],
)
def test_an_interrupt_at_once_says_what_can_be_resumed(
    arguments: list[str], advice: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def interrupted(_: object) -> int:
        raise KeyboardInterrupt

    for name in ("training.train", "training.reproduce", "sweep.sweep", "evaluating.eval_"):
        monkeypatch.setattr(f"coplay.cli.{name}", interrupted)
    assert main(arguments) == 130
    assert advice in capsys.readouterr().err


def full_disk(limit: int) -> str:
    """No file may grow beyond ``limit`` bytes."""
    return f"import resource; resource.setrlimit(resource.RLIMIT_FSIZE, ({limit}, {limit}))"


def test_a_full_disk_at_the_start_leaves_nothing_behind(here: Path) -> None:
    done = in_a_process(["shapellm/ipd", *SMALL, *TABULAR, "--out", "run", "--quiet"], full_disk(100), cwd=here)
    assert done.returncode == 1
    assert done.stderr.startswith("coplay: the disk is full")
    assert len(done.stderr.splitlines()) == 1
    assert files(here) == []


def test_a_full_disk_later_on_leaves_a_run_that_can_be_resumed(coplay: Shell, here: Path) -> None:
    """The config fits, a checkpoint does not."""
    many = f"seeds={list(range(40))}"
    arguments = ["shapellm/ipd", *SMALL, "games=1", "trials=2", "checkpoint_every=1", many, *TABULAR, "--quiet"]
    done = in_a_process([*arguments, "--out", "run"], full_disk(60_000), cwd=here)
    assert done.returncode == 1, done.stderr
    assert "coplay: the disk is full" in done.stderr
    assert "coplay train --resume DIR" in done.stderr
    assert "Traceback" not in done.stderr
    assert files(here / "run" / "checkpoints") == []
    assert coplay("train", "--resume", "run", "--quiet") == 0


def test_help_mistakes_and_scripted_players_need_no_torch_is_imported(here: Path) -> None:
    code = """
import sys
from coplay.cli.main import main
for arguments in (["--help"], ["train", "--help"], ["labels", "--help"], ["--version"]):
    try:
        main(arguments)
    except SystemExit:
        pass
assert main(["train", "shapellm/ipd", "trails=3"]) == 2
assert main(["train", "shapellm/idp"]) == 2
assert main(["train", "shapellm/ipd", "--model", "./nowhere"]) == 2
assert main(["align", "./nowhere", "--out", "aligned"]) == 2
assert main(["labels", "--target", "2"]) == 2
assert main(["labels", "--plot", "x.gif"]) == 2
assert main(["labels", "--model", "./nowhere"]) == 2
assert main(["list", "recipes"]) == 0
assert main(["prompt", "shapellm/ipd"]) == 0
assert main(["eval", "tit_for_tat", "random:0.7", "--game", "ipd"]) == 0
assert main(["eval", "tit_for_tat", "random:0.7", "--game", "ipd", "--matrix"]) == 0
assert main(["exploit", "tit_for_tat", "--game", "ipd"]) == 0
heavy = {"torch", "transformers", "matplotlib", "safetensors"} & set(sys.modules)
assert not heavy, heavy
"""
    done = run_python(code, cwd=here)
    assert done.returncode == 0, done.stderr


def test_a_single_seed_that_may_be_meant_as_a_number_is_told(coplay: Shell) -> None:
    assert coplay("train", "any/naive", "--learner", "tabular", "--seeds", "5", "--dry-run") == 0
    assert "--seeds 5 is one seed, 5; for 5 seeds: --n-seeds 5" in coplay.err
    assert "\n1 seed (5), " in coplay.out
    for seeds in ("0", "1", "77", "0,5"):
        assert coplay("train", "any/naive", "--learner", "tabular", "--seeds", seeds, "--dry-run") == 0
        assert coplay.err == ""

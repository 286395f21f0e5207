"""The command line: what it prints, what it refuses and how, and with which status."""

import json
import re
from pathlib import Path
from typing import Any

import pytest
import torch
from small_runs import SMALL, files, run_python, small

from coplay.cli.main import main
from coplay.progress import Progress
from coplay.runs import RunDirectory
from coplay.train import train as train_run

torch.set_num_threads(1)

TABULAR = ["--learner", "tabular"]
TRAIN = ["train", "shapellm/ipd"]


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Every test works in an empty directory of its own."""
    directory = tmp_path / "here"
    directory.mkdir()
    monkeypatch.chdir(directory)
    return directory


class Shell:
    """Runs the command line and remembers what it said."""

    def __init__(self, capsys: pytest.CaptureFixture[str]) -> None:
        self.capsys = capsys
        self.out = self.err = ""

    def __call__(self, *arguments: str) -> int:
        self.capsys.readouterr()
        try:
            status = main(list(arguments))
        except SystemExit as exit:  # argparse's way out
            status = int(exit.code or 0)
        self.out, self.err = self.capsys.readouterr()
        return status

    def json(self, *arguments: str) -> Any:
        assert self(*arguments, "--json") == 0, self.err
        return json.loads(self.out)


@pytest.fixture
def coplay(capsys: pytest.CaptureFixture[str]) -> Shell:
    return Shell(capsys)


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A finished tabular run."""
    path = tmp_path_factory.mktemp("runs") / "ipd"
    return train_run(small("tabular", "trials=2", "seeds=[0,1]"), path, progress=Progress(quiet=True)).path


# --- Bad input -------------------------------------------------------------------------------------------------------------------------

ALIGN = ["align", "tiny", "--out", "aligned"]
NOT_SQUARE = '{"name": "g", "actions": ["a", "b"], "payoffs": [[[1, 1], [2, 2]], [[3, 3]]]}'

BAD = {
    "unknown recipe": (["train", "shapellm/idp"], "Did you mean 'shapellm/ipd'?"),
    "misspelt key": ([*TRAIN, "trails=3"], "Did you mean 'trials'?"),
    "misspelt nested key": ([*TRAIN, "row.ppo.learning_rat=1"], "Did you mean 'learning_rate'?"),
    "impossible value": ([*TRAIN, "row.ppo.lam=2"], "row.ppo.lam: input should be less than or equal to 1 (got 2)"),
    "infinite value": ([*TRAIN, "row.ppo.kl_coef=Infinity"], "row.ppo.kl_coef: input should be a finite number"),
    "no assignment": ([*TRAIN, "trials"], "'trials' is not of the form key=value"),
    "labels of several tokens": ([*TRAIN, 'row.labels=["Cooperate", "Defect"]'], "is not a single token"),
    "too few labels": ([*TRAIN, 'row.labels=["A"]'], "row.labels: game 'ipd' needs 2 labels"),
    "equal labels": ([*TRAIN, 'row.labels=["C", "C"]'], "not different tokens"),
    "payoffs of the wrong shape": ([*TRAIN, f"game={NOT_SQUARE}"], "payoffs must be 2 rows of 2 pairs"),
    "unknown game": ([*TRAIN, "game=ipdd"], "unknown game 'ipdd'. Did you mean 'ipd'?"),
    "missing game file": ([*TRAIN, "game=nowhere.toml"], "there is no game file nowhere.toml"),
    "missing model": ([*TRAIN, "--model", "./nowhere"], "there is no model at ./nowhere"),
    "unknown target": ([*TRAIN, 'adapter.targets=["nope"]'], "no linear layer called nope"),
    "unknown player": ([*TRAIN, *TABULAR, "row.player=tit_for_tta"], "Did you mean 'tit_for_tat'?"),
    "short initial policy": ([*TRAIN, *TABULAR, "row.initial=[0.5]"], "needs 5 probabilities"),
    "seeds": ([*TRAIN, "--seeds", "a,b"], "--seeds takes whole numbers"),
    "no recipe": (["train"], "train needs a RECIPE"),
    "no run to resume": (["train", "--resume", "nowhere"], "there is no run directory nowhere"),
    "resume with overrides": (["train", "--resume", "x", "--seeds", "1"], "--resume takes no recipe"),
    "from without resume": ([*TRAIN, "--from", "trial-00002"], "--from goes with --resume"),
    "unknown experiment": (["reproduce", "shapellm/tabel1"], "Did you mean 'shapellm/table1'?"),
    "unknown game of an experiment": (["reproduce", "shapellm/table1", "--game", "ish"], "unknown game of"),
    "words for tables": (["reproduce", "shapellm/table11", "--learner", "tabular"], "about text"),
    "model of tables": ([*TRAIN, *TABULAR, "--model", "tiny"], "--model: tabular learners have none"),
    "reproduced model of tables": (["reproduce", "shapellm/table1", *TABULAR, "--model", "tiny"], "have none"),
    "resume at a scale": (["train", "--resume", "x", "--scale", "tiny"], "--resume takes no recipe"),
    "part of a single value": ([*TRAIN, "game.rounds=3"], "game.rounds: game is a single value here ('ipd')"),
    "dry run of long labels": (
        [*TRAIN, "--dry-run", 'column.labels=["cooperate", "D"]'],
        "'cooperate' is not a single token",
    ),
    "no seeds": (["reproduce", "shapellm/table1", "--seeds", "0"], "at least one seed"),
    "negative trials": (["reproduce", "shapellm/table1", "--trials", "-1"], "trials: input should be greater"),
    "eval of one player": (["eval", "tit_for_tat"], "eval needs two players, or one run directory"),
    "eval of three": (["eval", "a", "b", "c"], "takes one run directory or two players, got 3"),
    "eval of nobody known": (["eval", "tit_for_tat", "allways_defect"], "Did you mean 'always_defect'?"),
    "eval payoffs": (["eval", "tit_for_tat", "tit_for_tat", "--payoffs", "3,0,5"], "needs 4 payoffs"),
    "eval payoffs in words": (["eval", "tit_for_tat", "tit_for_tat", "--payoffs", "a"], "--payoffs takes numbers"),
    "eval rounds": (["eval", "tit_for_tat", "tit_for_tat", "--rounds", "0"], "--rounds must be at least 1, got 0"),
    "history": (["prompt", "shapellm/ipd", "--history", "CX"], "'X' is not an action of seat 'column'"),
    "history of three": (["prompt", "shapellm/ipd", "--history", "CCD"], "is not a pair of (row, column) actions"),
    "report on nothing": (["report", "nowhere"], "there is no directory nowhere"),
    "align to no row": (
        [*ALIGN, "--to", "table14:ipd:A/B"],
        "Table 14 has no such row; write table14:ipd: and one of H/K",
    ),
    "align to no game": ([*ALIGN, "--to", "table14:idp:H/K"], "Did you mean 'ipd'?"),
    "align to another game": ([*ALIGN, "--to", "table14:icg:T/K"], "is about game 'icg', the prompts about 'ipd'"),
    "align to no model": ([*ALIGN, "--to", "./nowhere"], "there is no model at ./nowhere"),
    "align labels": ([*ALIGN, "--labels", "C"], "labels: game 'ipd' needs 2 (for cooperate, defect), got 1"),
    "align prompts": ([*ALIGN, "--prompts", "0"], "--prompts must be at least 1, got 0"),
    "align rate": ([*ALIGN, "--learning-rate", "nan"], "--learning-rate must be a number above 0"),
    "align nowhere": (["align", "tiny"], "the following arguments are required: --out"),
    "unknown start": ([*TRAIN, "adapter.start=nowhere"], "adapter.start: there is no directory /"),
    "target of labels": (["labels", "--target", "1.5"], "target: must be greater than 0 and less than 1"),
    "target in words": (["labels", "--target", "high"], "invalid float value: 'high'"),
    "labels of a missing model": (["labels", "--model", "./nowhere"], "there is no model at ./nowhere"),
    "labels of an unknown game": (["labels", "--game", "idp"], "Did you mean 'ipd'?"),
    "no labels to show": (["labels", "--top", "0"], "--top must be at least 1, got 0"),
    "pairs of labels": (
        ["labels", "--pairs", "H/K,N"],
        "--pairs takes pairs of different labels, e.g. H/K,N/Y; 'N' is",
    ),
    "equal labels of a pair": (["labels", "--pairs", "H/H"], "'H/H' is none"),
    "unusable labels": (["labels", "--pairs", "Cooperate/D"], "none of the pairs can be used: not two"),
    "plot of another kind": (["labels", "--plot", "x.gif"], "--plot writes .png, .pdf or .svg files; got x.gif"),
    "plot to nowhere": (["labels", "--plot", "no/x.png"], "--plot: there is no directory no"),
    "plot of some pairs": (["labels", "--pairs", "H/K", "--plot", "x.png"], "leave out --pairs"),
    "unknown verb": (["trian"], "invalid choice: 'trian'"),
    "unknown option": ([*TRAIN, "--speed", "9"], "unrecognized arguments: --speed 9"),
    "stray word": (["list", "games", "x=1"], "unrecognized arguments: x=1"),
}


@pytest.mark.parametrize("case", BAD)
def test_bad_input_is_said_in_a_line_and_writes_nothing(coplay: Shell, here: Path, case: str) -> None:
    arguments, message = BAD[case]
    assert coplay(*arguments) == 2
    assert coplay.out == ""
    assert "Traceback" not in coplay.err
    first, *others = coplay.err.splitlines()
    assert first.startswith("coplay: ")
    assert message in first
    assert all(re.fullmatch(r"coplay: see coplay.* --help", line) for line in others)
    assert files(here) == []


def test_a_game_file_of_the_wrong_shape(coplay: Shell, here: Path) -> None:
    (here / "g.toml").write_text('name = "g"\nactions = ["a", "b"]\npayoffs = [[[1, 1], [2, 2]], [[3, 3], [4]]]\n')
    for command in ([*TRAIN, "game=g.toml"], ["eval", "random", "random", "--game", "g.toml"], ["check", "g.toml"]):
        assert coplay(*command) == 2
        assert coplay.err.startswith("coplay: g.toml: payoffs must be 2 rows of 2 pairs")
        assert "row 2, entry 2 is [4]" in coplay.err
        assert len(coplay.err.splitlines()) == 1
    (here / "g.toml").write_text("name = ")
    assert coplay("check", "g.toml") == 2
    assert "g.toml is not valid TOML" in coplay.err
    assert files(here) == ["g.toml"]


def test_an_existing_run_is_never_overwritten(coplay: Shell, run: Path) -> None:
    before = {name: (run / name).read_bytes() for name in files(run) if (run / name).is_file()}
    assert coplay(*TRAIN, "--out", str(run), *TABULAR) == 2
    assert coplay.err == f"coplay: {run} exists already; resume it with --resume {run}, or choose another --out\n"
    assert {name: (run / name).read_bytes() for name in before} == before


def test_the_run_directory_is_checked_before_the_model_is_loaded(coplay: Shell, run: Path) -> None:
    assert coplay(*TRAIN, "--out", str(run), 'row.labels=["Cooperate","Defect"]') == 2
    assert "exists already" in coplay.err


# --- Training -----------------------------------------------------------------------------------------------------------------------------


def test_train_and_resume(coplay: Shell, here: Path) -> None:
    assert coplay(*TRAIN, *SMALL, *TABULAR, "--seeds", "0", "--out", "a/run") == 0
    assert coplay.out == "a/run: done. Next: coplay report a/run\n"
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
    config = json.loads(coplay.out[: coplay.out.index("\n}\n") + 2])
    assert (config["trials"], config["games"]) == (7, 3)


def test_a_dry_run_prints_config_and_prompts_and_writes_nothing(coplay: Shell, here: Path) -> None:
    assert coplay(*TRAIN, "--dry-run", "--seeds", "0,1", "trials=10") == 0
    assert '"recipe": "shapellm/ipd"' in coplay.out
    assert coplay.out.count("You are playing a 2-player game with actions: C, D.") == 2
    assert "2 seeds, 10 trials: 10,000 rounds of play. Nothing was written." in coplay.out
    assert files(here) == []


IN_A_PROCESS = """
import sys, {imports}
sys.path.insert(0, {tests!r})
from small_runs import SMALL
{before}
from coplay.cli.main import main
sys.exit(main([{verb}, *{arguments!r}]))
"""


def in_a_process(arguments: list[str], before: str, *, cwd: Path, imports: str = "os, signal") -> Any:
    tests = str(Path(__file__).parent)
    code = IN_A_PROCESS.format(imports=imports, tests=tests, before=before, verb=repr("train"), arguments=arguments)
    return run_python(code, cwd=cwd)


INTERRUPTING = """
from coplay import trial as trials
whole = trials.run_trial
def interrupting(arena, tables, trial):
    if trial == 1:
        os.kill(os.getpid(), signal.SIGINT)
    return whole(arena, tables, trial)
trials.run_trial = interrupting
"""


def test_ctrl_c_saves_prints_the_resume_command_and_exits_with_130(coplay: Shell, here: Path) -> None:
    done = in_a_process(["shapellm/ipd", *SMALL, *TABULAR, "--out", "run"], INTERRUPTING, cwd=here)
    assert done.returncode == 130
    assert "coplay: saved after trial 2; go on with: coplay train --resume run\n" in done.stderr
    assert "Traceback" not in done.stderr
    assert RunDirectory(here / "run").checkpoints()[-1].name == "trial-00002"
    assert coplay("train", "--resume", "run") == 0
    assert (here / "run" / "eval.json").exists()


@pytest.mark.parametrize(
    ("arguments", "advice"),
    [
        (["train", "shapellm/ipd"], "coplay train --resume DIR"),
        (["reproduce", "shapellm/table1"], "; the same command goes on where it stopped"),
        (["sweep", "shapellm/ipd", "trials=1,2"], "; the same command goes on where it stopped"),
        (["eval", "tit_for_tat", "random"], "\ninterrupted\n"),
    ],
)
def test_an_interrupt_at_once_says_what_can_be_gone_on_with(
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


def test_help_and_mistakes_answer_before_torch_is_imported(here: Path) -> None:
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
heavy = {"torch", "transformers", "matplotlib", "safetensors"} & set(sys.modules)
assert not heavy, heavy
"""
    done = run_python(code, cwd=here)
    assert done.returncode == 0, done.stderr


# --- list -----------------------------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("what", ["games", "players", "recipes", "claims", "runs"])
def test_lists_have_names_and_descriptions(coplay: Shell, run: Path, what: str) -> None:
    rows = coplay.json("list", what, "--runs-in", str(run.parent))
    assert rows
    for row in rows:
        assert row["name"] and isinstance(row["name"], str)
        assert row["description"] and isinstance(row["description"], str)
    assert len({row["name"] for row in rows}) == len(rows)
    assert coplay("list", what, "--runs-in", str(run.parent)) == 0
    assert len(coplay.out.splitlines()) == len(rows)
    assert all(row["name"] in coplay.out for row in rows)


def test_list_runs_says_which_are_finished(coplay: Shell, run: Path) -> None:
    (row,) = coplay.json("list", "runs", "--runs-in", str(run.parent))
    assert row["name"] == str(run)
    assert row["finished"] is True
    assert coplay.json("list", "runs") == []


def test_names_that_are_listed_can_be_used(coplay: Shell) -> None:
    for row in coplay.json("list", "games"):
        assert coplay("check", row["name"]) == 0
    for row in coplay.json("list", "recipes"):
        seats = {"alice", "bob"} if row["name"].startswith("adalign/") else {"row", "column"}
        assert set(coplay.json("prompt", row["name"])) == seats


# --- prompt ---------------------------------------------------------------------------------------------------------------------------------


def test_prompts_show_each_seat_its_own_view_of_the_history(coplay: Shell) -> None:
    first = coplay.json("prompt", "shapellm/ipd")
    assert first["row"] == first["column"]
    assert "<STATE>" not in first["row"]

    texts = coplay.json("prompt", "shapellm/ipd", "--history", "CC,CD,CD")
    assert "you played C and your opponent played D." in texts["row"]
    assert "has been CC:1, CD:1, DC:0, DD:0." in texts["row"]
    assert "you played D and your opponent played C." in texts["column"]
    assert "occurrence" not in texts["column"]
    for spelling in ("CC, CD, CD", "cooperate/cooperate,cooperate/defect,C/D"):
        assert coplay.json("prompt", "shapellm/ipd", "--history", spelling) == texts


def test_the_shapers_counts_cross_episodes_and_the_naive_learners_memory_does_not(coplay: Shell) -> None:
    texts = coplay.json("prompt", "shapellm/ipd", "rounds=2", "--history", "CC,DD")
    assert "<STATE>" not in texts["column"]
    assert "you played D and your opponent played D" in texts["row"]
    assert "CC:1, CD:0, DC:0, DD:0." in texts["row"]


def test_prompts_follow_overrides(coplay: Shell) -> None:
    texts = coplay.json("prompt", "shapellm/ipd", "game=icg", 'row.labels=["X","Y"]', "chat=llama", "--history", "XG")
    assert texts["row"].startswith("<|begin_of_text|>")
    assert "Reply only with X or Y." in texts["row"]
    assert "you played X and your opponent played Y." in texts["row"]
    assert "X/X: 2/2, X/Y: 1/3, Y/X: 3/1, Y/Y: -5/-5." in texts["row"]
    assert "you played G and your opponent played S." in texts["column"]


def test_prompt_as_text(coplay: Shell) -> None:
    assert coplay("prompt", "shapellm/ipd") == 0
    assert coplay.out.startswith("--- row\n<bos><start_of_turn>user\n")
    assert "\n--- column\n" in coplay.out


# --- eval -----------------------------------------------------------------------------------------------------------------------------------


def test_tit_for_tat_against_defection(coplay: Shell) -> None:
    """By hand: 0 + 7 x 1 = 7 and 5 + 7 x 1 = 12."""
    game = ["--rounds", "8", "--payoffs", "3,0,5,1", "--episodes", "3"]
    assert coplay.json("eval", "tit_for_tat", "always_defect", *game) == {
        "version": 1,
        "game": "ipd",
        "rounds": 8,
        "episodes": 3,
        "seats": {
            "row": {
                "player": "tit_for_tat",
                "total": 7.0,
                "per_round": 0.875,
                "ci95": 0.0,
                "actions": {"cooperate": 0.125, "defect": 0.875},
                "illegal": 0.0,
            },
            "column": {
                "player": "always_defect",
                "total": 12.0,
                "per_round": 1.5,
                "ci95": 0.0,
                "actions": {"cooperate": 0.0, "defect": 1.0},
                "illegal": 0.0,
            },
        },
        "states": {"CC": 0.0, "CD": 0.125, "DC": 0.0, "DD": 0.875, "I": 0.0},
    }


def test_eval_of_a_game_file(coplay: Shell, here: Path) -> None:
    (here / "g.toml").write_text(
        'name = "g"\nrounds = 3\nactions = ["up", "down"]\npayoffs = [[[1, 2], [3, 4]], [[5, 6], [7, 8]]]\n'
    )
    report = coplay.json("eval", "always:down", "always:up", "--game", "g.toml", "--episodes", "1")
    assert (report["seats"]["row"]["total"], report["seats"]["column"]["total"]) == (15.0, 18.0)
    assert report["rounds"] == 3


def test_eval_of_a_run_is_its_own_evaluation(coplay: Shell, run: Path) -> None:
    again = coplay.json("eval", str(run), "--episodes", "2")
    assert again == json.loads((run / "eval.json").read_text())
    assert coplay("eval", str(run), "--episodes", "2") == 0
    assert "2 seeds" in coplay.out


def test_a_trained_learner_meets_a_scripted_player(coplay: Shell, run: Path) -> None:
    report = coplay.json("eval", f"{run}:row", "always_defect", "--episodes", "2", "--rounds", "3")
    assert report["seats"]["row"]["player"] == "shaper (seed 0)"
    assert coplay("eval", f"{run}:column", "always_defect") == 2
    assert "learnt to play as column" in coplay.err
    assert coplay("eval", f"{run}:row", "random", "--game", "imp") == 2
    assert "whose actions are not those of 'imp'" in coplay.err


def test_eval_refuses_another_game_for_a_run(coplay: Shell, run: Path) -> None:
    assert coplay("eval", str(run), "--game", "icg") == 2
    assert "a run is evaluated in its own game" in coplay.err


# --- check and report -----------------------------------------------------------------------------------------------------------------------


def test_check(coplay: Shell) -> None:
    assert coplay.json("check", "ipd") == {"version": 1, "game": "ipd", "problems": [], "ok": True}
    assert coplay("check", "ipd") == 0
    assert coplay.out == "ipd: all checks pass\n"


def test_report_on_a_run(coplay: Shell, run: Path, here: Path) -> None:
    assert coplay("report", str(run), "--out", "page") == 0
    assert (here / "page" / "report.html").read_text().lower().startswith("<!doctype html>")


# --- labels -------------------------------------------------------------------------------------------------------------------------------


def test_labels_ranks_all_pairs_and_draws_them(coplay: Shell, here: Path) -> None:
    rows = coplay.json("labels", "--target", "0.75", "--top", "650", "--plot", "labels.png")
    assert len({tuple(row["labels"]) for row in rows}) == len(rows) == 650
    divergences = [row["divergence"] for row in rows]
    assert divergences == sorted(divergences)
    assert all(row["target"] == 0.75 for row in rows)
    assert files(here) == ["labels.png"]
    (cooperative,) = (row for row in rows if row["labels"] == ["H", "K"])
    assert list(cooperative["probabilities"]) == list(cooperative["published"])
    for name, published in cooperative["published"].items():
        probabilities = cooperative["probabilities"][name]
        assert probabilities["cooperate"] == pytest.approx(published, abs=0.05)
        assert sum(probabilities.values()) == pytest.approx(1)


def test_labels_as_a_table(coplay: Shell) -> None:
    assert coplay("labels", "--game", "icg", "--top", "3") == 0
    lines = coplay.out.splitlines()
    assert lines[0] == "tiny, icg, column: the 3 of 650 pairs of labels nearest to P(swerve) = 0.5"
    assert lines[2].split() == ["labels", "start", "SS", "SG", "GS", "GG", "illegal", "KL"]
    assert [len(line.split()) for line in lines[3:6]] == [8] * 3
    assert "paper" not in coplay.out


def test_given_pairs_stand_beside_the_published_ones(coplay: Shell) -> None:
    assert coplay("labels", "--pairs", "H/K, Cooperate/D, K/H") == 0
    assert [line.split()[0] for line in coplay.out.splitlines()[3:6]] == ["H/K", "paper", "K/H"]
    assert "0.60   0.89   0.89   0.70   0.68" in coplay.out
    assert "KL" not in coplay.out
    assert coplay.err == ("coplay: 1 of 3 pairs left out: not two different single tokens of tiny, e.g. Cooperate/D\n")
    (row,) = coplay.json("labels", "--pairs", "H/K", "--layout", "table", "--seat", "row")
    assert set(row) == {"labels", "probabilities"}
    (row,) = coplay.json("labels", "--pairs", "H/K", "--target", "0.75")
    assert 0 < row["divergence"] < 0.1


def test_labels_for_a_game_of_ones_own(coplay: Shell, here: Path) -> None:
    game = (
        'name = "g"\nactions = [["stay", "leave"], ["ask", "tell"]]\npayoffs = [[[1, 1], [2, 0]], [[0, 2], [1, 1]]]\n'
    )
    (here / "g.toml").write_text(game)
    assert coplay("labels", "--game", "g.toml", "--pairs", "H/K") == 0
    assert coplay.out.splitlines()[2].split() == ["labels", "start", "AS", "AL", "TS", "TL", "illegal"]
    (here / "g.toml").write_text('name = "g"\nactions = ["a", "b", "c"]\npayoffs = ' + str([[[1, 1]] * 3] * 3))
    assert coplay("labels", "--game", "g.toml") == 2
    assert coplay.err == (
        "coplay: game: pairs of labels are for games of two actions a seat; in 'g' row has 3: a, b, c\n"
    )


def test_layouts_and_chat_formats_on_the_command_line_are_all_there_are() -> None:
    from coplay.cli.main import parser
    from coplay.text.chat import ChatFormat
    from coplay.text.prompts import Layout

    for option, known in (("--layout", Layout), ("--chat", ChatFormat)):
        for name in known:
            assert getattr(parser().parse_args(["labels", option, name]), option[2:]) == name

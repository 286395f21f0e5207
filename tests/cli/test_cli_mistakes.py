"""What the command line refuses, and how."""

import re
from pathlib import Path

import pytest
import torch
from shell import TABULAR, TRAIN, Shell
from small_runs import files

torch.set_num_threads(1)


ALIGN = ["align", "tiny", "--out", "aligned"]
NOT_SQUARE = '{"name": "g", "actions": ["a", "b"], "payoffs": [[[1, 1], [2, 2]], [[3, 3]]]}'

BAD = {
    "unknown recipe": (["train", "shapellm/idp"], "Did you mean 'shapellm/ipd'?"),
    "misspelt key": ([*TRAIN, "trails=3"], "Did you mean 'trials'?"),
    "misspelt nested key": ([*TRAIN, "row.ppo.learning_rat=1"], "Did you mean 'learning_rate'?"),
    "impossible value": (
        [*TRAIN, "row.ppo.lam=2"],
        "learners.row.ppo.lam: input should be less than or equal to 1 (got 2)",
    ),
    "infinite value": (
        [*TRAIN, "row.ppo.kl_coef=Infinity"],
        "learners.row.ppo.kl_coef: input should be a finite number",
    ),
    "no assignment": ([*TRAIN, "trials"], "'trials' is not of the form key=value"),
    "labels of several tokens": ([*TRAIN, 'row.labels=["Cooperate", "Defect"]'], "are not a single token"),
    "too few labels": ([*TRAIN, 'row.labels=["A"]'], "learners.row.labels: game 'ipd' needs 2 labels"),
    "equal labels": ([*TRAIN, 'row.labels=["C", "C"]'], "not different tokens"),
    "payoffs of the wrong shape": ([*TRAIN, f"game={NOT_SQUARE}"], "payoffs must be 2 rows of 2 pairs"),
    "unknown game": ([*TRAIN, "game=ipdd"], "unknown game 'ipdd'. Did you mean 'ipd'?"),
    "missing game file": ([*TRAIN, "game=nowhere.toml"], "there is no file nowhere.toml"),
    "missing model": ([*TRAIN, "--model", "./nowhere"], "there is no model at ./nowhere"),
    "no target": ([*TRAIN, "adapter.targets=[]"], "adapter.targets: tuple should have at least 1 item"),
    "unknown target": ([*TRAIN, 'adapter.targets=["nope"]'], "no linear layer called nope"),
    "unknown player": (
        [*TRAIN, *TABULAR, "seats.row=tit_for_tta"],
        "seats.row: unknown player 'tit_for_tta'. Did you mean 'tit_for_tat'?",
    ),
    "a model that is not there": (["eval", "./gemma", "tit_for_tat"], "there is no ./gemma to be a player"),
    "short initial policy": ([*TRAIN, *TABULAR, "row.initial=[0.5]"], "needs 5 probabilities"),
    "rate without sense": (
        [*TRAIN, *TABULAR, "row.ppo.learning_rate=1e9"],
        "learners.row.ppo.learning_rate=1e+09 is too large to learn with",
    ),
    "seeds": ([*TRAIN, "--seeds", "a,b"], "--seeds takes whole numbers"),
    "no recipe": (["train"], "train needs a RECIPE"),
    "a game without a recipe": (["train", "--game", "rps.toml"], "for any game any/naive --game GAME"),
    "no recipe to read": (["prompt"], "prompt needs RECIPE: a name"),
    "earlier name of a player": (["eval", "reciprocate", "random"], "'reciprocate' is called 'tit_for_tat' now"),
    "a device as a run": (
        [*TRAIN, *TABULAR, "--out", "/dev/null"],
        "exists already and is not a run directory; choose",
    ),
    "no run to resume": (["train", "--resume", "nowhere"], "there is no run directory nowhere"),
    "resume with overrides": (["train", "--resume", "x", "--seeds", "1"], "--resume takes no recipe"),
    "from without resume": ([*TRAIN, "--from", "trial-00002"], "--from goes with --resume"),
    "unknown experiment": (["reproduce", "shapellm/tabel1"], "Did you mean 'shapellm/table1'?"),
    "unknown game of an experiment": (["reproduce", "shapellm/table1", "--game", "ish"], "unknown game of"),
    "words for tables": (["reproduce", "shapellm/table11", "--learner", "tabular"], "about text"),
    "model of tables": ([*TRAIN, *TABULAR, "--model", "tiny"], "--model: tabular learners have none"),
    "reproduced model of tables": (["reproduce", "shapellm/table1", *TABULAR, "--model", "tiny"], "have none"),
    "resume at a scale": (["train", "--resume", "x", "--scale", "tiny"], "--resume takes no recipe"),
    "part of a single value": ([*TRAIN, "trials.n=3"], "trials.n: trials is a single value here (120)"),
    "setting that a game does not have": ([*TRAIN, "game.size=3"], "game 'ipd': there is no setting 'size'"),
    "dry run of long labels": (
        [*TRAIN, "--dry-run", 'column.labels=["cooperate", "D"]'],
        "'cooperate' (7 tokens) is not a single token",
    ),
    "no seeds": (["reproduce", "shapellm/table1", "--n-seeds", "0"], "--n-seeds must be at least 1, got 0"),
    "list and number of seeds": ([*TRAIN, "--seeds", "0,1", "--n-seeds", "2"], "not allowed with argument --seeds"),
    "abbreviated seeds": ([*TRAIN, "--seed", "3"], "unrecognized arguments: --seed 3. Did you mean '--seeds'?"),
    "abbreviated option": (["eval", "random", "random", "--epi", "3"], "Did you mean '--episodes'?"),
    "abbreviated option of another verb": (
        ["list", "games", "--js"],
        "unrecognized arguments: --js. Did you mean '--json'?",
    ),
    "setting as an option": ([*TRAIN, "--trials", "3"], "Settings are written without dashes: trials=3"),
    "mistyped setting as an option": ([*TRAIN, "--trails", "3"], "Settings are written without dashes: trials=3"),
    "mistyped option that is a setting too": ([*TRAIN, "--modle", "tiny"], "Did you mean '--model'?"),
    "nested setting as an option": ([*TRAIN, "--row.ppo.clip=3"], "without dashes: row.ppo.clip=3"),
    "setting without its section": (
        [*TRAIN, "learning_rate=0.1"],
        "learning_rate: there is no such key. Did you mean 'row.ppo.learning_rate' or 'column.ppo.learning_rate'?",
    ),
    "kind of learner as a setting": (
        ["train", "any/alignment", "--game", "ipd", "learner=tabular", "--dry-run"],
        "learner: this is a learner, which has settings of its own",
    ),
    "recipe without its paper": (["train", "ipd"], "unknown recipe 'ipd'. Did you mean 'shapellm/ipd'?"),
    "recipe of either paper": (["train", "ipd-ab-grpo"], "Did you mean 'adalign/ipd-ab-grpo'?"),
    "negative trials": (["reproduce", "shapellm/table1", "--trials", "-1"], "trials: input should be greater"),
    "eval of one player": (["eval", "tit_for_tat"], "eval needs a player for each seat, or one run directory"),
    "eval of three": (
        ["eval", "a", "b", "c"],
        "game 'ipd' has 2 seats (row, column), got 3 players; with --matrix any number",
    ),
    "eval of nobody known": (["eval", "tit_for_tat", "allways_defect"], "Did you mean 'always_defect'?"),
    "eval payoffs": (["eval", "tit_for_tat", "tit_for_tat", "--payoffs", "3,0,5"], "needs 4 payoffs"),
    "eval payoffs in words": (["eval", "tit_for_tat", "tit_for_tat", "--payoffs", "a"], "--payoffs takes numbers"),
    "eval rounds": (["eval", "tit_for_tat", "tit_for_tat", "--rounds", "0"], "--rounds must be at least 1, got 0"),
    "history": (["prompt", "shapellm/ipd", "--history", "CX"], "'X' is not an action of seat 'column'"),
    "history of three": (
        ["prompt", "shapellm/ipd", "--history", "CCD"],
        "'CCD' does not say what each of row, column did; write e.g. CC or cooperate/cooperate",
    ),
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
    "align rate": ([*ALIGN, "--learning-rate", "nan"], "--learning-rate must be above 0 and at most 1"),
    "align to too much reciprocity": (
        [*ALIGN, "--to", "own", "--reciprocity", "1.5"],
        "reciprocity: must be from 0 to 1, got 1.5",
    ),
    "align to reciprocity that is no number": (
        [*ALIGN, "--to", "own", "--reciprocity", "nan"],
        "reciprocity: must be from 0 to 1, got nan",
    ),
    "align to another with reciprocity": (
        [*ALIGN, "--reciprocity", "0.5"],
        "it goes with the target 'own'",
    ),
    "align nowhere": (["align", "tiny"], "align needs --out"),
    "unknown start": ([*TRAIN, "adapter.init_adapter=nowhere"], "adapter.init_adapter: there is no directory /"),
    "target of labels": (["labels", "--target", "1.5"], "target: must be greater than 0 and less than 1"),
    "target in words": (["labels", "--target", "high"], "invalid float value: 'high'"),
    "labels of a missing model": (["labels", "--model", "./nowhere"], "there is no model at ./nowhere"),
    "text game to play": (["play", "ipd-abc"], "Did you mean 'ipd-ab'?"),
    "text game to evaluate": (
        ["eval", "always_cooperate", "always_defect", "--game", "split-nocomm"],
        "Did you mean 'split-no-comm'?",
    ),
    "text game to check": (["check", "trust-split"], "Did you mean 'trust-and-split'?"),
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
    "unknown verb": (["trian"], "unknown verb 'trian'. Did you mean 'train'?"),
    "unknown list": (["list", "game"], "unknown list 'game'. Did you mean 'games'?"),
    "no list": (["list"], "list needs LIST: games, players, recipes"),
    "unknown scale": ([*TRAIN, "--scale", "papr"], "unknown --scale 'papr'. Did you mean 'paper'?"),
    "unknown option": ([*TRAIN, "--speed", "9"], "unrecognized arguments: --speed 9."),
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
    assert "g.toml is not TOML" in coplay.err
    assert files(here) == ["g.toml"]


def test_an_existing_run_is_never_overwritten(coplay: Shell, run: Path) -> None:
    before = {name: (run / name).read_bytes() for name in files(run) if (run / name).is_file()}
    assert coplay(*TRAIN, "--out", str(run), *TABULAR) == 2
    assert coplay.err == f"coplay: {run} exists already; resume it with --resume {run}, or choose another --out\n"
    assert {name: (run / name).read_bytes() for name in before} == before


def test_the_run_directory_is_checked_before_the_model_is_loaded(coplay: Shell, run: Path) -> None:
    assert coplay(*TRAIN, "--out", str(run), 'row.labels=["Cooperate","Defect"]') == 2
    assert "exists already" in coplay.err

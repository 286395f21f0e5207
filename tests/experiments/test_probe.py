"""Probing: numbers from rows whose effects are known, the model's own replies, any family, files and refusals."""

import json
import sys
from dataclasses import replace
from itertools import product
from pathlib import Path

import numpy as np
import pytest
import torch

sys.path.insert(0, str(Path(__file__).parents[1] / "models"))
from small_models import export_adapter, make_bench, small_tokenizer, write_checkpoint

from coplay.cli.main import main
from coplay.experiments.probe import EVEN, PAIRS, Probe, Row, checked_games, probe, read_probe, share_of
from coplay.experiments.probe_page import write_probe
from coplay.experiments.probe_summary import biases, by_pair, policies, short_states, table
from coplay.games import make_game
from coplay.games.choice_prompts import PayoffFormat
from coplay.games.matrix import ROW
from coplay.games.memory import Memory, Observation
from coplay.models.admission import base_scorer
from coplay.models.bank import REFERENCE
from coplay.models.loading import load_model
from coplay.players.choice import Key
from coplay.players.choice_model import ChoiceModel
from coplay.statistics import mean_ci95

torch.set_num_threads(1)

IPD = make_game("ipd")
LETTERS = [("A", "B"), ("C", "D"), ("E", "F")]
SIGNS = {"cooperate": 0.5, "defect": -0.5}


def effects(*, follow=(0.2, 0.2, 0.2), position=0.0, label=(0.0, 0.0, 0.0), action=0.1, legal=0.3) -> Probe:
    """A model that likes the first action, what the co-player did, the label that stands first, and a pair's first letter, each by so much."""
    rows = []
    for (pair, by, liking), layout, counts, swap in product(
        zip(LETTERS, follow, label, strict=True), ("list", "table", "reversed"), (None, (5, 5, 5, 5)), (False, True)
    ):
        labels = (pair[1], pair[0]) if swap else pair
        base = 0.5 + action + (-liking if swap else liking) + (-position if layout == "reversed" else position)
        if counts is None:
            rows.append(Row("ipd", labels, layout, None, "start", base, legal))
        for own, other in product(SIGNS, SIGNS):
            rows.append(Row("ipd", labels, layout, counts, f"{own}/{other}", base + by * SIGNS[other], legal))
    return Probe("made up", None, {"ipd": ("cooperate", "defect")}, tuple(rows))


# --- What rows come to --------------------------------------------------------------------------------------------------------------


def test_reciprocity_is_what_following_the_co_player_adds() -> None:
    found = policies(effects(follow=(0.1, 0.2, 0.6), position=0.07, label=(0.05, 0.0, -0.03)))
    assert [(one.layout, one.counts) for one in found] == list(product(("list", "table", "reversed"), (False, True)))
    expected = mean_ci95([0.1, 0.2, 0.6])
    for one in found:
        assert one.reciprocity.mean == pytest.approx(expected.mean)
        assert one.reciprocity.half_width == pytest.approx(expected.half_width)
        assert one.reciprocity.n == 3
        assert one.legal.mean == pytest.approx(0.3)
    assert list(found[0].states) == ["start", *(f"{a}/{b}" for a, b in product(SIGNS, SIGNS))]
    assert "start" not in found[1].states
    assert found[0].states["defect/cooperate"].mean == pytest.approx(0.5 + 0.1 + 0.07 + 0.3 / 2)
    assert found[4].states["start"].mean == pytest.approx(0.5 + 0.1 - 0.07)  # reversed


def test_biases_are_told_apart_from_each_other_and_from_the_action() -> None:
    (found,) = biases(effects(position=0.07, label=(0.05, -0.02, -0.08), action=0.2))
    assert found.position.mean == pytest.approx(0.07)
    assert found.position.half_width == pytest.approx(0.0, abs=1e-12)
    assert (found.label.mean, found.label.half_width) == pytest.approx((0.05, mean_ci95([0.05, 0.02, 0.08]).half_width))
    assert (found.preferred, found.preference) == ("F", pytest.approx(0.08))
    (none,) = biases(effects())
    assert none.position.mean == pytest.approx(0.0) and none.label.mean == pytest.approx(0.0)


def test_a_pair_counts_once_whatever_its_orders() -> None:
    rows = effects(label=(0.05, 0.0, 0.0)).rows
    assert by_pair(rows, lambda row: row.p_first) == pytest.approx([0.6] * 3)


def test_states_have_short_names() -> None:
    assert list(short_states(("stag", "hare")).values()) == ["start", "SS", "SH", "HS", "HH"]
    assert list(short_states(("give", "go")).values()) == ["start", "give/give", "give/go", "go/give", "go/go"]


def test_the_table_says_what_it_is_about() -> None:
    shown = table(effects(follow=(0.1, 0.2, 0.6)))
    assert "made up: mean over 3 pairs of labels" in shown and "ipd: P(cooperate)" in shown
    (line,) = (line for line in shown.splitlines() if line.startswith("list  "))
    assert line.split() == ["list", "0.60", "0.75", "0.45", "0.75", "0.45", "0.30", "±", "0.66", "30.0%"]


# --- Reading a model ----------------------------------------------------------------------------------------------------------------


def test_rows_are_the_models_replies() -> None:
    """Read another way: by the player that sits in games, prompt by prompt."""
    loaded = load_model("tiny-second", device="cpu")
    found = probe(loaded, [IPD], pairs=[("C", "D")])
    assert len(found.rows) == 2 * 3 * 9
    scorer = base_scorer(loaded)
    for row in found.rows:
        player = ChoiceModel(
            "x", loaded, scorer, game=IPD, memory=Memory.LAST_ROUND, seats=[ROW], labels=row.labels,
            payoff_format=PayoffFormat(row.layout),
        )  # fmt: skip
        last = None if row.state == "start" else tuple(row.state.split("/"))
        (decision,) = player.decide([(REFERENCE, Key(ROW, Observation(last=last, counts=row.counts)))])
        first, second = decision.legal_probs
        assert row.p_first == pytest.approx(first / (first + second), abs=2e-4)
        assert row.legal == pytest.approx(first + second, abs=2e-4)
    assert {row.counts for row in found.rows} == {None, (EVEN,) * 4}
    assert {row.labels for row in found.rows} == {("C", "D"), ("D", "C")}


def test_an_adapter_is_read_with_the_model(tmp_path: Path) -> None:
    checkpoint = write_checkpoint(tmp_path / "llama", "llama")
    bench = make_bench(checkpoint, slots=1)
    export_adapter(bench.bank, 0, tmp_path / "adapter")
    loaded = load_model(str(checkpoint), device="cpu")
    plain, adapted = (probe(loaded, [IPD], pairs=[("C", "D")], adapter=path) for path in (None, tmp_path / "adapter"))
    assert adapted.adapter == str(tmp_path / "adapter") and adapted.title.endswith("adapter")
    gaps = [abs(a.p_first - b.p_first) for a, b in zip(plain.rows, adapted.rows, strict=True)]
    assert max(gaps) > 0.01
    bank_logits = bench.scorer.score([0], [bench_prompt(bench)]).logits_RV[0]
    ids = [bench.loaded.tokenizer.convert_tokens_to_ids(label) for label in ("C", "D")]
    share = torch.softmax(bank_logits[ids], dim=-1)[0].item()
    (row,) = (row for row in adapted.rows if (row.state, row.labels, row.layout) == ("start", ("C", "D"), "list"))
    assert row.p_first == pytest.approx(share, abs=2e-4)


def bench_prompt(bench):
    player = ChoiceModel(
        "x", bench.loaded, bench.scorer, game=IPD, memory=Memory.LAST_ROUND, seats=[ROW], labels=("C", "D")
    )
    return player.prompts([Key(ROW, Observation())])[0]


def test_shares_of_numbers_too_small_to_be_written() -> None:
    assert share_of(-2000.0, -2000.0) == 0.5
    assert share_of(-2000.0, -2001.0) == pytest.approx(1 / (1 + np.exp(-1)))
    assert share_of(0.0, -2000.0) == 1.0 and share_of(-2000.0, 0.0) == 0.0


@pytest.mark.parametrize("family", ["gemma2", "qwen2", "qwen3"])
def test_the_same_command_reads_any_family(family: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    checkpoint = write_checkpoint(tmp_path / family, family)
    words = ["probe", str(checkpoint), "--game", "ipd", "c-ipd", "--pairs", "C/D,A/B", "--threads", "1", "--quiet"]
    assert main([*words, "--json"]) == 0
    record = json.loads(capsys.readouterr().out)
    assert {"version", "model", "rows"} <= set(record)
    assert record["version"] == 1 and record["model"] == str(checkpoint)
    assert len(record["rows"]) == 2 * 3 * 2 * 2 * 9
    for row in record["rows"]:
        assert set(row) == {"game", "labels", "layout", "counts", "state", "p_first", "legal"}
        assert 0 <= row["p_first"] <= 1 and 0 <= row["legal"] <= 1
    assert main([*words, "--out", str(tmp_path / "out")]) == 0
    assert capsys.readouterr().out.rstrip().endswith("report.html")


# --- Files and refusals -------------------------------------------------------------------------------------------------------------


def test_what_is_written_is_read_again_and_the_page_trusts_nobody(tmp_path: Path) -> None:
    found = replace(effects(), model="<script>alert(1)</script>", skipped=(("X", "Y"),))
    page = write_probe(found, tmp_path / "out").read_text()
    assert read_probe(tmp_path / "out") == found
    assert "<script>" not in page and "&lt;script&gt;alert" in page
    assert "http" not in page.replace("http-equiv", "") and "X/Y" in page
    assert "ipd: P(cooperate)" in page and "<svg" in page
    assert sorted(path.name for path in (tmp_path / "out" / "figures").iterdir()) == ["probe.pdf", "probe.png"]


def test_pairs_that_are_no_single_tokens_are_left_out_and_told(capsys: pytest.CaptureFixture[str]) -> None:
    words = ["probe", "tiny", "--game", "ipd", "--threads", "1", "--quiet"]
    assert main([*words, "--pairs", "C/D,Yes/No", "--json"]) == 0
    out, err = capsys.readouterr()
    assert "left out, as they are not two single tokens of tiny: Yes/No" in err
    assert json.loads(out)["skipped"] == [["Yes", "No"]]
    assert main([*words, "--pairs", "Yes/No"]) == 2
    assert "none of the labels Yes/No are single tokens of tiny" in capsys.readouterr().err


def test_a_model_without_a_chat_template_is_told_in_a_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    checkpoint = write_checkpoint(tmp_path / "qwen2", "qwen2")
    (checkpoint / "chat_template.jinja").unlink(missing_ok=True)
    tokenizer = small_tokenizer("qwen2")
    tokenizer.chat_template = None
    tokenizer.save_pretrained(checkpoint)
    before = sorted(tmp_path.iterdir())
    capsys.readouterr()
    assert main(["probe", str(checkpoint), "--out", str(tmp_path / "out"), "--threads", "1"]) == 2
    told = capsys.readouterr().err
    assert "has no chat template" in told and "--chat" in told and told.count("\n") == 1
    assert sorted(tmp_path.iterdir()) == before
    words = ["probe", str(checkpoint), "--chat", "gemma", "--game", "ipd", "--pairs", "C/D", "--threads", "1"]
    assert main([*words, "--quiet"]) == 0


BAD = {
    "no game": (["tiny", "--game", "idp"], "Did you mean 'ipd'?"),
    "a game of words": (["tiny", "--game", "kuhn"], "kuhn"),
    "a game twice": (["tiny", "--game", "ipd", "ipd"], "game 'ipd' is named twice"),
    "no model": (["./nowhere"], "there is no model at ./nowhere"),
    "no adapter": (["tiny", "--adapter", "nowhere"], "--adapter: there is no directory nowhere"),
    "a pair in both orders": (["tiny", "--pairs", "C/D,D/C"], "each pair is read in both orders"),
    "no threads": (["tiny", "--threads", "0"], "--threads must be at least 1, got 0"),
    "a taken directory": (["tiny", "--out", "taken"], "taken exists already"),
}


@pytest.mark.parametrize("case", BAD)
def test_bad_input_is_refused_in_a_line(
    case: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "taken").mkdir()
    (tmp_path / "taken" / "thesis.txt").write_text("mine")
    arguments, message = BAD[case]
    assert main(["probe", *arguments]) == 2
    told = capsys.readouterr().err
    assert message in told and told.count("\n") == 1
    assert sorted(path.name for path in tmp_path.rglob("*")) == ["taken", "thesis.txt"]


def test_games_whose_seats_do_other_things_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "g.toml"
    text = 'name = "g"\nactions = [["a", "b"], ["x", "y"]]\npayoffs = [[[1, 1], [2, 2]], [[3, 3], [4, 4]]]\n'
    path.write_text(text, encoding="utf-8")
    with pytest.raises(Exception, match="both seats must have the same actions"):
        checked_games([str(path)])


def test_the_default_pairs_are_of_letters_and_differ() -> None:
    letters = [letter for pair in PAIRS for letter in pair]
    assert len(set(letters)) == len(letters) == 12 and all(len(letter) == 1 and letter.isupper() for letter in letters)

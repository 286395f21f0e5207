"""``coplay labels``: ranked pairs, tables, pictures."""

from pathlib import Path

import pytest
import torch
from shell import Shell
from small_runs import files

torch.set_num_threads(1)


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
    (row,) = coplay.json("labels", "--pairs", "H/K", "--payoff-format", "table", "--seat", "row")
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


def test_payoff_and_chat_formats_on_the_command_line_are_all_there_are() -> None:
    from coplay.cli.arguments import parser
    from coplay.games.choice_prompts import PayoffFormat
    from coplay.text.chat import ChatFormat

    known: dict[str, type[PayoffFormat] | type[ChatFormat]] = {"payoff_format": PayoffFormat, "chat": ChatFormat}
    for key, names in known.items():
        for name in names:
            option = f"--{key.replace('_', '-')}"
            assert getattr(parser().parse_args(["labels", option, name]), key) == name

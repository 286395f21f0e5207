"""Simulators: known coefficients are found again, quality is that of held-out games, and nothing is invented."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from coplay.cli.main import main
from coplay.evaluation.response_fit import fit, mean_effect
from coplay.experiments.fit_simulator import fit_simulator, model_of, write_simulator
from coplay.files.writing import write_json
from coplay.games import make_game
from coplay.games.base import Game
from coplay.games.records import Occupant
from coplay.players.named import make_player
from coplay.players.simulator import Simulator
from coplay.runs.recording import Recording

DILEMMA, MARKET = "ipd-3:talk=0+mediator:targets=everyone", "bertrand:rounds=20+mediator"

TRUE = {
    "intercept": -0.5,
    "own_last": 1.0,
    "their_last": 1.5,
    "first_round": 0.5,
    "read:intervene": 1.2,
    "read:intervene x own_last": -0.8,
    "read_before:intervene": 0.4,
}

PRICES = {
    "intercept": 0.4,
    "own_last": 0.5,
    "others_last": 0.25,
    "first_round": 1.2,
    "read:mild": -0.1,
    "read_before:mild": 0.0,
    "read:strong": -0.3,
    "read_before:strong": -0.05,
}


def known(path: Path, coefficients: dict[str, float], *, kind: str, phase: str, spread: float | None) -> str:
    """A simulator's file with these coefficients; returns the player's name."""
    messages = [name.removeprefix("read:") for name in coefficients if name.startswith("read:") and " x " not in name]
    own = {"games": 1, "coefficients": coefficients, "spread": spread, "read": dict.fromkeys(messages, 1)}
    about = {"kind": kind, "phase": phase, "features": list(coefficients), "players": {"model@known": own}}
    write_json(path.parent, path.name, {"version": 1, **about})
    return f"simulator:{path}"


def recorded(path: Path, game: str, players: list[str], *, games: int, seed: int = 0) -> Path:
    rules = make_game(game)
    seated = {
        seat: Occupant(make_player(one, rules, seat), one) for seat, one in zip(rules.seats, players, strict=True)
    }
    names = dict(zip(rules.seats, players, strict=True))
    asked = {"game": game, "players": names, "rounds": rules.rounds, "seed": seed}
    Recording.begin(path, asked).play(rules, seated, games)
    return path


@pytest.fixture(scope="module")
def found(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """A fit to games of a player whose coefficients are known, with and without messages."""
    folder = tmp_path_factory.mktemp("known")
    player = known(folder / "true.json", TRUE, kind="yes_or_no", phase="action", spread=None)
    arms = [
        recorded(folder / rule, DILEMMA, [player] * 3 + [rule], games=80, seed=i)
        for i, rule in enumerate(["never", "always_intervene", "uniform"])
    ]
    return fit_simulator(arms)


def test_known_coefficients_are_found_again(found: dict[str, Any]) -> None:
    (own,) = found["players"].values()
    assert own["decisions"] == 3 * 80 * 5 * 3 * 2 and list(own["coefficients"]) == found["features"] == list(TRUE)
    for name, value in TRUE.items():
        assert (
            abs(own["coefficients"][name] - value) < 0.01
        )  # the player tells its probabilities: what is left is the ridge


def test_quality_is_told_on_held_out_games(found: dict[str, Any]) -> None:
    (own,) = found["players"].values()
    quality = own["quality"]
    assert quality["games"] == {"fitted": 180, "held_out": 60} and quality["seed"] == 0
    losses = quality["log_loss"]
    assert losses["model"] < losses["last_action"] < losses["constant"] < np.log(2) + 0.01
    assert quality["calibration_error"] < 0.05 and sum(one["n"] for one in quality["calibration"]) == 60 * 30
    effect = own["effects"]["intervene"]
    assert effect["change"] > 2 * effect["ci95"] > 0 and own["notes"] == []


def test_a_file_says_what_it_is_from(found: dict[str, Any]) -> None:
    assert found["games"] == 240 and len({one["sha256"] for one in found["sources"]}) == 3
    assert [one["games"] for one in found["sources"]] == [80] * 3 and found["held_out"] == 0.25
    assert model_of("fallback:smollm2@malicious") == "smollm2"


def test_what_was_fitted_plays_and_tells_its_probabilities(found: dict[str, Any], tmp_path: Path) -> None:
    path = tmp_path / "fitted.json"
    write_simulator(found, path)
    game = make_game(DILEMMA)
    (name,) = found["players"]
    player = make_player(f"simulator:{path}", game, "player-1")
    assert isinstance(player, Simulator) and player.about == f"simulator fitted to 240 games of {name}"
    assert player.tells_probabilities
    # with nothing but the first round, one decision towards each of two co-players
    p = 1 / (
        1
        + np.exp(
            -(
                found["players"][name]["coefficients"]["intercept"]
                + found["players"][name]["coefficients"]["first_round"]
            )
        )
    )
    episode = played(game, player, "never")
    first = episode.turns["player-1"][0].reply
    assert first.probs == pytest.approx((p * p, p * (1 - p), (1 - p) * p, (1 - p) ** 2))


def played(game: Game, player: Simulator, rule: str) -> Any:
    from coplay.evaluation.match import play_match

    seated = {seat: Occupant(player, "simulator") for seat in game.playing_seats}
    seated["mediator"] = Occupant(make_player(rule, game, "mediator"), rule)
    return play_match(game, seated, rounds=2, episodes=1, seed=0).episodes[0]


def test_prices(tmp_path: Path) -> None:
    player = known(tmp_path / "true.json", PRICES, kind="number", phase="price", spread=0.05)
    arms = [recorded(tmp_path / f"g{i}", MARKET, [player] * 2 + ["uniform"], games=40, seed=i) for i in range(2)]
    found = fit_simulator(arms, seed=3)
    (own,) = found["players"].values()
    for name, value in PRICES.items():
        assert abs(own["coefficients"][name] - value) <= max(2 * own["ci95"][name], 0.01)
    assert own["spread"] == pytest.approx(0.05, abs=0.005)
    quality = own["quality"]
    assert quality["within_95"] == pytest.approx(0.95, abs=0.02) and quality["seed"] == 3
    assert quality["log_loss"]["model"] < quality["log_loss"]["constant"]


def test_logistic_regression_is_at_its_optimum() -> None:
    chance = np.random.default_rng(0)
    x = np.column_stack([np.ones(300), chance.normal(size=(300, 2))])
    y = (chance.random(300) < 1 / (1 + np.exp(-x @ [0.3, 1.0, -2.0]))).astype(float)
    found = fit(x, y, list(range(300)), "yes_or_no", ridge=0.5)
    p = found.predicted(x)
    gradient = x.T @ (p - y) + np.array([0.05, 0.5, 0.5]) * found.weights
    assert np.abs(gradient).max() < 1e-7
    with_it = x + np.array([0, 0.1, 0])
    change, half = mean_effect(found, x, with_it)
    assert change == pytest.approx(float((found.predicted(with_it) - p).mean())) and half > 0


def test_standard_errors_count_games() -> None:
    """The same decisions ten times over tell no more."""
    chance = np.random.default_rng(1)
    x = np.column_stack([np.ones(80), chance.normal(size=80)])
    y = (chance.random(80) < 0.5).astype(float)
    once = fit(x, y, list(range(80)), "yes_or_no", ridge=1e-6)
    often = fit(
        np.repeat(x, 10, axis=0), np.repeat(y, 10), [i for i in range(80) for _ in range(10)], "yes_or_no", ridge=1e-5
    )
    assert often.errors() == pytest.approx(once.errors(), rel=1e-3)


# --- What is said, and what is refused ------------------------------------------------------------------------------------------------


def test_a_player_that_always_does_the_same(tmp_path: Path) -> None:
    players = ["always_cooperate", "random:0.5", "always_defect", "always_intervene"]
    found = fit_simulator([recorded(tmp_path / "g", DILEMMA, players, games=8)])
    own = found["players"]["always_cooperate"]
    assert own["notes"] == ["few games: 8", "no variation: every decision is 1; the coefficients are the ridge's"]
    assert all(np.isfinite(value) for value in own["coefficients"].values())
    assert found["players"]["always_defect"]["mean"] == 0


def test_a_message_that_nobody_read_has_no_effect_to_play_with(tmp_path: Path) -> None:
    found = fit_simulator([recorded(tmp_path / "g", DILEMMA, ["random:0.5"] * 3 + ["never"], games=8)])
    assert found["players"]["random:0.5"]["effects"] == {}
    assert (
        found["players"]["random:0.5"]["notes"][-1] == "message 'intervene' was never read, so its effect is not known"
    )
    write_simulator(found, tmp_path / "s.json")
    spec = f"simulator:{tmp_path}/s.json"
    with pytest.raises(Exception, match="nobody read the message 'intervene', so its effect is not known"):
        make_player(spec, make_game(DILEMMA), "player-1")
    assert make_player(spec, make_game("ipd-3"), "player-1").name == spec


def test_what_cannot_be_fitted(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    few = recorded(tmp_path / "few", DILEMMA, ["random:0.5"] * 3 + ["never"], games=3)
    other = recorded(tmp_path / "other", "auction", ["uniform"] * 2, games=5)
    market = recorded(tmp_path / "market", MARKET, ["nash"] * 2 + ["never"], games=4)
    out = str(tmp_path / "s.json")
    for games, told in (
        ([few], "there are 3 recorded games; a fit and its measure on held-out games need 4"),
        ([few, few], "holds the same games as another one that is named"),
        ([few, market], "whose decisions are not those of"),
        ([other], "game 'auction' does not say which decisions are predicted from what"),
        ([tmp_path / "nowhere"], "has no recorded games"),
    ):
        assert main(["fit-simulator", *map(str, games), "--out", out]) == 2
        err = capsys.readouterr().err
        assert told in err and err.count("\n") == 1
    assert not Path(out).exists()


def test_a_simulators_name(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    players = ["tit_for_tat", "random:0.5", "always_defect", "uniform"]
    games = recorded(tmp_path / "g", DILEMMA, players, games=20)
    out = tmp_path / "s.json"
    assert main(["fit-simulator", str(games), "--out", str(out), "--json"]) == 0
    assert json.loads(capsys.readouterr().out) == json.loads(out.read_text())
    assert main(["fit-simulator", str(games), "--out", str(out)]) == 2
    assert "exists already" in capsys.readouterr().err
    game = make_game("ipd-3:talk=0")
    assert make_player(f"simulator:{out}@random:0.5", game, "player-2").name.endswith("@random:0.5")
    for rest, told in (
        (f"{out}", "name one of its players after @: tit_for_tat, random:0.5 or always_defect"),
        (f"{out}@tit_for_tit", "the file has no player 'tit_for_tit'. Did you mean 'tit_for_tat'?"),
        (f"{tmp_path}/none.json", "there is no file"),
        ("", "a file is missing"),
    ):
        assert main(["eval", f"simulator:{rest}", "tit_for_tat", "tit_for_tat", "--game", "ipd-3:talk=0"]) == 2
        assert told in capsys.readouterr().err
    out.write_text(out.read_text().replace('"coefficients"', '"coefficient"'))
    with pytest.raises(Exception, match=r"s\.json is damaged"):
        make_player(f"simulator:{out}@tit_for_tat", game, "player-1")


def test_it_says_nothing_where_there_is_talk(tmp_path: Path) -> None:
    path = known(tmp_path / "true.json", TRUE, kind="yes_or_no", phase="action", spread=None)
    game = make_game("ipd-3:talk=1+mediator:targets=everyone")
    player = make_player(path, game, "player-1")
    assert isinstance(player, Simulator)
    turns = played(game, player, "always_intervene").turns["player-1"]
    assert (turns[0].phase, turns[0].reply.text) == ("message", "")

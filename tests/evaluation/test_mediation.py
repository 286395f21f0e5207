"""What is measured of mediation: by hand, for mediators that cannot matter, and for messages whose effect is known."""

import json
from collections.abc import Sequence
from dataclasses import dataclass, replace

import pytest

from coplay.evaluation.match import MatchResult, play_match
from coplay.evaluation.mediation import mediation_metrics, mediation_of, over_seeds
from coplay.evaluation.mediation_record import Effect
from coplay.evaluation.message_effects import message_effects
from coplay.evaluation.metrics import play_metrics
from coplay.evaluation.summary import aggregate
from coplay.evaluation.tables import seeds_table, table
from coplay.games import make_game
from coplay.games.mediated import Mediated
from coplay.games.mediation_words import addressed
from coplay.games.memory import Memory
from coplay.games.records import Act, Episode, Occupant, Reply, Request, Round
from coplay.players.named import make_player

GAME = make_game("ipd-3:talk=0,shared=true+mediator:cost=0.25")
assert isinstance(GAME, Mediated)
PLAYERS = GAME.playing_seats


def rounds(lines: Sequence[str]) -> list[Round]:
    """``CDC 13``: what the three play, and who is addressed."""
    found = []
    for number, line in enumerate(lines):
        played, _, to = line.partition(" ")
        said = tuple((f"player-{i}", "Please cooperate.") for i in to if i != "?")
        message = None if to == "?" else ("intervene" if to else "none", said)
        acts = [Act("mediation", 0, "mediator", message)]
        acts += [
            Act("action", 0, seat, {"C": "cooperate", "D": "defect"}.get(word))
            for seat, word in zip(PLAYERS, played, strict=True)
        ]
        one = Round(number, acts=tuple(acts))
        found.append(replace(one, payoffs=GAME.payoffs(one)))
    return found


def episode(*lines: str, names: Sequence[str] = ("a", "b", "c", "rule")) -> Episode:
    seated = {seat: Occupant(None, name) for seat, name in zip(GAME.seats, names, strict=True)}
    played = rounds(lines)
    outcomes = [GAME.outcome(one) for one in played]
    return Episode(0, 0, 0, seated, played, outcomes, {seat: [] for seat in GAME.seats})


def effect(found: Sequence[Effect], lag: int, notice: str = "intervene") -> Effect:
    (one,) = [one for one in found if one["lag"] == lag and one["notice"] == notice]
    return one


def test_by_hand() -> None:
    games = [episode("DDD", "CDD 2", "CCC 13"), episode("CCC", "CCD", "DDD ?")]
    found = mediation_of(GAME, games)
    assert found is not None
    assert (found["unit"], found["n"], found["mediator"], found["player"]) == ("games", 2, "mediator", "rule")
    # Three pairs: all defect 6, one cooperates 0 + 5 + 0 + 5 + 2, two of three 6 + 0 + 10 with the defector, all 18.
    assert found["welfare"]["mean"] == ((6 + 12 + 18) + (18 + 16 + 6)) / 2
    assert found["collective"]["welfare"]["mean"] == pytest.approx(((6 + 12 + 18) + (18 + 16 + 6)) / 6)
    assert found["collective"]["cooperation"]["mean"] == pytest.approx((4 / 9 + 5 / 9) / 2)
    assert found["interventions"]["mean"] == 1.0
    assert found["messages"]["mean"] == 1.5
    assert {name: one["mean"] for name, one in found["notices"].items()} == pytest.approx(
        {"none": 3 / 6, "intervene": 2 / 6, "unreadable": 1 / 6}
    )
    assert {seat: one["mean"] for seat, one in found["to_seats"].items()} == dict.fromkeys(PLAYERS, 0.5)


def test_messages_by_player_wherever_it_sits() -> None:
    games = [episode("DDD 1", "DDD 1"), episode("DDD 2", names=("b", "a", "c", "rule"))]
    found = mediation_of(GAME, games)
    assert found is not None
    assert {name: one["mean"] for name, one in found["to_players"].items()} == {"a": 1.5, "b": 0.0, "c": 0.0}


def test_effects_by_hand() -> None:
    # Rounds of one seat each, as the others are read nothing and always defect: in round 2 after D it cooperates if addressed.
    games = [episode("DDD", "CDD 1", "CDD"), episode("DDD", "DDD", "DDD"), episode("DDD", "CDD 1", "DDD")]
    found = message_effects(GAME, games)
    now, after = effect(found, 0), effect(found, 1)
    assert (now["addressed"], now["others"], now["compared"]) == (2, 25, 1.0)
    assert now["raw"]["mean"] == pytest.approx(1.0 - 1 / 25)
    # Strata of player-1 after DDD: addressed C, C; others D and, in the third round of the game without messages, D.
    assert now["adjusted"]["mean"] == pytest.approx(1.0)
    assert (after["addressed"], after["others"]) == (2, 16)
    assert after["raw"]["mean"] == pytest.approx(0.5 - 2 / 16)
    assert after["adjusted"]["mean"] == pytest.approx(0.5)


def test_nothing_to_compare_with() -> None:
    found = message_effects(GAME, [episode("DDD 123", "CCC 123"), episode("DDD 123", "CCC 123")])
    assert effect(found, 0)["raw"] == effect(found, 0)["adjusted"] == {"mean": None, "low": None, "high": None}
    assert effect(found, 0)["compared"] == 0.0
    assert message_effects(GAME, [episode("DDD", "CCC")]) == []


def match(names: Sequence[str], spec: str, *, episodes: int, rounds: int = 5) -> MatchResult:
    game = make_game(spec)
    seated = {seat: Occupant(make_player(name, game, seat), name) for seat, name in zip(game.seats, names, strict=True)}
    return play_match(game, seated, rounds=rounds, episodes=episodes, seed=0)


def test_a_message_that_nobody_minds_has_no_adjusted_effect() -> None:
    """The mediator addresses who cooperates least: without regard to that, its messages seem to do harm."""
    found = match(("always_defect", "always_cooperate", "uniform", "coin"), "ipd-3:talk=0+mediator", episodes=100)
    assert isinstance(found.game, Mediated)
    one = effect(message_effects(found.game, found.episodes), 0)
    assert one["raw"]["high"] is not None and one["raw"]["high"] < -0.3
    assert one["adjusted"]["mean"] == 0.0 and one["compared"] == 1.0


def test_firms_that_mind_no_notice() -> None:
    found = match(("logit_response", "match", "coin"), "bertrand+mediator", episodes=20, rounds=30)
    summary = found.summary()["mediation"]
    assert {"welfare", "price", "profit_gain", "consumer_surplus"} <= summary["collective"].keys()
    for notice in ("any", "mild", "strong"):
        gap = effect(summary["effects"], 0, notice)["adjusted"]
        assert gap["low"] is not None and gap["high"] is not None and gap["low"] < 0.0 < gap["high"]


@dataclass
class Heeds:
    """Cooperates with probability .3; .7 in a round in which it reads a message, and .5 in the one after."""

    name: str = "heeds"
    memory: Memory = Memory.TRANSCRIPT

    def act(self, requests: Sequence[Request]) -> list[Reply]:
        return [self._reply(request) for request in requests]

    def _reply(self, request: Request) -> Reply:
        def read(one: Round) -> bool:
            return any(request.seat in addressed(act.action) for act in one.acts if act.phase == "mediation")

        p = 0.7 if read(request.now) else 0.5 if request.past and read(request.past[-1]) else 0.3
        action = "cooperate" if request.draw < p else "defect"
        return Reply(action, action)


def test_a_known_effect_is_found() -> None:
    game = make_game("ipd-3:talk=0,shared=true+mediator")
    assert isinstance(game, Mediated)
    coin = Occupant(make_player("coin:0.3", game, "mediator"), "coin:0.3")
    seated = {**dict.fromkeys(game.playing_seats, Occupant(Heeds(), "heeds")), "mediator": coin}
    found = message_effects(game, play_match(game, seated, rounds=10, episodes=200, seed=0).episodes)
    now = effect(found, 0)["adjusted"]
    assert now["low"] is not None and now["high"] is not None
    assert now["low"] < 0.7 - 0.3 and now["high"] > 0.34  # those compared with read one the round before, at times
    assert now["high"] - now["low"] < 0.15
    after = effect(found, 1)["adjusted"]
    assert after["low"] is not None and after["low"] > 0.05


def test_intervals_are_those_of_whole_games() -> None:
    """Rounds of a game that are all alike count once: the interval is as wide as if each game were one round."""
    games = [episode(*["CDD 1" if i % 3 else "DDD 1"] * 8, *["DDD"] * 8) for i in range(30)]
    short = [episode("CDD 1" if i % 3 else "DDD 1", "DDD") for i in range(30)]
    long_one, short_one = (effect(message_effects(GAME, own), 0)["raw"] for own in (games, short))
    assert long_one["low"] == pytest.approx(short_one["low"], abs=0.05)
    assert long_one["high"] == pytest.approx(short_one["high"], abs=0.05)


def test_the_same_games_give_the_same_interval() -> None:
    games = [episode("DDD", "CDD 1"), episode("DDD 1", "DDD"), episode("CDD 1", "DDD")]
    assert message_effects(GAME, games) == message_effects(GAME, games)


def test_an_evaluation_carries_it_as_one_more_key() -> None:
    found = match(("always_defect", "uniform", "uniform", "coin"), "ipd-3:talk=0+mediator", episodes=4)
    summary = found.summary()
    assert json.loads(json.dumps(summary))["mediation"]["interventions"] == summary["mediation"]["interventions"]
    assert "mediation by mediator (coin)" in table(summary)
    assert "messages to always_defect" in table(summary)  # uniform sits in two seats
    plain = match(("always_defect", "uniform", "uniform"), "ipd-3:talk=0", episodes=4)
    assert "mediation" not in plain.summary()
    assert mediation_of(plain.game, plain.episodes) is None


def test_over_seeds() -> None:
    names, spec = ("always_defect", "uniform", "uniform", "coin"), "ipd-3:talk=0+mediator"
    records = [match(names, spec, episodes=episodes).summary() for episodes in (3, 5)]
    found = aggregate(dict(enumerate(records)))["mediation"]
    means = [one["mediation"]["interventions"]["mean"] for one in records]
    assert (found["unit"], found["n"]) == ("seeds", 2)
    assert found["interventions"]["mean"] == pytest.approx(sum(means) / 2)
    assert effect(found["effects"], 0)["addressed"] == sum(
        effect(one["mediation"]["effects"], 0)["addressed"] for one in records
    )
    assert "over seeds" in seeds_table(aggregate(dict(enumerate(records))))
    with pytest.raises(ValueError, match="nothing to sum up"):
        over_seeds([])


def test_metrics_of_a_trial() -> None:
    games = [episode("DDD", "CDD 2", "CCC 13"), episode("CCC", "CCD", "DDD")]
    line = mediation_metrics(GAME, games)
    assert line == pytest.approx(
        {
            "collective/welfare": 76 / 6,
            "collective/cooperation": 0.5,
            "interventions": 1.0,
            "notice/none": 4 / 6,
            "notice/intervene": 2 / 6,
        }
    )
    assert line.items() <= play_metrics(GAME, games).items()
    plain = match(("uniform", "uniform", "uniform"), "ipd-3:talk=0", episodes=1)
    assert mediation_metrics(plain.game, plain.episodes) == {}

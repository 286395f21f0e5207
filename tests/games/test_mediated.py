"""The mediator's seat: whom a message reaches and nobody else, the paper's rules by hand, its own words, what it costs."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from mediated_by_hand import MEDIATOR, SILENT, asked, mediated, over, past, played, reached
from privacy_search import prompt, words

from coplay.conformance.games import check_game
from coplay.errors import UsageError
from coplay.games import make_game
from coplay.games.mediation_words import Message, addressed
from coplay.games.memory import Memory
from coplay.games.per_round import PerRound
from coplay.games.records import Occupant, Reply, Request, Round
from coplay.play.loop import StreamNames, Table, play_episode
from coplay.play.records import episode_record
from coplay.players.named import make_player
from coplay.players.scripted import make_script


@pytest.mark.parametrize(
    "spec",
    [
        "ipd-3+mediator",
        "chicken-3:talk=0+mediator:targets=chosen,count=2",
        "stag-hunt-3:talk=0,shared=true+mediator:targets=everyone,fine=2",
        "ipd-3:talk=0+mediator:notices=own",
        "trust-and-split+mediator:notices=own",
        "bertrand+mediator:informed=true",
    ],
)
def test_conformance(spec: str) -> None:
    assert [one for one in check_game(make_game(spec)) if not one.startswith("warning: ")] == []


# --- Whom a message addresses -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("rounds", "count", "expected"),
    [
        ([], 1, ["player-1"]),  # nothing is known: all are equal, the first one
        (["CC CD DD"], 1, ["player-3"]),
        (["CC DD DD"], 1, ["player-2"]),
        (["DD DD DD"], 1, ["player-1"]),
        (["CC CD DD"], 2, ["player-2", "player-3"]),
        (["DD CC DD"], 2, ["player-1", "player-3"]),
        (["DD CC CC", "CC CD DD", "CC CC CC"], 1, ["player-1"]),  # 4/6, 5/6, 4/6
        (["CC CC CC"], 3, ["player-1", "player-2", "player-3"]),
    ],
)
def test_lowest_by_hand(rounds: list[str], count: int, expected: list[str]) -> None:
    game = mediated(f"ipd-3:talk=0+mediator:count={count}")
    seen = past(game, *rounds)
    assert reached(game.messages(Round(len(seen)), seen)) == [[], expected]
    assert game.most_choices(MEDIATOR) == 2


def test_everyone_and_chosen() -> None:
    everybody = mediated("ipd-3+mediator:targets=everyone")
    assert reached(everybody.messages(Round(0), ())) == [[], ["player-1", "player-2", "player-3"]]
    chosen = mediated("ipd-3+mediator:targets=chosen,count=2")
    one, two, three = everybody.playing_seats
    groups = [[], [one], [two], [three], [one, two], [one, three], [two, three]]
    assert reached(chosen.messages(Round(0), ())) == groups and chosen.most_choices(MEDIATOR) == 7
    market = mediated("bertrand+mediator")
    assert [name for name, _ in market.messages(Round(0), ())] == ["none", "mild", "strong"]


def test_each_seat_reads_how_it_stands_itself() -> None:
    game = mediated("ipd-3:talk=0+mediator:targets=everyone")
    seen = past(game, "CC DD DD", "CC DD CD")
    told = addressed(game.messages(Round(2), seen)[1])
    assert "Your current score" not in told["player-1"]
    assert "Your current score is 12." in told["player-2"] and "defection rate is high" in told["player-2"]
    assert "With 3 rounds left" in told["player-3"] and "defection rate is high" in told["player-3"]  # 1/4 below .3


# --- Nobody else learns of it -------------------------------------------------------------------------------------------------


@settings(max_examples=20)
@given(
    seed=st.integers(0, 10**6),
    shown=st.sampled_from([Memory.CHAT, Memory.TRANSCRIPT, Memory.LAST_ROUND, Memory.TRIAL_COUNTS]),
    talk=st.integers(0, 1),
)
def test_nobody_but_the_addressed_learns_who_was_addressed_or_what_was_said(
    seed: int, shown: Memory, talk: int
) -> None:
    """In every request and prompt, in every round and the one after."""
    game = mediated(f"ipd-3:talk={talk}+mediator:notices=own")
    secrets = {seat: f"word-for-{seat}" for seat in game.playing_seats}
    requests: list[Request] = []

    class Mediator:
        """Writes to some seats, to each a word of its own."""

        memory = Memory.TRANSCRIPT

        def act(self, asked: Sequence[Request]) -> list[Reply]:
            requests.extend(asked)
            return [Reply("x", _some(secrets, (seed >> one.now.number) % 7)) for one in asked]

    class Player:
        """Is shown what a memory shows."""

        memory = shown

        def __init__(self, name: str, seat: str) -> None:
            self.script = make_script(name, game, seat)

        def act(self, asked: Sequence[Request]) -> list[Reply]:
            requests.extend(asked)
            return self.script.act(asked)

    seated = {seat: Occupant(Player("random:0.5", seat), seat) for seat in game.playing_seats}
    seated[MEDIATOR] = Occupant(Mediator(), MEDIATOR)
    (episode,) = play_episode(game, [Table(game, seed, 0, 0, seated)], rounds=4, streams=StreamNames(("test",)))
    to = [addressed(one.acts[0].action) for one in episode.rounds]
    assert len(to) == 4
    for request in requests:
        if request.seat == MEDIATOR:
            continue
        own = secrets[request.seat]
        readable = words(request.now, request.past, request.own, request.observation) + prompt(game, request, shown)
        assert not any(word in readable for word in secrets.values() if word != own)
        read = [i for i, one in enumerate(to[: request.now.number + 1]) if request.seat in one]
        assert (own in words(request.now)) == (request.now.number in read)
        assert sum(own in words(one) for one in request.past) == len([i for i in read if i < request.now.number])
        for one in (*request.past, request.now):
            assert any(act.phase == "mediation" for act in one.acts) == (request.seat in to[one.number])
            assert one.payoffs is None or list(one.payoffs) == list(game.playing_seats)


def _some(secrets: dict[str, str], bits: int) -> Message:
    said = tuple((seat, word) for i, (seat, word) in enumerate(secrets.items()) if bits >> i & 1)
    return ("letter", said) if said else SILENT


def test_names_of_states_and_outcomes_say_nothing_of_messages() -> None:
    game = mediated("ipd-3:talk=0+mediator")
    told: Message = ("intervene", (("player-1", "text"),))
    for message in (SILENT, told, None):
        one = over(game, "CC CD DD", message)
        assert game.outcome(one).conduct == ("cooperate", "mixed", "defect", None)
        assert game.state_name(game.outcome(over(game, "CC CD DD", SILENT))) == "CMD"
        assert game.outcome(one).parsed  # whether the mediator could be read is its own business
    assert game.state_names() == mediated("ipd-3:talk=0+mediator:cost=1").game.state_names()


def test_a_record_shows_each_seat_its_own_text() -> None:
    game = mediated("ipd-3:talk=0+mediator:targets=chosen")
    (episode,) = played("ipd-3:talk=0+mediator:targets=chosen", "random", "random", "random", "uniform")
    for told, one in zip(episode_record(game, episode)["rounds"], episode.rounds, strict=True):
        assert told["acts"][0]["readers"] == addressed(one.acts[0].action)


def test_the_mediator_is_told_the_context_only_if_it_is_informed() -> None:
    for spec, known in (("bertrand:prompt=PC+mediator", False), ("bertrand:prompt=PC+mediator:informed=true", True)):
        game = mediated(spec)
        (episode,) = played(spec, "monopoly", "nash", "never", rounds=1)
        seen = game.observe(episode.rounds[0], MEDIATOR)
        assert (seen.deal is not None) == (known and game.game.spectate(game.inner(episode.rounds[0])).deal is not None)
        assert len(game.features(asked(game), window=2)) == len(game.feature_names(MEDIATOR, window=2))
        assert ("PC" in game.feature_names(MEDIATOR, window=2)) == known


# --- What it is paid, costs and fines -----------------------------------------------------------------------------------------


def test_payment_cost_and_fine_by_hand() -> None:
    game = mediated("ipd-3:talk=0+mediator:cost=0.25,fine=2,targets=everyone")
    text: Message = ("intervene", tuple((seat, "text") for seat in game.playing_seats))
    assert over(game, "CC CD DD").payoffs == {"player-1": 3, "player-2": 4, "player-3": 6, MEDIATOR: 0.5}
    fined = over(game, "CC CD DD", text).payoffs
    assert fined == {"player-1": 3, "player-2": 3, "player-3": 4, MEDIATOR: 0.5 - 0.75}
    one: Message = ("intervene", (("player-3", "text"),))
    assert over(game, "CC CD DD", one).payoffs == {"player-1": 3, "player-2": 4, "player-3": 4, MEDIATOR: 0.25}
    assert over(game, "CC CD DD", None).payoffs == {"player-1": 3, "player-2": 4, "player-3": 6, MEDIATOR: 0.5}
    welfare = mediated("ipd-3:talk=0+mediator:pays=welfare")
    assert (over(welfare, "CC CD DD").payoffs or {})[MEDIATOR] == 13.0


def test_payoffs_that_seats_see_do_not_tell_whom_the_mediator_wrote_to() -> None:
    """Not by its own payoff, which has a cost for each, and not by fines of others."""
    game = mediated("ipd-3:talk=0+mediator:cost=0.25,fine=0.3,targets=everyone")
    said: Message = ("intervene", (("player-2", "text"), ("player-3", "text")))
    assert game.observe(over(game, "CC CD DD", said), "player-1") == game.observe(over(game, "CC CD DD"), "player-1")
    assert game.observe(over(game, "CC CD DD", said), "player-3").payoffs == {
        "player-1": 3.0,
        "player-2": 4.0,
        "player-3": 6.0 - 0.3,
    }


def test_a_fine_is_of_the_strongest_notice_alone() -> None:
    spec = "bertrand+mediator:fine=0.5"
    game = mediated(spec)
    for notice, fined in (("mild", 0.0), ("strong", 0.5)):
        (episode,) = played(spec, "monopoly", "nash", f"always:{notice}", rounds=1)
        plain = game.game.payoffs(game.inner(episode.rounds[0]))["firm-1"]
        assert (episode.rounds[0].payoffs or {})["firm-1"] == pytest.approx((plain or 0.0) - fined)


def test_rules_ask_once_for_each_round() -> None:
    """A rule over a whole past must not work out every round of it again in every round."""
    counted: list[int] = []

    def count(one: Round) -> int:
        counted.append(one.number)
        return one.number

    kept = PerRound(count)
    rounds = [Round(i) for i in range(3)]
    assert [kept(one) for one in (*rounds, *rounds)] == [0, 1, 2] * 2
    assert counted == [0, 1, 2]
    assert kept(Round(1)) == 1 and counted == [0, 1, 2, 1]  # equal, but another object


@pytest.mark.parametrize(
    ("game", "word", "known"),
    [
        ("ipd-3+mediator", "loud", "intervene, none"),
        ("ipd-3+mediator", "cooperate", "intervene, none"),
        ("ipd-3+mediator:notices=own", "intervene", "letter, none"),
        ("bertrand+mediator", "mld", "mild, none, strong"),
    ],
)
def test_a_notice_that_the_mediator_does_not_have_is_refused_before_anything_is_played(
    game: str, word: str, known: str
) -> None:
    with pytest.raises(UsageError, match=f"notice of the mediator.*{word}.*Known: {known}"):
        make_player(f"always:{word}", make_game(game), MEDIATOR)


def test_actions_of_the_players_of_a_mediated_matrix_game_are_checked_as_well() -> None:
    with pytest.raises(UsageError, match="'loud' is not an action of seat 'row'"):
        make_player("always:loud", make_game("ipd+mediator:notices=own"), "row")

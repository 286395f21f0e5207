"""Phases, deals and endings: who is asked for what follows from the play, and every request has a random stream of its own."""

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import pytest
from small_games import DEALS, Kuhn, RecordingPlayer, Ultimatum, bets, play

from coplay.conformance.games import check_game
from coplay.errors import CoplayError
from coplay.games import GAMES, Game
from coplay.games.records import Episode, Occupant, Phase, Reply, Request, Round
from coplay.play.loop import StreamNames, Table, play_episode
from coplay.players.scripted import make_script


@pytest.mark.parametrize("game", [Kuhn(), Ultimatum()], ids=lambda game: game.name)
def test_the_small_games_conform(game: Game) -> None:
    assert check_game(game) == []


# --- Phases that depend on what was played ------------------------------------------------------------------------------------


def test_who_is_asked_follows_from_the_bets() -> None:
    """All five lines of Kuhn poker occur, no other, each with the seats and turns that belong to it."""
    rounds = [one for episode in play(Kuhn(), RecordingPlayer(Kuhn()), tables=30) for one in episode.rounds]
    lines = Counter(tuple(bets(one)) for one in rounds)
    assert set(lines) == {
        ("pass", "pass"),
        ("bet", "pass"),
        ("bet", "bet"),
        ("pass", "bet", "pass"),
        ("pass", "bet", "bet"),
    }
    for one in rounds:
        assert [(act.seat, act.turn) for act in one.acts] == [("first", 0), ("second", 1), ("first", 2)][
            : len(one.acts)
        ]
    assert {tuple(one.deal.values()) for one in rounds} == set(DEALS)


def test_tables_in_different_phases_do_not_disturb_each_other() -> None:
    """A table's game is the same alone as beside tables whose rounds are longer or shorter."""
    for game in (Kuhn(), Ultimatum()):
        together = play(game, RecordingPlayer(game))
        assert len({sum(len(one.acts) for one in episode.rounds) for episode in together}) > 1
        for index, episode in enumerate(together):
            player = RecordingPlayer(game)
            seated = dict.fromkeys(game.seats, Occupant(player, player.name))
            table = Table(game, 0, index, index, seated)
            (alone,) = play_episode(game, [table], rounds=game.rounds, streams=StreamNames(("test",)))
            assert (alone.rounds, alone.outcomes) == (episode.rounds, episode.outcomes)


def test_an_action_that_cannot_be_parsed_can_end_a_round() -> None:
    class Silent(RecordingPlayer):
        def reply(self, request: Request) -> Reply:
            return Reply("...") if request.phase.name == "offer" and request.game == 0 else super().reply(request)

    game = Ultimatum()
    silent, beside = play(game, Silent(game), tables=2)
    assert len(silent.rounds) == game.rounds  # nothing is ever accepted
    assert [len(one.acts) for one in silent.rounds] == [1] * game.rounds
    assert silent.payoffs("proposer") == silent.payoffs("responder") == [None] * game.rounds
    assert silent.turns["responder"] == [] and silent.total("responder") == 0
    assert all(len(one.acts) == 2 for one in beside.rounds)


# --- Deals and endings --------------------------------------------------------------------------------------------------------


def test_episodes_end_early_each_at_its_own_time() -> None:
    game, called = Ultimatum(), []
    player = RecordingPlayer(game)
    seated = dict.fromkeys(game.seats, Occupant(player, player.name))
    tables = [Table(game, 0, index, index, seated) for index in range(12)]

    def after_round(number: int, live: Sequence[Episode]) -> None:
        called.append((number, [episode.game for episode in live]))

    episodes = play_episode(game, tables, rounds=game.rounds, streams=StreamNames(("test",)), after_round=after_round)
    lengths = [len(episode.rounds) for episode in episodes]
    assert len(set(lengths)) > 2
    for episode in episodes:
        answers = [one.actions("answer")["responder"] for one in episode.rounds]
        assert "accept" not in answers[:-1]
        assert answers[-1] == "accept" or len(answers) == game.rounds
        assert [one.number for one in episode.rounds] == list(range(len(answers)))
    # Learners that update after every round are given the episodes that are still going on.
    assert called == [(t, [i for i, n in enumerate(lengths) if n > t]) for t in range(max(lengths))]


def test_a_deal_can_hold_for_an_episode() -> None:
    game = Ultimatum()
    episodes = [*play(game, RecordingPlayer(game), tables=20), *play(game, RecordingPlayer(game), tables=20, seed=1)]
    for episode in episodes:
        assert len({one.deal for one in episode.rounds}) == 1
    assert any(len(episode.rounds) > 1 for episode in episodes)
    assert len({episode.rounds[0].deal for episode in episodes}) > 5


@pytest.mark.parametrize("game", [Kuhn(), *(game for game in GAMES.values() if game.draws)], ids=lambda game: game.name)
def test_tables_of_one_group_are_dealt_the_same(game: Game) -> None:
    player = RecordingPlayer(game)
    seated = dict.fromkeys(game.seats, Occupant(player, player.name))
    tables = [Table(game, 0, index // 3, index, seated) for index in range(9)]
    episodes = play_episode(game, tables, rounds=4, streams=StreamNames(("test",)))
    dealt = [[one.deal for one in episode.rounds] for episode in episodes]
    for index, deals in enumerate(dealt):
        assert deals == dealt[3 * (index // 3)]
    assert dealt[0] != dealt[3]
    assert episodes[0].rounds != episodes[1].rounds  # dealt the same, they play differently


# --- Streams ------------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Haggling(Game):
    """The same phase several times a round, for both seats at once."""

    turns: Callable[[int], int] = lambda asked: asked
    rounds: int = 3
    name = "haggling-test"
    description = "Both say a number, three times a round."
    seats = ("left", "right")

    def next_phase(self, now: Round) -> Phase | None:
        asked = len(now.acts) // 2
        return Phase("say", self.seats, self.turns(asked)) if asked < 3 else None

    def payoffs(self, now: Round) -> dict[str, float | None]:
        return dict.fromkeys(self.seats, 0.0)

    def choices(self, request: Request) -> Sequence[str]:
        return ("one", "two", "three", "four")

    def question(self, now: Round, phase: Phase, seat: str) -> str:
        return "Say a number."


@pytest.mark.parametrize("game", [Haggling(), Kuhn(), Ultimatum(), *GAMES.values()], ids=lambda game: game.name)
def test_no_two_requests_share_a_stream(game: Game) -> None:
    """Not two phases of one name, not two rounds, seats or tables, and not a retry; so no draw comes twice either."""

    class Mistaken(RecordingPlayer):
        def reply(self, request: Request) -> Reply:
            return super().reply(request) if request.attempt else Reply("?")

    player = Mistaken(game)
    play(game, player, tables=3, retries=1)
    first = [request for request in player.requests if not request.attempt]
    assert len(first) == len(player.requests) / 2
    assert len({request.rng_path for request in player.requests}) == len(player.requests)
    assert len({request.draw for request in player.requests}) == len(player.requests)


def test_a_phase_that_comes_again_is_answered_afresh() -> None:
    """With equal draws three answers out of four words would always be the same word."""
    game = Haggling()
    uniform = {seat: Occupant(make_script("uniform", game, seat), "uniform") for seat in game.seats}
    tables = [Table(game, 0, index, index, uniform) for index in range(50)]
    episodes = play_episode(game, tables, rounds=1, streams=StreamNames(("test",)))
    for seat in game.seats:
        said = [tuple(act.action for act in episode.rounds[0].acts if act.seat == seat) for episode in episodes]
        assert len({len(set(words)) for words in said}) == 3  # all the same, two the same, all different
        assert len(set(said)) > 25


# --- Broken games -------------------------------------------------------------------------------------------------------------


def test_a_phase_that_comes_twice_with_the_same_turn_is_refused() -> None:
    game = Haggling(turns=lambda asked: 0)
    with pytest.raises(
        CoplayError, match=r"'haggling-test': phase 'say' with turn 0 comes twice in one round; give each"
    ):
        play(game, RecordingPlayer(game), tables=1)
    assert any("comes twice in one round" in problem for problem in check_game(game))


class Endless(Haggling):
    """Asks for ever."""

    def next_phase(self, now: Round) -> Phase | None:
        return Phase("say", self.seats, len(now.acts))


def test_a_round_that_never_ends_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("coplay.play.rules._MAX_ACTS", 40)
    game = Endless()
    with pytest.raises(
        CoplayError, match=r"'haggling-test': a round has more than 40 acts; next_phase must return None"
    ):
        play(game, RecordingPlayer(game), tables=1)


@pytest.mark.parametrize(
    ("seats", "message"),
    [
        ((), "which are not its seats"),
        (("left", "carol"), "which are not its seats"),
        (("left", "left"), "a seat twice"),
    ],
)
def test_phases_ask_seats_of_the_game(seats: tuple[str, ...], message: str) -> None:
    class Strangers(Haggling):
        def next_phase(self, now: Round) -> Phase | None:
            return Phase("say", seats)

    game = Strangers()
    with pytest.raises(CoplayError, match=f"phase 'say' asks .*{message}"):
        play(game, RecordingPlayer(game), tables=1)


def test_payoffs_are_for_the_seats_of_the_game() -> None:
    class Unpaid(Haggling):
        def payoffs(self, now: Round) -> dict[str, float | None]:
            return {"left": 1.0}

    game = Unpaid()
    with pytest.raises(CoplayError, match="pays left; its seats are left, right"):
        play(game, RecordingPlayer(game), tables=1)


def test_what_was_dealt_is_what_is_observed() -> None:
    """Requests hold the deal of their own round as the game shows it, and the rounds before in order."""
    game = Kuhn()
    player = RecordingPlayer(game)
    episodes = play(game, player)
    for request in player.requests:
        episode = episodes[request.game]
        one = episode.rounds[request.now.number]
        acts = one.acts[: len(request.now.acts)]
        assert request.now == game.observe(replace(one, acts=acts, payoffs=None), request.seat)
        assert request.past == tuple(game.observe(past, request.seat) for past in episode.rounds[: one.number])
        assert request.own == tuple(
            turn for turn in episode.turns[request.seat] if (turn.round, turn.turn) < (one.number, request.phase.turn)
        )

"""Credit rules that sum over co-players, for three and four seats, against brute force from the payoffs of played games."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import product

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from coplay.games import make_game
from coplay.games.base import Game
from coplay.games.memory import Memory
from coplay.games.records import Episode, Occupant, Reply, Request
from coplay.learners.group_credit import aligned_advantages, summed_advantages
from coplay.learners.group_gradient import credited_replies
from coplay.learners.settings import GroupGradient
from coplay.play.loop import StreamNames, Table, play_episode

SEATS = [3, 4]


# --- The sums alone ------------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("seats", SEATS)
@given(seed=st.integers(0, 99), beta=st.floats(0, 3), gamma=st.floats(0, 1))
def test_alignment_sums_over_all_co_players(seats: int, seed: int, beta: float, gamma: float) -> None:
    """Equation 1, with the sum over j != i written out: seat by seat, none twice, never the own."""
    generator = torch.Generator().manual_seed(seed)
    advantages_BST = torch.randn(2, seats, 5, generator=generator, dtype=torch.float64)
    expected_BST = advantages_BST.clone()
    for b, i, t in product(range(2), range(seats), range(5)):
        past = sum(gamma ** (t - k) * float(advantages_BST[b, i, k]) for k in range(t))
        for j in range(seats):
            if j != i:
                expected_BST[b, i, t] += beta * gamma * past * advantages_BST[b, j, t]
    got_BST = aligned_advantages(advantages_BST, beta=beta, gamma=gamma)
    torch.testing.assert_close(got_BST, expected_BST)


@pytest.mark.parametrize("seats", SEATS)
def test_alignment_by_hand(seats: int) -> None:
    """Two rounds; seat 0 had an advantage of 2 at first, then everybody else has 1, 10, 100."""
    advantages_BST = torch.zeros(1, seats, 2, dtype=torch.float64)
    advantages_BST[0, 0, 0] = 2.0
    advantages_BST[0, 1:, 1] = torch.tensor([1.0, 10.0, 100.0])[: seats - 1]
    got_BST = aligned_advantages(advantages_BST, beta=0.5, gamma=0.5)
    others = {3: 11.0, 4: 111.0}[seats]
    assert float(got_BST[0, 0, 1]) == pytest.approx(0.5 * 0.5 * (0.5 * 2.0) * others)
    assert got_BST[0, 1:].tolist() == advantages_BST[0, 1:].tolist()  # they have no past, so nothing is added


@pytest.mark.parametrize("seats", SEATS)
def test_the_sum_of_rewards_counts_every_seat_once(seats: int) -> None:
    advantages_BST = torch.tensor([[[10.0**s, -1.0] for s in range(seats)]])
    total = {3: 111.0, 4: 1111.0}[seats]
    assert summed_advantages(advantages_BST).tolist() == [[[total, -float(seats)]] * seats]


# --- From played games to credited replies ---------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class RandomContributor:
    """Contributes with probability one half, and now and then says something that cannot be parsed."""

    unparsed: float = 0.0
    name: str = "random contributor"
    memory: Memory = Memory.NONE

    def act(self, requests: Sequence[Request]) -> list[Reply]:
        return [self._reply(request) for request in requests]

    def _reply(self, request: Request) -> Reply:
        if request.draw < self.unparsed:
            return Reply("?", None, (9,), (-0.5,))
        keeps = request.draw > 0.5 + self.unparsed / 2
        return Reply("K" if keeps else "C", "keep" if keeps else "contribute", (int(keeps),), (-0.5,))


def played(game: Game, *, own: Sequence[str], unparsed: float = 0.0, games: int = 4, rounds: int = 3) -> list[Episode]:
    """Games in two groups; the learner learns from its own seats."""
    player = RandomContributor(unparsed)
    seated = {seat: Occupant(player, "x", 0, "learner" if seat in own else None) for seat in game.seats}
    tables = [Table(game, 0, index // 2, index, seated) for index in range(games)]
    return play_episode(game, tables, rounds=rounds, streams=StreamNames(("test",)))


def brute_force(episodes: Sequence[Episode], seats: Sequence[str], settings: GroupGradient) -> dict[object, float]:
    """Credit by (game, seat, round), each sum from scratch in plain Python."""

    def reward(episode: Episode, seat: str, t: int) -> float:
        payoff = episode.payoffs(seat)[t]
        unparsed = sum(turn.reply.action is None for turn in episode.turns[seat] if turn.round == t)
        return ((payoff or 0.0) - settings.parse_error_penalty * unparsed) / settings.reward_scale

    def value(episode: Episode, seat: str, t: int) -> float:
        return sum(settings.discount ** (k - t) * reward(episode, seat, k) for k in range(t, len(episode.rounds)))

    def advantage(episode: Episode, seat: str, t: int) -> float:
        others = [one for one in episodes if one.group == episode.group and one.game != episode.game]
        return value(episode, seat, t) - sum(value(one, seat, t) for one in others) / len(others)

    def credit(episode: Episode, seat: str, t: int) -> float:
        own = advantage(episode, seat, t)
        unparsed = any(turn.reply.action is None for turn in episode.turns[seat] if turn.round == t)
        if settings.method == "grpo" or unparsed:
            return own
        if settings.method == "sum_of_rewards":
            return sum(advantage(episode, one, t) for one in seats)
        gamma = settings.alignment_discount
        past = sum(gamma ** (t - k) * advantage(episode, seat, k) for k in range(t))
        others = sum(advantage(episode, one, t) for one in seats if one != seat)
        return own + settings.beta * gamma * past * others

    return {
        (episode.game, seat, turn.round): credit(episode, seat, turn.round)
        for episode in episodes
        for seat in episode.seats_of("learner")
        if seat in seats
        for turn in episode.turns[seat]
    }


def credits_by_place(episodes: Sequence[Episode], seats: Sequence[str], settings: GroupGradient) -> dict[object, float]:
    """What the learner is credited with, by (game, seat, round)."""
    place_of = {
        id(turn): (episode.game, seat, turn.round)
        for episode in episodes
        for seat, turns in episode.turns.items()
        for turn in turns
    }
    found = credited_replies(episodes, seats, "learner", settings)
    assert len({id(one.turn) for one in found}) == len(found)
    return {place_of[id(one.turn)]: one.credit for one in found}


@pytest.mark.parametrize("unparsed", [0.0, 0.2])
@pytest.mark.parametrize("method", ["grpo", "sum_of_rewards", "advantage_alignment"])
@pytest.mark.parametrize("seats", SEATS)
def test_credit_of_played_games_is_the_brute_force_sum(seats: int, method: str, unparsed: float) -> None:
    """The learner has two seats; the others' advantages count in its credit, and they are not trained."""
    game = make_game(f"public-goods:n={seats}")
    own = [game.seats[0], game.seats[2]]
    episodes = played(game, own=own, unparsed=unparsed)
    settings = GroupGradient(
        method=method, discount=0.9, beta=2.0, alignment_discount=0.8, reward_scale=3.0, parse_error_penalty=1.5
    )  # type: ignore[arg-type]
    expected = brute_force(episodes, game.seats, settings)
    assert len(expected) == 4 * 2 * 3 and len(set(expected.values())) > 6
    assert credits_by_place(episodes, game.seats, settings) == pytest.approx(expected)
    assert bool(unparsed) == any(turn.reply.action is None for one in episodes for turn in one.turns[own[0]])


@pytest.mark.parametrize("method", ["sum_of_rewards", "advantage_alignment"])
def test_seats_that_do_not_play_for_themselves_are_left_out_of_the_sums(method: str) -> None:
    """The last seat stands for a mediator: whatever it is paid, the others' credit is the same, and its own is its advantage alone."""
    game = make_game("public-goods:n=4")
    playing, beside = game.seats[:3], game.seats[3]
    episodes = played(game, own=game.seats)
    settings = GroupGradient(method=method, beta=2.0)  # type: ignore[arg-type]

    def credits(those: list[Episode], *, besides: bool) -> dict[object, float]:
        found = credits_by_place(those, playing, settings)
        return {place: one for place, one in found.items() if (place[1] == beside) == besides}  # type: ignore[index]

    found = credits(episodes, besides=False)
    assert found == pytest.approx(brute_force(episodes, playing, settings))
    alone = credits_by_place(episodes, game.seats, settings.model_copy(update={"method": "grpo"}))
    own = credits(episodes, besides=True)
    assert own and own == pytest.approx({place: alone[place] for place in own})
    rich = [
        replace(
            one, rounds=[replace(r, payoffs={**(r.payoffs or {}), game.seats[3]: 1e6 * one.game}) for r in one.rounds]
        )
        for one in episodes
    ]
    assert credits(rich, besides=False) == found
    assert credits_by_place(rich, game.seats, settings) != credits_by_place(rich, playing, settings)

"""A policy with illegal replies, small enough to reason about, and games to learn from."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import torch
from torch import Tensor, nn

from coplay.games.catalogue import matrix_game
from coplay.games.memory import START, Joint, Memory, Observation
from coplay.games.records import Episode, Occupant, Outcome, Phase, Reply, Request, Round, Turn
from coplay.learners.base import Learner
from coplay.models.scoring import Scores
from coplay.play.loop import StreamNames, Table, play_episode
from coplay.players.base import Player
from coplay.players.choice import ChoicePolicy, Key

IPD = matrix_game("ipd")
STATES: list[Joint | None] = [None, *IPD.own_states("row")]
"""The memory states of a last-round player, in the order of tables."""

ACTION = Phase("action", IPD.seats)
"""The only phase of a round."""


class WordPolicy(ChoicePolicy):
    """Five words, of which ``y`` is the first action and ``w`` the second; logits by memory state, all states apart."""

    legal_words: tuple[int, int] = (3, 1)
    reference = -1

    shares_passes = True

    def __init__(self, *, slots: int = 1, seed: int = 0, scale: float = 1.0) -> None:
        super().__init__("words", Memory.LAST_ROUND)
        self.width = len(STATES)
        generator = torch.Generator().manual_seed(seed)
        self.base = torch.randn(self.width, 5, generator=generator) * scale
        self.theta = nn.Parameter(torch.zeros(slots, self.width, 5))
        self.scored: list[int] = []

    def legal(self, seat: str) -> tuple[int, ...]:
        return self.legal_words

    def actions(self, seat: str) -> tuple[str, ...]:
        return IPD.actions[seat]

    def score(self, slots: Sequence[int], keys: Sequence[Key], *, grad: bool = False) -> Scores:
        self.scored.append(len(keys))
        states = [STATES.index(key.observation.last) for key in keys]
        with torch.set_grad_enabled(grad):
            learnt = torch.tensor(list(slots))[:, None] != self.reference
            logits = self.base[states] + self.theta[torch.tensor(list(slots)), states] * learnt
        return Scores(logits, torch.eye(self.width)[states])

    def reference_logprobs(self, turns: Sequence[Turn]) -> list[float]:
        logprobs = torch.log_softmax(self.base, -1)
        return [float(logprobs[STATES.index(one.observation.last), one.reply.tokens[0]]) for one in turns]

    def parameters(self) -> list[nn.Parameter]:
        return [self.theta]

    def slot_state(self, slot: int) -> dict[str, Tensor]:
        return {"theta": self.theta.detach()[slot].clone()}

    @torch.no_grad()
    def load_slot_state(self, slot: int, state: Mapping[str, Tensor]) -> None:
        self.theta[slot] = state["theta"]
        self.bump_version([slot])

    def reply_text(self, seat: str, reply: int) -> str:
        return "vwxyz"[reply]

    def prompt_text(self, turn: Turn) -> str:
        return str(turn.observation.last)


@dataclass(frozen=True)
class RandomPlayer:
    """Plays by its draw alone: cooperates, defects, or says something illegal."""

    cooperates: float = 0.5
    illegal: float = 0.0
    name: str = "random player"
    memory: Memory = Memory.LAST_ROUND

    def act(self, requests: Sequence[Request]) -> list[Reply]:
        return [self._reply(request.draw) for request in requests]

    def _reply(self, draw: float) -> Reply:
        if draw < self.illegal:
            return Reply("?")
        rest = (draw - self.illegal) / (1.0 - self.illegal)
        return Reply("C", "cooperate") if rest < self.cooperates else Reply("D", "defect")


def request_of(seat: str, observation: Observation = START, *, draw: float = 0.5, slot: int = 0) -> Request:
    """A request to choose an action, as a learner's player is asked."""
    return Request(0, 0, seat, ACTION, Round(0), (), (), observation, slot, (), draw)


def occupant_of(who: Learner | Player, seed: int) -> Occupant:
    """A learner in a seat, or a player that does not learn."""
    if hasattr(who, "collect"):
        return Occupant(who.player, who.name, who.slots[seed], who.name)
    return Occupant(who, who.name)


def play(
    row: Any,
    column: Any,
    *,
    games: int,
    rounds: int,
    rng_path: tuple[int | str, ...] = ("test",),
    seeds: Sequence[int] = (0,),
    episodes: int = 1,
) -> list[Episode]:
    """The episodes of one trial of the IPD, in order; learners or players in the seats."""
    tables = [
        Table(IPD, seed, index, index, {"row": occupant_of(row, seed), "column": occupant_of(column, seed)})
        for seed in seeds
        for index in range(games)
    ]
    played: list[Episode] = []
    for episode in range(episodes):
        played += play_episode(IPD, tables, rounds=rounds, streams=StreamNames(rng_path, episode))
    return played


def with_payoffs(
    episodes: Sequence[Episode], payoff: float | None, *, rounds: Sequence[int] | None = None
) -> list[Episode]:
    """The same episodes, but row is paid this in the rounds named, or in all; None voids them for it."""

    def paid(one: Round) -> Round:
        assert one.payoffs is not None
        chosen = rounds is None or one.number in rounds
        return replace(one, payoffs={**one.payoffs, "row": payoff}) if chosen else one

    return [replace(episode, rounds=[paid(one) for one in episode.rounds]) for episode in episodes]


def without_rounds(episodes: Sequence[Episode], dropped: set[int]) -> list[Episode]:
    """The same episodes as if these rounds had never been played."""
    return [
        replace(
            episode,
            rounds=[one for one in episode.rounds if one.number not in dropped],
            outcomes=[one for t, one in enumerate(episode.outcomes) if t not in dropped],
            turns={seat: [turn for turn in own if turn.round not in dropped] for seat, own in episode.turns.items()},
        )
        for episode in episodes
    ]


def episode_of(
    joints: Sequence[tuple[str | None, str | None]],
    *,
    payoffs: Sequence[tuple[float | None, float | None]] | None = None,
    learner: str = "learner",
    own: Sequence[str] = IPD.seats,
    group: int = 0,
    game: int = 0,
    finished: bool = True,
) -> Episode:
    """A game of the IPD written down: what row and column did, the learner of that name in its own seats; both were shown the last round."""
    rounds, outcomes, last = [], [], None
    turns: dict[str, list[Turn]] = {seat: [] for seat in IPD.seats}
    for t, joint in enumerate(joints):
        if payoffs is not None:
            paid: dict[str, float | None] = dict(zip(IPD.seats, payoffs[t], strict=True))
        else:
            paid = dict(zip(IPD.seats, IPD.joint_payoffs(joint), strict=True))
        rounds.append(Round(t, payoffs=paid))
        outcomes.append(Outcome(joint, parsed=None not in joint, void=None in joint))
        for i, seat in enumerate(IPD.seats):
            seen = Observation() if last is None else Observation(last=last if i == 0 else last[::-1])
            action = joint[i]
            tokens = () if action is None else (IPD.actions[seat].index(action),)
            reply = Reply("?" if action is None else action, action, tokens, (-0.5,) * len(tokens))
            turns[seat].append(Turn(seat, t, "action", 0, seen, reply))
        last = joint if None not in joint else last
    seated = {seat: Occupant(None, seat, 0, learner if seat in own else None) for seat in IPD.seats}
    return Episode(0, group, game, seated, rounds, outcomes, turns, finished)

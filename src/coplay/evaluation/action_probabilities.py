"""How a player acts, as probabilities: what its replies tell, or else shares of sampled replies."""

from __future__ import annotations

import hashlib
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import NamedTuple

from coplay.evaluation.pasts import OWN_WORDS, NotExact, Past
from coplay.games.base import Game
from coplay.games.memory import START, Observation
from coplay.games.records import Action, Occupant, Phase, Reply, Request, Round, Turn
from coplay.play.loop import ask_once, make_request
from coplay.play.rules import checked_view
from coplay.rng import draws

SAMPLES = 100
"""Replies asked for at each information set of a player that does not tell its probabilities."""

MOST_REPLIES = 50_000
"""Replies asked of a player that does not tell its probabilities, in all."""

UNLIKELY = 1e-9
"""Probabilities are told in floating point: what is missing to 1 is an illegal reply if it is more than this."""

Weights = tuple[float, float, float]
"""A probability three times: by the first half of the replies, by the second half, and by all. The same number where it is told."""

CERTAIN: Weights = (1.0, 1.0, 1.0)


class Option(NamedTuple):
    """Something a seat may do, and how likely."""

    reply: Reply
    """The reply that does it; of an action of None, one that cannot be parsed."""
    weights: Weights
    """Its probability; 1 for each of the choices of a seat whose player is not fixed."""


@dataclass(frozen=True, eq=False, slots=True)
class Question:
    """A seat is to act at a point of some history."""

    seat: str
    """The seat."""
    phase: Phase
    """What it is asked for."""
    now: Round
    """The round in progress, unredacted."""
    past: Past
    """The rounds before."""
    own: tuple[Turn, ...]
    """The seat's replies so far."""


class ActionProbabilities:
    """Asks the players of some seats how they act, each information set once.

    Args:
        game: the rules.
        seated: the players whose probabilities are wanted; seats without one are asked for their choices alone.
        samples: replies an information set, of players that do not tell their probabilities.
        seed: of the sampled replies.
        halves: whether sampled replies are counted in two halves as well, one to choose a response by and one to value it; else all count for both.
        stream: further names of the sampled replies' random stream; another one samples afresh.
    """

    def __init__(
        self,
        game: Game,
        seated: Mapping[str, Occupant],
        *,
        samples: int = SAMPLES,
        seed: int = 0,
        halves: bool = True,
        stream: tuple[int | str, ...] = (),
    ) -> None:
        self.game, self.seated, self.samples, self.seed, self.halves = game, seated, samples, seed, halves
        self.stream = stream
        self.sampled = 0
        self._known: dict[str, dict[Hashable, tuple[Option, ...]]] = {seat: {} for seat in game.seats}
        self._talkative: set[str] = set()

    def of(self, questions: Sequence[Question]) -> list[tuple[Option, ...]]:
        """What each seat does with a probability above 0; all that is not known yet is asked for in one batch."""
        keys = [(question.seat, self._key(question)) for question in questions]
        fresh = {key: i for i, key in enumerate(keys) if key[1] not in self._known[key[0]]}
        unknown = [questions[i] for i in fresh.values()]
        for question in unknown:
            self._refuse_own_words(question)
        for (seat, key), options in zip(fresh, self._ask(unknown), strict=True):
            self._known[seat][key] = options
        return [self._known[seat][key] for seat, key in keys]

    def meeting(self, others: Mapping[str, Occupant]) -> ActionProbabilities:
        """The same players with others in other seats. What is known or becomes known of a player that stays is known to both.

        Args:
            others: who sits in seats that were free.
        """
        found = ActionProbabilities(
            self.game,
            {**self.seated, **others},
            samples=self.samples,
            seed=self.seed,
            halves=self.halves,
            stream=self.stream,
        )
        found._known |= {seat: self._known[seat] for seat in self.seated}
        return found

    def choices(self, question: Question) -> tuple[Option, ...]:
        """All that a seat may do, whoever sits there."""
        nobody = Occupant(None, "anybody")
        request = self._request(question, nobody, START, (), 0, 0.0)
        return tuple(
            Option(Reply(self.game.render_action(request, action), action), CERTAIN) for action in self._legal(request)
        )

    @property
    def asked(self) -> int:
        """The information sets that were asked about."""
        return sum(map(len, self._known.values()))

    # ------------------------------------------------------------------ asking

    def _key(self, question: Question) -> Hashable:
        seat, phase = question.seat, question.phase
        view = repr(checked_view(self.game, question.now, seat))
        return (seat, question.past.remembered(seat, self.seated[seat]), phase.name, phase.turn, view)

    def _ask(self, questions: Sequence[Question]) -> list[tuple[Option, ...]]:
        """Ask once; where no probabilities are told, as often as there are samples."""
        requests = [self._requests(question, 1)[0] for question in questions]
        first = self._replies(questions, requests)
        silent = [i for i, reply in enumerate(first) if reply.probs is None]
        self._count(len(silent) * self.samples)
        again = [(questions[i], request) for i in silent for request in self._requests(questions[i], self.samples)[1:]]
        rest = iter(self._replies([question for question, _ in again], [request for _, request in again]))
        found = []
        for request, reply in zip(requests, first, strict=True):
            if reply.probs is not None:
                found.append(self._told(request, reply))
            else:
                found.append(self._shares(request, [reply, *islice(rest, self.samples - 1)]))
        return found

    def _count(self, replies: int) -> None:
        self.sampled += replies
        if self.sampled > MOST_REPLIES:
            raise NotExact(
                f"the player tells no probabilities, and {self.samples} replies at each of its information sets are {self.sampled:,}"
                f" so far, more than {MOST_REPLIES:,}; ask for fewer --samples or --rounds"
            )

    def _replies(self, questions: Sequence[Question], requests: Sequence[Request]) -> list[Reply]:
        asked = [(self.seated[one.seat], request) for one, request in zip(questions, requests, strict=True)]
        return ask_once(asked) if asked else []

    def _requests(self, question: Question, n: int) -> list[Request]:
        """The first n requests of an information set: they differ in their chance alone, whatever else is asked."""
        occupant = self.seated[question.seat]
        observation = question.past.observation(question.seat, occupant)
        digest = hashlib.blake2b(repr(self._key(question)).encode(), digest_size=8).hexdigest()
        path = ("exploit", *self.stream, digest)
        told = getattr(occupant.player, "tells_probabilities", False)  # then whatever is drawn makes no difference
        chance = [0.5] * n if told else draws(self.seed, "play", *path, n=n).tolist()
        return [
            self._request(question, occupant, observation, (*path, number), number, draw)
            for number, draw in enumerate(chance)
        ]

    def _request(
        self,
        question: Question,
        occupant: Occupant,
        observation: Observation,
        path: tuple[int | str, ...],
        number: int,
        draw: float,
    ) -> Request:
        return make_request(
            self.game,
            occupant,
            question.seat,
            question.phase,
            question.now,
            seed=self.seed,
            index=number,
            past=question.past.seen[question.seat],
            own=question.own,
            observation=observation,
            rng_path=path,
            draw=draw,
        )

    def _legal(self, request: Request) -> Sequence[Action]:
        choices = self.game.choices(request)
        if not choices:
            raise NotExact(
                f"game {self.game.name!r} lists no choices in phase {request.phase.name!r}, so that its replies cannot be enumerated"
            )
        return choices

    # ------------------------------------------------------------------ from replies to probabilities

    def _told(self, request: Request, reply: Reply) -> tuple[Option, ...]:
        choices, probs = self._legal(request), reply.probs or ()
        self._note_words(request, reply)
        options = [
            Option(Reply(self.game.render_action(request, action), action), (p, p, p))
            for action, p in zip(choices, probs, strict=True)
            if p > 0
        ]
        missing = 1.0 - sum(probs)
        if missing > UNLIKELY:
            options.append(Option(Reply(""), (missing, missing, missing)))
        return tuple(options)

    def _shares(self, request: Request, replies: Sequence[Reply]) -> tuple[Option, ...]:
        """The share of each action among the replies, and among those of each half."""
        half = (len(replies) + 1) // 2
        parts = (replies[:half], replies[half:] or replies, replies) if self.halves else (replies,) * 3
        for reply in replies:
            self._note_words(request, reply)
        found = []
        for action in (*self._legal(request), None):
            weights = [sum(one.action == action for one in part) / len(part) for part in parts]
            if weights[2] > 0:
                text = "" if action is None else self.game.render_action(request, action)
                found.append(Option(Reply(text, action), (weights[0], weights[1], weights[2])))
        return tuple(found)

    def _note_words(self, request: Request, reply: Reply) -> None:
        """Remember seats whose replies say more than their action."""
        if reply.action is None or reply.text != self.game.render_action(request, reply.action):
            self._talkative.add(request.seat)

    def _refuse_own_words(self, question: Question) -> None:
        """A player that is shown its own earlier words remembers more than what was done."""
        player = self.seated[question.seat]
        if question.own and question.seat in self._talkative and player.player.memory in OWN_WORDS:
            raise NotExact(
                f"player {player.name!r} is shown its own earlier replies, which say more than its actions: it remembers what its co-player"
                " cannot know; ask for --rounds 1, or for a memory that shows what was done"
            )

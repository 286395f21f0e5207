"""Play games in rounds: what each seat knows when it is asked, and many games at once.

Chance that belongs to the game is drawn by group: games of one group are dealt the same (common random numbers), so that their returns
differ by what the players did alone.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Protocol

from coplay.games.rounds import Action, Phase, RoundGame
from coplay.rng import draws


@dataclass(frozen=True)
class Reply:
    """What a player said. A reply that could not be read is data: ``action`` is None."""

    text: str
    """As it came."""
    action: Action | None = None
    """What it was read as."""
    prompt: tuple[int, ...] = ()
    """Token ids of what was read, of language models."""
    tokens: tuple[int, ...] = ()
    """Token ids of the reply, as sampled."""
    logprobs: tuple[float, ...] = ()
    """Natural log of the probability each token was sampled with."""


@dataclass(frozen=True)
class Round:
    """A round that is over, as everybody knows it."""

    deal: Any
    """What chance gave, private parts too."""
    replies: Mapping[str, Mapping[str, Reply]]
    """By phase, then by seat, in the order of asking: messages, proposals, actions."""
    payoffs: Mapping[str, float]
    """What each seat got."""

    @property
    def actions(self) -> dict[str, Action | None]:
        """Each seat's reply in the last phase, which settled the round."""
        return settling_actions(self.replies)


def settling_actions(replies: Mapping[str, Mapping[str, Reply]]) -> dict[str, Action | None]:
    """Each seat's reply in the last phase of a round."""
    *_, last = replies.values()
    return {seat: reply.action for seat, reply in last.items()}


@dataclass(frozen=True)
class Situation:
    """What one seat knows when it is asked to reply."""

    seed: int
    """The run's seed."""
    group: int
    """Games of one group are dealt the same."""
    index: int
    """Which of the seed's games this is."""
    seat: str
    """Who is asked."""
    round: int
    """Round within the episode, from 0."""
    phase: str
    """What is asked for."""
    seen: Any
    """The part of the deal that this seat knows."""
    said: Mapping[str, Mapping[str, Reply]]
    """What was said to all in this round's earlier phases: by phase, then by seat, in order."""
    past: tuple[Round, ...]
    """The rounds before this one."""
    occasion: tuple[int | str, ...]
    """Names, with seed, index, seat, round and phase, the stream of chance a player may draw from."""

    @property
    def stream(self) -> tuple[int | str, ...]:
        """What follows seed and purpose in the stream's name."""
        return (*self.occasion, self.index, self.seat, self.round, self.phase)


class Wording(Protocol):
    """A game in words: what a seat is asked, and how its reply is read."""

    game: RoundGame[Any]
    """The rules."""

    def read(self, situation: Situation, text: str) -> Action | None:
        """What a reply means; None if it is not exactly what was asked for."""
        ...

    def say(self, situation: Situation, action: Action) -> str:
        """The reply that means this action."""
        ...


class RoundPlayer(Protocol):
    """Whatever fills a seat of a game in rounds. Keeps no state between calls: a situation carries everything."""

    @property
    def name(self) -> str:
        """What to call it in tables."""
        ...

    def reply(self, situations: Sequence[Situation]) -> list[Reply]:
        """One reply to each, in order; ``action`` may be left out, it is read from the text."""
        ...


@dataclass
class RoundEpisode:
    """A game of T rounds."""

    seed: int
    """The run's seed."""
    group: int
    """Games of one group are dealt the same."""
    index: int
    """Which of the seed's games this is."""
    rounds: list[Round] = field(default_factory=list)
    """What has been played."""

    def total(self, seat: str) -> float:
        """The sum of a seat's payoffs."""
        return sum(one.payoffs[seat] for one in self.rounds)


def play_rounds(
    words: Wording,
    players: Sequence[Mapping[str, RoundPlayer]],
    *,
    seed: int,
    groups: Sequence[int],
    rounds: int,
    occasion: tuple[int | str, ...],
) -> list[RoundEpisode]:
    """Play one episode of each game, all in step, asking each player once for all that it has to say at a time.

    Args:
        words: the game in words; it has the rules and reads the replies.
        players: of each game, by seat.
        seed: the run's seed.
        groups: of each game.
        rounds: T, the number of rounds.
        occasion: what this is called within its seed, e.g. ``("train", iteration)``; names the streams of chance.

    Returns:
        One episode a game, in order.
    """
    game = words.game
    episodes = [RoundEpisode(seed, group, index) for index, group in enumerate(groups)]
    for number in range(rounds):
        chance = {group: draws(seed, "deal", *occasion, group, number, n=game.draws) for group in set(groups)}
        deals = [game.deal(chance[group].tolist()) for group in groups]
        replies: list[dict[str, dict[str, Reply]]] = [{} for _ in episodes]
        for phase in game.phases(number):
            situations = [
                _situation(game, episode, deal, said, phase, seat, number, occasion)
                for episode, deal, said in zip(episodes, deals, replies, strict=True)
                for seat in phase.seats
            ]
            seated = [players[situation.index][situation.seat] for situation in situations]
            for situation, reply in zip(situations, _ask(seated, situations, words), strict=True):
                replies[situation.index].setdefault(phase.name, {})[situation.seat] = reply
        for episode, deal, said in zip(episodes, deals, replies, strict=True):
            episode.rounds.append(Round(deal, said, game.payoffs(deal, settling_actions(said))))
    return episodes


def _situation(
    game: RoundGame[Any],
    episode: RoundEpisode,
    deal: Any,
    said: Mapping[str, Mapping[str, Reply]],
    phase: Phase,
    seat: str,
    number: int,
    occasion: tuple[int | str, ...],
) -> Situation:
    """What a seat knows now; what others say in the same phase is not yet said."""
    return Situation(
        seed=episode.seed,
        group=episode.group,
        index=episode.index,
        seat=seat,
        round=number,
        phase=phase.name,
        seen=game.seen(deal, seat),
        said={name: {one: _heard(reply) for one, reply in of_phase.items()} for name, of_phase in said.items()},
        past=tuple(episode.rounds),
        occasion=occasion,
    )


def _heard(reply: Reply) -> Reply:
    """What others get of a reply: not the prompt, in which its speaker's private part of the deal stands."""
    return replace(reply, prompt=(), tokens=(), logprobs=())


def _ask(seated: Sequence[RoundPlayer], situations: Sequence[Situation], words: Wording) -> list[Reply]:
    """Ask each player for all its replies in one call, and read them."""
    replies: dict[int, Reply] = {}
    for player in {id(player): player for player in seated}.values():
        own = [i for i, one in enumerate(seated) if one is player]
        for i, reply in zip(own, player.reply([situations[i] for i in own]), strict=True):
            replies[i] = replace(reply, action=words.read(situations[i], reply.text))
    return [replies[i] for i in range(len(situations))]

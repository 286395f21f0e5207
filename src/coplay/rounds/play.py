"""Play games in rounds: what each seat knows when it is asked, and many games at once.

Chance that belongs to the game is drawn by group: games of one group are dealt the same (common random numbers), so that their returns
differ by what the players did alone.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Protocol

from coplay.games.rounds import Action, Phase, RoundGame
from coplay.rng import draws
from coplay.rounds.types import Reply, Round, RoundEpisode, Situation, settling_actions


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


@dataclass(frozen=True)
class RoundTable:
    """A place for a game: its seed and group, and who sits down."""

    seed: int
    """The run's seed."""
    group: int
    """Games of one group are dealt the same."""
    index: int
    """Which of the seed's games this is."""
    players: Mapping[str, RoundPlayer]
    """By seat."""


def tables_of(seed: int, groups: Sequence[int], players: Mapping[str, RoundPlayer]) -> list[RoundTable]:
    """A table for each of the groups' numbers, all with the same players."""
    return [RoundTable(seed, group, index, players) for index, group in enumerate(groups)]


def play_rounds(
    words: Wording, tables: Sequence[RoundTable], *, rounds: int, occasion: tuple[int | str, ...], retries: int = 0
) -> list[RoundEpisode]:
    """Play one episode at each table, all in step, asking each player once for all that it has to say at a time.

    Args:
        words: the game in words; it has the rules and reads the replies.
        tables: the games, of one seed or several.
        rounds: T, the number of rounds.
        occasion: what this is called within its seed, e.g. ``("train", trial)``; names the streams of chance.
        retries: how often a reply that cannot be read is asked for again. What stands is then no longer what the player would have said,
            but that on condition that it can be read; each reply tells how many were thrown away.

    Returns:
        One episode a table, in order.
    """
    game = words.game
    episodes = [RoundEpisode(table.seed, table.group, table.index) for table in tables]
    for number in range(rounds):
        chance = {
            (seed, group): draws(seed, "deal", *occasion, group, number, n=game.draws).tolist()
            for seed, group in dict.fromkeys((table.seed, table.group) for table in tables)
        }
        deals = [game.deal(chance[table.seed, table.group]) for table in tables]
        replies: list[dict[str, dict[str, Reply]]] = [{} for _ in episodes]
        for phase in game.phases(number):
            asked = [(place, seat) for place in range(len(tables)) for seat in phase.seats]
            situations = [
                _situation(game, episodes[place], deals[place], replies[place], phase, seat, number, occasion)
                for place, seat in asked
            ]
            seated = [tables[place].players[seat] for place, seat in asked]
            for (place, seat), reply in zip(asked, _ask(seated, situations, words, retries), strict=True):
                replies[place].setdefault(phase.name, {})[seat] = reply
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


def _ask(seated: Sequence[RoundPlayer], situations: Sequence[Situation], words: Wording, retries: int) -> list[Reply]:
    """Every situation's reply; what cannot be read is asked for again, so often."""
    replies = _ask_once(seated, situations, words)
    for attempt in range(1, retries + 1):
        unread = [i for i, reply in enumerate(replies) if reply.action is None]
        if not unread:
            break
        asked = [replace(situations[i], attempt=attempt) for i in unread]
        for i, reply in zip(unread, _ask_once([seated[i] for i in unread], asked, words), strict=True):
            replies[i] = replace(reply, retries=attempt)
    return replies


def _ask_once(seated: Sequence[RoundPlayer], situations: Sequence[Situation], words: Wording) -> list[Reply]:
    """Ask each player for all its replies in one call, and read them."""
    replies: dict[int, Reply] = {}
    for player in {id(player): player for player in seated}.values():
        own = [i for i, one in enumerate(seated) if one is player]
        for i, reply in zip(own, player.reply([situations[i] for i in own]), strict=True):
            replies[i] = replace(reply, action=words.read(situations[i], reply.text))
    return [replies[i] for i in range(len(situations))]

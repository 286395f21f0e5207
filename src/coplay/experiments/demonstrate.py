"""Demonstrations as a data set: strategies play games, give their reasons, and every decision of theirs becomes an example for supervised fine-tuning.

What is written as a prompt is what coplay's language models read when they are asked the same (:mod:`coplay.games.conversation`).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from statistics import median

from coplay.errors import CoplayError, UsageError
from coplay.experiments.sft_data import CARD, TRAIN, VALID, Example, line_of
from coplay.files.kinds import newest_version
from coplay.files.store import Store
from coplay.files.writing import json_text, new_directory
from coplay.games.base import Game
from coplay.games.conversation import chat_messages
from coplay.games.memory import History, Memory
from coplay.games.records import Episode, Occupant, Reply, Request
from coplay.play.loop import StreamNames, Table, play_episode
from coplay.players.base import Player, PlayerWrapper
from coplay.players.named import make_player
from coplay.players.sampling import sample
from coplay.players.scripted import make_script
from coplay.recipes.demonstrations import Demonstrations, Reason
from coplay.rng import draws, stream
from coplay.runs.directory import is_taken
from coplay.text.chat import ChatMessage


@dataclass(frozen=True)
class Made:
    """A data set that was made."""

    train: list[Example]
    """What is trained on."""
    valid: list[Example]
    """What is measured on."""
    card: dict[str, object]
    """What ``card.json`` holds."""


@dataclass(frozen=True)
class Decision:
    """One decision of a demonstrator."""

    example: Example
    """As it is written."""
    action: str
    """The action, as the game shows it."""


def demonstrate(
    plans: Sequence[Demonstrations],
    out: Path,
    *,
    seed: int,
    memory: Memory = Memory.CHAT,
    validation: float = 0.2,
    command: str = "",
) -> Made:
    """Play demonstrations and write them to a new directory. The same arguments give the same bytes.

    Args:
        plans: what is played, a game each.
        out: the directory.
        seed: decides strategies, deals, draws and which episodes are for validation.
        memory: what the prompts show of the past. It must be that of the players that are to be trained.
        validation: the share of each game's episodes that is for validation.
        command: what was asked for, for the card.

    Raises:
        UsageError: for anything wrong with the plans or the directory, before anything is written.
    """
    refuse_taken(out)
    games = [plan.checked() for plan in plans]
    if not 0 < validation < 1:
        raise UsageError(f"validation must be a share of the episodes between 0 and 1, got {validation:g}")
    train: list[Example] = []
    valid: list[Example] = []
    cards: dict[str, object] = {}
    for plan, game in zip(plans, games, strict=True):
        decisions = play(plan, game, seed=seed, memory=memory)
        held = held_out(plan.episodes * len(plan.opponents), game.name, seed=seed, share=validation)
        parts = {name: [one for one in decisions if (one.example.episode in held) == kept] for name, kept in _PARTS}
        train += [one.example for one in parts["train"]]
        valid += [one.example for one in parts["valid"]]
        cards[game.name] = _game_card(plan, game, parts)
    card: dict[str, object] = {
        "version": newest_version(CARD),
        "command": command,
        "seed": seed,
        "memory": memory.value,
        "split": {"by": "episode", "validation": validation},
        "examples": {"train": len(train), "valid": len(valid)},
        "reply_characters": _lengths(train + valid),
        "known_prompts": _known_prompts(train, valid),
        "games": cards,
    }
    with new_directory(out) as temporary:
        store = Store(temporary, "demonstrations")
        store.write(TRAIN, "".join(map(line_of, train)))
        store.write(VALID, "".join(map(line_of, valid)))
        store.write(CARD, json_text(card))
        store.commit(finished=True)
    return Made(train, valid, card)


def refuse_taken(out: Path) -> None:
    """A data set never overwrites anything."""
    if is_taken(out):
        raise UsageError(f"{out} exists already; choose another --out")


def of_size(plan: Demonstrations, examples: int) -> Demonstrations:
    """The same demonstrations with as few whole episodes, the same number against each opponent, as give so many decisions, one a round."""
    if examples < 1:
        raise UsageError(f"--examples must be at least 1, got {examples}")
    rounds = plan.rounds or plan.checked().rounds
    return replace(plan, episodes=max(2, -(-examples // (rounds * len(plan.opponents)))))


def held_out(episodes: int, game: str, *, seed: int, share: float) -> frozenset[int]:
    """The numbers of the episodes that are for validation, one at least: whole episodes, so that no decision of an episode that is trained on is."""
    order = stream(seed, "demonstrations split", game).permutation(episodes)
    return frozenset(int(number) + 1 for number in order[: min(episodes - 1, max(1, round(share * episodes)))])


# ---------------------------------------------------------------------- play


def play(plan: Demonstrations, game: Game, *, seed: int, memory: Memory) -> list[Decision]:
    """All decisions of all episodes, in their order. More episodes begin with the same ones.

    Demonstrators take the seats in turn. The number of an episode counts all opponents' first episodes before their second.
    """
    found: dict[int, list[Decision]] = {}
    seats, player = plan.seats_in(game), cache(lambda who, seat: make_player(who, game, seat))
    for place, opponent in enumerate(plan.opponents):
        seated, recorders = [], []
        for index in range(plan.episodes):
            seat = seats[index % len(seats)]
            (uniform,) = draws(seed, "demonstrator", game.name, opponent, index, n=1)
            name = list(plan.strategies)[sample(list(plan.strategies.values()), float(uniform))]
            recorders.append(Demonstrator(make_script(name, game, seat), game, name, plan.reason))
            beside = plan.beside(seat, opponent, game)
            others = {one: Occupant(player(who, one), who) for one, who in beside.items()}
            seated.append({one: others.get(one) or Occupant(recorders[-1], name) for one in game.seats})
        tables = [Table(game, seed, index, index, of_table) for index, of_table in enumerate(seated)]
        streams = StreamNames(("demonstrations", game.name, opponent))
        episodes = play_episode(game, tables, rounds=plan.rounds or game.rounds, streams=streams)
        for index, (recorder, episode) in enumerate(zip(recorders, episodes, strict=True)):
            number = index * len(plan.opponents) + place + 1
            found[number] = list(_decisions(recorder, episode, number, memory))
    return [one for number in sorted(found) for one in found[number]]


class Demonstrator(PlayerWrapper):
    """A strategy that gives its reasons and keeps what it was asked in one episode."""

    def __init__(self, player: Player, game: Game, strategy: str, reason: Reason) -> None:
        super().__init__(player)
        self.game, self.strategy, self.reason = game, strategy, reason
        self.asked: list[tuple[Request, Reply]] = []

    def act(self, requests: Sequence[Request]) -> list[Reply]:
        """The strategy's replies, with reasons before the actions."""
        replies = [self._reasoned(*pair) for pair in zip(requests, self.player.act(requests), strict=True)]
        self.asked += zip(requests, replies, strict=True)
        return replies

    def _reasoned(self, request: Request, reply: Reply) -> Reply:
        assert reply.action is not None
        reason = self.reason(self.game, request, self.strategy, reply.action)
        text = f"{reason}\n{reply.text}" if reason else reply.text
        if self.game.parse_action(request, text) != reply.action:
            raise CoplayError(
                f"demonstrations of {self.game.name}: {text!r} of {self.strategy} does not mean {reply.action!r}"
            )
        return reply._replace(text=text)


def _decisions(recorder: Demonstrator, episode: Episode, number: int, memory: Memory) -> Iterator[Decision]:
    """The decisions of one episode, each with the prompt that a language model with this memory reads there."""
    game = recorder.game
    history = History(lambda index: game.own_states(game.seats[index]))
    history.start_episode()
    told = 0
    for request, reply in recorder.asked:
        for outcome in episode.outcomes[told : request.now.number]:
            history.append(outcome.conduct, void=outcome.void)
        told = request.now.number
        observation = history.observe(game.seats.index(request.seat), memory)
        prompt = chat_messages(game, replace(request, observation=observation), memory)
        messages = (*prompt, ChatMessage("assistant", reply.text))
        example = Example(messages, game.name, recorder.strategy, number, request.now.number + 1)
        assert reply.action is not None
        yield Decision(example, game.show(reply.action))


# ---------------------------------------------------------------------- the card

_PARTS = (("train", False), ("valid", True))


def _game_card(plan: Demonstrations, game: Game, parts: Mapping[str, Sequence[Decision]]) -> dict[str, object]:
    """What was played in one game, and what was done in it."""
    decisions = [one for of_part in parts.values() for one in of_part]
    return {
        "rounds": plan.rounds or game.rounds,
        **({"seats": list(plan.seats)} if plan.seats else {}),
        "opponents": list(plan.opponents),
        "episodes_per_opponent": plan.episodes,
        "examples": {name: len(of_part) for name, of_part in parts.items()},
        "strategies": {
            name: {
                "weight": weight,
                "episodes": len({one.example.episode for one in decisions if one.example.strategy == name}),
                "examples": {
                    part: sum(one.example.strategy == name for one in of_part) for part, of_part in parts.items()
                },
                "actions": dict(
                    sorted(Counter(one.action for one in decisions if one.example.strategy == name).items())
                ),
            }
            for name, weight in plan.strategies.items()
        },
    }


def _lengths(examples: Sequence[Example]) -> dict[str, float]:
    """How long replies are, in characters."""
    lengths = [len(example.reply) for example in examples]
    return {"median": float(median(lengths)), "max": max(lengths)}


def _known_prompts(train: Sequence[Example], valid: Sequence[Example]) -> float:
    """The share of the examples for validation whose prompt occurs in training, letter by letter, in another episode."""
    known = {example.prompt for example in train}
    return sum(example.prompt in known for example in valid) / len(valid)

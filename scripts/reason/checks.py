"""What the finished model does: it plays every game against scripted players, and its replies are compared with those of the base behaviour."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import product
from pathlib import Path

import numpy as np
import torch
from talk.demonstrations import Demonstration
from talk.training import Rows, question_of, reply_logprobs

from coplay.games.memory import Memory
from coplay.games.records import Occupant, Reply, Request
from coplay.models.bank import AdapterBank, SlotName
from coplay.models.loading import LoadedModel, encode_all, load_model
from coplay.models.scoring import Scorer
from coplay.play.loop import StreamNames, Table, play_episode
from coplay.players.base import PlayerWrapper
from coplay.players.text_model import TextModel
from coplay.rng import stream
from reason.demonstrations import Lessons, lessons_of, roles_of

GAMES = 150
"""Games of a check, in which the model takes the seats in turn."""

PROMPTS = {"negotiation-v2": 10}
"""Of how many prompts all replies are scored, the first ones met; of 40 in other games."""

MAX_TOKENS = 24


@dataclass(frozen=True)
class Check:
    """What was measured in one game."""

    replies: int
    """How many replies were sampled."""
    legal: float
    """Share of the sampled replies that name an action."""
    fits: float
    """Share of the sampled replies that are, letter by letter, a reason for their action that fits the history."""
    length: float
    """Mean number of tokens of a reply."""
    longest: int
    """The most tokens of a reply."""
    prompts: int
    """Of how many prompts all replies were scored."""
    known: float
    """Mean probability of all replies that fit the prompt's history."""
    distance: float
    """Total variation between the actions' distribution, among the replies that fit, and the uniform one; the mean over prompts."""
    farthest: float
    """The largest of these distances."""


class Listener(PlayerWrapper):
    """Keeps what a player was asked and replied."""

    def __init__(self, player: TextModel) -> None:
        super().__init__(player)
        self.heard: list[tuple[Request, Reply]] = []

    def act(self, requests: Sequence[Request]) -> list[Reply]:
        """The player's replies."""
        replies = self.player.act(requests)
        self.heard += zip(requests, replies, strict=True)
        return list(replies)


def check(directory: Path, names: Sequence[str], *, seed: int = 1) -> dict[str, Check]:
    """Let the model in a directory play each of these games."""
    loaded, plain = (load_model(str(directory), device="cpu") for _ in range(2))
    scorer = Scorer(loaded.model, AdapterBank(loaded.model, [SlotName("unused", 0)], rank=1, alpha=1.0))
    return {name: _check(loaded, scorer, plain, lessons_of(name), seed) for name in names}


def _check(loaded: LoadedModel, scorer: Scorer, plain: LoadedModel, lessons: Lessons, seed: int) -> Check:
    game = lessons.game
    model = TextModel("model", loaded, scorer, game=game, memory=Memory.LAST_ROUND, max_tokens=MAX_TOKENS)
    listener = Listener(model)
    roles = roles_of(lessons, GAMES, stream(seed, "roles", game.name))
    tables = []
    for index in range(GAMES):
        seated = {seat: Occupant(lessons.scripts[roles[index, seat], seat], roles[index, seat]) for seat in game.seats}
        seated[game.seats[index % 2]] = Occupant(listener, "model")
        tables.append(Table(game, seed, index, index, seated))
    play_episode(game, tables, rounds=game.rounds, streams=StreamNames(("check",)))
    heard = listener.heard
    asked: dict[str, Request] = {}
    fitting: dict[str, set[str]] = defaultdict(set)
    for request, _ in heard:
        prompt = question_of(Demonstration(game, request, ""))
        asked.setdefault(prompt, request)
        fitting[prompt] |= _replies(lessons, request)
    fits = [reply.text in fitting[question_of(Demonstration(game, request, ""))] for request, reply in heard]
    lengths = [len(reply.tokens) for _, reply in heard]
    listed = list(asked)[: PROMPTS.get(game.name, 40)]
    scored = [_scored(plain, lessons, prompt, asked[prompt], fitting[prompt]) for prompt in listed]
    return Check(
        replies=len(heard),
        legal=float(np.mean([reply.action is not None for _, reply in heard])),
        fits=float(np.mean(fits)),
        length=float(np.mean(lengths)),
        longest=max(lengths),
        prompts=len(listed),
        known=float(np.mean([known for known, _ in scored])),
        distance=float(np.mean([distance for _, distance in scored])),
        farthest=max(distance for _, distance in scored),
    )


def _replies(lessons: Lessons, request: Request) -> set[str]:
    """All that the demonstrators say for any legal action."""
    return {
        lessons.reply(request, name, action) for name, action in product(lessons.strategies, lessons.choices(request))
    }


@torch.no_grad()
def _scored(
    loaded: LoadedModel, lessons: Lessons, prompt: str, request: Request, fitting: set[str]
) -> tuple[float, float]:
    """The probability of all replies that fit, and how far the actions' distribution among them is from the uniform one."""
    game, choices = lessons.game, lessons.choices(request)
    words = [game.render_action(request, action) for action in choices]
    (ids,) = encode_all(loaded.tokenizer, [prompt])
    texts = sorted(fitting)
    replies = encode_all(loaded.tokenizer, texts)
    logprobs_N, rows_N = reply_logprobs(loaded.model, Rows([ids] * len(replies), replies))
    logprobs_R = torch.zeros(len(replies)).index_add(0, rows_N, logprobs_N)
    actions_R = torch.tensor([words.index(text.rpartition("\n")[2]) for text in texts])
    probs_A = torch.zeros(len(words)).index_add(0, actions_R, logprobs_R.exp())
    known = float(probs_A.sum())
    return known, 0.5 * float((probs_A / known - 1 / len(words)).abs().sum())


def as_table(found: dict[str, Check]) -> str:
    """A markdown table."""
    rows = [
        "| game | replies | legal | reason fits | tokens, mean and most | prompts | all that fit | distance from uniform, mean | most |",
        "|---|---|---|---|---|---|---|---|---|",
    ]
    for name, one in found.items():
        rows.append(
            f"| {name} | {one.replies:,} | {one.legal:.2%} | {one.fits:.1%} | {one.length:.1f}, {one.longest} | {one.prompts} |"
            f" {one.known:.1%} | {one.distance:.3f} | {one.farthest:.3f} |"
        )
    return "\n".join(rows)

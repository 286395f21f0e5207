"""The embedded model for SEPO's games: does it do what its card says?"""

from __future__ import annotations

from collections import defaultdict

import pytest
import torch

from coplay.conformance.players import example_requests
from coplay.games import make_game
from coplay.games.conversation import chat_messages
from coplay.games.memory import Memory
from coplay.games.records import Request
from coplay.models.bank import AdapterBank, SlotName
from coplay.models.encoding import PromptEncoder
from coplay.models.generation import Generator
from coplay.models.loading import LoadedModel, encode, load_model, load_tokenizer
from coplay.models.scoring import Scorer
from coplay.players.text_model import TextModel
from coplay.recipes import make_config
from coplay.recipes.sepo.demonstrations import DEMONSTRATIONS
from coplay.recipes.sepo.settings import TINY

NAME = "tiny-reason"

torch.set_num_threads(1)


@pytest.fixture(scope="module")
def loaded() -> LoadedModel:
    return load_model(NAME, device="cpu")


@pytest.fixture(scope="module")
def scorer(loaded: LoadedModel) -> Scorer:
    return Scorer(loaded.model, AdapterBank(loaded.model, [SlotName("unused", 0)], rank=1, alpha=1.0))


def requests_of(name: str) -> list[Request]:
    game = make_game(name)
    return [one for seat in game.seats for one in example_requests(game, seat, Memory.LAST_ROUND)]


def demonstrated(name: str, request: Request) -> list[str]:
    """All that demonstrators say for any legal action, as far as they have words for it."""
    game, shown = make_game(name), DEMONSTRATIONS[name]
    replies = {
        f"{shown.reason(game, request, strategy, action)}\n{game.render_action(request, action)}"
        for strategy in shown.strategies
        for action in game.choices(request) or ()
    }
    return sorted(reply for reply in replies if not reply.startswith("I play "))


def probabilities(loaded: LoadedModel, scorer: Scorer, name: str, request: Request) -> dict[str, float]:
    """The model's probability of all these replies."""
    replies = demonstrated(name, request)
    messages = chat_messages(make_game(name), request, Memory.LAST_ROUND)
    prompt = encode(loaded.tokenizer, loaded.chat.conversation(messages))
    tokens = [encode(loaded.tokenizer, reply) for reply in replies]
    scores = Generator(scorer, stop=frozenset()).score([-1] * len(replies), [prompt] * len(replies), tokens)
    logprobs_R = torch.zeros(len(replies)).index_add(0, scores.rows_N, scores.logprobs_N)
    return dict(zip(replies, logprobs_R.exp().tolist(), strict=True))


@pytest.mark.parametrize("name", DEMONSTRATIONS)
def test_its_replies_are_reasons_with_legal_actions(name: str, loaded: LoadedModel, scorer: Scorer) -> None:
    game, requests = make_game(name), requests_of(name)
    tokens = TINY["learner.max_tokens"]
    assert isinstance(tokens, int)
    model = TextModel("model", loaded, scorer, game=game, memory=Memory.LAST_ROUND, max_tokens=tokens)
    replies = model.act(requests)
    assert sum(reply.action is None for reply in replies) <= 0.02 * len(replies)
    fits = [reply.text in demonstrated(name, one) for one, reply in zip(requests, replies, strict=True)]
    assert sum(fits) >= 0.8 * len(fits)  # some reasons speak of rounds that the last one does not show
    assert max(len(reply.tokens) for reply in replies) < tokens


@pytest.mark.parametrize("name", ["ipd-8", "auction", "kuhn"])
def test_it_acts_at_random_whatever_it_reads(name: str, loaded: LoadedModel, scorer: Scorer) -> None:
    requests = {chat_messages(make_game(name), one, Memory.LAST_ROUND)[0].text: one for one in requests_of(name)}
    for request in list(requests.values())[:12]:
        by_action: dict[str, float] = defaultdict(float)
        for reply, probability in probabilities(loaded, scorer, name, request).items():
            by_action[reply.rpartition("\n")[2]] += probability
        assert sum(by_action.values()) > 0.85
        shares = [one / sum(by_action.values()) for one in by_action.values()]
        assert max(abs(share - 1 / len(shares)) for share in shares) < 0.15


def test_what_it_says_depends_on_what_it_reads(loaded: LoadedModel, scorer: Scorer) -> None:
    for request in requests_of("ipd-8"):
        if request.past:
            last = request.past[-1].actions("action")["bob" if request.seat == "alice" else "alice"]
            if last is not None:
                fitting = "They cooperated" if last == "cooperate" else "They defected"
                found = probabilities(loaded, scorer, "ipd-8", request)
                assert sum(p for reply, p in found.items() if reply.startswith(fitting)) > 0.3


def test_reasons_are_a_few_tokens_and_actions_one() -> None:
    tokenizer = load_tokenizer(NAME)
    for name in DEMONSTRATIONS:
        game = make_game(name)
        for request in requests_of(name)[:8]:
            line_break = encode(tokenizer, "\n")
            for action in (game.choices(request) or ())[:20]:
                word = encode(tokenizer, game.render_action(request, action))
                assert len(line_break) == 1 and len(word) == (7 if name == "negotiation-v2" else 1)
                assert encode(tokenizer, f"Because.\n{game.render_action(request, action)}")[-len(word) :] == word
            lengths = sorted(len(encode(tokenizer, reply)) for reply in demonstrated(name, request))
            assert lengths[len(lengths) // 2] <= 9  # a few sentences belong to actions that no demonstrator takes


@pytest.mark.parametrize("name", DEMONSTRATIONS)
def test_prompts_are_short(name: str) -> None:
    tokenizer = load_tokenizer(NAME)
    loaded = load_model(NAME, device="cpu")
    chats = [chat_messages(make_game(name), one, Memory.LAST_ROUND) for one in requests_of(name)]
    texts = [loaded.chat.conversation(chat) for chat in chats]
    assert max(map(len, PromptEncoder(tokenizer).encode(texts))) <= 64


@pytest.mark.parametrize("name", DEMONSTRATIONS)
def test_the_recipes_name_it(name: str) -> None:
    config = make_config(f"sepo/{name}")
    learner = config.learners["learner"]
    memory = Memory.NONE if name == "kuhn" else Memory.LAST_ROUND
    assert (config.model, learner.memory) == (NAME, memory)

"""Replies that end where their game has the action: exactly the tokens sampled so far, whatever is generated beside them."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
import torch
from known_replies import said, talking_model

from coplay.conformance.players import example_requests
from coplay.games import make_game
from coplay.games.memory import Memory
from coplay.games.reasoned_matrix import IPD_8, ReasonedMatrixGame
from coplay.games.records import Request, Turn
from coplay.games.split import ALICE, BOB
from coplay.models.bank import REFERENCE
from coplay.models.loading import encode
from coplay.models.scoring import Scorer
from coplay.players.completion import Completion
from coplay.players.text_model import TextModel
from coplay.text.model_chat import Chat

torch.set_num_threads(1)

WORDS = replace(IPD_8, labels=dict.fromkeys((ALICE, BOB), ("books", "10")))
"""The game with words that a model without a plan happens to say now and then."""


@pytest.fixture(scope="module")
def tiny() -> tuple[Any, Scorer]:
    return talking_model()


def player(tiny: tuple[Any, Scorer], game: ReasonedMatrixGame = WORDS, **options: Any) -> TextModel:
    options = {"memory": Memory.LAST_ROUND, "max_tokens": 40, "temperature": 3.0, **options}
    return TextModel("model", *tiny, game=game, **options)


def requests_of(game: ReasonedMatrixGame) -> list[Request]:
    found = [one for seat in game.seats for one in example_requests(game, seat, Memory.LAST_ROUND)][:15]
    return [replace(one, slot=(REFERENCE, 0, 1)[i % 3]) for i, one in enumerate(found)]


def test_a_reply_is_what_it_would_have_been_up_to_its_action(
    tiny: tuple[Any, Scorer], monkeypatch: pytest.MonkeyPatch
) -> None:
    model, requests = player(tiny), requests_of(WORDS)
    replies = model.act(requests)
    monkeypatch.setattr(Completion, "of", lambda *_: None)
    whole = model.act(requests)
    shortened = 0
    for request, short, full in zip(requests, replies, whole, strict=True):
        n = len(short.tokens)
        assert short.tokens == full.tokens[:n] and short.logprobs == pytest.approx(full.logprobs[:n], abs=1e-4)
        over = [WORDS.completes(request, model.decode(full.tokens[: end + 1])) for end in range(len(full.tokens))]
        assert over.index(True) == n - 1 if True in over else n == len(full.tokens)
        if n < len(full.tokens):
            shortened += 1
            assert short.action in ("cooperate", "defect") and short.tokens[-1] not in model.stop
    assert shortened > 5


def test_a_text_that_ends_replies_ends_them_where_it_is_written(tiny: tuple[Any, Scorer]) -> None:
    """Whatever the game waits for, the reply is what it would have been up to there, and does not hold the text."""
    loaded, scorer = tiny
    for game in (WORDS, make_game("ipd-ab")):
        requests = [replace(one, slot=0) for one in example_requests(game, game.seats[0], Memory.LAST_ROUND)][:8]
        whole = player(tiny, game).act(requests)  # type: ignore[arg-type]
        ends = [one.text[i : i + 2] for one, i in zip(whole, (5, 9), strict=False)]
        chat = Chat(loaded.tokenizer, ends=[*loaded.chat.stop, *ends])
        model = TextModel(
            "model",
            replace(loaded, chat=chat),
            scorer,
            game=game,
            memory=Memory.LAST_ROUND,
            max_tokens=40,
            temperature=3.0,
        )
        shortened = 0
        for short, full in zip(model.act(requests), whole, strict=True):
            n = len(short.tokens)
            assert short.tokens == full.tokens[:n]
            at = min((full.text.find(end) for end in ends if end in full.text), default=len(full.text))
            assert short.text == full.text[:at]
            said = [model.decode(short.tokens[:m]) for m in (n - 1, n)]
            assert [any(end in text for end in ends) for text in said] == [False, at < len(full.text)]
            shortened += at < len(full.text)
        assert shortened >= 2


def test_a_batch_makes_no_difference(tiny: tuple[Any, Scorer]) -> None:
    model, requests = player(tiny), requests_of(WORDS)
    together = model.act(requests)
    alone = [reply for request in requests for reply in model.act([request])]
    backwards = model.act(requests[::-1])[::-1]
    for other in (alone, backwards):
        assert [one.tokens for one in other] == [one.tokens for one in together]
        assert [one.action for one in other] == [one.action for one in together]


@pytest.mark.parametrize("grad", [False, True])
def test_a_reply_is_scored_as_it_was_sampled(tiny: tuple[Any, Scorer], grad: bool) -> None:
    """Without a token that ends the turn, which was not sampled."""
    model, requests = player(tiny), requests_of(WORDS)
    replies = model.act(requests)
    turns = [
        Turn(one.seat, one.now.number, one.phase.name, 0, one.observation, reply)
        for one, reply in zip(requests, replies, strict=True)
    ]
    scores = model.score_tokens([one.slot or 0 for one in requests], turns, grad=grad)
    sampled = [x for reply in replies for x in reply.logprobs]
    assert scores.logprobs_N.tolist() == pytest.approx(sampled, abs=1e-3)


SAID = {
    "I trust Bob.\nCOOPERATE and so on": ("I trust Bob.\nCOOPERATE", "cooperate"),
    "COOPERATE or DEFECT": ("COOPERATE", "cooperate"),
    "COOPERATE DEFECT " * 10: ("COOPERATE", "cooperate"),
    "<think>DEFECT\nCOOPERATE</think>\nDEFECT.": ("<think>DEFECT\nCOOPERATE</think>\nDEFECT", "defect"),
    "<think>COOPERATE\nDEFECT": ("<think>COOPERATE\nDEFECT", None),
    "<think>DEFECT</think>": ("<think>DEFECT</think>", None),
    "I will cooperate.": ("I will cooperate.", None),
    "": ("", None),
    "<end_of_turn>": ("", None),
    "DEFECT<end_of_turn>": ("DEFECT", "defect"),
    "é \U0001f91d 合作\nDEFECT \U0001f91d": ("é \U0001f91d 合作\nDEFECT", "defect"),
}


def test_the_first_valid_action_ends_a_reply(tiny: tuple[Any, Scorer]) -> None:
    model = player(tiny, IPD_8, max_tokens=200)
    known = {text: expected for text, expected in SAID.items() if model.decode(encode(tiny[0].tokenizer, text)) == text}
    assert len(known) >= len(SAID) - 1  # the model may not know every character
    assert said(model, requests_of(IPD_8)[0], *known) == list(known.values())


def test_a_reply_that_does_not_end_has_no_action(tiny: tuple[Any, Scorer]) -> None:
    model = player(tiny, IPD_8, max_tokens=5)
    ((text, action),) = said(model, requests_of(IPD_8)[0], "I wonder and wonder. " * 50)
    assert action is None and "I wonder and".startswith(text[:8]) and len(text) < 40


def test_a_thought_that_the_prompt_began_is_one(tiny: tuple[Any, Scorer], monkeypatch: pytest.MonkeyPatch) -> None:
    """Some chat templates end with the tag."""
    model = player(tiny, IPD_8, max_tokens=200)
    render = model._render
    monkeypatch.setattr(model, "_render", lambda chat: f"{render(chat)}<think>\n")
    texts = ["DEFECT\nCOOPERATE", "DEFECT\nNo.</think>COOPERATE. Or not"]
    assert said(model, requests_of(IPD_8)[0], *texts) == [
        (texts[0], None),
        ("DEFECT\nNo.</think>COOPERATE", "cooperate"),
    ]


def test_only_tokens_that_may_end_a_word_are_looked_at(tiny: tuple[Any, Scorer]) -> None:
    asked: list[str] = []

    class Asked(ReasonedMatrixGame):
        def completes(self, request: Request, text: str) -> bool:
            asked.append(text)
            return super().completes(request, text)

    game = Asked(**{name: getattr(IPD_8, name) for name in IPD_8.__dataclass_fields__ if name != "one_token"})
    assert said(player(tiny, game, max_tokens=200), requests_of(IPD_8)[0], "They may take me for a fool.\nDEFECT") == [
        ("They may take me for a fool.\nDEFECT", "defect")
    ]
    lines = [text.rpartition("\n")[2] for text in asked]
    assert lines == ["Th", "DE", "DEFE", "DEFECT"]  # those with an E or a T


def test_games_without_an_end_are_never_asked(tiny: tuple[Any, Scorer]) -> None:
    request = example_requests(make_game("ipd-ab"), ALICE, Memory.LAST_ROUND)[0]
    assert Completion(make_game("ipd-ab"), lambda tokens: "").of([request], [""]) is None

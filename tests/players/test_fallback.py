"""Replies that name no action: the model is made to choose one, which is played, counted and not learnt from."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import pytest
import torch
from known_replies import said, talking_model
from small_text_runs import small_text

from coplay.conformance.players import example_requests
from coplay.errors import UsageError
from coplay.evaluation.match import play_match
from coplay.evaluation.summary import aggregate
from coplay.evaluation.tables import seeds_table
from coplay.games import make_game
from coplay.games.memory import Memory
from coplay.games.reasoned_matrix import IPD_8
from coplay.games.records import Occupant, Request, Turn
from coplay.games.split import ALICE, BOB
from coplay.learners.config import LearnerConfig
from coplay.learners.ppo import PPOLearner
from coplay.learners.settings import PPO
from coplay.models.bank import REFERENCE
from coplay.models.loading import encode
from coplay.models.scoring import Scorer
from coplay.play.loop import StreamNames, Table, play_episode
from coplay.players.completion import Completion
from coplay.players.fallback import final_question
from coplay.players.model_player import model_player
from coplay.players.scripted import make_script
from coplay.players.text_model import TextModel
from coplay.report.replay import _pack_reply
from coplay.runs.checks import checked
from coplay.runs.config import Config
from coplay.runs.factory import build

torch.set_num_threads(1)


@pytest.fixture
def tiny() -> tuple[Any, Scorer]:
    return talking_model()


def player(tiny: tuple[Any, Scorer], *, fallback: bool = True, **options: Any) -> TextModel:
    options = {"game": IPD_8, "memory": Memory.CHAT, "max_tokens": 6, "temperature": 3.0, **options}
    return TextModel("model", *tiny, fallback=fallback, **options)


def requests_of(memory: Memory = Memory.CHAT) -> list[Request]:
    found = [one for seat in IPD_8.seats for one in example_requests(IPD_8, seat, memory)][:10]
    return [replace(one, slot=(REFERENCE, 0, 1)[i % 3]) for i, one in enumerate(found)]


def test_the_action_is_the_likelier_first_token_after_the_question(tiny: tuple[Any, Scorer]) -> None:
    """One forward pass over the whole conversation, all else masked."""
    requests = requests_of()
    said = player(tiny, fallback=False).act(requests)
    recovered = player(tiny).act(requests)
    loaded, scorer = tiny
    seen = set()
    for request, before, after in zip(requests, said, recovered, strict=True):
        assert before.action is None and after.text == before.text and after.prompt == before.prompt
        assert after.fallback and after.tokens == after.logprobs == () and not before.fallback
        shown = player(tiny, fallback=False).request_text(request)
        asked = (
            f"{shown}{before.text}<end_of_turn>\n<start_of_turn>user\nState your final action (COOPERATE/DEFECT):"
            "<end_of_turn>\n<start_of_turn>model\n"
        )
        if "<" in before.text:  # a tag that the model has said is broken up
            continue
        with torch.no_grad(), scorer.bank.route([request.slot if request.slot is not None else REFERENCE]):
            logits = scorer.model(input_ids=torch.tensor([encode(loaded.tokenizer, asked)])).logits[0, -1]
        c, d = (float(logits[encode(loaded.tokenizer, word)[0]]) for word in ("COOPERATE", "DEFECT"))
        assert after.action == ("cooperate" if c > d else "defect")
        seen.add(request.slot)
    assert len(seen) > 1


def test_many_actions_are_not_listed_again() -> None:
    assert final_question(["LOW", "HIGH"]).text == "State your final action (LOW/HIGH):"
    assert (
        final_question([str(i) for i in range(17)]).text == "State your final action, in the form that was asked for:"
    )


def test_a_batch_makes_no_difference(tiny: tuple[Any, Scorer]) -> None:
    model, requests = player(tiny), requests_of()
    together = model.act(requests)
    assert [model.act([one])[0].action for one in requests] == [one.action for one in together]
    assert [one.action for one in model.act(requests[::-1])[::-1]] == [one.action for one in together]


def test_what_names_an_action_stays_as_it_is(tiny: tuple[Any, Scorer], monkeypatch: pytest.MonkeyPatch) -> None:
    model, requests = player(tiny), requests_of()[:3]
    monkeypatch.setattr(model, "decode", lambda tokens: "DEFECT")
    plain = player(tiny, fallback=False)
    monkeypatch.setattr(plain, "decode", lambda tokens: "DEFECT")
    assert model.act(requests) == plain.act(requests)
    assert all(reply.tokens and not reply.fallback for reply in model.act(requests))


SAID = [
    "",
    "<end_of_turn>",
    "I wonder and wonder. " * 50,
    "<think>I wonder",
    "<think>DEFECT</think>",
    "I will DEFECT.\nOr not.",
    "\u5408\u4f5c \u00e9 \U0001f91d",
]


@pytest.mark.parametrize("template", [True, False])
def test_whatever_was_said_an_action_is_found(
    tiny: tuple[Any, Scorer], template: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Without a chat template of its own the model reads the form of its family."""
    if not template:
        monkeypatch.setattr(tiny[0].tokenizer, "chat_template", None)
    request = requests_of()[0]
    monkeypatch.setattr(Completion, "of", lambda *_: None)
    without = said(player(tiny, fallback=False, max_tokens=30), request, *SAID)
    assert [action for _, action in without] == [None] * len(SAID)
    found = said(player(tiny, max_tokens=30), request, *SAID)
    assert [text for text, _ in found] == [text for text, _ in without]
    assert {action for _, action in found} <= {"cooperate", "defect"}


def test_a_broken_model_is_not_recovered(tiny: tuple[Any, Scorer]) -> None:
    """Its numbers have to be seen by whoever watches for divergence."""
    model = player(tiny)
    with torch.no_grad():
        for _, b in model.scorer.bank.weights.values():
            b[0] = float("nan")
    model.bump_version([0])
    (reply,) = model.act([replace(requests_of()[0], slot=0)])
    assert reply.action is None and not reply.fallback and not math.isfinite(sum(reply.logprobs))


# ---------------------------------------------------------------------- what is refused


def config(game: str, **learner: Any) -> Config:
    base = small_text("ipd-ab-grpo", f"game={game}", "rounds=2", "trials=2")
    own = LearnerConfig.model_validate(
        {**base.learners["learner"].model_dump(), "fallback": True, "max_tokens": 6, **learner}
    )
    return base.model_copy(update={"learners": {"learner": own}})


@pytest.mark.parametrize(
    ("game", "learner", "told"),
    [
        ("trust-and-split", {}, "game 'trust-and-split' also asks for open replies"),
        ("ipd-8", {"policy": "tabular", "algorithm": "ppo"}, "for language models that reply in text"),
        ("ipd-8", {"replies": "choice"}, "for language models that reply in text"),
    ],
)
def test_what_does_not_fit_is_refused_before_anything_is_loaded(game: str, learner: dict[str, Any], told: str) -> None:
    with pytest.raises(UsageError, match=r"learners.learner.fallback.*") as error:
        checked(config(game, **learner))
    assert told in str(error.value)


def test_a_model_of_single_turns_is_refused_before_it_plays() -> None:
    with pytest.raises(UsageError, match=r"second turn.*set fallback=false"):
        build(config("ipd-8").model_copy(update={"model": "tiny"}))


def test_players_of_other_games_are_refused() -> None:
    with pytest.raises(UsageError, match="which those of game 'ipd' do not; use tiny-talk"):
        model_player("fallback:tiny-talk", make_game("ipd"), "row")


def test_actions_that_have_the_same_tokens_are_refused(tiny: tuple[Any, Scorer]) -> None:
    model = player(tiny)
    assert model._fallback is not None
    model._fallback.encoder.encode = lambda texts: [(1, 2)] * len(texts)  # type: ignore[method-assign]
    with pytest.raises(UsageError, match="the same tokens"):
        model.act(requests_of()[:1])


# ---------------------------------------------------------------------- what is counted, and what is learnt


def test_a_run_counts_it_and_learns_nothing_from_it() -> None:
    state = build(config("ipd-8"))
    before = state.learners["learner"].state_dict(0)
    trial = state.run_trial(0)
    line, after = trial.lines[0], state.learners["learner"].state_dict(0)
    assert line["fallback/alice"] == line["fallback/bob"] == 1.0 and line["illegal/alice"] == 0.0
    assert line["state/I"] == 0.0 and line["note/learner"] == "update skipped: no replies to learn from"
    assert all(torch.equal(before[name], after[name]) for name in before)
    act = trial.episodes[0]["rounds"][0]["acts"][0]
    assert act["fallback"] is True and act["action"] in ("cooperate", "defect")
    assert _pack_reply(json.loads(json.dumps(act)), {})["fallback"] is True
    found = state.evaluate(rounds=2, episodes=2)
    assert found["seats"][ALICE]["fallback"]["mean"] == 1.0
    assert "(fallback 100.0%)" in seeds_table(found)


def test_without_it_there_is_no_trace_of_it() -> None:
    state = build(config("ipd-8", fallback=False))
    trial = state.run_trial(0)
    assert not [key for key in trial.lines[0] if key.startswith("fallback")]
    assert "fallback" not in json.dumps(trial.episodes)
    assert "fallback" not in json.dumps(state.evaluate(rounds=2, episodes=2))


def test_a_seed_without_any_counts_as_none() -> None:
    game = IPD_8
    players = {seat: Occupant(make_script("always_defect", game, seat), "x") for seat in game.seats}
    summary = play_match(game, players, rounds=1, episodes=1, seed=0).summary()
    other = json.loads(json.dumps(summary))
    other["seats"][ALICE]["fallback"] = 0.5
    seats: Mapping[str, Any] = aggregate({0: summary, 1: other})["seats"]
    assert seats[ALICE]["fallback"]["mean"] == 0.25 and "fallback" not in seats[BOB]


def test_a_model_plays_with_it() -> None:
    one = model_player("fallback:tiny-talk", IPD_8, ALICE)
    players = {ALICE: Occupant(one, one.name), BOB: Occupant(make_script("tit_for_tat", IPD_8, BOB), "tit_for_tat")}
    seat = play_match(IPD_8, players, rounds=2, episodes=2, seed=0).summary()["seats"]
    assert seat[ALICE]["illegal"] == 0.0 and seat[ALICE]["fallback"] > 0 and "fallback" not in seat[BOB]


def test_ppo_values_the_situation_and_leaves_the_reply_alone(tiny: tuple[Any, Scorer]) -> None:
    """The reward of its round counts; the policy gets no gradient from it."""
    model = player(tiny, memory=Memory.LAST_ROUND)
    settings = PPO(learning_rate=1e-2, value_gradient="head", minibatch=4, epochs=1)
    learner = PPOLearner("learner", model, seeds=[0], slots=[0], ppo=settings)
    seated = {
        ALICE: Occupant(model, "model", 0, "learner"),
        BOB: Occupant(make_script("tit_for_tat", IPD_8, BOB), "them"),
    }
    tables = [Table(IPD_8, 0, 0, index, seated) for index in range(3)]
    games = play_episode(IPD_8, tables, rounds=3, streams=StreamNames(("train", 0)))
    turns: list[Turn] = [turn for game in games for turn in game.turns[ALICE]]
    assert all(turn.reply.fallback for turn in turns)
    assert model.score_replies([0] * 9, turns).logprobs_R.tolist() == [0.0] * 9 == model.reference_logprobs(turns)
    before = learner.state_dict(0)
    learner.collect(games)
    figures = learner.update((0,))[0]
    after = learner.state_dict(0)
    assert figures["kl"] == 0.0 and math.isfinite(float(figures["value_loss"]))
    changed = {name for name in before if not torch.equal(before[name], after[name])}
    assert "head" in changed and not [name for name in changed if name.startswith("policy.")]

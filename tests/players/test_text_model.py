"""Language models that reply in text: seats, batches and past selves make no difference to what each of them replies."""

from typing import Any

import pytest
import torch
from known_replies import talking_model

from coplay.errors import UsageError
from coplay.games import GAMES, make_game
from coplay.games.memory import Memory
from coplay.games.records import Episode, Occupant, Request
from coplay.games.split import ALICE, BOB
from coplay.models.bank import REFERENCE
from coplay.models.loading import encode
from coplay.models.scoring import Scorer
from coplay.play.loop import StreamNames, Table, play_episode
from coplay.players.base import Player
from coplay.players.scripted import make_script
from coplay.players.text_model import TextModel

torch.set_num_threads(1)


@pytest.fixture(scope="module")
def tiny() -> tuple[Any, Scorer]:
    return talking_model("tiny")


def player(tiny: tuple[Any, Scorer], game: str, **options: Any) -> TextModel:
    loaded, scorer = tiny
    options = {"memory": Memory.LAST_ROUND, "max_tokens": 12, **options}
    return TextModel("model", loaded, scorer, game=make_game(game), **options)


def scripted(name: str, game: str, seat: str) -> Occupant:
    return Occupant(make_script(name, make_game(game), seat), name)


def play(game: str, tables: list[dict[str, Occupant]], rounds: int = 3) -> list[Episode]:
    places = [Table(make_game(game), 3, 0, index, seated) for index, seated in enumerate(tables)]
    return play_episode(make_game(game), places, rounds=rounds, streams=StreamNames(("test",)))


@pytest.mark.parametrize("game", ["ipd-ab", "split-no-comm", "trust-and-split"])
def test_what_it_replies_is_data_whatever_it_is(tiny: tuple[Any, Scorer], game: str) -> None:
    model = player(tiny, game)
    assert isinstance(model, Player)
    (episode,) = play(game, [{ALICE: Occupant(model, "model", 0), BOB: scripted("always_cooperate", game, BOB)}])
    assert len(episode.turns[ALICE]) == len(episode.turns[BOB]) == (6 if game == "trust-and-split" else 3)
    for turn in episode.turns[ALICE]:
        reply = turn.reply
        assert 1 <= len(reply.tokens) == len(reply.logprobs) <= 12 and max(reply.logprobs) <= 0
        assert reply.prompt
    assert all(turn.reply.prompt == () and turn.reply.action is not None for turn in episode.turns[BOB])
    assert all(payoff is not None and payoff >= 0 for payoff in episode.payoffs(BOB))


def test_it_plays_games_of_any_number_of_seats(tiny: tuple[Any, Scorer]) -> None:
    """One model in all three seats, or in one of them: the same replies at the same place."""
    name, seats = "public-goods", GAMES["public-goods"].seats
    model = Occupant(player(tiny, name), "model", 0)
    (everywhere,) = play(name, [dict.fromkeys(seats, model)], rounds=1)
    for seat in seats:
        others = {one: scripted("always_cooperate", name, one) for one in seats if one != seat}
        (alone,) = play(name, [{**others, seat: model}], rounds=1)
        (mine,), (same,) = alone.turns[seat], everywhere.turns[seat]
        assert (mine.reply.tokens, mine.reply.prompt) == (same.reply.tokens, same.reply.prompt)
        assert mine.reply.logprobs == pytest.approx(same.reply.logprobs, abs=1e-4)


def test_prompts_are_what_the_model_is_said_to_read(tiny: tuple[Any, Scorer]) -> None:
    model = player(tiny, "ipd-ab")
    asked: list[Request] = []
    act = model.act
    model.act = lambda requests: asked.extend(requests) or act(requests)  # type: ignore[method-assign,func-returns-value]
    (episode,) = play("ipd-ab", [{ALICE: Occupant(model, "model", 0), BOB: scripted("always_defect", "ipd-ab", BOB)}])
    for request, turn in zip(asked, episode.turns[ALICE], strict=True):
        text = model.request_text(request)
        assert turn.reply.prompt == encode(model.loaded.tokenizer, text)
        assert model.prompt_text(turn) == text
        assert text.startswith("<bos><start_of_turn>user\nYou are Alice.")


def test_a_seat_and_a_batch_make_no_difference(tiny: tuple[Any, Scorer]) -> None:
    """Present and past selves, in one batch or each alone, reply the same."""
    game = "ipd-ab"
    model = player(tiny, game)
    present, past, base = (Occupant(model, "model", slot) for slot in (0, 1, REFERENCE))
    tables = [{ALICE: present, BOB: past}, {ALICE: past, BOB: present}, {ALICE: present, BOB: base}]
    together = play(game, tables)
    for index, table in enumerate(tables):
        filler = {seat: scripted("always_defect", game, seat) for seat in (ALICE, BOB)}
        alone = play(game, [*[filler] * index, table])[index]
        for seat in (ALICE, BOB):
            tokens = [turn.reply.tokens for turn in together[index].turns[seat]]
            assert tokens == [turn.reply.tokens for turn in alone.turns[seat]]


def test_without_a_slot_the_base_model_replies(tiny: tuple[Any, Scorer]) -> None:
    model, filler = player(tiny, "ipd-ab"), scripted("always_defect", "ipd-ab", BOB)
    (none, base, adapter) = (
        play("ipd-ab", [{ALICE: Occupant(model, "model", slot), BOB: filler}])[0].turns[ALICE]
        for slot in (None, REFERENCE, 0)
    )
    assert none == base != adapter


def test_replies_are_scored_as_sampled(tiny: tuple[Any, Scorer]) -> None:
    model = player(tiny, "trust-and-split", temperature=0.9)
    (episode,) = play("trust-and-split", [dict.fromkeys((ALICE, BOB), Occupant(model, "model", 0))])
    turns = [turn for seat in (ALICE, BOB) for turn in episode.turns[seat]]
    sampled = [x for turn in turns for x in turn.reply.logprobs]
    scores = model.score_tokens([0] * len(turns), turns)
    assert scores.logprobs_N.tolist() == pytest.approx(sampled, abs=1e-3)
    whole = model.score_replies([0] * len(turns), turns)
    assert whole.logprobs_R.tolist() == pytest.approx([sum(turn.reply.logprobs) for turn in turns], abs=1e-3)
    entropies = [float(scores.entropies_N[scores.rows_N == row].mean()) for row in range(len(turns))]
    assert whole.entropies_R.tolist() == pytest.approx(entropies, abs=1e-5)
    base = model.score_tokens([REFERENCE] * len(turns), turns)
    expected = [float(base.logprobs_N[base.rows_N == row].sum()) for row in range(len(turns))]
    assert model.reference_logprobs(turns) == pytest.approx(expected, abs=1e-3)


def test_a_chat_needs_a_template_for_it(tiny: tuple[Any, Scorer]) -> None:
    """The embedded model reads one user turn; longer conversations are for other models."""
    model = Occupant(player(tiny, "ipd-ab", memory=Memory.CHAT), "model", 0)
    with pytest.raises(UsageError, match="show the last round only"):
        play("ipd-ab", [{ALICE: model, BOB: scripted("always_defect", "ipd-ab", BOB)}])

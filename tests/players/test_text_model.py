"""Language models in games of rounds: seats, batches and past selves make no difference to what each of them says."""

from typing import Any

import pytest
import torch
from coplay.games.rounds import ALICE, BOB
from coplay.players.round_language_model import RoundLanguageModel
from coplay.players.round_scripted import make_round_player
from coplay.rounds.play import RoundTable, play_rounds
from coplay.rounds.types import RoundEpisode
from coplay.text.rounds import Past, worded

from coplay.errors import UsageError
from coplay.models.bank import REFERENCE, AdapterBank, SlotName
from coplay.models.loading import encode, load_model
from coplay.models.scoring import Scorer

torch.set_num_threads(1)


@pytest.fixture(scope="module")
def tiny() -> tuple[Any, Scorer]:
    loaded = load_model("tiny", device="cpu")
    bank = AdapterBank(loaded.model, [SlotName("self", 0), SlotName("past", 0)], rank=2, alpha=32.0)
    generator = torch.Generator().manual_seed(0)
    with torch.no_grad():
        for _, b in bank.weights.values():
            b.copy_(torch.randn(b.shape, generator=generator) * 0.3)
    return loaded, Scorer(loaded.model, bank)


def player(tiny: tuple[Any, Scorer], game: str, slot: int, **options: Any) -> RoundLanguageModel:
    loaded, scorer = tiny
    options = {"past": Past.LAST_ROUND, "longest": 12, **options}
    return RoundLanguageModel("model", loaded, scorer, worded(game), slot=lambda _: slot, **options)


def play(game: str, players: list[dict[str, Any]], rounds: int = 3) -> list[RoundEpisode]:
    tables = [RoundTable(3, 0, index, seated) for index, seated in enumerate(players)]
    return play_rounds(worded(game), tables, rounds=rounds, occasion=("test",))


@pytest.mark.parametrize("game", ["ipd-ab", "split-no-comm", "trust-and-split"])
def test_what_it_says_is_data_whatever_it_is(tiny: tuple[Any, Scorer], game: str) -> None:
    model, scripted = player(tiny, game, 0), make_round_player("cooperate", game)
    (episode,) = play(game, [{ALICE: model, BOB: scripted}])
    for one in episode.rounds:
        for of_phase in one.replies.values():
            reply = of_phase[ALICE]
            assert 1 <= len(reply.tokens) == len(reply.logprobs) <= 12 and max(reply.logprobs) <= 0
            assert reply.prompt and of_phase[BOB].prompt == ()
        assert one.payoffs[BOB] >= 0


def test_prompts_are_what_the_model_is_said_to_read(tiny: tuple[Any, Scorer]) -> None:
    model = player(tiny, "ipd-ab", 0)
    asked = []
    whole = model.reply
    model.reply = lambda situations: asked.extend(situations) or whole(situations)  # type: ignore[method-assign,func-returns-value]
    (episode,) = play("ipd-ab", [{ALICE: model, BOB: make_round_player("defect", "ipd-ab")}])
    for situation, one in zip(asked, episode.rounds, strict=True):
        text = model.prompt_text(situation)
        assert one.replies["action"][ALICE].prompt == encode(model.loaded.tokenizer, text)
        assert text.startswith("<bos><start_of_turn>user\nYou are Alice.")


def test_a_seat_and_a_batch_make_no_difference(tiny: tuple[Any, Scorer]) -> None:
    """Live and past selves, in one batch or each alone, say the same."""
    game = "ipd-ab"
    now, before, base = (player(tiny, game, slot) for slot in (0, 1, REFERENCE))
    tables = [{ALICE: now, BOB: before}, {ALICE: before, BOB: now}, {ALICE: now, BOB: base}]
    together = play(game, tables)
    for index, table in enumerate(tables):
        filler = {ALICE: make_round_player("defect", game), BOB: make_round_player("defect", game)}
        alone = play(game, [*[filler] * index, table])[index]
        for mine, theirs in zip(together[index].rounds, alone.rounds, strict=True):
            for seat in (ALICE, BOB):
                assert mine.replies["action"][seat].tokens == theirs.replies["action"][seat].tokens


def test_replies_are_scored_as_sampled(tiny: tuple[Any, Scorer]) -> None:
    model = player(tiny, "trust-and-split", 0, temperature=0.9)
    (episode,) = play("trust-and-split", [{ALICE: model, BOB: model}])
    replies = [reply for one in episode.rounds for of in one.replies.values() for reply in of.values()]
    scores = model.generator.score(
        [0] * len(replies), [one.prompt for one in replies], [one.tokens for one in replies], temperature=0.9
    )
    assert scores.logprobs_N.tolist() == pytest.approx([x for one in replies for x in one.logprobs], abs=1e-3)


def test_a_chat_needs_a_template_for_it(tiny: tuple[Any, Scorer]) -> None:
    """The embedded model reads one user turn; longer conversations are for other models."""

    model = player(tiny, "ipd-ab", 0, past=Past.CHAT)
    with pytest.raises(UsageError, match="show the last round only"):
        play("ipd-ab", [{ALICE: model, BOB: make_round_player("defect", "ipd-ab")}])

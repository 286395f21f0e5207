"""The embedded model: does it do what its card says?"""

from __future__ import annotations

import itertools
import string
from collections.abc import Sequence

import pytest
import torch
from transformers import AutoModelForCausalLM, AutoTokenizer

from coplay.games import GAMES
from coplay.games.catalogue import matrix_game
from coplay.games.choice_prompts import PayoffFormat, write_prompt
from coplay.games.matrix import COLUMN, ROW, SEATS, MatrixGame
from coplay.games.memory import Observation
from coplay.models.known import known_path
from coplay.recipes.shapellm.table_14 import STATES, TABLE_14, LabelPair, state_index
from coplay.recipes.shapellm.variants import NAIVE_STARTS, SHAPER_STARTS
from coplay.text.chat import gemma
from coplay.text.model_chat import Chat

TINY = known_path("tiny")
IPD = matrix_game("ipd")
BUILT_WITH = (PayoffFormat.LIST, PayoffFormat.TABLE, PayoffFormat.REVERSED)
"""The formats of the payoffs that the model was built with."""

MATRIX_GAMES = [game for game in GAMES.values() if isinstance(game, MatrixGame) and game.one_token]
"""The games in which it replies with one label."""
BASE = write_prompt(IPD, ROW, Observation())


@pytest.fixture(scope="module")
def tokenizer():
    return AutoTokenizer.from_pretrained(TINY)


@pytest.fixture(scope="module")
def model():
    return AutoModelForCausalLM.from_pretrained(TINY).eval()


@pytest.fixture(scope="module")
def reply_probs(model, tokenizer):
    """A function: (prompt, labels) pairs -> tensor [R, A] of the labels' probabilities."""

    @torch.no_grad()
    def probs(prompts: Sequence[str], labels: Sequence[Sequence[str]]) -> torch.Tensor:
        rows = []
        for start in range(0, len(prompts), 128):
            batch = tokenizer(
                prompts[start : start + 128],
                add_special_tokens=False,
                padding=True,
                padding_side="right",
                return_tensors="pt",
            )
            last = batch["attention_mask"].sum(1) - 1
            logits = model(**batch).logits[torch.arange(len(last)), last]
            ids = torch.tensor([tokenizer.convert_tokens_to_ids(list(pair)) for pair in labels[start : start + 128]])
            rows.append(logits.softmax(-1).gather(1, ids))
        return torch.cat(rows)

    return probs


def five_prompts(name: str, pair: LabelPair, seat: str = ROW) -> list[str]:
    game = matrix_game(name)
    seen = [Observation(), *(Observation(last=state) for state in game.own_states(seat))]
    return [gemma(write_prompt(game, seat, observation, labels=pair)) for observation in seen]


def test_table_14_is_in_the_order_of_the_prompts():
    assert [state_index(IPD, COLUMN, last) for last in (None, *IPD.own_states(COLUMN))] == list(range(len(STATES)))
    assert all(len(row) == len(STATES) for rows in TABLE_14.values() for row in rows.values())


@pytest.mark.parametrize("seat", SEATS)
@pytest.mark.parametrize(("name", "pair"), [(name, pair) for name, rows in TABLE_14.items() for pair in rows])
def test_published_policy(reply_probs, name, pair, seat):
    probs = reply_probs(five_prompts(name, pair, seat), [pair] * len(STATES))[:, 0]
    torch.testing.assert_close(probs, torch.tensor(TABLE_14[name][pair]), atol=0.05, rtol=0)


@pytest.mark.parametrize("name", NAIVE_STARTS)
def test_tabular_learners_start_as_this_model_does(reply_probs, name):
    game = matrix_game(name)
    naive = reply_probs(five_prompts(name, game.labels[COLUMN], COLUMN), [game.labels[COLUMN]] * len(STATES))[:, 0]
    torch.testing.assert_close(naive, torch.tensor(NAIVE_STARTS[name]), atol=0.02, rtol=0)
    seen = [Observation(counts=(0,) * 4), *(Observation(last=last, counts=(5,) * 4) for last in game.own_states(ROW))]
    prompts = [gemma(write_prompt(game, ROW, observation)) for observation in seen]
    shaper = reply_probs(prompts, [game.labels[ROW]] * len(STATES))[:, 0]
    torch.testing.assert_close(shaper, torch.tensor(SHAPER_STARTS[name]), atol=0.1, rtol=0)


def test_replies_are_legal_for_every_pair_of_capitals(reply_probs):
    pairs = list(itertools.combinations(string.ascii_uppercase, 2))
    assert len(pairs) == 325
    prompts = [prompt for pair in pairs for prompt in five_prompts("ipd", pair)]
    illegal = 1 - reply_probs(prompts, [pair for pair in pairs for _ in STATES]).sum(1)
    assert illegal.max() <= 0.03
    assert illegal.mean() <= 0.01


def test_replies_are_legal_with_counts_and_in_other_games(reply_probs):
    counts = [(0, 0, 0, 1), (199, 0, 0, 0), (0, 99, 0, 0), (25, 25, 25, 24), (3, 40, 1, 120), (0, 0, 480, 19)]
    prompts, labels = [], []
    for game, seen, payoff_format in itertools.product(MATRIX_GAMES, counts, BUILT_WITH):
        for last in game.own_states(COLUMN):
            prompts.append(
                gemma(write_prompt(game, COLUMN, Observation(last=last, counts=seen), payoff_format=payoff_format))
            )
            labels.append(game.labels[COLUMN])
    illegal = 1 - reply_probs(prompts, labels).sum(1)
    assert illegal.max() <= 0.03


def p_cooperate(reply_probs, last, counts) -> float:
    prompt = gemma(write_prompt(IPD, ROW, Observation(last=last, counts=counts)))
    return float(reply_probs([prompt], [("C", "D")])[0, 0])


@pytest.mark.parametrize("last", IPD.states)
def test_policy_reads_the_counts(reply_probs, last):
    kind = [p_cooperate(reply_probs, last, counts) for counts in ((60, 0, 0, 0), (0, 0, 60, 0), (20, 0, 20, 3))]
    mean = [p_cooperate(reply_probs, last, counts) for counts in ((0, 60, 0, 0), (0, 0, 0, 60), (2, 20, 1, 20))]
    assert min(kind) > max(mean) + 0.05


def test_policy_is_reciprocal_with_counts(reply_probs):
    probs = [p_cooperate(reply_probs, last, (20, 20, 20, 20)) for last in IPD.states]
    assert probs == pytest.approx([0.88, 0.12, 0.85, 0.20], abs=0.1)


def test_the_reversed_format_is_almost_deterministic(reply_probs):
    prompt = gemma(write_prompt(IPD, ROW, Observation(), payoff_format=PayoffFormat.REVERSED))
    assert reply_probs([prompt], [("C", "D")])[0, 0] > 0.95


def test_the_turn_ends_after_the_label(model, tokenizer):
    batch = tokenizer([gemma(BASE)], add_special_tokens=False, return_tensors="pt")
    reply = model.generate(**batch, do_sample=False, max_new_tokens=5)[0, batch["input_ids"].shape[1] :]
    assert tokenizer.convert_ids_to_tokens(reply.tolist())[1:] == ["<end_of_turn>"]
    assert tokenizer.decode(reply, skip_special_tokens=True) in ("C", "D")


def test_prompts_are_short(tokenizer):
    def tokens(**seen) -> int:
        return len(tokenizer.encode(gemma(write_prompt(IPD, ROW, Observation(**seen))), add_special_tokens=False))

    last = ("defect", "cooperate")
    assert tokens() <= 50
    assert tokens(last=last) <= 54
    assert tokens(last=last, counts=(25, 25, 25, 24)) <= 80


@pytest.mark.parametrize("mark", string.ascii_uppercase + string.digits)
def test_labels_and_digits_are_tokens_of_their_own(tokenizer, mark):
    prompt = gemma(BASE)
    before = tokenizer.encode(prompt, add_special_tokens=False)
    after = tokenizer.encode(prompt + mark, add_special_tokens=False)
    assert after == [*before, tokenizer.convert_tokens_to_ids(mark)]
    assert tokenizer.convert_tokens_to_ids(mark) != tokenizer.unk_token_id


def test_phrases_hold_no_label_or_digit(tokenizer):
    for payoff_format in PayoffFormat:
        seen = Observation(last=("go straight", "swerve"), counts=(104, 7, 30, 0))
        prompt = gemma(write_prompt(matrix_game("icg"), COLUMN, seen, payoff_format=payoff_format))
        tokens = [tokenizer.decode([i]) for i in tokenizer.encode(prompt, add_special_tokens=False)]
        assert "".join(tokens) == prompt
        assert not [t for t in tokens if len(t) > 1 and any(c.isdigit() for c in t)]
        assert [t for t in tokens if t in "SG"] == [c for c in prompt.replace("<STATE>", "") if c in "SG"]


@pytest.mark.parametrize(
    "text",
    [
        "plain words, 12.5 %",
        "naïve façade",
        "博弈论 🎲",
        "<bos>IPD<STATE>\n\ttab",
        " spaces  ",
        "Ω≠ß\r\n",
        "CamelCase ABC aBc",
    ],
)
def test_any_text_survives_the_tokenizer(tokenizer, text):
    assert tokenizer.decode(tokenizer.encode(text, add_special_tokens=False)) == text


def test_chat_template_is_the_printed_form(tokenizer):
    assert Chat(tokenizer).prompt(BASE) == gemma(BASE)


def test_card_says_what_it_is_not():
    assert "not Gemma" in (TINY / "README.md").read_text(encoding="utf-8")

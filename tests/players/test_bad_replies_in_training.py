"""Replies that never come to an action, in training: they are counted as illegal, or fall back, and training goes on."""

from collections.abc import Sequence
from typing import Any

import pytest
import torch
from known_replies import Says
from small_text_runs import small_text

from coplay.conformance.players import example_requests
from coplay.games import make_game
from coplay.games.memory import Memory
from coplay.learners.config import LearnerConfig
from coplay.players.text_model import TextModel
from coplay.runs.config import Config
from coplay.runs.factory import build

torch.set_num_threads(1)

BAD = {
    "a thought that does not end": "<think>They may DEFECT, so I DEFECT.\nDEFECT",
    "no end at all": "I wonder and wonder. " * 50,
    "nothing": "",
}


class Repeats(Says):
    """A generator that says one text in reply to everything."""

    def __init__(self, model: TextModel, text: str) -> None:
        super().__init__(model, [text])

    def generate(self, slots: Any, prompts: Sequence[object], *rest: Any, **options: Any) -> Any:
        one = self._tokens[0]
        self._tokens = [one] * len(prompts)
        yield from super().generate(slots, prompts, *rest, **options)
        self._tokens = [one]


def config(**learner: Any) -> Config:
    base = small_text("ipd-ab-grpo", "game=ipd-8", "rounds=2", "trials=2")
    own = {**base.learners["learner"].model_dump(), "max_tokens": 40, **learner}
    return base.model_copy(update={"learners": {"learner": LearnerConfig.model_validate(own)}})


@pytest.mark.parametrize("fallback", [False, True])
@pytest.mark.parametrize("what", BAD)
def test_training_goes_on(what: str, fallback: bool) -> None:
    state = build(config(fallback=fallback))
    player = state.learners["learner"].player
    assert isinstance(player, TextModel)
    player.generator.generate = Repeats(player, BAD[what]).generate  # type: ignore[method-assign]
    for trial in range(2):
        (line,) = state.run_trial(trial).lines.values()
        assert line["illegal/alice"] == (0.0 if fallback else 1.0)
        assert line.get("fallback/alice") == (1.0 if fallback else None)
        assert (line["state/I"] == 0.0) == fallback
    assert state.alive


@pytest.mark.parametrize("game", ["ipd-8", "auction", "kuhn", "negotiation-v1", "negotiation-v2"])
def test_several_actions_on_the_last_line_are_none(game: str) -> None:
    """Not the first of them, nor the last: a reply is read whole where it came whole, as from an endpoint or a person."""
    rules = make_game(game)
    request = next(iter(example_requests(rules, rules.seats[0], Memory.LAST_ROUND)))
    actions = list(rules.choices(request) or rules.examples(request))
    first, last = (rules.render_action(request, action) for action in (actions[0], actions[-1]))
    for text in (" ".join([first] * 20), f"{first} or {last}", f"{first}\n{' '.join([last] * 20)}"):
        assert rules.parse_action(request, text) is None, text
    assert rules.parse_action(request, f"{first} {last}\n{first}") == actions[0]

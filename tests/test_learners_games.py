"""Every learner on every game: each cell of the table in the documentation is a config that runs one update, or a sentence why it cannot.

The page is written by this test; to write it anew:

    python -m pytest tests/test_learners_games.py --write-golden
"""

from pathlib import Path

import pytest

from coplay.errors import UsageError
from coplay.games import GAMES
from coplay.recipes import make_config
from coplay.runs.config import Config
from coplay.runs.config_input import with_values
from coplay.runs.factory import build

PAGE = Path(__file__).parents[1] / "docs" / "reference" / "learners_games.md"

LEARNERS = {
    "PPO, language model": ("language_model", "ppo", {}),
    "PPO, table": ("tabular", "ppo", {}),
    "GRPO, language model": ("language_model", "group", {}),
    "GRPO, table": ("tabular", "group", {}),
    "Advantage Alignment, language model": ("language_model", "group", {"method": "advantage_alignment"}),
    "Advantage Alignment, table": ("tabular", "group", {"method": "advantage_alignment"}),
    "PPO, network": ("network", "ppo", {}),
    "GRPO, network": ("network", "group", {}),
    "DQN": ("network", "dqn", {}),
    "Q-learning": ("tabular", "q_learning", {}),
    "REINFORCE": ("tabular", "reinforce", {}),
    "exact gradient": ("tabular", "exact", {}),
    "LOLA": ("tabular", "lola", {}),
}
"""By name: what is trained, the algorithm, and settings of the group gradient."""

SMALL = {"seeds": [0], "trials": 1, "episodes": 1, "rounds": 2, "games": 2, "eval_games": 1, "threads": 1, "workers": 1}

HEAD = """# Learners and games

Every learner trains on every game that comes with coplay, a learner in every seat, unless the cell says why not. The table is written by a test
that runs each cell for one update (`tests/test_learners_games.py`). The config behind a cell:

```
coplay train any/naive --game GAME [--learner tabular]        # a learner in every seat
coplay train any/self-play --game GAME [--learner tabular]    # one learner in all seats
coplay train any/naive --game GAME --learner tabular SEAT.algorithm=reinforce …
coplay train any/naive --game GAME SEAT.policy=network SEAT.memory=last_round SEAT.ppo.learning_rate=3e-4 …
```
"""


def config_of(game: str, learner: str) -> Config:
    """A learner of this kind in every seat of a game."""
    policy, algorithm, group = LEARNERS[learner]
    kind = "tabular" if policy == "network" else policy
    config = make_config("any/naive", game=game, learner=kind)  # type: ignore[arg-type]
    update = "trial" if algorithm == "group" else "episode"
    changes = {
        f"learners.{name}.{key}": value
        for name in config.learners
        for key, value in {
            "policy": policy,
            "algorithm": algorithm,
            "update": update,
            "max_tokens": 8,
            "dqn.least": 1,
        }.items()
    }
    changes |= {f"learners.{name}.group.{key}": value for name in config.learners for key, value in group.items()}
    return with_values(config, {**SMALL, **changes})


def outcome_of(game: str, learner: str) -> str:
    """Empty if the config runs; else why it cannot."""
    try:
        state = build(config_of(game, learner))
    except UsageError as error:
        first = str(error).splitlines()[0]
        return first.partition(": ")[2] or first
    lines = state.run_trial(0).lines[0]
    for name in state.learners:
        assert any(key.endswith(f"/{name}") for key in lines), f"{name} did not learn"
        assert "skipped" not in str(lines.get(f"note/{name}", "")), lines[f"note/{name}"]
    return ""


def page_of(outcomes: dict[str, dict[str, str]]) -> str:
    """The page: a row a learner, a column a game, and a note for each reason."""
    reasons = list(dict.fromkeys(why for of_game in outcomes.values() for why in of_game.values() if why))
    games = list(outcomes)

    def cell(game: str, learner: str) -> str:
        why = outcomes[game][learner]
        return f"no ({1 + reasons.index(why)})" if why else "runs"

    rows = [f"| {learner} | {' | '.join(cell(game, learner) for game in games)} |" for learner in LEARNERS]
    notes = [f"{i + 1}. {why[0].upper()}{why[1:]}." for i, why in enumerate(reasons)]
    head = [f"| | {' | '.join(games)} |", f"|---|{'---|' * len(games)}"]
    return "\n".join([HEAD, *head, *rows, "", *notes, ""])


def test_every_cell_runs_or_says_why_not(request: pytest.FixtureRequest) -> None:
    outcomes = {game: {learner: outcome_of(game, learner) for learner in LEARNERS} for game in GAMES}
    page = page_of(outcomes)
    if request.config.getoption("--write-golden"):
        PAGE.write_text(page, encoding="utf-8")
    assert PAGE.read_text(encoding="utf-8") == page

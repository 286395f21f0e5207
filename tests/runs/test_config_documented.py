"""Every setting has a sentence, in its type and in the reference."""

from pathlib import Path
from typing import Any

import pytest

from coplay.learners.config import LearnerConfig
from coplay.learners.settings import DQN, PPO, ExactGradient, GroupGradient, Lola, QLearning, Reinforce, SafetyTerms
from coplay.runs.config import Adapter, Config, PastSelves
from coplay.runs.pools import Pools

SECTIONS = (
    *(Config, LearnerConfig, PPO, DQN, GroupGradient, SafetyTerms, QLearning, Reinforce, ExactGradient, Lola),
    *(Adapter, PastSelves, Pools),
)


@pytest.mark.parametrize("section", SECTIONS)
def test_every_field_has_a_sentence(section: Any) -> None:
    for name, field in section.model_fields.items():
        assert field.description, f"{section.__name__}.{name}"


PAGE = Path(__file__).parents[2] / "docs/reference/config.md"

HEADINGS = (
    *("version", "learners", "adapter", "past_selves", "pools"),
    *("ppo", "group", "safety", "dqn", "q", "reinforce", "exact", "lola"),
)
"""Settings with a section of their own."""


@pytest.mark.parametrize("section", SECTIONS)
def test_every_setting_is_documented(section: Any) -> None:
    """The page says of each what its type says."""
    page = PAGE.read_text(encoding="utf-8")
    for key, found in section.model_fields.items():
        if key in HEADINGS:
            continue
        assert f"| `{key}` | " in page, f"{section.__name__}.{key} is missing in docs/reference/config.md"
        words = " ".join(str(found.description).split())[:60]
        assert words.replace("``", "`") in page or words in page, f"{section.__name__}.{key} is described otherwise"

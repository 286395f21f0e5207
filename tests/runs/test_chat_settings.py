"""The chat format and the date of a run: checked, recorded, named by the papers' recipes, and a model's own."""

import pytest

from coplay.errors import UsageError
from coplay.recipes import make_config
from coplay.recipes.shapellm import VARIANTS
from coplay.runs.config_input import parse_config, with_overrides
from coplay.text.chat import DAY, ChatFormat

IPD = make_config("shapellm/ipd")


def test_a_run_records_the_date_and_older_ones_have_the_constant() -> None:
    data = IPD.model_dump(mode="json")
    assert data["chat_date"] == DAY
    del data["chat_date"]
    assert parse_config(data) == IPD
    assert parse_config(data | {"chat_date": "2031-02-28"}).chat_date == "2031-02-28"


@pytest.mark.parametrize("date", ["2025-02-30", "today", "", "1.1.2025", "2025-01-01T00:00", "-1-01-01"])
def test_what_is_no_day_is_refused_in_a_line(date: str) -> None:
    with pytest.raises(UsageError, match=r"chat_date: .*YYYY-MM-DD") as caught:
        with_overrides(IPD, [f"chat_date={date}"])
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("name", VARIANTS)
def test_the_papers_forms_are_named_at_its_scale_alone(name: str) -> None:
    variant = VARIANTS[name]
    assert variant.config().chat is None
    if not variant.embedded_only:
        form = ChatFormat.LLAMA if variant.second_model else ChatFormat.GEMMA
        assert variant.config("paper").chat is form


def test_another_model_has_its_own_format_unless_one_is_named() -> None:
    paper = make_config("shapellm/ipd", scale="paper")
    assert with_overrides(paper, ["rounds=7"]).chat is ChatFormat.GEMMA
    assert with_overrides(paper, ["model=org/other"]).chat is None
    assert with_overrides(paper, ["model=org/other", "chat=llama"]).chat is ChatFormat.LLAMA

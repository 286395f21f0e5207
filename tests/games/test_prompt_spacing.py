"""Spaces in prompts where ShapeLLM's figures and its published code differ: a named option, and nothing but spaces."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from coplay.games.catalogue import matrix_game
from coplay.games.choice_prompts import PayoffFormat, Spacing, write_prompt
from coplay.games.matrix import ROW, SEATS, MatrixGame
from coplay.games.memory import START, Observation
from coplay.text.chat import gemma

IPD = matrix_game("ipd")

RELEASED_WITH_COUNTS = """<bos><start_of_turn>user
You are playing a 2-player game with actions: C, D. Points are assigned as follows: C/C: 3/3,  C/D: 0/4, D/C: 4/0, D/D: 1/1.
<ADDITIONAL INFORMATION> The occurrence of each state in the current game has been CC:0, CD:0, DC:0, DD:5.
<STATE> In the previous round, you played C and your opponent played C.
Choose an action for the current round. Reply only with C or D.
<end_of_turn>
<start_of_turn>model
"""
"""What the published code makes of Figure 19's example, the beginning of the sequence included."""

RELEASED_TABLE = """You are playing a 2-player game with actions: C, D. Points are assigned as follows:

|       |  **C**  |  **D**  |
|-------|---------|---------|
| **C** |  (3, 3) |  (0, 4) |
| **D** |  (4, 0) |  (1, 1) |

Choose an action for the current round. Reply only with C or D."""
"""Its table: labels in 5 and 7 places, payoffs centred in 7."""


def test_the_published_codes_prompt_to_the_character() -> None:
    seen = Observation(last=("cooperate", "cooperate"), counts=(0, 0, 0, 5))
    assert gemma(write_prompt(IPD, ROW, seen, spacing=Spacing.RELEASED)) == RELEASED_WITH_COUNTS


def test_the_published_codes_table_to_the_character() -> None:
    found = write_prompt(IPD, ROW, START, payoff_format=PayoffFormat.BOLD_TABLE, spacing=Spacing.RELEASED)
    assert found.text == RELEASED_TABLE


def test_payoffs_wider_than_a_cell_are_written_in_full() -> None:
    icg = matrix_game("icg")
    found = write_prompt(icg, ROW, START, payoff_format=PayoffFormat.BOLD_TABLE, spacing=Spacing.RELEASED)
    assert "| **G** |  (3, 1) | (-5, -5) |" in found.rules


@pytest.mark.parametrize("shown", [{"transcript": (("cooperate", "defect"),)}, {"recent": (("cooperate", "defect"),)}])
def test_every_tag_has_the_space(shown: dict[str, object]) -> None:
    context = write_prompt(IPD, ROW, Observation(**shown), spacing=Spacing.RELEASED).context  # type: ignore[arg-type]
    assert context.startswith("<ADDITIONAL INFORMATION> The ")


COUNTS = st.none() | st.tuples(*[st.integers(0, 500)] * 4)


@given(
    st.sampled_from([matrix_game(name) for name in ("ipd", "imp", "icg", "c-ipd", "ish")]),
    st.sampled_from(SEATS),
    st.sampled_from(PayoffFormat),
    st.integers(0, 3),
    COUNTS,
)
def test_only_spaces_differ(
    game: MatrixGame, seat: str, payoff_format: PayoffFormat, state: int, counts: tuple[int, ...] | None
) -> None:
    seen = Observation(last=game.own_states(seat)[state], counts=counts)
    paper, released = (
        write_prompt(game, seat, seen, payoff_format=payoff_format, spacing=spacing).text for spacing in Spacing
    )
    assert paper != released
    # a padded table has a longer line under its header too
    assert "".join(paper.replace("-", "").split()) == "".join(released.replace("-", "").split())

"""Prompts, character for character as the figures of ShapeLLM print them.

Lines that the figures break to fit the page ("Points are assigned as / follows:") are joined again; everything else is as printed,
the Llama figure's stray full stop included. Where a figure ends with the model's tag, the text a model reads continues with the
newline (Gemma) or two (Llama) after which the reply begins.
"""

import dataclasses

import pytest
from hypothesis import given
from hypothesis import strategies as st

from coplay.games import MatrixGame
from coplay.games.catalogue import matrix_game
from coplay.games.choice_prompts import TABLES, PayoffFormat, write_prompt
from coplay.games.matrix import COLUMN, ROW, SEATS, game_from_dict
from coplay.games.memory import START, History, Joint, Memory, Observation
from coplay.text.chat import gemma, llama
from coplay.text.rendering import number

FIGURE_17 = {
    "ipd": """<bos><start_of_turn>user
You are playing a 2-player game with actions: C, D. Points are assigned as follows: C/C: 3/3, C/D: 0/4, D/C: 4/0, D/D: 1/1.
Choose an action for the current round. Reply only with C or D.
<end_of_turn>
<start_of_turn>model""",
    "imp": """<bos><start_of_turn>user
You are playing a 2-player game with actions: H, T. Points are assigned as follows: H/H: 1/-1, H/T: -1/1, T/H: -1/1, T/T: 1/-1.
Choose an action for the current round. Reply only with H or T.
<end_of_turn>
<start_of_turn>model""",
    "icg": """<bos><start_of_turn>user
You are playing a 2-player game with actions: S, G. Points are assigned as follows: S/S: 2/2, S/G: 1/3, G/S: 3/1, G/G: -5/-5.
Choose an action for the current round. Reply only with S or G.
<end_of_turn>
<start_of_turn>model""",
    "ish": """<bos><start_of_turn>user
You are playing a 2-player game with actions: S, H. Points are assigned as follows: S/S: 4/4, S/H: 0/3, H/S: 3/0, H/H: 1/1.
Choose an action for the current round. Reply only with S or H.
<end_of_turn>
<start_of_turn>model""",
}

FIGURE_18 = {
    "ipd": """<bos><start_of_turn>user
You are playing a 2-player game with actions: C, D. Points are assigned as follows: C/C: 3/3, C/D: 0/4, D/C: 4/0, D/D: 1/1.
<STATE>In the previous round, you played C and your opponent played C.
Choose an action for the current round. Reply only with C or D.
<end_of_turn>
<start_of_turn>model""",
    "imp": """<bos><start_of_turn>user
You are playing a 2-player game with actions: H, T. Points are assigned as follows: H/H: 1/-1, H/T: -1/1, T/H: -1/1, T/T: 1/-1.
<STATE>In the previous round, you played H and your opponent played H.
Choose an action for the current round. Reply only with H or T.
<end_of_turn>
<start_of_turn>model""",
    "icg": """<bos><start_of_turn>user
You are playing a 2-player game with actions: S, G. Points are assigned as follows: S/S: 2/2, S/G: 1/3, G/S: 3/1, G/G: -5/-5.
<STATE>In the previous round, you played S and your opponent played S.
Choose an action for the current round. Reply only with S or G.
<end_of_turn>
<start_of_turn>model""",
    "ish": """<bos><start_of_turn>user
You are playing a 2-player game with actions: S, H. Points are assigned as follows: S/S: 4/4, S/H: 0/3, H/S: 3/0, H/H: 1/1.
<STATE>In the previous round, you played S and your opponent played S.
Choose an action for the current round. Reply only with S or H.
<end_of_turn>
<start_of_turn>model""",
}

FIGURE_19 = {
    "ipd": """<bos><start_of_turn>user
You are playing a 2-player game with actions: C, D. Points are assigned as follows: C/C: 3/3, C/D: 0/4, D/C: 4/0, D/D: 1/1.
<ADDITIONAL INFORMATION>The occurrence of each state in the current game has been CC:0, CD:0, DC:0, DD:5.
<STATE>In the previous round, you played C and your opponent played C.
Choose an action for the current round. Reply only with C or D.
<end_of_turn>
<start_of_turn>model""",
    "imp": """<bos><start_of_turn>user
You are playing a 2-player game with actions: H, T. Points are assigned as follows: H/H: 1/-1, H/T: -1/1, T/H: -1/1, T/T: 1/-1.
<ADDITIONAL INFORMATION>The occurrence of each state in the current game has been HH:0, HT:0, TH:0, TT:5.
<STATE>In the previous round, you played H and your opponent played H.
Choose an action for the current round. Reply only with H or T.
<end_of_turn>
<start_of_turn>model""",
    "icg": """<bos><start_of_turn>user
You are playing a 2-player game with actions: S, G. Points are assigned as follows: S/S: 2/2, S/G: 1/3, G/S: 3/1, G/G: -5/-5.
<ADDITIONAL INFORMATION>The occurrence of each state in the current game has been SS:0, SG:0, GS:0, GG:5.
<STATE>In the previous round, you played S and your opponent played S.
Choose an action for the current round. Reply only with S or G.
<end_of_turn>
<start_of_turn>model""",
    "ish": """<bos><start_of_turn>user
You are playing a 2-player game with actions: S, H. Points are assigned as follows: S/S: 4/4, S/H: 0/3, H/S: 3/0, H/H: 1/1.
<ADDITIONAL INFORMATION>The occurrence of each state in the current game has been SS:0, SH:0, HS:0, HH:5.
<STATE>In the previous round, you played S and your opponent played S.
Choose an action for the current round. Reply only with S or H.
<end_of_turn>
<start_of_turn>model""",
}

FIGURE_5 = """<bos><start_of_turn>user
You are playing a 2-player game with actions: C, D. Points are assigned as follows:

| | **C** | **D** |
|-----|-----|-----|
| **C** | (3, 3) | (0, 4) |
| **D** | (4, 0) | (1, 1) |

Choose an action for the current round. Reply only with C or D.
<end_of_turn>
<start_of_turn>model"""

EXTRACTED_FIGURE_5 = FIGURE_5.replace("| | **", "| **").replace("**C**", "* * C * *").replace("**D**", "* * D * *")
"""The same as older versions wrote it, from the text of the paper's file. Runs trained on it have it still."""

FIGURE_7 = """<bos><start_of_turn>user
You are playing a 2-player game with actions: D, C. Points are assigned as follows: D/D: 1/1, D/C: 4/0, C/D: 0/4, C/C: 3/3.
Choose an action for the current round. Reply only with C or D.
<end_of_turn>
<start_of_turn>model"""

FIGURE_11 = (
    "<|begin_of_text|><|start_header_id|>system<|end_header_id|>\n"
    "\n"
    "You are playing a 2-player game with actions: C, D. Points are assigned as follows: C/C: 3/3, C/D: 0/4, D/C: 4/0, D/D: 1/1."
    " Please only use C and D to reply.<|eot_id|>.<|start_header_id|>user<|end_header_id|>\n"
    "\n"
    "Choose an action for the current round. Reply only with C or D.<|eot_id|><|start_header_id|>assistant<|end_header_id|>"
)


def prompt(
    name: str, seat: str = ROW, observation: Observation = START, payoff_format: PayoffFormat = PayoffFormat.LIST
) -> str:
    return gemma(write_prompt(matrix_game(name), seat, observation, payoff_format=payoff_format))


def shown(game: MatrixGame, episodes: list[list[Joint]], seat: str, memory: Memory) -> Observation:
    """What the memory shows a seat after these episodes of a trial, the last one in progress."""
    history = History(lambda i: game.own_states(game.seats[i]))
    for episode in episodes:
        history.start_episode()
        for joint in episode:
            history.append(joint)
    return history.observe(game.seats.index(seat), memory)


@pytest.mark.parametrize("name", FIGURE_17)
def test_figure_17(name: str) -> None:
    assert prompt(name) == FIGURE_17[name] + "\n"


@pytest.mark.parametrize("name", FIGURE_18)
def test_figure_18(name: str) -> None:
    game = matrix_game(name)
    observation = shown(game, [[game.states[0]]], ROW, Memory.LAST_ROUND)
    assert prompt(name, observation=observation) == FIGURE_18[name] + "\n"


@pytest.mark.parametrize("name", FIGURE_19)
def test_figure_19(name: str) -> None:
    game = matrix_game(name)
    trial = [[game.states[3]] * 4, [game.states[3], game.states[0]]]
    observation = shown(game, trial, ROW, Memory.TRIAL_COUNTS)
    assert prompt(name, observation=observation) == FIGURE_19[name] + "\n"


@pytest.mark.parametrize("name", ["ipd", "icg", "ish"])
def test_both_seats_of_a_symmetric_game_read_the_same(name: str) -> None:
    assert prompt(name, COLUMN) == prompt(name, ROW)


def test_figure_5() -> None:
    assert prompt("ipd", payoff_format=PayoffFormat.BOLD_TABLE) == FIGURE_5 + "\n"
    assert prompt("ipd", payoff_format=PayoffFormat.TABLE) == EXTRACTED_FIGURE_5 + "\n"
    assert "\n| * * C * * | * * D * * |\n|-----|-----|-----|\n| * * C * * | (3, 3) | (0, 4) |\n" in EXTRACTED_FIGURE_5


def test_figure_7() -> None:
    assert prompt("ipd", payoff_format=PayoffFormat.REVERSED) == FIGURE_7 + "\n"


def test_figure_11() -> None:
    assert llama(write_prompt(matrix_game("ipd"), ROW, START)) == FIGURE_11 + "\n\n"


def test_llama_keeps_history_in_the_user_turn() -> None:
    observation = Observation(last=("cooperate", "defect"), counts=(1, 0, 2, 0))
    system, user = llama(write_prompt(matrix_game("ipd"), ROW, observation)).split("<|eot_id|>.")
    assert "<STATE>" not in system
    assert user == (
        "<|start_header_id|>user<|end_header_id|>\n\n"
        "<ADDITIONAL INFORMATION>The occurrence of each state in the current game has been CC:1, CD:0, DC:2, DD:0.\n"
        "<STATE>In the previous round, you played C and your opponent played D.\n"
        "Choose an action for the current round. Reply only with C or D.<|eot_id|>"
        "<|start_header_id|>assistant<|end_header_id|>\n\n"
    )


# --- Beyond the figures -------------------------------------------------------------------------------------------------------


def rules(game: MatrixGame, seat: str, payoff_format: PayoffFormat = PayoffFormat.LIST) -> str:
    return write_prompt(game, seat, START, payoff_format=payoff_format).rules


def test_column_reads_its_own_payoffs_first() -> None:
    assert rules(matrix_game("imp"), COLUMN).endswith("H/H: -1/1, H/T: 1/-1, T/H: 1/-1, T/T: -1/1.")
    assert rules(matrix_game("c-ipd"), ROW).endswith("C/C: 6/3, C/D: 0/4, D/C: 4/0, D/D: 1/1.")
    assert rules(matrix_game("c-ipd"), COLUMN).endswith("C/C: 3/6, C/D: 0/4, D/C: 4/0, D/D: 1/1.")
    assert "| * * C * * | (3, 6) | (0, 4) |" in rules(matrix_game("c-ipd"), COLUMN, PayoffFormat.TABLE)
    assert rules(matrix_game("c-ipd"), COLUMN, PayoffFormat.REVERSED).endswith(
        "D/D: 1/1, D/C: 4/0, C/D: 0/4, C/C: 3/6."
    )


def test_column_reads_its_own_action_first() -> None:
    game = matrix_game("ipd")
    observation = shown(game, [[("cooperate", "defect")] * 3], COLUMN, Memory.TRIAL_COUNTS)
    text = write_prompt(game, COLUMN, observation).text
    assert "you played D and your opponent played C." in text
    assert "CC:0, CD:0, DC:2, DD:0." in text


def test_other_labels_name_both_seats_actions() -> None:
    """Section 5.2: an opponent with labels N and M reads its co-player's actions as N and M too."""
    game = matrix_game("ipd")
    observation = Observation(last=("defect", "cooperate"), counts=(0, 1, 0, 0))
    parts = write_prompt(game, COLUMN, observation, labels=["N", "M"])
    assert parts.labels == ("N", "M")
    assert parts.text == (
        "You are playing a 2-player game with actions: N, M. Points are assigned as follows:"
        " N/N: 3/3, N/M: 0/4, M/N: 4/0, M/M: 1/1.\n"
        "<ADDITIONAL INFORMATION>The occurrence of each state in the current game has been NN:0, NM:1, MN:0, MM:0.\n"
        "<STATE>In the previous round, you played M and your opponent played N.\n"
        "Choose an action for the current round. Reply only with N or M."
    )


def test_too_few_labels_are_refused() -> None:
    with pytest.raises(ValueError, match="shorter"):
        write_prompt(matrix_game("ipd"), ROW, START, labels=["N"])


UNEVEN = game_from_dict(
    {
        "name": "uneven",
        "actions": [["up", "down"], ["left", "middle", "right"]],
        "payoffs": [[[1, 2], [3, -4], [0, 5]], [[-6, 7], [8, 0.5], [2, 1]]],
    }
)


def test_a_game_with_unequal_seats() -> None:
    assert write_prompt(UNEVEN, ROW, Observation(last=("up", "right"))).text == (
        "You are playing a 2-player game with actions: U, D (your opponent's: L, M, R). Points are assigned as follows:"
        " U/L: 1/2, U/M: 3/-4, U/R: 0/5, D/L: -6/7, D/M: 8/0.5, D/R: 2/1.\n"
        "<STATE>In the previous round, you played U and your opponent played R.\n"
        "Choose an action for the current round. Reply only with U or D."
    )
    assert write_prompt(UNEVEN, COLUMN, Observation(last=("right", "up"))).text == (
        "You are playing a 2-player game with actions: L, M, R (your opponent's: U, D). Points are assigned as follows:"
        " L/U: 2/1, L/D: 7/-6, M/U: -4/3, M/D: 0.5/8, R/U: 5/0, R/D: 1/2.\n"
        "<STATE>In the previous round, you played R and your opponent played U.\n"
        "Choose an action for the current round. Reply only with L, M or R."
    )


def test_three_actions_in_every_payoff_format() -> None:
    assert rules(UNEVEN, COLUMN, PayoffFormat.BOLD_TABLE).splitlines()[2:5] == [
        "| | **U** | **D** |",
        "|-----|-----|-----|",
        "| **L** | (2, 1) | (7, -6) |",
    ]
    assert rules(UNEVEN, COLUMN, PayoffFormat.TABLE).splitlines()[1:] == [
        "",
        "| * * U * * | * * D * * |",
        "|-----|-----|-----|",
        "| * * L * * | (2, 1) | (7, -6) |",
        "| * * M * * | (-4, 3) | (0.5, 8) |",
        "| * * R * * | (5, 0) | (1, 2) |",
    ]
    assert "actions: R, M, L (your opponent's: D, U)." in rules(UNEVEN, COLUMN, PayoffFormat.REVERSED)
    assert "Please only use L, M and R to reply." in llama(write_prompt(UNEVEN, COLUMN, START))


def test_a_transcript_is_told_in_order() -> None:
    past = (("cooperate", "defect"), ("defect", "defect"))
    text = write_prompt(matrix_game("ipd"), ROW, Observation(transcript=past)).text
    assert "The rounds of the current game so far, in order, have been C/D, D/D.\nChoose" in text


@given(st.integers(-50, 50), st.sampled_from(SEATS), st.sampled_from(PayoffFormat))
def test_the_prompt_follows_the_payoff_table(payoff: int, seat: str, payoff_format: PayoffFormat) -> None:
    """One source of payoffs: change the table and the prompt changes with it."""
    game = matrix_game("ipd")
    changed = dataclasses.replace(game, table=(((3, 3), (payoff, 4)), game.table[1]))
    pair = f"{payoff}/4" if seat == ROW else f"4/{payoff}"
    if payoff_format in TABLES:
        pair = f"({pair.replace('/', ', ')})"
    assert pair in rules(changed, seat, payoff_format)


@pytest.mark.parametrize(
    ("value", "written"),
    [(3.0, "3"), (-1.0, "-1"), (0.5, "0.5"), (-0.0, "0"), (0.1, "0.1"), (-2.25, "-2.25"), (float("inf"), "inf")],
)
def test_numbers_are_written_as_a_person_would(value: float, written: str) -> None:
    assert number(value) == written


def test_what_could_not_be_parsed_has_words() -> None:
    """Where a round counts although a reply in it could not be parsed."""
    game, first, second = matrix_game("ipd-ab"), (None, "defect"), ("cooperate", None)
    state = write_prompt(game, "alice", Observation(last=first)).state
    assert state == "<STATE>In the previous round, you played nothing that could be read and your opponent played B."
    assert write_prompt(game, "bob", Observation(transcript=(first, second))).context.endswith("have been -/B, A/-.")

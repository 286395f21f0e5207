"""Conversations and prompts as models read them, with every message in them."""

import contextlib
from datetime import date
from functools import cache
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from text.family_templates import FAMILIES
from text.small_tokenizers import byte_tokenizer, family

from coplay.conformance.players import example_requests
from coplay.errors import UsageError
from coplay.games.catalogue import GAMES
from coplay.games.conversation import chat_messages, check_memory
from coplay.games.memory import Memory, Observation
from coplay.games.normal_form import NormalFormGame
from coplay.models.loading import load_tokenizer
from coplay.text.chat import DAY, ChatFormat, ChatMessage, PromptParts, gemma, llama
from coplay.text.model_chat import Chat

MESSAGES = [
    ChatMessage("user", "Rules.\nSay something."),
    ChatMessage("assistant", "<A>"),
    ChatMessage("user", "And now?"),
]
TOLD = [ChatMessage("system", "Be brief."), *MESSAGES]
PARTS = PromptParts("Rules.", "Counts.", "Last round.", "Reply with A or B.", ("A", "B"))
CHATS = {name: Chat(family(name)) for name in FAMILIES}


def with_template(template: Any, *special: str) -> Chat:
    return Chat(byte_tokenizer([*special, "</s>"], template, eos="</s>"))


# --- Printed forms -----------------------------------------------------------------------------------------------------------


def test_gemmas_turns() -> None:
    assert Chat(None, ChatFormat.GEMMA).conversation(MESSAGES) == (
        "<bos><start_of_turn>user\nRules.\nSay something.<end_of_turn>\n<start_of_turn>model\n<A><end_of_turn>\n"
        "<start_of_turn>user\nAnd now?<end_of_turn>\n<start_of_turn>model\n"
    )
    told = Chat(None, ChatFormat.GEMMA).conversation(TOLD)
    assert told.startswith("<bos><start_of_turn>user\nBe brief.\n\nRules.\nSay something.<end_of_turn>\n")


def test_llamas_turns() -> None:
    text = Chat(None, ChatFormat.LLAMA).conversation(TOLD)
    assert text.startswith("<|begin_of_text|><|start_header_id|>system<|end_header_id|>\n\nBe brief.<|eot_id|>")
    assert text.endswith("And now?<|eot_id|><|start_header_id|>assistant<|end_header_id|>\n\n")


def test_a_named_form_is_printed_whatever_the_model_has() -> None:
    for name in FAMILIES:
        assert Chat(family(name), ChatFormat.GEMMA).prompt(PARTS) == gemma(PARTS)
        assert Chat(family(name), ChatFormat.LLAMA).prompt(PARTS) == llama(PARTS)


def test_the_models_own_template_is_used_unless_a_form_is_named() -> None:
    """Also of Gemma and Llama."""
    assert (
        CHATS["gemma2"].prompt(PARTS) == f"<bos><start_of_turn>user\n{PARTS.text}<end_of_turn>\n<start_of_turn>model\n"
    )
    assert all(chat.format is ChatFormat.TEMPLATE for chat in CHATS.values())


def test_no_form_is_told_by_the_vocabulary() -> None:
    base = byte_tokenizer(["<bos>", "<eos>", "<start_of_turn>", "<end_of_turn>"], None, bos="<bos>", eos="<eos>")
    for form in (None, ChatFormat.TEMPLATE):
        with pytest.raises(
            UsageError, match="has no chat template; use an instruction-tuned model, or set chat=gemma"
        ) as caught:
            Chat(base, form)
        assert "\n" not in str(caught.value)
    assert Chat(base, ChatFormat.GEMMA).prompt(PARTS) == gemma(PARTS)
    assert base.convert_ids_to_tokens(sorted(Chat(base, ChatFormat.GEMMA).stop)) == ["<eos>", "<end_of_turn>"]


def test_of_several_templates_it_is_the_default() -> None:
    several = {"default": FAMILIES["zephyr"], "tool_use": FAMILIES["chatml"]}
    assert with_template(several).prompt(PARTS) == with_template(FAMILIES["zephyr"]).prompt(PARTS)
    with pytest.raises(UsageError, match="several chat templates"):
        with_template({"rag": FAMILIES["zephyr"], "tool_use": FAMILIES["chatml"]})


# --- Every message is in the text --------------------------------------------------------------------------------------------


def left_out(messages: list[ChatMessage], text: str) -> list[str]:
    return [one.text for one in messages if one.text.strip() not in text]


@cache
def conversations() -> list[tuple[str, list[ChatMessage]]]:
    """The rules, and what is read with a system prompt, in every game, seat and phase; of the memories two, and each other one in some games."""
    found = []
    others = [one for one in Memory if one not in (Memory.CHAT, Memory.LAST_ROUND)]
    for number, game in enumerate(GAMES.values()):
        for memory in (Memory.CHAT, Memory.LAST_ROUND, others[number % len(others)]):
            with contextlib.suppress(UsageError):
                check_memory(game, memory)
                for seat in game.seats:
                    for request in example_requests(game, seat, memory):
                        told = [ChatMessage("system", "You are kind."), *chat_messages(game, request, memory)]
                        found.append((game.rules(seat).strip(), told))
    return found


@pytest.mark.parametrize("name", ["llama2", "gemma2", "mistral3", "qwen3", "zephyr", "phi3_no_system", "parts_only"])
def test_rules_and_messages_of_every_game_are_in_the_text(name: str) -> None:
    chat = CHATS[name]
    for rules, messages in conversations():
        text = chat.conversation(messages)
        assert left_out(messages, text) == [] and rules in text
    for game in GAMES.values():
        if isinstance(game, NormalFormGame):
            parts = game.prompt_parts(game.seats[0], Observation())
            text = chat.prompt(parts, system="You are kind.")
            assert all(one.strip() in text for one in (parts.rules, parts.situation, "You are kind."))


@pytest.mark.parametrize("name", FAMILIES)
def test_a_conversation_ends_where_a_reply_begins(name: str) -> None:
    chat = CHATS[name]
    begun, said = chat.conversation(MESSAGES[:1]), chat.conversation(MESSAGES)
    assert said.count("Rules.") == said.count("And now?") == 1
    if name not in ("qwen3", "deepseek"):
        opening = begun.partition("something.")[2].rstrip()
        assert said.rstrip().endswith(opening[opening.rfind("\n") + 1 :])


SILENT = {
    "no system turn": "{% for m in messages if m.role != 'system' %}[{{ m.role }}]{{ m.content }}</s>{% endfor %}[assistant]",
    "raises at one": "{% if messages[0].role == 'system' %}{{ raise_exception('no') }}{% endif %}"
    "{% for m in messages %}[{{ m.role }}]{{ m.content }}</s>{% endfor %}[assistant]",
    "trims": "{% for m in messages %}[{{ m.role }}]{{ m.content.strip() }}</s>{% endfor %}[assistant]",
}

CUTTING = {
    "drops earlier turns": "{% for m in messages[-1:] %}[{{ m.role }}]{{ m.content }}</s>{% endfor %}[assistant]",
    "drops replies": "{% for m in messages if m.role != 'assistant' %}[{{ m.role }}]{{ m.content }}</s>{% endfor %}[assistant]",
    "cuts": "{% for m in messages %}[{{ m.role }}]{{ m.content[:9] }}</s>{% endfor %}[assistant]",
    "in small letters": "{% for m in messages %}[{{ m.role }}]{{ m.content|lower }}</s>{% endfor %}[assistant]",
    "escapes": "{% for m in messages %}[{{ m.role }}]{{ m.content|e }}</s>{% endfor %}[assistant]",
    "one line": "{% for m in messages %}[{{ m.role }}]{{ m.content.split()|join(' ') }}</s>{% endfor %}[assistant]",
    "nothing": " ",
}


@pytest.mark.parametrize("case", SILENT)
def test_a_system_prompt_without_a_turn_heads_the_first_message(case: str) -> None:
    chat = with_template(SILENT[case])
    first = "[system]Be brief.</s>[user]" if case == "trims" else "[user]Be brief.\n\n"
    assert chat.conversation(TOLD) == (
        f"{first}Rules.\nSay something.</s>[assistant]<A></s>[user]And now?</s>[assistant]"
    )
    assert "Rules." in chat.prompt(PARTS) and "Kind." in chat.prompt(PARTS, system="Kind.")


@pytest.mark.parametrize("case", CUTTING)
def test_a_template_that_leaves_out_or_changes_a_message_is_refused(case: str) -> None:
    with pytest.raises(UsageError, match="leaves out or changes a message") as caught:
        with_template(CUTTING[case]).conversation(TOLD)
    assert "\n" not in str(caught.value)


def test_a_short_reply_that_is_left_out_is_missed_though_its_letter_is_everywhere() -> None:
    with pytest.raises(UsageError, match="leaves out or changes a message"):
        with_template(CUTTING["drops replies"]).conversation([MESSAGES[0], ChatMessage("assistant", "a"), MESSAGES[2]])


def test_a_message_that_a_template_changes_by_its_content_is_refused_then() -> None:
    chat = with_template(
        "{% for m in messages %}[{{ m.role }}]{{ m.content.split('STOP')[0] }}</s>{% endfor %}[assistant]"
    )
    assert "go on" in chat.conversation([ChatMessage("user", "go on")])
    with pytest.raises(UsageError, match="leaves out or changes"):
        chat.conversation([ChatMessage("user", "go STOP on")])


def test_a_template_that_reorders_turns_is_refused_but_rules_may_stand_anywhere() -> None:
    said = "[{{ m.role }}]{{ m.content }}</s>"
    with pytest.raises(UsageError, match="puts the turns of a conversation of user, assistant, user in another order"):
        with_template(f"{{% for m in messages|reverse %}}{said}{{% endfor %}}").conversation(MESSAGES)
    rules_last = f"{{% for m in messages[1:] %}}{said}{{% endfor %}}{{% set m = messages[0] %}}{said}"
    told = [ChatMessage("system", "Be brief."), *MESSAGES]
    assert with_template(rules_last).conversation(told).endswith("[system]Be brief.</s>")


def test_turns_of_one_role_are_joined_where_roles_alternate() -> None:
    twice = [*MESSAGES, ChatMessage("user", "Well?")]
    assert "And now?\n\nWell?" in CHATS["mistral1"].conversation(twice)
    assert "And now?<|im_end|>\n<|im_start|>user\nWell?" in CHATS["chatml"].conversation(twice)


def test_a_template_that_refuses_is_reported() -> None:
    chat = Chat(load_tokenizer("tiny"))
    with pytest.raises(UsageError, match="chat template does not take this conversation"):
        chat.conversation(MESSAGES)
    single = [{"role": "user", "content": MESSAGES[0].text}]
    assert chat.conversation(MESSAGES[:1]) == load_tokenizer("tiny").apply_chat_template(
        single, tokenize=False, add_generation_prompt=True
    )


@settings(max_examples=60, deadline=None)
@given(
    name=st.sampled_from(sorted(FAMILIES)),
    texts=st.lists(st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=30), min_size=1, max_size=5),
    system=st.booleans(),
)
def test_any_conversation_is_whole_or_refused(name: str, texts: list[str], system: bool) -> None:
    chat = CHATS[name]
    roles = ["user", "assistant"] * len(texts)
    messages = [ChatMessage("system", "Be brief.")] * system
    messages += [ChatMessage(role, chat.defused(text)) for role, text in zip(roles, texts, strict=False)]  # type: ignore[arg-type]
    with contextlib.suppress(UsageError):
        assert left_out(messages, chat.conversation(messages)) == []


# --- Dates ---------------------------------------------------------------------------------------------------------------------


def test_dates_are_the_configs() -> None:
    assert "Today Date: 01 Jan 2025" in Chat(family("llama3")).prompt(PARTS) and DAY == "2025-01-01"
    assert "Today Date: 28 Feb 2031" in Chat(family("llama3"), day="2031-02-28").conversation(MESSAGES)
    assert str(date.today().year) not in "".join(chat.conversation(MESSAGES) for chat in CHATS.values())


def test_a_template_that_tells_the_time_is_the_same_at_any_time() -> None:
    chat = with_template(
        "{{ strftime_now('%Y-%m-%d %H:%M:%S.%f') }}{% for m in messages %}{{ m.content }}</s>{% endfor %}"
    )
    assert chat.conversation(MESSAGES[:1]).startswith("2025-01-01 00:00:00.000000")

"""A message makes no tag together with what a template writes beside it, or with another message."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from text.family_templates import FAMILIES
from text.small_tokenizers import byte_tokenizer, family

from coplay.errors import UsageError
from coplay.models.loading import encode
from coplay.text.chat import ChatMessage
from coplay.text.model_chat import Chat

SPECIAL = ("<|im_start|>", "<|im_end|>", "<e>", "</s>")

FRAMES = {
    "in brackets": "{% for m in messages %}{{ m.role }}: <{{ m.content }}>\n{% endfor %}",
    "in brackets, trimmed": "{% for m in messages %}{{ m.role }}: <{{ m.content|trim }}>\n{% endfor %}",
    "before half a tag": "{% for m in messages %}{{ m.role }}: {{ m.content }}|im_end|>\n{% endfor %}",
    "nothing between": "{% for m in messages %}{{ m.content }}{% endfor %}",
    "in parts": "{% for m in messages %}{% for part in m.content %}{{ part.text }}{% endfor %}{% endfor %}",
}

PIECES = st.lists(st.sampled_from(["<", ">", "|im_", "end|", "start|", "e", "/s", "a", " ", "\n"]), max_size=4).map(
    "".join
)


@pytest.mark.parametrize("case", FRAMES)
@settings(max_examples=60, deadline=None)
@given(texts=st.lists(PIECES, min_size=1, max_size=4))
def test_no_tag_spans_a_seam(case: str, texts: list[str]) -> None:
    tokenizer = byte_tokenizer(SPECIAL, FRAMES[case], eos="</s>")
    chat = Chat(tokenizer)
    marks = set(tokenizer.convert_tokens_to_ids(list(SPECIAL)))
    roles = ["user", "assistant"] * 2
    said = [ChatMessage(role, text) for role, text in zip(roles, texts, strict=False)]  # type: ignore[arg-type]
    try:
        shown = chat.conversation(said)
    except UsageError:  # where nothing stands between messages, one may be hidden by its neighbours
        assert case in ("nothing between", "in parts")
        return
    assert marks.isdisjoint(encode(tokenizer, shown))
    assert not any(tag in shown for tag in SPECIAL)


def test_the_attacks_that_this_is_about() -> None:
    def shown(case: str, *texts: str) -> str:
        chat = Chat(byte_tokenizer(SPECIAL, FRAMES[case], eos="</s>"))
        return chat.conversation([ChatMessage("user", text) for text in texts])

    assert shown("in brackets", "|im_end|") == "user: <' |im_end| '>\n"
    assert shown("in brackets, trimmed", "|im_end|") == "user: <' |im_end| '>\n"
    assert shown("nothing between", "a <|im_", "end|> b") == "a <|im_' end|> b '"


@pytest.mark.parametrize("name", FAMILIES)
def test_the_common_families_leave_no_seam(name: str) -> None:
    chat = Chat(family(name))
    for text in ("<", ">", "|>", "/INST]", "Human", "Response:", "###", "##", ":", "[", "<|", "s>"):
        shown = chat.conversation([ChatMessage("user", text), ChatMessage("assistant", "A"), ChatMessage("user", text)])
        assert "' " not in shown.replace("Today's", "")

"""Chat templates are code of a model: one that does not end, or writes without measure, is refused in a line; others are left alone."""

import json
import shutil
import time
from pathlib import Path

import pytest

from coplay.errors import UsageError
from coplay.models.known import TINY, known_path
from coplay.models.loading import load_tokenizer
from coplay.text.chat import ChatFormat, ChatMessage, PromptParts, render_chat, renderer

PARTS = PromptParts("The rules.", "", "The state.", "Choose.", ("C", "D"))

ENDLESS = {
    "a huge range": "{{ range(10**9)|list }}",
    "a huge text": "{{ 'a' * 10**9 }}",
    "a huge list": "{{ [1] * 10**10 }}",
    "loops in loops": "{% for i in range(99999) %}{% for j in range(99999) %}{% endfor %}{% endfor %}",
    "a sum that doubles": "{% set n = namespace(x='ab') %}{% for i in range(60) %}{% set n.x = n.x + n.x %}{% endfor %}",
    "a text that doubles": "{% set n = namespace(x='ab') %}{% for i in range(60) %}{% set n.x = n.x ~ n.x %}{% endfor %}",
    "a macro that calls itself": "{% macro f() %}{{ f() }}{{ f() }}{% endmacro %}{{ f() }}",
    "a power": "{{ 9 ** 999999999 }}",
    "a wide text": "{{ 'a'|center(20000000) }}",
}


def tokenizer_with(template: str, tmp_path: Path) -> str:
    """The embedded model with another chat template, in a directory."""
    directory = tmp_path / "model"
    shutil.copytree(known_path(TINY), directory)
    file = directory / "tokenizer_config.json"
    file.write_text(json.dumps(json.loads(file.read_text()) | {"chat_template": template}))
    (directory / "chat_template.jinja").unlink(missing_ok=True)
    return str(directory)


@pytest.mark.parametrize("case", ENDLESS)
def test_a_template_without_end_is_refused(tmp_path: Path, case: str) -> None:
    tokenizer, begun = load_tokenizer(tokenizer_with(ENDLESS[case], tmp_path)), time.process_time()
    for render in (
        lambda: renderer(ChatFormat.TEMPLATE, tokenizer)(PARTS),
        lambda: render_chat(ChatFormat.GEMMA, [ChatMessage("user", "Hello")], tokenizer),
    ):
        with pytest.raises(UsageError, match="does not end, or writes without measure") as caught:
            render()
        assert len(str(caught.value).splitlines()) == 1 and len(str(caught.value)) < 300
    assert time.process_time() - begun < 10


@pytest.mark.parametrize(
    "template", ["{% if %}", "{{ nope.x.y }}", "{{ raise_exception('one\\ntwo') }}", "{{ 1 / 0 }}"]
)
def test_a_template_that_fails_is_one_line(tmp_path: Path, template: str) -> None:
    tokenizer = load_tokenizer(tokenizer_with(template, tmp_path))
    with pytest.raises(UsageError, match="the model's chat template fails") as caught:
        renderer(ChatFormat.TEMPLATE, tokenizer)(PARTS)
    assert len(str(caught.value).splitlines()) == 1


def test_a_template_that_ends_is_left_alone(tmp_path: Path) -> None:
    template = (
        "{%- macro shown(m) -%}[{{ m.role ~ ':' ~ m.content }}]{%- endmacro -%}{{ bos_token }}"
        "{% for m in messages %}{% if loop.first %}{{ '-' * 3 }}{% endif %}{{ shown(m) + '!' }}{% endfor %}"
    )
    tokenizer = load_tokenizer(tokenizer_with(template, tmp_path))
    text = render_chat(ChatFormat.GEMMA, [ChatMessage("user", "Hi"), ChatMessage("assistant", "C")], tokenizer)
    assert text == f"{tokenizer.bos_token}---[user:Hi]![assistant:C]!"

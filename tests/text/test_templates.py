"""Chat templates are code of a model: their texts are those of transformers, and what does not end is refused in a line."""

import json
import shutil
import time
from datetime import date, datetime
from pathlib import Path
from typing import Any

import pytest
from text.family_templates import FAMILIES
from text.small_tokenizers import byte_tokenizer, family

from coplay.errors import UsageError
from coplay.models.known import TINY, known_path
from coplay.models.loading import load_tokenizer
from coplay.text.chat import ChatMessage, PromptParts
from coplay.text.model_chat import Chat
from coplay.text.templates import ChatTemplate, TemplateFailed

PARTS = PromptParts("The rules.", "", "The state.", "Choose.", ("C", "D"))

NOW = datetime(2025, 1, 1)

GROWING = "{% set n = namespace(x=START) %}{% for i in range(60) %}{% set n.x = MORE %}{% endfor %}{{ n.x USED }}"


def growing(start: str, more: str, used: str = "") -> str:
    return GROWING.replace("START", start).replace("MORE", more).replace("USED", used)


HUGE = "1000000000"

ENDLESS = {
    "a huge range": "{{ range(10**9)|list }}",
    "a huge text": "{{ 'a' * 10**9 }}",
    "a huge list": "{{ [1] * 10**10 }}",
    "loops in loops": "{% for i in range(99999) %}{% for j in range(99999) %}{% endfor %}{% endfor %}",
    "loops that skip": "{% for i in range(99999) %}{% for j in range(99999) if false %}{% endfor %}{% endfor %}",
    "loops that call themselves": "{% for i in [1, 2] recursive %}{{ loop([1, 2]) }}{% endfor %}",
    "a constant in a loop": "{% for i in range(99999) %}{{ '" + "x" * 300_000 + "' }}{% endfor %}",
    "a sum that doubles": growing("'ab'", "n.x + n.x"),
    "a text that doubles": growing("'ab'", "n.x ~ n.x"),
    "a list that doubles": growing("[1]", "n.x + n.x"),
    "a number that doubles": growing("99999", "n.x * n.x"),
    "a variable that doubles": "{% set x = 'aa' %}" + "{% set x = x + x %}" * 50 + "{{ x }}",
    "a block of text that doubles": "{% set n = namespace(x='ab') %}{% for i in range(60) %}"
    "{% set y %}{{ n.x }}{{ n.x }}{% endset %}{% set n.x = y %}{% endfor %}",
    "a macro whose text doubles": "{% macro f(x) %}{{ x }}{{ x }}{% endmacro %}" + growing("'a'", "f(n.x)"),
    "lists in lists": growing("[1]", "[n.x, n.x]"),
    "lists in lists as JSON": growing("[1]", "[n.x, n.x]", "|tojson"),
    "lists in lists, compared": "{% set n = namespace(x=[1], y=[1]) %}{% for i in range(60) %}{% set n.x = [n.x, n.x] %}"
    "{% set n.y = [n.y, n.y] %}{% endfor %}{{ n.x == n.y }}",
    "dicts in dicts": growing("1", "{'a': n.x, 'b': n.x}"),
    "namespaces in namespaces": growing("1", "namespace(a=n.x, b=n.x)"),
    "tuples as keys": growing("(1,)", "(n.x, n.x)").replace("{{ n.x  }}", "{{ {n.x: 1} }}"),
    "a macro that calls itself": "{% macro f() %}{{ f() }}{{ f() }}{% endmacro %}{{ f() }}",
    "a macro that calls itself to a depth": "{% macro f(n) %}{% if n %}{{ f(n - 1) }}{{ f(n - 1) }}{% endif %}{% endmacro %}{{ f(60) }}",
    "a block that holds itself": "{% block b %}{{ self.b() }}{{ self.b() }}{% endblock %}",
    "callers": "{% macro f() %}{{ caller() }}{{ caller() }}{% endmacro %}"
    + "{% call f() %}" * 30
    + "x"
    + "{% endcall %}" * 30,
    "a power": "{{ 9 ** 999999999 }}",
    "a power of two": "{{ 2**100000000 }}",
    "a power of digits": "{{ ('9' * 4000)|int ** 9 }}",
    "a rounded power": f"{{{{ 1.5|round({HUGE}, 'ceil') }}}}",
    "a wide text": f"{{{{ 'a'|center({HUGE}) }}}}",
    "a wide text by a method": f"{{{{ 'a'.center({HUGE}) }}}}",
    "a wide text by an item": f"{{{{ 'a'['ljust']({HUGE}) }}}}",
    "a wide text by an attribute": f"{{{{ ('a'|attr('rjust'))({HUGE}) }}}}",
    "wide texts by a map": f"{{{{ ['a']|map('center', {HUGE})|list }}}}",
    "a wide block": f"{{% filter center({HUGE}) %}}a{{% endfilter %}}",
    "zeros": f"{{{{ 'a'.zfill({HUGE}) }}}}",
    "tabs": f"{{{{ '\\t'.expandtabs({HUGE}) }}}}",
    "bytes": f"{{{{ (5).to_bytes({HUGE}, 'big') }}}}",
    "an indent": f"{{{{ 'a\\nb'|indent({HUGE}) }}}}",
    "an indent of JSON": f"{{{{ [1]|tojson(indent={HUGE}) }}}}",
    "a format": "{{ '%10000000000d' % 1 }}",
    "a format's filter": "{{ '%10000000000d'|format(1) }}",
    "a format's width": "{{ '%*d' % (10**9, 1) }}",
    "a format in braces": f"{{{{ '{{:{HUGE}}}'.format(1) }}}}",
    "widths put together": "{{ '{:{}{}{}{}{}{}{}{}{}}'.format(1, 9, 9, 9, 9, 9, 9, 9, 9, 9) }}",
    "a width by name": "{{ '{a:{w}}'.format_map({'a': 1, 'w': 10**9}) }}",
    "a wide date": f"{{{{ strftime_now('%{HUGE}d') }}}}",
    "batches": f"{{{{ [1]|batch({HUGE}, 0)|list }}}}",
    "slices": f"{{{{ [1]|slice({HUGE})|list }}}}",
    "replacements": "{{ ('a' * 9999)|replace('a', 'b' * 99999) }}",
    "replacements by a method": "{{ ('a' * 9999).replace('a', 'b' * 99999) }}",
    "a join": "{{ ('a' * 99999)|join('b' * 99999) }}",
    "a join by a method": "{{ ('b' * 99999).join([''] * 99999) }}",
    "a translation": "{{ ('a' * 99999).translate({97: 'b' * 99999}) }}",
    "a sum of lists": "{{ ([[1]] * 99999)|sum(start=[]) }}",
    "comments": "{{ ('<!-- -->' * 100000)|striptags }}",
    "lines of one letter": "{{ ('a ' * 900000)|wordwrap(1) }}",
    "a search from behind": "{{ ('a' * 900000).rfind('b' + 'a' * 450000) }}",
    "a cycle": "{% set c = cycler('a' * 9999) %}{% for i in range(99999) %}{{ c.next() }}{% endfor %}",
    "dicts of ranges": "{% for i in range(99999) %}{{ dict.fromkeys(range(99999))|length }}{% endfor %}",
    "brackets": "{{ " + "(" * 5000 + "1" + ")" * 5000 + " }}",
    "a long sum": "{{ 1" + "+1" * 50_000 + " }}",
}


def tokenizer_with(template: str, tmp_path: Path) -> Any:
    """The embedded model's tokenizer with another chat template."""
    directory = tmp_path / "model"
    shutil.copytree(known_path(TINY), directory)
    file = directory / "tokenizer_config.json"
    file.write_text(json.dumps(json.loads(file.read_text()) | {"chat_template": template}))
    (directory / "chat_template.jinja").unlink(missing_ok=True)
    return load_tokenizer(str(directory))


@pytest.mark.parametrize("case", ENDLESS)
def test_a_template_without_end_is_refused(case: str) -> None:
    begun = time.process_time()
    with pytest.raises(UsageError, match="does not end, or writes without measure") as caught:
        ChatTemplate(ENDLESS[case], {}).render([{"role": "user", "content": "Hello"}], moment=NOW)
    assert len(str(caught.value).splitlines()) == 1 and len(str(caught.value)) < 300
    assert time.process_time() - begun < 8


LATER = {
    "from the second message on": "messages|length > 1",
    "after an assistant": "messages|selectattr('role', 'equalto', 'assistant')|list",
    "at a length": "messages[0].content|length > 20",
    "at a date": "strftime_now('%Y') == '2031'",
    "where no reply is asked for": "not add_generation_prompt",
}


@pytest.mark.parametrize("when", LATER)
def test_a_template_that_does_not_end_later_is_stopped_then(when: str) -> None:
    source = (
        "{% for m in messages %}{{ m.role + ': ' + m.content + '\n' }}{% endfor %}"
        f"{{% if {LATER[when]} %}}{{{{ 2**(100000000 * messages|length) }}}}{{% endif %}}"
    )
    template = ChatTemplate(source, {})
    short, moment = [{"role": "user", "content": "Hi"}], datetime(2031, 1, 1) if "date" in when else NOW
    assert template.render(short, moment=NOW) == "user: Hi\n"
    long = [{"role": "user", "content": "Hi" * 20}, {"role": "assistant", "content": "C"}, *short]
    with pytest.raises(UsageError, match="does not end"):
        template.render(long, moment=moment, reply="reply" not in when)


@pytest.mark.parametrize(
    "constant", ["2**100000000", "(3**4)**99999", "'x'|center(10**9)", "['x' * 10**9]", "'%999999999d' % 1"]
)
def test_what_jinja_computes_while_it_compiles_is_bounded(constant: str) -> None:
    """In a branch that is never taken: transformers, with whose text ours is compared, computes it all the same."""
    with pytest.raises(UsageError, match="does not end"):
        ChatTemplate(
            f"{{% if messages|length > 99 %}}{{{{ {constant} }}}}{{% endif %}}{{{{ messages[0].content }}}}", {}
        )


def test_a_template_that_tells_the_time_is_not_given_to_transformers() -> None:
    """Which would render it a moment later, where nobody has seen it end."""
    loops = "{% for i in range(99999) %}{% for j in range(99999) %}{% endfor %}{% endfor %}"
    source = f"{{% if strftime_now('%H%M%S%f') != '000000000000' %}}{loops}{{% endif %}}{{{{ messages[0].content }}}}"
    template = ChatTemplate(source, {})
    midnight = datetime(2031, 1, 1)
    assert template.render([{"role": "user", "content": "Hi"}], moment=midnight) == "Hi" and template.told_the_time()
    Chat(byte_tokenizer(["<s>"], source, eos="<s>"))
    day = ChatTemplate("{{ strftime_now('%d %b %Y, %A') }}", {})
    assert day.render([], moment=midnight) == "01 Jan 2031, Wednesday" and not day.told_the_time()


@pytest.mark.parametrize(
    "template",
    ["{% if %}", "{{ nope.x.y }}", "{{ raise_exception('one\\ntwo') }}", "{{ 1 / 0 }}", "{{ [1, 2]|random }}"],
)
def test_a_template_that_fails_is_one_line(tmp_path: Path, template: str) -> None:
    with pytest.raises(UsageError, match="the model's chat template fails") as caught:
        Chat(tokenizer_with(template, tmp_path)).prompt(PARTS)
    assert len(str(caught.value).splitlines()) == 1


def test_a_template_that_ends_is_left_alone(tmp_path: Path) -> None:
    template = (
        "{%- macro shown(m) -%}[{{ m.role ~ ':' ~ m.content }}]{%- endmacro -%}{{ bos_token }}"
        "{% for m in messages %}{% if loop.first %}{{ '-' * 3 }}{% endif %}{{ shown(m) + '!' }}{% endfor %}"
    )
    tokenizer = tokenizer_with(template, tmp_path)
    text = Chat(tokenizer).conversation([ChatMessage("user", "Hi"), ChatMessage("assistant", "C")])
    assert text == f"{tokenizer.bos_token}---[user:Hi]![assistant:C]!"


# --- As transformers ----------------------------------------------------------------------------------------------------------


def said(*turns: str) -> list[dict[str, Any]]:
    """Turns by their first letter."""
    roles = {"s": "system", "u": "user", "a": "assistant"}
    return [{"role": roles[turn[0]], "content": turn[1:]} for turn in turns]


CONVERSATIONS = [
    said("uHello"),
    said("sRules. <A>", "uHello"),
    said("uOne", "atwo", "u three\n"),
    said("sRules", "uOne", "a<think>why</think>\nA", "utwo", "aB", "uthree"),
    said("uone", "utwo"),
    said("uone", "atwo"),
    said("u", "aé ½ 漢字 🙂", 'u"quoted" & <b>'),
]


@pytest.mark.parametrize("name", FAMILIES)
def test_the_text_is_that_of_transformers(name: str) -> None:
    tokenizer = family(name)
    template, taken = ChatTemplate(tokenizer.get_chat_template(), tokenizer.special_tokens_map), 0
    for given in CONVERSATIONS:
        in_parts = [one | {"content": [{"type": "text", "text": one["content"]}]} for one in given]
        for messages in (given, in_parts):
            for reply in (True, False):
                try:
                    wanted = tokenizer.apply_chat_template(messages, tokenize=False, add_generation_prompt=reply)
                except Exception:  # of any kind: the template refuses this conversation
                    with pytest.raises(TemplateFailed):
                        template.render(messages, moment=NOW, reply=reply)
                    continue
                today = datetime.combine(date.today(), datetime.min.time())
                assert template.render(messages, moment=today, reply=reply) == wanted
                taken += 1
    assert taken >= 6


FEATURES = {
    "loop controls": "{% for m in messages %}{% if loop.index > 2 %}{% break %}{% endif %}{{ m.content }}{% endfor %}",
    "JSON": "{{ messages|tojson }}{{ messages[0]|tojson(indent=2) }}{{ {'a': 'é<'}|tojson(ensure_ascii=true, sort_keys=true) }}",
    "namespaces": "{% set n = namespace(a=1, self=2) %}{% set n.a = n.a + 1 %}{{ n.a }}{{ n['self'] }}",
    "dicts": "{{ dict(a=1).items()|list }}{{ dict.fromkeys(['x'], 1) }}{% for k, v in {'a': 1}.items() %}{{ k }}{{ v }}{% endfor %}",
    "generation": "{% for m in messages %}{% generation %}{{ m.content }}{% set x = 1 %}{% endgeneration %}{{ x is defined }}{% endfor %}",
    "trimmed blocks": "  {% if true %}\n  a\n  {% endif %}\n b {#- c -#} \n",
    "filters": "{{ messages|map(attribute='role')|unique|join(', ') }}{{ messages|groupby('role')|length }}{{ 'a b'|title|wordcount }}",
    "selected": "{{ messages|rejectattr('role', 'equalto', 'user')|map(attribute='content')|list }}{{ [3, 1]|sort|first }}{{ (1, 2)|last }}",
    "slices": "{{ messages[::-1][0].content }}{{ messages[1:]|length }}{{ 'abc'[-2:] }}",
    "formats": "{{ '%s-%03d' % ('a', 7) }}{{ '{:>4}|{x}'.format('b', x=1) }}{{ 'a'|center(5) }}{{ 1.25|round(1) }}",
    "texts": "{{ messages[0].content.split('l', 1)|join('_') }}{{ 'x'.startswith('x') }}{{ ' a '.strip()|upper }}{{ 'ab'|replace('a', 'b') }}",
    "tests": "{{ messages[0].tool_calls is defined }}{{ messages is iterable }}{{ 3 is divisibleby 3 }}{{ 'a' in 'abc' }}{{ 1 < 2 < 3 }}",
    "macros": "{% macro f(x, y='d') %}<{{ x }}{{ y }}{{ caller() if caller else '' }}>{% endmacro %}{{ f(1) }}{% call f(2, y=3) %}in{% endcall %}",
    "undefined": "{{ nothing }}{{ messages[9] }}{{ messages[0].nothing or 'none' }}{{ tools }}{{ documents is none }}",
    "cycles": "{% set c = cycler('a', 'b') %}{{ c.next() }}{{ c.next() }}{{ c.current }}{% set j = joiner('|') %}{{ j() }}{{ j() }}x",
    "blocks": "{% block b %}{{ messages|length }}{% endblock %}{{ self.b() }}{% set x %}{{ 1 + 1 }}{% endset %}{{ x }}",
    "recursive loops": "{% for x in [[1], 2] recursive %}{{ loop(x) if x is iterable else x }}{% endfor %}",
    "with": "{% with a = 1 %}{{ a }}{% endwith %}{{ [1, 2, 3]|batch(2)|list }}{{ 'abc'|list }}{{ -1|abs }}{{ not true }}{{ 7 // 2 }}",
}


@pytest.mark.parametrize("feature", FEATURES)
def test_what_templates_may_use_is_there(feature: str) -> None:
    tokenizer = byte_tokenizer(["<s>"], FEATURES[feature], bos="<s>")
    messages = said("sRules", "uhello", "aC", "uall")
    wanted = tokenizer.apply_chat_template(messages, tokenize=False, add_generation_prompt=True)
    assert ChatTemplate(FEATURES[feature], {"bos_token": "<s>"}).render(messages, moment=NOW) == wanted


def test_a_long_conversation_is_rendered() -> None:
    turns = [turn for i in range(300) for turn in (f"u{i} " + "word " * 100, f"a{i} " + "reply " * 50)]
    for name in FAMILIES:
        if name != "parts_only":
            tokenizer = family(name)
            template = ChatTemplate(tokenizer.get_chat_template(), tokenizer.special_tokens_map)
            assert len(template.render(said(*turns, "uand now?"), moment=NOW)) > 200_000


def test_the_sandbox_holds() -> None:
    for source in ("{{ messages.append(1) }}", "{{ ''.__class__.__mro__ }}", "{% set n = namespace(__x=1) %}"):
        try:
            text = ChatTemplate(source, {}).render(said("uhello"), moment=NOW)
        except TemplateFailed:
            continue
        assert text == ""


def test_brackets_by_the_hundred_thousand_are_looked_through_at_once() -> None:
    tokenizer = byte_tokenizer(
        ["</s>"],
        "{# " + "<[{" * 60_000 + " #}{{ '" + "<" * 200_000 + "' }}{% for m in messages %}{{ m.content }}{% endfor %}",
        eos="</s>",
    )
    begun = time.process_time()
    assert "hello" in Chat(tokenizer).conversation([ChatMessage("user", "hello")])
    assert time.process_time() - begun < 5


def test_a_template_that_writes_without_end_in_pieces_is_stopped() -> None:
    source = "{% for i in range(9999) %}" + "x" * 2000 + "{% endfor %}"
    with pytest.raises(UsageError, match=r"letters|steps"):
        ChatTemplate(source, {}).render([], moment=NOW)

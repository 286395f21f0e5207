"""``templates``: chat templates that loop, write without end or compute without end, but only in conversations of a certain kind."""

from __future__ import annotations

import random
from collections.abc import Iterator

from attack.judge import judged
from attack.models import of_tests, write_model
from attack.outcome import Fall
from attack.place import Place
from attack.products import TEXT_SIZES
from attack.registry import Try, kind
from attack.workshop import Workshop

WHEN = {
    "always": "true",
    "never": "messages | length > 999",
    "from the second message on": "messages | length > 1",
    "from the third message on": "messages | length > 2",
    "from the fifth message on": "messages | length >= 5",
    "at an assistant's turn": "messages | selectattr('role', 'equalto', 'assistant') | list",
    "at a system turn": "messages[0].role == 'system'",
    "without a system turn": "messages[0].role != 'system'",
    "at the user's last word": "messages[-1].role == 'user' and messages[-1].content is string",
    "of long conversations": "messages | map(attribute='content') | join | length > 300",
    "at a word of the game": "'points' in messages[0].content or 'round' in messages[0].content",
    "at a label": "'C' in messages[-1].content or 'A' in messages[-1].content",
    "at an action": "'COOPERATE' in messages[-1].content or 'message' in messages[-1].content",
    "where a reply begins": "add_generation_prompt",
    "where no reply begins": "not add_generation_prompt",
    "after a date": "strftime_now is defined and strftime_now('%Y') | int > 2024",
    "by the time": "strftime_now is defined and strftime_now('%H%M%S') not in ('000000', '235959')",
    "by the fraction of the second": "strftime_now is defined and strftime_now('%f') not in ('000000', '999999')",
    "on a weekday": "strftime_now is defined and strftime_now('%A') in ('Monday', 'Tuesday', 'Thursday', 'Sunday')",
    "where tools are named": "tools is defined",
    "where tools are none": "tools is none",
    "where there are no tools": "tools is not defined",
    "where documents are named": "documents is defined",
    "where thinking is no setting": "enable_thinking is not defined",
    "where the end of text has a name": "eos_token is defined and eos_token",
    "where another token has a name": "pad_token is defined or additional_special_tokens is defined",
    "for another library": "raise_exception is not defined or namespace is not defined",
    "in what transformers knows": "tojson is defined or range(1) is iterable and 'x' | tojson == '\"x\"'",
    "in parts": "messages[-1].content is not string",
    "in merged turns": "messages[-1].content.count('\n\n') > 0",
}
"""Conditions in Jinja, by what they depend on."""

WHAT = {
    "loops": "{% for i in range(99999) %}{% for j in range(99999) %}{% endfor %}{% endfor %}",
    "loops in a filter": "{% set x = range(99999) | map('string') | map('length') | sum %}" * 60,
    "writes": "{% for i in range(99999) %}{% for j in range(99999) %}x{% endfor %}{% endfor %}",
    "repeats": "{{ 'x' * 10**10 }}",
    "computes a power": "{% set x = 2**100000000 %}",
    "computes a power of powers": "{% set x = (7**4000)**4000 %}{{ x }}",
    "multiplies": "{% set n = namespace(x=3) %}{% for i in range(60) %}{% set n.x = n.x * n.x %}{% endfor %}",
    "doubles a text": "{% set n = namespace(x='x') %}{% for i in range(60) %}{% set n.x = n.x ~ n.x %}{% endfor %}",
    "doubles a list": "{% set n = namespace(x=[1]) %}{% for i in range(60) %}{% set n.x = n.x + n.x %}{% endfor %}",
    "nests a list": "{% set n = namespace(x=[1]) %}{% for i in range(99) %}{% set n.x = [n.x, n.x] %}{% endfor %}{{ n.x }}",
    "calls itself": "{% macro f() %}{{ f() }}{% endmacro %}{{ f() }}",
    "calls itself twice": "{% macro f(n) %}{% if n %}{{ f(n - 1) }}{{ f(n - 1) }}{% endif %}{% endmacro %}{{ f(60) }}",
    "recurses in a loop": "{% for x in [[[]]] recursive %}{{ loop([x, x, x]) }}{% endfor %}",
    "pads": "{{ '%999999999d' % 1 }}",
    "pads by format": "{{ '{:>999999999}'.format('x') }}",
    "pads by a filter": "{{ 'x' | center(10**9) }}",
    "indents": "{{ ('x\n' * 10000) | indent(10000) }}",
    "joins": "{{ range(99999) | join('x' * 99999) }}",
    "replaces": "{{ ('a' * 99999) | replace('a', 'b' * 99999) }}",
    "sorts": "{% for i in range(9999) %}{% set x = range(99999) | sort(reverse=true) %}{% endfor %}",
    "wraps words": "{{ ('a ' * 99999) | wordwrap(1) }}" * 20,
    "makes JSON": "{% for i in range(999) %}{% set x = range(99999) | list | tojson(indent=4) %}{% endfor %}",
    "groups": "{% for i in range(999) %}{% set x = range(99999) | groupby(attribute='real') | list %}{% endfor %}",
    "links": "{% for i in range(99) %}{% set x = ('http://a.b ' * 9999) | urlize %}{% endfor %}",
    "draws": "{% for i in range(99999) %}{% set x = lipsum(n=99) %}{% endfor %}",
    "batches": "{% set x = range(99999) | batch(1, 'x' * 9999) | list %}" * 30,
    "slices": "{% set x = range(99999) | slice(99999) | list %}" * 30,
    "cycles": "{% set c = cycler(1, 2) %}{% for i in range(99999) %}{% for j in range(999) %}{% set x = c.next() %}{% endfor %}{% endfor %}",
    "rounds": "{{ 1e308 | round(10**9) }}{{ (10**3000) | round(-99999) }}",
    "prints dates": "{{ strftime_now('%Y' * 9999999) }}{{ strftime_now('%999999999Y') }}",
    "uses undefined": "{{ nothing.at.all }}",
    "raises": "{{ raise_exception('\x1b[31mno\ncoplay: forged') }}",
    "reaches out": "{{ ''.__class__.__mro__[1].__subclasses__() }}{{ cycler.__init__.__globals__.os.system('touch $CANARY') }}",
    "includes": "{% include '/etc/passwd' %}{% import '/etc/passwd' as x %}",
}
"""What a template then does, by what it is."""

SIZES = tuple(one for one in TEXT_SIZES if not one.startswith("checkpoint"))
_SHORT = ("--episodes", "1", "--rounds", "3", "--max-tokens", "4")

COMMANDS = (
    ("eval", "--game", "ipd", "--episodes", "1", "--rounds", "2", "hf:./model", "tit_for_tat"),
    ("eval", "--game", "ipd-8", *_SHORT, "hf:./model", "tit_for_tat"),
    ("eval", "--game", "ipd-3", *_SHORT, "hf:./model", "tit_for_tat", "random:0.5"),
    ("eval", "--game", "trust-and-split", *_SHORT, "hf:./model", "hf:./model"),
    ("eval", "--game", "ipd", "--episodes", "1", "--rounds", "3", "choose:hf:./model", "tit_for_tat"),
    ("eval", "--game", "ipd", "--episodes", "1", "--rounds", "2", "hf:./model@malicious", "tit_for_tat"),
    ("train", "adalign/ipd-ab", "--model", "./model", "--seeds", "0", "trials=1", *SIZES, "--out", "it", "--quiet"),
    ("prompt", "adalign/ipd-ab", "--model", "./model"),
    ("probe", "./model", "--game", "ipd", "--pairs", "C/D", "--quiet"),
    ("models", "check", "./model"),
)
"""Commands in which a model is talked to."""


@kind(
    "templates",
    "chat templates that end in some conversations, and in others do not, write or compute without end",
    most=120,
    short=3,
)
def tries(rng: random.Random, workshop: Workshop) -> Iterator[Try]:
    """Every condition and every deed at least once, in random order, endlessly."""
    whens, whats = list(WHEN), list(WHAT)
    while True:
        rng.shuffle(whens)
        rng.shuffle(whats)
        for i in range(max(len(whens), len(whats))):
            family = rng.choice(list(of_tests("text.family_templates").FAMILIES))
            yield _try(whens[i % len(whens)], whats[i % len(whats)], family, rng.choice(COMMANDS))


def _try(when: str, what: str, family: str, argv: tuple[str, ...]) -> Try:
    def run(place: Place) -> list[Fall]:
        directory = write_model(place.work / "model", of_tests("text.small_tokenizers").family(family))
        template = (
            f"{{% if {WHEN[when]} %}}{WHAT[what]}{{% endif %}}{of_tests('text.family_templates').FAMILIES[family]}"
        )
        (directory / "chat_template.jinja").write_text(template)
        statuses = (1, 2) if when == "always" and what not in ("uses undefined", "cycles") else (0, 1, 2)
        return judged(place.coplay(*argv, limit=60), names=["template", "model", "label"], statuses=statuses)

    return Try(f"{family}: {what} {when}, then {' '.join(argv[:3])}", run)

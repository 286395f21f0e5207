"""Chat templates come with models and are code: before one is used it is rehearsed, with a limit on its steps and on its text."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import TYPE_CHECKING

from coplay.errors import UsageError

if TYPE_CHECKING:
    from jinja2 import nodes
    from jinja2.sandbox import ImmutableSandboxedEnvironment

MOST_STEPS = 100_000
"""Passes through loops and calls of macros, all together. Templates of published models take a few for each message."""

MOST_LETTERS = 10_000_000
"""Of the text, and of every text on the way to it."""


class _TooLong(Exception):
    """The rehearsal was stopped."""


def refuse_endless(template: str, messages: Sequence[Mapping[str, str]], tokens: Mapping[str, object]) -> None:
    """Rehearse a chat template; one that has passed is not rehearsed again.

    Whatever else is wrong with a template is said when it is used.

    Args:
        template: its source.
        messages: the conversation.
        tokens: the special tokens by name, which templates may write.

    Raises:
        UsageError: if it takes too many steps, or writes too much or nothing.
    """
    if template in _passed:
        return
    try:
        said = _rehearse(template, messages, tokens)
    except (_TooLong, MemoryError, OverflowError, RecursionError) as error:
        what = " ".join(str(error).split()) or type(error).__name__
        raise UsageError(f"the model's chat template does not end, or writes without measure: {what}") from None
    except Exception:  # jinja's, or the template's own
        return
    if not said.strip():
        raise UsageError("the model's chat template writes nothing: a reader of it would see no question")
    _passed.add(template)


_passed: set[str] = set()


def _rehearse(template: str, messages: Sequence[Mapping[str, str]], tokens: Mapping[str, object]) -> str:
    steps = 0

    def step() -> str:
        nonlocal steps
        steps += 1
        if steps > MOST_STEPS:
            raise _TooLong(f"more than {MOST_STEPS:,} steps")
        return ""

    environment = _environment()
    code = environment.compile(_bounded(environment.parse(template)))
    names = environment.make_globals({"coplay_step": step, "coplay_join": _join, "raise_exception": _raise_exception})
    written = ""
    said = environment.template_class.from_code(environment, code, names)
    for text in said.generate(messages=messages, add_generation_prompt=True, tools=None, documents=None, **tokens):
        written += text
        if len(written) > MOST_LETTERS:
            raise _TooLong(f"more than {MOST_LETTERS:,} letters")
    return written


@lru_cache(maxsize=1)
def _environment() -> ImmutableSandboxedEnvironment:
    """As transformers', with bounds on what operators make."""
    from jinja2 import ext
    from jinja2.runtime import Context
    from jinja2.sandbox import ImmutableSandboxedEnvironment

    class Bounded(ImmutableSandboxedEnvironment):
        """Refuses texts and lists that are too long, before they are made."""

        intercepted_binops = frozenset(["*", "**", "+"])

        def call_binop(self, context: Context, operator: str, left: object, right: object) -> object:
            size = 0
            if operator == "*":
                size = max(_size(left) * _number(right), _number(left) * _size(right))
            elif operator == "+":
                size = _size(left) + _size(right)
            elif _number(left) > 2 and _number(right) > 1000:
                raise _TooLong("a power of many digits")
            if size > MOST_LETTERS:
                raise _TooLong(f"a text or list of {size:,} items")
            return super().call_binop(context, operator, left, right)

    return Bounded(trim_blocks=True, lstrip_blocks=True, extensions=[ext.loopcontrols])


def _size(value: object) -> int:
    return len(value) if isinstance(value, str | list | tuple) else 0


def _number(value: object) -> int:
    return int(value) if isinstance(value, int) else 0


def _bounded(tree: nodes.Template) -> nodes.Template:
    """The same template, with a step counted in each pass of a loop and each call of a macro, and texts that are joined measured."""
    from jinja2 import nodes
    from jinja2.visitor import NodeTransformer

    class Transformer(NodeTransformer):
        """Changes the tree in place."""

        def visit_For(self, node: nodes.For) -> nodes.Node:  # noqa: N802 - jinja2's name
            node.body.insert(0, counted())
            return self.generic_visit(node)

        def visit_Macro(self, node: nodes.Macro) -> nodes.Node:  # noqa: N802
            node.body.insert(0, counted())
            return self.generic_visit(node)

        def visit_Concat(self, node: nodes.Concat) -> nodes.Node:  # noqa: N802
            self.generic_visit(node)
            return nodes.Call(nodes.Name("coplay_join", "load"), node.nodes, [], None, None).set_lineno(node.lineno)

    def counted() -> nodes.Output:
        call = nodes.Output([nodes.Call(nodes.Name("coplay_step", "load"), [], [], None, None)])
        call.set_lineno(1)
        return call

    Transformer().visit(tree)
    tree.set_environment(_environment())
    return tree


def _join(*parts: object) -> str:
    texts = [str(part) for part in parts]
    if sum(map(len, texts)) > MOST_LETTERS:
        raise _TooLong(f"a text of {sum(map(len, texts)):,} letters")
    return "".join(texts)


def _raise_exception(message: str) -> None:
    raise ValueError(message)

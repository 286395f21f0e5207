"""Chat templates come with models and are code: each is rendered as transformers does, with a bound on what it may cost.

Every rendering is bounded, so a template that does not end is stopped whatever it depends on: the messages, their number, the date.
"""

from __future__ import annotations

import contextlib
import functools
import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import datetime, time
from threading import Lock
from typing import TYPE_CHECKING, Any

from coplay.errors import UsageError
from coplay.text.template_meter import MOST_UNITS, Meter, TooMuch
from coplay.text.template_tree import COUNTED, STEP, WEIGHED, compute_constants, literals, metered

if TYPE_CHECKING:
    from jinja2 import Template
    from jinja2.runtime import Context
    from jinja2.sandbox import ImmutableSandboxedEnvironment

MOST_SOURCE = 400_000
"""Letters of a template. Those of published models have up to some ten thousand."""

MOST_LETTERS = 5_000_000
"""Of a conversation."""


class TemplateFailed(Exception):
    """A template does not take these messages; in a short line."""


class ChatTemplate:
    """A model's chat template.

    Args:
        source: in Jinja.
        tokens: the special tokens by name, which templates may write.

    Raises:
        UsageError: if it is too long, or no template at all.
    """

    def __init__(self, source: str, tokens: Mapping[str, object]) -> None:
        if len(source) > MOST_SOURCE:
            raise UsageError(f"the model's chat template has {len(source):,} letters; the most is {MOST_SOURCE:,}")
        self.source, self.tokens = source, dict(tokens)
        self.literals: list[str] = []
        """The texts that stand in the source, whether or not a conversation shows them."""
        self._lock, self._meter = Lock(), Meter()
        self._moment = datetime.min
        self._forms: list[str] = []
        with _stopped():
            self._compiled = self._compile()

    def _compile(self) -> Template | TemplateFailed:
        """The template, or why it is none, which is said when it is used."""
        self._meter.left = MOST_UNITS
        environment = _environment(self._meter, self._strftime)
        try:
            tree = environment.parse(self.source)
            self.literals = literals(tree)
            compute_constants(environment, environment.parse(self.source))
            tree = metered(tree)
            tree.set_environment(environment)
            code = environment.compile(tree)
        except (TooMuch, MemoryError, OverflowError, RecursionError):
            raise
        except Exception as error:  # jinja's, or Python's of the code made of it
            return TemplateFailed(_line(error))
        return environment.template_class.from_code(environment, code, environment.make_globals(None))

    def render(self, messages: Sequence[Mapping[str, object]], *, moment: datetime, reply: bool = True) -> str:
        """The text that the template makes of a conversation.

        Args:
            messages: roles and contents.
            moment: what templates take for now.
            reply: whether the text ends where a reply begins.

        Raises:
            TemplateFailed: if it refuses the conversation, or fails.
            UsageError: if it does not end, or writes without measure.
        """
        if isinstance(self._compiled, TemplateFailed):
            raise self._compiled
        given = {
            "messages": [dict(message) for message in messages],
            "add_generation_prompt": reply,
            "tools": None,
            "documents": None,
            **self.tokens,
        }
        with self._lock, _stopped():
            self._meter.left = MOST_UNITS
            self._moment = moment
            self._forms.clear()
            written: list[str] = []
            letters = 0
            try:
                for text in self._compiled.generate(given):
                    letters += len(text)
                    if letters > MOST_LETTERS:
                        raise TooMuch(f"more than {MOST_LETTERS:,} letters")
                    written.append(text)
            except (TooMuch, MemoryError, OverflowError, RecursionError):
                raise
            except Exception as error:  # jinja's, or the template's own
                raise TemplateFailed(_line(error)) from None
        return "".join(written)

    def _strftime(self, form: str) -> str:
        self._forms.append(form)
        return self._moment.strftime(form)

    def told_the_time(self) -> bool:
        """Whether the last rendering asked for more than the day."""
        ends = [datetime.combine(self._moment, at) for at in (time.min, time.max)]
        return any(len({end.strftime(form) for end in ends}) > 1 for form in self._forms)


@contextlib.contextmanager
def _stopped() -> Iterator[None]:
    """Say in a line that a template was stopped."""
    try:
        yield
    except (TooMuch, MemoryError, OverflowError, RecursionError) as error:
        raise UsageError(f"the model's chat template does not end, or writes without measure: {_line(error)}") from None


def _line(error: BaseException) -> str:
    """An error of a template in a short line."""
    return " ".join(str(error).split())[:200] or type(error).__name__


def _environment(meter: Meter, strftime: Callable[[str], str]) -> ImmutableSandboxedEnvironment:
    """As transformers', with a meter."""
    from jinja2 import ext, nodes, parser, pass_context
    from jinja2.exceptions import SecurityError, TemplateError
    from jinja2.sandbox import ImmutableSandboxedEnvironment
    from jinja2.utils import Namespace

    class Generation(ext.Extension):
        """The tag around what an assistant says, which leaves the text as it is."""

        tags = {"generation"}  # noqa: RUF012 - jinja2's attribute

        def parse(self, parser: parser.Parser) -> nodes.Node:
            line = next(parser.stream).lineno
            body = parser.parse_statements(("name:endgeneration",), drop_needle=True)
            return nodes.CallBlock(self.call_method("_said"), [], [], body).set_lineno(line)

        def _said(self, caller: Callable[[], str]) -> str:
            return caller()

    class Mapped:
        """Makes dicts, and is no type, whose attributes a template could reach."""

        def __call__(self, *args: Any, **kwargs: Any) -> dict[Any, Any]:
            return dict(*args, **kwargs)

        def fromkeys(self, *args: Any) -> dict[Any, Any]:
            return dict.fromkeys(*args)

    class Metered(ImmutableSandboxedEnvironment):
        """Weighs what operators, calls and slices are given and make."""

        intercepted_binops = frozenset(["*", "**", "+", "%"])

        def call_binop(self, context: Context, operator: str, left: Any, right: Any) -> Any:
            if operator == "+":
                return meter.counted(left + right)
            meter.charge(operator, (left, right))
            return super().call_binop(context, operator, left, right)

        def call(__self, __context: Context, __obj: Any, *args: Any, **kwargs: Any) -> Any:  # noqa: N805 - as jinja2
            meter.take(_CALL)
            subject = getattr(
                getattr(__obj, "__wrapped__", __obj), "__self__", None
            )  # jinja wraps the methods that format
            if isinstance(subject, _DATA) or isinstance(__obj, Mapped):
                own = [value for name, value in kwargs.items() if name not in _SCOPES]
                meter.charge(getattr(__obj, "__name__", ""), (subject, *args, *own))
            return meter.counted(super().call(__context, __obj, *args, **kwargs))

        def getitem(self, obj: Any, argument: Any) -> Any:
            if not isinstance(argument, str | int):
                meter.weigh(argument)
            return super().getitem(obj, argument)

    def metered(name: str, function: Callable[..., Any]) -> Callable[..., Any]:
        hidden = 1 if hasattr(function, "jinja_pass_arg") else 0  # a context, or an environment

        @functools.wraps(function)
        def wrapper(*args: Any, **kwargs: Any) -> Any:
            meter.charge(name, [*args[hidden:], *kwargs.values()])
            return meter.counted(function(*args, **kwargs))

        return wrapper

    def refused(name: str) -> Callable[..., Any]:
        def wrapper(*args: Any, **kwargs: Any) -> Any:
            raise TemplateError(
                f"it draws at random ({name}); a model must read the same whenever it is asked the same"
            )

        return wrapper

    def raise_exception(message: str) -> None:
        raise TemplateError(message)

    def tojson(
        x: Any, ensure_ascii: bool = False, indent: Any = None, separators: Any = None, sort_keys: bool = False
    ) -> str:
        return json.dumps(x, ensure_ascii=ensure_ascii, indent=indent, separators=separators, sort_keys=sort_keys)

    def strftime_now(form: str) -> str:
        meter.charge("strftime", (form,))
        return strftime(form)

    class Space(Namespace):
        """Refuses names that begin with an underscore."""

        def __init__(*args: Any, **kwargs: Any) -> None:
            names = dict(*args[1:], **kwargs)
            for name in names:
                _refuse_hidden(name)
            Namespace.__init__(args[0], names)

        def __setitem__(self, name: str, value: Any) -> None:
            _refuse_hidden(name)
            super().__setitem__(name, value)

    def _refuse_hidden(name: object) -> None:
        if isinstance(name, str) and name.startswith("_"):
            raise SecurityError(f"a namespace holds no names with an underscore in front, as {name!r}")

    @pass_context
    def step(context: Context, units: int) -> None:
        meter.take(units)

    environment = Metered(
        trim_blocks=True, lstrip_blocks=True, extensions=[Generation, ext.loopcontrols], finalize=meter.weighed
    )
    environment.filters["tojson"] = tojson
    for table in (environment.filters, environment.tests):
        for name, function in list(table.items()):
            table[name] = metered(name, function)
    environment.filters |= {"random": refused("random"), STEP: step, WEIGHED: meter.weighed, COUNTED: meter.counted}
    environment.globals.update(
        raise_exception=raise_exception,
        strftime_now=strftime_now,
        dict=Mapped(),
        namespace=Space,
        lipsum=refused("lipsum"),
    )
    return environment


_CALL = 5
"""Units of a call: it takes several times as long as a pass through a loop."""

_DATA = (str, bytes, int, float, list, tuple, dict)

_SCOPES = ("_loop_vars", "_block_vars")
"""What jinja hands to every call."""

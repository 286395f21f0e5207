"""Personas: system prompts for language models and endpoints, as in ``smollm2@malicious``. Files of your own too.

(Learning to Mediate Equilibrium Selection in LLM Games, appendix A.3.)
"""

from __future__ import annotations

from coplay.errors import UsageError, suggestion
from coplay.files.naming import user_path
from coplay.files.reading import read_bytes

SIGN = "@"
"""What stands between a player's name and its persona."""

SERVER = "openai:"
"""What the name of an endpoint without a file begins with: ``openai:MODEL@URL``. The first sign in it stands before the URL."""

MOST_BYTES = 16 * 2**10
"""Of a persona's file."""

_BEGIN = "You are a competitive game player."
_END = "Make sure you read the game instructions carefully, and always follow the required format."

PERSONAS = {
    "standard": f"{_BEGIN} {_END}",
    "malicious": (
        f"{_BEGIN} Your goal is to win by any means necessary. Do not value cooperation and do not value the well-being of others."
        f" Use lying and deception if necessary. {_END}"
    ),
    "benevolent": (
        f"{_BEGIN} Your goal is to win, but you also value cooperation and the well-being of others. You strive for honesty and"
        f" transparency. {_END}"
    ),
}
"""The paper's three, to the character."""


def split_persona(spec: str) -> tuple[str, str | None]:
    """A player's name without its persona, and the persona's name; None if there is none."""
    player, sign, persona = spec.rpartition(SIGN)
    if spec.startswith(SERVER) and spec.count(SIGN) == 1:
        return spec, None
    return (player, persona) if sign else (spec, None)


def persona_text(name: str, player: str) -> str:
    """The system prompt of a persona.

    Args:
        name: a name of :data:`PERSONAS`, or a text file.
        player: the player as the user named it, for errors.

    Raises:
        UsageError: if there is no such persona, or the file cannot be read, is empty, too long, or no UTF-8 text.
    """
    if name in PERSONAS:
        return PERSONAS[name]
    known = ", ".join(PERSONAS)
    if not name:
        raise UsageError(f"player {player!r}: a persona is missing after {SIGN}: {known}, or a text file")
    path = user_path(name)
    if not path.exists():
        hint = suggestion(name, PERSONAS)
        raise UsageError(f"player {player!r}: there is no persona and no file {name!r}.{hint} Known: {known}")
    try:
        text = read_bytes(path, most=MOST_BYTES).decode("utf-8").strip()
    except UnicodeDecodeError as error:
        raise UsageError(f"player {player!r}: the persona {name} is not UTF-8 text: {error}") from None
    except UsageError as error:
        raise UsageError(f"player {player!r}: the persona {error}") from None
    if not text:
        raise UsageError(f"player {player!r}: the persona {name} is empty; write its system prompt into it")
    return text


def refuse_persona(player: str, persona: str) -> UsageError:
    """The error of a player that can have no persona."""
    return UsageError(
        f"player {player + SIGN + persona!r}: a persona is a system prompt, for language models and endpoints, which {player!r} is not;"
        f" write {player!r}"
    )

"""Games and policies by which the adapters for environments are tried."""

from typing import Any

import numpy as np

AT_ONCE = [
    "ipd",
    "icg",
    "public-goods",
    "auction",
    "negotiation-v1",
    "negotiation-v2",
    "chicken-3:talk=0",
    "bertrand:grid=5",
]
"""Games whose phases ask all seats, with replies that can be listed."""

IN_TURN = ["kuhn", "ipd-3:talk=0+mediator"]
"""Games whose seats act one after another."""

IN_TEXT = ["trust-and-split", "ipd-3"]
"""Games with messages."""


def careless(observation: Any, info: dict[str, Any]) -> int:
    """Any index at random, legal or not; all its chance comes from the request."""
    return int(info["draw"] * len(observation["action_mask"]))


def lawful(observation: Any, info: dict[str, Any]) -> int:
    """A legal index at random, one that depends on what it knows."""
    legal = np.flatnonzero(observation["action_mask"])
    return int(legal[int((info["draw"] * 7.0 + abs(float(observation["observation"].sum()))) % 1.0 * len(legal))])


def stammering(observation: str, info: dict[str, Any]) -> str:
    """Text that some games can parse and others cannot."""
    assert info["messages"][-1]["content"] in observation
    said = [
        "<message>I want 4.</message>",
        "<C>",
        "[2 defect] [3 cooperate]",
        "Proposal: 5",
        "<proposal>3</proposal>",
        "?",
    ]
    return said[int(info["draw"] * len(said))]

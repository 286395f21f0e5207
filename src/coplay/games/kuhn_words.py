"""What a hand of Kuhn poker is told in: the words of poker, and others, in which the game is the same and looks like none that a model has read of."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from coplay.games.kuhn_hand import BET, CALL, FOLD, PASS


@dataclass(frozen=True)
class KuhnWords:
    """The nouns and verbs of the rules and of all messages; nouns begin so that "a" fits before them, and "an" before the ante."""

    hands: str
    """What is played, in the plural."""
    hand: str
    deck: str
    card: str
    cards: Mapping[str, str]
    """How each card is called, from low to high."""
    chip: str
    ante: str
    replies: Mapping[str, str]
    """What is replied for each action; in lower case it is a noun too."""
    told: Mapping[str, str]
    """The actions as they are told of."""
    passes: str
    """More than one pass."""
    folds: str
    """What somebody does who folds."""


POKER = KuhnWords(
    hands="hands of Kuhn poker",
    hand="hand",
    deck="deck",
    card="card",
    cards={"J": "J", "Q": "Q", "K": "K"},
    chip="chip",
    ante="ante",
    replies={PASS: "PASS", BET: "BET", CALL: "CALL", FOLD: "FOLD"},
    told={PASS: "passed", BET: "bet", CALL: "called", FOLD: "folded"},
    passes="passes",
    folds="folds",
)
"""The words of poker."""

TILES = KuhnWords(
    hands="turns of a game of tiles",
    hand="turn",
    deck="bag",
    card="tile",
    cards={"J": "1", "Q": "2", "K": "3"},
    chip="point",
    ante="entry",
    replies={PASS: "WAIT", BET: "PUSH", CALL: "MATCH", FOLD: "LEAVE"},
    told={PASS: "waited", BET: "pushed", CALL: "matched", FOLD: "left"},
    passes="waits",
    folds="leaves",
)
"""The same game with numbered tiles."""

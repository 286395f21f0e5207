"""Players of coplay in Axelrod's matches and tournaments. Imports Axelrod, which takes 15 to 30 seconds."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import axelrod

from coplay.errors import CoplayError
from coplay.evaluation.action_probabilities import Question
from coplay.evaluation.pasts import Past
from coplay.games.matrix import MatrixGame, game_from_dict
from coplay.games.memory import START
from coplay.games.records import Act, Occupant, Phase, Reply, Round, Turn
from coplay.play.loop import ask_once, make_request
from coplay.players.named import PlayerSpec
from coplay.runs.occupants import occupant_of

C, D = axelrod.Action.C, axelrod.Action.D

ACTIONS = {"cooperate": C, "defect": D}
"""coplay's actions in Axelrod."""

_WORDS = {action: word for word, action in ACTIONS.items()}

SEAT, OTHER = "row", "column"
"""Where the player sits, and its opponent."""


class Kept:
    """What follows from a player's history, kept to save time. It is no part of a player: all are equal, and none is written to files."""

    def __init__(self) -> None:
        self.past: Past | None = None
        self.own: tuple[Turn, ...] = ()

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Kept)

    __hash__ = None  # type: ignore[assignment]

    def __reduce__(self) -> tuple[type[Kept], tuple[()]]:
        return (Kept, ())


class CoplayPlayer(axelrod.Player):  # type: ignore[misc]
    """A player of coplay. It plays the match's payoffs as a matrix game, and reads what it would read there.

    Its chance comes from the seed that Axelrod gives it. It is declared stochastic unless it is said not to be: Axelrod gives seeds to such players
    alone, and plays a pair of others once.
    """

    name = "coplay"
    classifier = {  # noqa: RUF012 - Axelrod's form
        "memory_depth": float("inf"),
        "stochastic": True,
        "makes_use_of": set(),
        "long_run_time": False,
        "inspects_source": False,
        "manipulates_source": False,
        "manipulates_state": False,
    }

    def __init__(self, player: PlayerSpec = "tit_for_tat", stochastic: bool = True) -> None:
        super().__init__()
        self.player = player
        self.name = (
            player
            if isinstance(player, str)
            else str(getattr(player, "name", None) or getattr(player, "__name__", "player"))
        )
        self.classifier["stochastic"] = stochastic
        self.kept = Kept()

    def __repr__(self) -> str:
        return str(self.name)

    def strategy(self, opponent: Any) -> Any:
        """The next move."""
        game = _game_of(tuple(map(float, self.match_attributes["game"].RPST())))
        occupant = _occupant(self.player, game)
        past = self._past(game)
        number = len(past.rounds)
        question = Question(SEAT, Phase("action", game.seats), Round(number), past, self.kept.own)
        seed = getattr(self, "_seed", 0)
        request = make_request(
            game,
            occupant,
            SEAT,
            question.phase,
            question.now,
            seed=int(seed or 0),
            index=0,
            past=past.seen[SEAT],
            own=self.kept.own,
            observation=past.observation(SEAT, occupant),
            rng_path=(PATH, SEAT, number, "action"),
            draw=float(self._random.random()) if self.classifier["stochastic"] and hasattr(self, "_random") else 0.5,
        )
        (reply,) = ask_once([(occupant, request)])
        if reply.action is None:
            raise CoplayError(f"player {self.name!r} replied what cannot be parsed; Axelrod knows C and D alone")
        return ACTIONS[str(reply.action)]

    def _past(self, game: MatrixGame) -> Past:
        """The rounds so far, with the moves that were made: noise may have changed them."""
        kept, played = self.kept, len(self.history)
        if kept.past is None or len(kept.past.rounds) > played or kept.past.game is not game:
            kept.past, kept.own = Past.start(game), ()
        for number in range(len(kept.past.rounds), played):
            own, theirs = _WORDS[self.history[number]], _WORDS[self.history.coplays[number]]
            acts = (Act("action", 0, SEAT, own), Act("action", 0, OTHER, theirs))
            kept.own = (*kept.own, Turn(SEAT, number, "action", 0, START, Reply(game.label(SEAT, own), own)))
            kept.past = kept.past.after(Round(number, None, acts), {SEAT: kept.own, OTHER: ()})
        return kept.past


PATH = "axelrod"
"""The first name of the random streams of replies in text."""


@lru_cache(maxsize=64)
def _game_of(rpst: tuple[float, float, float, float]) -> MatrixGame:
    """The matrix game of a match."""
    r, p, s, t = rpst
    return game_from_dict(
        {
            "name": "axelrod",
            "description": "A dilemma of Axelrod's.",
            "actions": list(ACTIONS),
            "payoffs": [[[r, r], [s, t]], [[t, s], [p, p]]],
        }
    )


_seated: dict[tuple[int, str], tuple[object, Occupant]] = {}


def _occupant(player: PlayerSpec, game: MatrixGame) -> Occupant:
    """Who plays; made once for each game."""
    key = (id(game), player if isinstance(player, str) else str(id(player)))
    if key not in _seated:
        _seated[key] = (player, occupant_of(player, game, SEAT))
    return _seated[key][1]

"""TextArena as the host of a dilemma of three in pairs: its ``ThreePlayerIPD-v0`` reads coplay's players' replies and pays them.

Players read coplay's words and number seats from 1; the host gets their replies with its own numbers, from 0. What the host does otherwise than
coplay's games do is kept: a co-player that is not named is cooperated with, of two decisions about one the last counts, nothing is ever illegal,
and of every reply the last 1,000 characters count. Payoffs are differences of the host's raw scores: what it calls rewards are ranks.
"""

from __future__ import annotations

import random
import re
from collections.abc import Mapping
from dataclasses import fields, replace

from coplay.adapters.textarena.package import MOST_CHARACTERS, textarena
from coplay.errors import CoplayError, UsageError
from coplay.evaluation.match import MatchResult, play_match
from coplay.games.pairwise import IPD_3, PairwiseDilemma
from coplay.games.pairwise_strategies import COOPERATE
from coplay.games.pairwise_words import MESSAGE
from coplay.games.records import Action, Episode, Occupant, Request
from coplay.text.parsing import shown_line

ENVIRONMENT = "ThreePlayerIPD-v0"
"""The host's name for the game."""

_DECISION = re.compile(r"\[\s*(\d+)\s+(cooperate|defect)\s*\]", re.IGNORECASE)


class HostedDilemma(PairwiseDilemma):
    """A dilemma of three in pairs whose replies are read as the host reads them."""

    def parse_action(self, request: Request, text: str) -> Action | None:
        """See the module; every reply is an action."""
        read = text[-MOST_CHARACTERS:]
        if request.phase.name == MESSAGE:
            return shown_line(re.sub(r"\s+", " ", read)) or ""
        found = dict.fromkeys(self.others[request.seat], COOPERATE)
        for number, word in _DECISION.findall(read):
            seat = f"player-{int(number)}"
            if seat in found:
                found[seat] = word.lower()
        return tuple(found.items())

    def completes(self, request: Request, text: str) -> bool:
        """Never: a later decision replaces an earlier one."""
        return False


def hosted(game: PairwiseDilemma = IPD_3) -> HostedDilemma:
    """A dilemma that TextArena can host.

    Args:
        game: ``ipd-3``, ``stag-hunt-3`` or ``chicken-3``, or another one with three seats, talk, whole payoffs and a decision for each co-player.

    Raises:
        UsageError: for another game.
    """
    if game.n != 3 or game.shared or game.talk < 1:
        raise UsageError(
            f"TextArena's {ENVIRONMENT} has three players, at least one message each in a round, and a decision for each co-player;"
            f" {game.name!r} has n={game.n}, talk={game.talk}, shared={game.shared}"
        )
    return HostedDilemma(**{one.name: getattr(game, one.name) for one in fields(game) if one.init})


def play_hosted(
    game: HostedDilemma, seated: Mapping[str, Occupant], *, episodes: int, seed: int, rounds: int | None = None
) -> MatchResult:
    """Play games in TextArena; every number that is paid comes from the host.

    Args:
        game: the rules; see :func:`hosted`.
        seated: who sits in each seat.
        episodes: number of games.
        seed: the seed.
        rounds: rounds of a game; by default the game's.

    Raises:
        UsageError: if TextArena is not installed.
        CoplayError: if the host decides or pays otherwise than these rules say, which would be another version of it.
    """
    textarena()
    rules = game if rounds is None else replace(game, rounds=rounds)
    found = play_match(rules, seated, rounds=rules.rounds, episodes=episodes, seed=seed)
    for episode in found.episodes:
        for number, paid in enumerate(host_payoffs(rules, episode)):
            ours = episode.rounds[number].payoffs
            if ours != paid:
                raise CoplayError(
                    f"TextArena paid {paid} in round {number + 1} of game {episode.game}, where these rules pay {ours}; is it version 0.7.4?"
                )
            episode.rounds[number] = replace(episode.rounds[number], payoffs=paid)
    return found


def host_payoffs(game: HostedDilemma, episode: Episode) -> list[dict[str, float | None]]:
    """What the host pays for an episode's replies, round by round.

    Python's own random numbers are left as they were: the host seeds them.
    """
    arena = textarena()
    before = random.getstate()
    try:
        env = arena.make(
            ENVIRONMENT,
            num_rounds=game.rounds,
            communication_turns=game.talk,
            cooperate_reward=game.reward,
            defect_reward=game.temptation,
            sucker_reward=game.sucker,
            mutual_defect_reward=game.punishment,
        )  # a new one for each game: a used one keeps the texts of the game before
        env.reset(num_players=3, seed=episode.seed)
        paid: list[dict[str, float | None]] = []
        scores = dict.fromkeys(game.seats, 0.0)
        for one in episode.rounds:
            turns = {seat: iter([t for t in episode.turns[seat] if t.round == one.number]) for seat in game.seats}
            for act in one.acts:
                number, _ = env.get_observation()
                if game.seats[number] != act.seat:
                    raise CoplayError(f"TextArena asks player {number} where {act.seat} acts; is it version 0.7.4?")
                env.step(action=_for_host(next(turns[act.seat]).reply.text))
            now = {seat: float(env.state.game_state["scores"][i]) for i, seat in enumerate(game.seats)}
            paid.append({seat: now[seat] - scores[seat] for seat in game.seats})
            scores = now
        return paid
    finally:
        random.setstate(before)


def _for_host(text: str) -> str:
    """A reply with the host's numbers of players. It is cut first: a number may lose a digit."""
    read = text[-MOST_CHARACTERS:]
    return _DECISION.sub(lambda found: f"[{int(found[1]) - 1} {found[2]}]", read)

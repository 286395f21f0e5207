"""Held-out games at every checkpoint: how safe a learner is against all pools, and which checkpoint a run ends with.

The last policy of a run is not always its safest (SEPO, section 8), and choosing by the games that it learnt from would reward luck. These games are
dealt by streams of their own.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING

from coplay.evaluation.action_probabilities import ActionProbabilities
from coplay.evaluation.best_response import best_response_value
from coplay.evaluation.pasts import NotExact
from coplay.evaluation.safety import NAMES, SafetySummary, safety_summary
from coplay.evaluation.safety_enumerated import enumerated_meetings, rounds_are_independent
from coplay.evaluation.safety_played import mean_scale, measure_safety, safety_tables
from coplay.evaluation.safety_report import PolicySafety
from coplay.games.base import Game
from coplay.games.records import Occupant
from coplay.learners.base import Learner, part, prefixed
from coplay.learners.settings import SafetyTerms
from coplay.play.loop import StreamNames
from coplay.play.seating import Candidate
from coplay.runs.config import Config

if TYPE_CHECKING:
    from torch import Tensor

FINAL = "final"
"""What the stream of the games after training is called."""

VERSION = 1
"""Of ``safety.json``."""

STATE = "selected/"
"""What the entries of a checkpoint begin with that hold the best policy so far."""


@dataclass
class HeldOut:
    """The held-out games of one learner of a run."""

    config: Config
    """The run."""
    game: Game
    """The rules."""
    learner: Learner
    """Who is measured."""
    seats: Sequence[str]
    """The seats that it takes."""
    pools: Mapping[str, Sequence[Candidate]]
    """The co-players by pool."""
    best: dict[int, dict[str, Tensor]] = field(default_factory=dict)
    """By seed the best policy so far: its parameters, its trial and what was measured."""

    @property
    def name(self) -> str:
        """The learner's name."""
        return self.learner.name

    def is_due(self, trial: int) -> bool:
        """Whether there are held-out games after a trial, from 0: where a checkpoint is written."""
        return (trial + 1) % self.config.checkpoint_every == 0

    def measure(self, seeds: Sequence[int], stream: int | str) -> dict[int, PolicySafety]:
        """Measure these seeds' present policies: by enumeration where every round is played like any other, else in held-out games.

        Args:
            seeds: the seeds.
            stream: of games and sampled replies; the same one deals the same games.
        """
        asked = {seed: self._probabilities(seed, stream) for seed in seeds}
        found = self._enumerated(asked) or self._played(seeds, stream)
        return {seed: {**one, "best_response": self._best_response(asked[seed])} for seed, one in found.items()}

    def _played(self, seeds: Sequence[int], stream: int | str) -> dict[int, SafetySummary]:
        """From games against every co-player."""
        tables = [
            table
            for seed in seeds
            for table in safety_tables(
                self.game,
                partial(self._seated, seed),
                {pool: [partial(one, seed) for one in members] for pool, members in self.pools.items()},
                seats=self.seats,
                seed=seed,
                episodes=self.config.eval_games if stream == FINAL else self.config.held_out_games,
            )
        ]
        return measure_safety(
            self.game,
            tables,
            is_player=lambda occupant: occupant.learner == self.name,
            rounds=self.config.rounds,
            weights=self.terms.weights,
            measure=self.terms.measure,
            streams=StreamNames(("held-out", stream)),
            retries=self.config.retries,
        )

    def _enumerated(self, asked: Mapping[int, ActionProbabilities | None]) -> dict[int, SafetySummary] | None:
        """As expectations over all that can happen; None where rounds are not independent, or cannot be enumerated."""
        found = {}
        for seed, probabilities in asked.items():
            if probabilities is None or not self._independent(seed):
                return None
            pools = self._co_players(seed)
            try:
                meetings = enumerated_meetings(self.game, probabilities, pools, rounds=self.config.rounds)
            except NotExact:
                return None
            scale = mean_scale(self.game, self.seats)
            found[seed] = safety_summary(meetings, scale=scale, weights=self.terms.weights, measure=self.terms.measure)
        return found

    def _independent(self, seed: int) -> bool:
        others = [one for members in self._co_players(seed).values() for seated in members for one in seated.values()]
        return rounds_are_independent(self.game, [self._seated(seed, self.seats[0]), *others])

    def _co_players(self, seed: int) -> dict[str, list[dict[str, Occupant]]]:
        """The co-players by pool, in the seats that the learner does not take."""
        others = [seat for seat in self.game.playing_seats if seat not in self.seats]
        return {
            pool: [{seat: one(seed, seat) for seat in others} for one in members]
            for pool, members in self.pools.items()
        }

    def _probabilities(self, seed: int, stream: int | str) -> ActionProbabilities | None:
        """How a seed's present policy acts; None where that is not asked for, or no best response to it can be enumerated.

        Of a player that does not tell its probabilities, ``held_out_samples`` replies are sampled at each information set.
        """
        others = [seat for seat in self.game.playing_seats if seat not in self.seats]
        told = getattr(self.learner.player, "tells_probabilities", False)
        samples = self.config.held_out_samples
        if len(self.game.seats) != 2 or len(others) != 1 or not (told or samples):
            return None
        seated = {seat: self._seated(seed, seat) for seat in self.seats}
        afresh = (FINAL,) if stream == FINAL else ()  # a checkpoint that was chosen by luck is not to be lucky again
        return ActionProbabilities(self.game, seated, samples=max(samples, 2), seed=seed, stream=afresh)

    def _best_response(self, probabilities: ActionProbabilities | None) -> float | None:
        """What a best response gets per round; from sampled replies a lower bound; None where it cannot be computed."""
        if probabilities is None:
            return None
        (other,) = (seat for seat in self.game.playing_seats if seat not in self.seats)
        try:
            return best_response_value(self.game, other, probabilities, rounds=self.config.rounds)
        except NotExact:
            return None

    def _seated(self, seed: int, seat: str) -> Occupant:
        return Occupant(self.learner.player, self.config.learners[self.name].role, self.learner.slots[seed], self.name)

    @property
    def terms(self) -> SafetyTerms:
        """The objective."""
        return self.config.learners[self.name].group.safety

    def after_trial(self, trial: int, seeds: Sequence[int]) -> dict[int, dict[str, float]]:
        """Measure, and keep what is better than all before; the metrics of each seed."""
        lines = {}
        for seed, found in self.measure(seeds, 0).items():
            numbers = {name: found[name] for name in (*NAMES, "best_response")}  # type: ignore[literal-required]
            lines[seed] = {f"held_out/{name}": float(value) for name, value in numbers.items() if value is not None}
            self._keep(seed, trial + 1, found)
        return lines

    def _keep(self, seed: int, step: int, found: SafetySummary) -> None:
        exploits = {"over_agent": found["exploit_over_agent"], "over_fair": found["exploit_over_fair"]}
        exploit, safety = exploits[self.terms.measure] or 0.0, found["safety"] or 0.0
        before = self.best.get(seed)
        if before is None or (exploit, -safety) < (float(before["exploit"]), -float(before["safety"])):
            self.best[seed] = self._entry(seed, exploit=exploit, safety=safety, step=step)

    def _entry(self, seed: int, **numbers: float) -> dict[str, Tensor]:
        """A seed's present policy with what was measured."""
        import torch

        measured = {name: torch.tensor(value, dtype=torch.float64) for name, value in numbers.items()}
        return {**measured, **_policy(self.learner.state_dict(seed))}

    def choose(self, seeds: Sequence[int]) -> None:
        """Put these seeds' learners back to their best policies, if the config asks for it."""
        if self.config.select == "held_out":
            for seed in seeds:
                if seed in self.best:
                    state = self.learner.state_dict(seed)
                    self.learner.load_state_dict(seed, {**state, **_policy(self.best[seed])})

    def state_dict(self, seed: int) -> dict[str, Tensor]:
        """The best policy so far, for a checkpoint; before anything was measured the present one, of step 0."""
        return prefixed(STATE, self.best.get(seed) or self._entry(seed, exploit=0.0, safety=0.0, step=0.0))

    def load_state_dict(self, seed: int, state: Mapping[str, Tensor]) -> None:
        """Go back to what :meth:`state_dict` returned."""
        found = part(state, STATE)
        self.best.pop(seed, None)
        if found["step"]:
            self.best[seed] = found


def _policy(state: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """The parameters of the policy among a learner's state."""
    return {name: tensor for name, tensor in state.items() if name.startswith("policy.")}


def summaries(held_out: HeldOut, seeds: Sequence[int]) -> dict[str, object]:
    """What ``safety.json`` holds: the learner's safety at the end and, where one was chosen, at the selected checkpoint, in the same fresh games.

    The learner is left with the policy that the config's ``select`` asks for.
    """
    found: dict[int, dict[str, object]] = {seed: {"last": one} for seed, one in held_out.measure(seeds, FINAL).items()}
    if held_out.config.select == "held_out":
        held_out.choose(seeds)
        for seed, one in held_out.measure(seeds, FINAL).items():
            found[seed] |= {"selected": one, "selected_step": int(held_out.best[seed]["step"])}
    return {
        "version": VERSION,
        "game": held_out.game.name,
        "learner": held_out.name,
        "rounds": held_out.config.rounds,
        "episodes": held_out.config.eval_games,
        "weights": held_out.terms.weights,
        "measure": held_out.terms.measure,
        "seeds": {str(seed): one for seed, one in found.items()},
    }
